"""`tf.config`: which devices there are, and settings of the whole process. The one device is the CPU."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradtape.core.settings import settings


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as code names it."""

    name: str
    device_type: str


_PHYSICAL = (PhysicalDevice("/physical_device:CPU:0", "CPU"),)
_LOGICAL = (LogicalDevice("/device:CPU:0", "CPU"),)


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, or those of one type.

    >>> import gradtape as tf
    >>> tf.config.list_physical_devices(), tf.config.list_physical_devices("GPU")
    ([PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')], [])
    """
    return [device for device in _PHYSICAL if device_type in (None, device.device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that code can name, or those of one type.

    >>> import gradtape as tf
    >>> tf.config.list_logical_devices("CPU")
    [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    return [device for device in _LOGICAL if device_type in (None, device.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that are used: all of them.

    >>> import gradtape as tf
    >>> len(tf.config.get_visible_devices())
    1
    """
    return list_physical_devices(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Chooses the devices to use, of one type or of all; the CPU cannot be left out.

    >>> import gradtape as tf
    >>> tf.config.set_visible_devices([], "GPU")
    """
    chosen = [devices] if isinstance(devices, (str, PhysicalDevice)) else list(devices)
    for device in chosen:
        if device not in _PHYSICAL:
            raise ValueError(f"set_visible_devices: there is no device {device!r}: the devices are {list(_PHYSICAL)}.")
    if device_type in (None, "CPU") and not chosen:
        raise RuntimeError("set_visible_devices: the CPU runs everything here and cannot be hidden.")


def get_soft_device_placement() -> bool:
    """Whether ops may run on another device than the one they are placed on.

    >>> import gradtape as tf
    >>> tf.config.get_soft_device_placement()
    True
    """
    return settings.soft_device_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Sets what `get_soft_device_placement` answers; with one device it changes nothing else.

    >>> import gradtape as tf
    >>> tf.config.set_soft_device_placement(True)
    """
    settings.soft_device_placement = bool(enabled)


def functions_run_eagerly() -> bool:
    """Whether compiled functions run as plain Python.

    >>> import gradtape as tf
    >>> tf.config.functions_run_eagerly()
    False
    """
    return settings.functions_run_eagerly


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Lets compiled functions run as plain Python, so that they can be stepped through, or ends that.

    >>> import gradtape as tf
    >>> tf.config.run_functions_eagerly(True)
    >>> tf.config.functions_run_eagerly()
    True
    >>> tf.config.run_functions_eagerly(False)
    """
    settings.functions_run_eagerly = bool(run_eagerly)


def enable_op_determinism() -> None:
    """Asks for the same results in every run, which NumPy on the CPU gives anyway.

    >>> import gradtape as tf
    >>> tf.config.experimental.enable_op_determinism()
    """


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Sets what `tensor_float_32_execution_enabled` answers; the CPU always computes with all bits of float32.

    >>> import gradtape as tf
    >>> tf.config.experimental.enable_tensor_float_32_execution(True)
    """
    settings.tensor_float_32 = bool(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """Whether a GPU may compute float32 products with fewer bits.

    >>> import gradtape as tf
    >>> tf.config.experimental.tensor_float_32_execution_enabled()
    True
    """
    return settings.tensor_float_32


def set_memory_growth(device: Any, enable: bool) -> None:
    """Lets a GPU take memory as it needs it; for the CPU, which always does, this is an error as in TensorFlow.

    >>> import gradtape as tf
    >>> for gpu in tf.config.list_physical_devices("GPU"):
    ...     tf.config.experimental.set_memory_growth(gpu, True)
    """
    if device not in _PHYSICAL:
        raise ValueError(f"set_memory_growth: there is no device {device!r}: the devices are {list(_PHYSICAL)}.")
    raise ValueError("set_memory_growth: only a GPU's memory can be set to grow; the CPU takes memory as it needs it.")


def get_inter_op_parallelism_threads() -> int:
    """The number that `set_inter_op_parallelism_threads` was given; 0 means that the system chooses.

    >>> import gradtape as tf
    >>> tf.config.threading.get_inter_op_parallelism_threads()
    0
    """
    return settings.inter_op_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Keeps a number of threads for ops that run side by side; eager code runs one op after the other.

    >>> import gradtape as tf
    >>> tf.config.threading.set_inter_op_parallelism_threads(0)
    """
    settings.inter_op_threads = int(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """The number that `set_intra_op_parallelism_threads` was given; 0 means that the system chooses.

    >>> import gradtape as tf
    >>> tf.config.threading.get_intra_op_parallelism_threads()
    0
    """
    return settings.intra_op_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Keeps a number of threads for one op; NumPy's BLAS reads its own from the environment, such as OMP_NUM_THREADS.

    >>> import gradtape as tf
    >>> tf.config.threading.set_intra_op_parallelism_threads(0)
    """
    settings.intra_op_threads = int(num_threads)
