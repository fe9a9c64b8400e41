"""`tf.config`: the devices, and settings of the whole process.

Without JAX there is one device, the CPU. With it there are XLA's devices: listing them loads JAX.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from gradtape.core.messages import first_times, log_warning
from gradtape.core.settings import settings
from gradtape.engines.numpy import process_memory, threads
from gradtape.engines.numpy.crowding import crowd
from gradtape.engines.xla import cache as xla_cache
from gradtape.engines.xla import devices as xla_devices
from gradtape.published import published


@published("config.PhysicalDevice")
class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


@published("config.LogicalDevice")
class LogicalDevice(NamedTuple):
    """A device as code names it."""

    name: str
    device_type: str


def _kind(name: str) -> str:
    return name.partition(":")[0]


def _physical(names: Any) -> list[PhysicalDevice]:
    return [PhysicalDevice(f"/physical_device:{name}", _kind(name)) for name in names]


@published("config.list_physical_devices", "config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, or those of one type.

    >>> import gradtape as tf
    >>> tf.config.list_physical_devices("CPU")[0]
    PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')
    """
    return [
        device
        for device in _physical(xla_devices.devices())
        if device_type in (None, device.device_type)
    ]


@published("config.list_logical_devices", "config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that code can name, or those of one type.

    >>> import gradtape as tf
    >>> tf.config.list_logical_devices("CPU")[0]
    LogicalDevice(name='/device:CPU:0', device_type='CPU')
    """
    names = [name for name in xla_devices.visible() if device_type in (None, _kind(name))]
    return [LogicalDevice(f"/device:{name}", _kind(name)) for name in names]


@published("config.get_visible_devices", "config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that are used: all of them, unless `set_visible_devices` has chosen some.

    >>> import gradtape as tf
    >>> tf.config.get_visible_devices("CPU")[0].name
    '/physical_device:CPU:0'
    """
    return [
        device
        for device in _physical(xla_devices.visible())
        if device_type in (None, device.device_type)
    ]


@published("config.set_visible_devices", "config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Chooses the devices to use, of one type or of all; the CPU cannot be left out.

    Compiled functions run on the first accelerator that is left, or on the CPU.

    >>> import gradtape as tf
    >>> tf.config.set_visible_devices([], "GPU")
    """
    chosen: list[Any] = [devices] if isinstance(devices, (str, PhysicalDevice)) else list(devices)
    known = list_physical_devices()
    for device in chosen:
        if device not in known:
            raise ValueError(
                f"set_visible_devices: there is no device {device!r}: the devices are {known}."
            )
    names = {device.name.removeprefix("/physical_device:") for device in chosen}
    if device_type in (None, "CPU") and "CPU:0" not in names:
        raise RuntimeError("set_visible_devices: the CPU runs eager code and cannot be hidden.")
    kinds = {device.device_type for device in known} if device_type is None else {device_type}
    xla_devices.show_only(names, kinds)


@published("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Whether ops may run on another device than the one they are placed on,
    where that is not there.

    >>> import gradtape as tf
    >>> tf.config.get_soft_device_placement()
    True
    """
    return settings.soft_device_placement


@published("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Sets whether `device` takes another device for one that is not there, or refuses its name.

    >>> import gradtape as tf
    >>> tf.config.set_soft_device_placement(True)
    """
    settings.soft_device_placement = bool(enabled)


@published("config.functions_run_eagerly", "config.experimental_functions_run_eagerly")
def functions_run_eagerly() -> bool:
    """Whether compiled functions run as plain Python.

    >>> import gradtape as tf
    >>> tf.config.functions_run_eagerly()
    False
    """
    return settings.functions_run_eagerly


@published("config.run_functions_eagerly", "config.experimental_run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Lets compiled functions run as plain Python, so that they can be stepped through,
    or ends that.

    >>> import gradtape as tf
    >>> tf.config.run_functions_eagerly(True)
    >>> tf.config.functions_run_eagerly()
    True
    >>> tf.config.run_functions_eagerly(False)
    """
    settings.functions_run_eagerly = bool(run_eagerly)


@published("config.get_programs_per_function")
def get_programs_per_function() -> int:
    """How many programs a function keeps, one for each kind of arguments.

    >>> import gradtape as tf
    >>> tf.config.get_programs_per_function()
    128
    """
    return settings.programs_per_function


@published("config.set_programs_per_function")
def set_programs_per_function(count: int) -> None:
    """Sets how many programs each function keeps.

    Of more, those that were used least recently are dropped, and traced again.

    >>> import gradtape as tf
    >>> tf.config.set_programs_per_function(16)
    >>> tf.config.get_programs_per_function()
    16
    >>> tf.config.set_programs_per_function(128)
    """
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(
            f"set_programs_per_function: count must be a positive integer, got {count!r}."
        )
    settings.programs_per_function = count


@published("config.get_compile_every_shape")
def get_compile_every_shape() -> bool:
    """Whether functions compile every shape of their arguments in the first call with it.

    >>> import gradtape as tf
    >>> tf.config.get_compile_every_shape()
    False
    """
    return settings.compile_every_shape


@published("config.set_compile_every_shape")
def set_compile_every_shape(enabled: bool) -> None:
    """Lets functions compile every shape of their arguments in the first call with it, or ends
    that.

    Otherwise, where shapes keep changing, a new one runs op by op until compiling it pays.

    >>> import gradtape as tf
    >>> tf.config.set_compile_every_shape(True)
    >>> tf.config.get_compile_every_shape()
    True
    >>> tf.config.set_compile_every_shape(False)
    """
    settings.compile_every_shape = bool(enabled)


@published("config.get_wait_for_compilation")
def get_wait_for_compilation() -> bool:
    """Whether the first call of a function waits until XLA has compiled it.

    >>> import gradtape as tf
    >>> before = tf.config.get_wait_for_compilation()
    >>> tf.config.set_wait_for_compilation(not before)
    >>> tf.config.get_wait_for_compilation() == before
    False
    >>> tf.config.set_wait_for_compilation(before)
    """
    return settings.wait_for_compilation


@published("config.set_wait_for_compilation")
def set_wait_for_compilation(enabled: bool) -> None:
    """Lets the first call of a function wait until XLA has compiled it, or ends that.

    Otherwise XLA compiles beside, on another thread, and the calls that come meanwhile run op by
    op, on NumPy, where that gives the same results but for rounding. Which call is the first to run
    compiled then depends on how fast the machine is: wait where runs are to agree in every bit.

    >>> import gradtape as tf
    >>> before = tf.config.get_wait_for_compilation()
    >>> tf.config.set_wait_for_compilation(True)
    >>> tf.config.get_wait_for_compilation()
    True
    >>> tf.config.set_wait_for_compilation(before)
    """
    settings.wait_for_compilation = bool(enabled)


@published("config.enable_compile_cache")
def enable_compile_cache(path: str | os.PathLike[str] | None = None) -> str:
    """Keeps compiled programs on disk, so that the next process need not compile them again;
    gives the directory.

    Without a `path` it is `gradtape/xla` in the user's directory for caches. What is kept belongs
    to one version of JAX and one kind of machine; others compile for themselves.

    >>> import gradtape as tf
    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> tf.config.enable_compile_cache(directory) == directory
    True
    >>> tf.config.disable_compile_cache()
    """
    return xla_cache.enable(path)


@published("config.disable_compile_cache")
def disable_compile_cache() -> None:
    """Ends what `enable_compile_cache` began; what is on disk stays there.

    >>> import gradtape as tf
    >>> tf.config.disable_compile_cache()
    """
    xla_cache.disable()


@published("config.experimental.enable_op_determinism")
def enable_op_determinism() -> None:
    """Asks for the same results in every run, to the last bit.

    On the CPU that is so anyway, with two exceptions, which end then. BLAS, which rounds
    differently for each number of threads, has one thread for large products while other programs
    keep the cores busy. And functions run op by op until XLA has compiled them, as
    `config.set_wait_for_compilation` tells.

    >>> import gradtape as tf
    >>> tf.config.experimental.enable_op_determinism()
    """
    crowd.ignored = True
    crowd.until = 0.0
    settings.wait_for_compilation = True


@published("config.experimental.enable_tensor_float_32_execution")
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Sets what `tensor_float_32_execution_enabled` answers;
    the CPU always computes with all bits of float32.

    >>> import gradtape as tf
    >>> tf.config.experimental.enable_tensor_float_32_execution(True)
    """
    settings.tensor_float_32 = bool(enabled)


@published("config.experimental.tensor_float_32_execution_enabled")
def tensor_float_32_execution_enabled() -> bool:
    """Whether a GPU may compute float32 products with fewer bits.

    >>> import gradtape as tf
    >>> tf.config.experimental.tensor_float_32_execution_enabled()
    True
    """
    return settings.tensor_float_32


@published("config.experimental.set_memory_growth")
def set_memory_growth(device: Any, enable: bool) -> None:
    """Lets a GPU take memory as it needs it; for the CPU, which always does,
    this is an error as in TensorFlow.

    JAX decides that when it starts, so that it takes effect only in an environment with
    XLA_PYTHON_CLIENT_PREALLOCATE=false.

    >>> import gradtape as tf
    >>> for gpu in tf.config.list_physical_devices("GPU"):
    ...     tf.config.experimental.set_memory_growth(gpu, True)
    """
    known = list_physical_devices()
    if device not in known:
        raise ValueError(
            f"set_memory_growth: there is no device {device!r}: the devices are {known}."
        )
    if device.device_type == "CPU":
        raise ValueError(
            "set_memory_growth: only a GPU's memory can be set to grow; the CPU takes memory as it "
            "needs it."
        )
    if (
        bool(enable) != get_memory_growth(device)
        and first_times("memory growth", limit=1) is not None
    ):
        log_warning(
            "set_memory_growth: JAX has already chosen how it allocates memory on %s: set "
            "XLA_PYTHON_CLIENT_PREALLOCATE=%s in the environment before the program starts.",
            device.name, "false" if enable else "true",
        )  # fmt: skip


@published("config.experimental.get_memory_growth")
def get_memory_growth(device: Any) -> bool:
    """Whether a GPU takes memory as it needs it, instead of most of it at once.

    >>> import gradtape as tf
    >>> [
    ...     tf.config.experimental.get_memory_growth(gpu)
    ...     for gpu in tf.config.list_physical_devices("GPU")
    ... ]
    []
    """
    if device not in list_physical_devices("GPU"):
        raise ValueError(
            f"get_memory_growth: there is no GPU {device!r}: the devices are "
            f"{list_physical_devices()}."
        )
    on_demand = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "true").lower() in ("false", "0")
    return on_demand or os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR") == "platform"


@published("config.experimental.get_memory_info")
def get_memory_info(device: str) -> dict[str, int]:
    """The bytes that a device uses now, and the most that it has used: `current` and `peak`.

    For the CPU it is the memory of this process, its Python objects included; TensorFlow says 0.
    `tape.memory()` tells what a recording keeps alive.

    >>> import gradtape as tf
    >>> found = tf.config.experimental.get_memory_info("CPU:0")
    >>> 0 < found["current"] <= found["peak"]
    True
    """
    name, found = _device_of(device, "get_memory_info")
    if name == "CPU:0":
        return process_memory.info()
    stats = xla_devices.memory_stats(found)
    if stats is None:
        raise ValueError(f"get_memory_info: {name} does not say how much memory it uses.")
    return {"current": stats["bytes_in_use"], "peak": stats["peak_bytes_in_use"]}


@published("config.experimental.get_memory_usage")
def get_memory_usage(device: str) -> int:
    """The bytes that a device uses now, see `get_memory_info`.

    >>> import gradtape as tf
    >>> tf.config.experimental.get_memory_usage("CPU:0") > 0
    True
    """
    return get_memory_info(device)["current"]


@published("config.experimental.reset_memory_stats")
def reset_memory_stats(device: str) -> None:
    """Lets `get_memory_info` tell the peak from now on.

    XLA does not forget the peak of a GPU, so there it stays, and the log says so once.

    >>> import gradtape as tf
    >>> tf.config.experimental.reset_memory_stats("CPU:0")
    """
    name, _ = _device_of(device, "reset_memory_stats")
    if name == "CPU:0" and process_memory.forget_peak():
        return
    if first_times("memory stats", limit=1) is not None:
        log_warning("reset_memory_stats: the peak of %s stays: it cannot be reset.", name)


def _device_of(device: Any, caller: str) -> tuple[str, Any]:
    """The name and the JAX device of a device that is named in any of TensorFlow's ways."""
    words = str(device).rpartition("/")[2].split(":")
    words = words[1:] if words[0] in ("device", "physical_device") else words
    if len(words) != 2 or not words[1].isdigit():
        raise ValueError(
            f"{caller}: {device!r} is not the name of a device: it must have a type and a number, "
            'like "GPU:0".'
        )
    name = f"{words[0].upper()}:{int(words[1])}"
    known = {"CPU:0": None} if name == "CPU:0" else xla_devices.devices()
    if name not in known:
        raise ValueError(
            f"{caller}: there is no device {device!r}: the devices are {', '.join(known)}."
        )
    return name, known[name]


@published("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """The number that `set_inter_op_parallelism_threads` was given;
    0 means that the system chooses.

    >>> import gradtape as tf
    >>> tf.config.threading.get_inter_op_parallelism_threads()
    0
    """
    return settings.inter_op_threads


@published("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Keeps a number of threads for ops that run side by side;
    eager code runs one op after the other.

    >>> import gradtape as tf
    >>> tf.config.threading.set_inter_op_parallelism_threads(0)
    """
    settings.inter_op_threads = int(num_threads)


@published("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """The number that `set_intra_op_parallelism_threads` was given;
    0 means that the system chooses.

    >>> import gradtape as tf
    >>> tf.config.threading.get_intra_op_parallelism_threads()
    0
    """
    return threads.chosen()


@published("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets how many threads share the elementwise work on a large array: 1 for none but the
    caller's own, 0 for one a core.

    NumPy's BLAS reads its own number from the environment, such as OMP_NUM_THREADS.

    >>> import gradtape as tf
    >>> tf.config.threading.set_intra_op_parallelism_threads(0)
    """
    if num_threads < 0:
        raise ValueError(
            f"set_intra_op_parallelism_threads: num_threads must be 0 or more, got {num_threads}."
        )
    threads.set_threads(int(num_threads))
