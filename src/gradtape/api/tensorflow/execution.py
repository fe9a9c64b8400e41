"""`tf.config`, continued: how devices are divided, and options that a runtime of its own has.

gradtape has no such runtime: XLA compiles, and NumPy runs eager code. An option that changes no
result is kept and given back; one that would have to do something is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gradtape.api.tensorflow.config import PhysicalDevice, list_physical_devices
from gradtape.core.messages import first_times, log_warning
from gradtape.engines.xla import devices as xla_devices
from gradtape.published import published

_HOST = "/physical_device:CPU:0"
_POLICIES = ("explicit", "warn", "silent", "silent_for_int32")
_OPTIONS = frozenset((
    "arithmetic_optimization", "auto_mixed_precision", "auto_mixed_precision_cpu",
    "auto_mixed_precision_mkl", "auto_mixed_precision_onednn_bfloat16", "auto_parallel",
    "common_subgraph_elimination", "constant_folding", "debug_stripper", "dependency_optimization",
    "disable_meta_optimizer", "disable_model_pruning", "function_optimization",
    "implementation_selector", "layout_optimizer", "loop_optimization", "min_graph_nodes",
    "pin_to_host_optimization", "remapping", "scoped_allocator_optimization",
    "shape_optimization", "use_plugin_optimizers",
))  # fmt: skip


@published("config.LogicalDeviceConfiguration", "config.experimental.VirtualDeviceConfiguration")
class LogicalDeviceConfiguration(NamedTuple):
    """A part of a device: how much of its memory, in MB, it may take.

    >>> import gradtape as tf
    >>> tf.config.LogicalDeviceConfiguration(memory_limit=1024).memory_limit
    1024
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class _Kept:
    """What was set, to be given back."""

    def __init__(self) -> None:
        self.devices: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self.options: dict[str, Any] = {
            "disable_model_pruning": False,
            "disable_meta_optimizer": False,
        }
        self.jit = ""
        self.policy = "silent"


_kept = _Kept()


def _known(device: Any, caller: str) -> PhysicalDevice:
    known = list_physical_devices()
    if device not in known:
        raise ValueError(f"{caller}: there is no device {device!r}: the devices are {known}.")
    return device


@published(
    "config.get_logical_device_configuration",
    "config.experimental.get_virtual_device_configuration",
)
def get_logical_device_configuration(
    device: PhysicalDevice,
) -> list[LogicalDeviceConfiguration] | None:
    """What `set_logical_device_configuration` was given for a device; None if nothing was.

    >>> import gradtape as tf
    >>> tf.config.get_logical_device_configuration(tf.config.list_physical_devices("CPU")[0])
    """
    return _kept.devices.get(_known(device, "get_logical_device_configuration"))


@published(
    "config.set_logical_device_configuration",
    "config.experimental.set_virtual_device_configuration",
)
def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration] | None
) -> None:
    """Makes several devices of the CPU, to try programs for many, or sets which part of a GPU's
    memory is used.

    The CPU can become several devices until XLA has made the first array or program. JAX decides
    how much of a GPU's memory it takes when it starts, so that the limit takes effect only in an
    environment with XLA_PYTHON_CLIENT_MEM_FRACTION.

    >>> import gradtape as tf
    >>> cpu = tf.config.list_physical_devices("CPU")[0]
    >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()])
    >>> len(tf.config.get_logical_device_configuration(cpu))
    1
    >>> tf.config.set_logical_device_configuration(cpu, None)
    """
    caller = "set_logical_device_configuration"
    device = _known(device, caller)
    if logical_devices is None:
        _kept.devices.pop(device, None)
        return
    parts = list(logical_devices)
    for part in parts:
        if not isinstance(part, LogicalDeviceConfiguration):
            raise TypeError(
                f"{caller}: logical_devices must be LogicalDeviceConfigurations, got {part!r}."
            )
    if not parts or (len(parts) > 1 and device.name != _HOST):
        raise ValueError(
            f"{caller}: {device.name} cannot become {len(parts)} devices: only the CPU can become "
            "several."
        )
    limit = parts[0].memory_limit
    if limit is not None and device.device_type == "CPU":
        raise ValueError(f"{caller}: the memory of a CPU cannot be limited, got {limit}.")
    if len(parts) > 1 and not xla_devices.divide_host(len(parts)):
        raise RuntimeError(
            f"{caller}: the CPU cannot become {len(parts)} devices any more, since XLA has begun "
            "to use it: call this before the first tf.function, or set "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={len(parts)} in the environment "
            "before the program starts."
        )
    if limit is not None and first_times("memory limit", limit=1) is not None:
        log_warning(
            "set_logical_device_configuration: JAX has already chosen how much memory of %s it "
            "takes: set XLA_PYTHON_CLIENT_MEM_FRACTION in the environment before the program "
            "starts.",
            device.name,
        )
    _kept.devices[device] = parts


@published("config.experimental.get_device_details")
def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """What is known of a device: of an accelerator its `device_name`, of the CPU nothing.

    >>> import gradtape as tf
    >>> tf.config.experimental.get_device_details(tf.config.list_physical_devices("CPU")[0])
    {}
    """
    name = _known(device, "get_device_details").name.removeprefix("/physical_device:")
    if name.startswith("CPU:"):
        return {}
    found = xla_devices.devices()[name]
    details: dict[str, Any] = {"device_name": found.device_kind}
    capability = str(getattr(found, "compute_capability", "")).split(".")
    if len(capability) == 2:
        details["compute_capability"] = (int(capability[0]), int(capability[1]))
    return details


@published("config.experimental.get_device_policy")
def get_device_policy() -> str:
    """What `set_device_policy` was given, "silent" if nothing was.

    >>> import gradtape as tf
    >>> tf.config.experimental.get_device_policy()
    'silent'
    """
    return _kept.policy


@published("config.experimental.set_device_policy")
def set_device_policy(device_policy: str | None) -> None:
    """Keeps how ops should treat tensors of other devices: here they are always copied silently.

    >>> import gradtape as tf
    >>> tf.config.experimental.set_device_policy("silent")
    """
    if device_policy not in (*_POLICIES, None):
        raise ValueError(
            f"set_device_policy: device_policy must be one of {', '.join(_POLICIES)} or None, got "
            f"{device_policy!r}."
        )
    _kept.policy = device_policy or "silent"


@published("config.experimental.get_synchronous_execution")
def get_synchronous_execution() -> bool:
    """Whether an op has finished when its call returns: eager code's always has.

    >>> import gradtape as tf
    >>> tf.config.experimental.get_synchronous_execution()
    True
    """
    return True


@published("config.experimental.set_synchronous_execution")
def set_synchronous_execution(enable: bool | None) -> None:
    """Does nothing for True and None; False is refused, since NumPy runs one op after another.

    >>> import gradtape as tf
    >>> tf.config.experimental.set_synchronous_execution(True)
    """
    if enable is not None and not enable:
        raise ValueError(
            "set_synchronous_execution: eager code always runs one op after another: use "
            "tf.function for work that XLA does on its own threads."
        )


@published("config.experimental.enable_mlir_bridge")
def enable_mlir_bridge() -> None:
    """Does nothing: JAX always hands programs to XLA in this way.

    >>> import gradtape as tf
    >>> tf.config.experimental.enable_mlir_bridge()
    """


@published("config.experimental.disable_mlir_bridge")
def disable_mlir_bridge() -> None:
    """Does nothing: there is one way from a function to XLA.

    >>> import gradtape as tf
    >>> tf.config.experimental.disable_mlir_bridge()
    """


@published("config.optimizer.get_experimental_options")
def get_experimental_options() -> dict[str, Any]:
    """What `set_experimental_options` was given.

    >>> import gradtape as tf
    >>> tf.config.optimizer.get_experimental_options()["disable_meta_optimizer"]
    False
    """
    return dict(_kept.options)


@published("config.optimizer.set_experimental_options")
def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Keeps options for TensorFlow's optimizer of graphs; XLA, which does this work here, has its
    own in the environment variable XLA_FLAGS.

    >>> import gradtape as tf
    >>> tf.config.optimizer.set_experimental_options({"constant_folding": True})
    >>> tf.config.optimizer.get_experimental_options()["constant_folding"]
    True
    """
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise ValueError(
            f"set_experimental_options: there is no option {unknown[0]!r}: the options are "
            f"{', '.join(sorted(_OPTIONS))}."
        )
    _kept.options.update(options)


@published("config.optimizer.get_jit")
def get_jit() -> str:
    """What `set_jit` was given: "autoclustering", or "" if it is off.

    >>> import gradtape as tf
    >>> tf.config.optimizer.get_jit()
    ''
    """
    return _kept.jit


@published("config.optimizer.set_jit")
def set_jit(enabled: bool | str) -> None:
    """Keeps whether functions should be compiled by XLA, which they always are.

    >>> import gradtape as tf
    >>> tf.config.optimizer.set_jit(True)
    >>> tf.config.optimizer.get_jit()
    'autoclustering'
    >>> tf.config.optimizer.set_jit(False)
    """
    if enabled not in (True, False, "autoclustering"):
        raise ValueError(
            f'set_jit: enabled must be True, False or "autoclustering", got {enabled!r}.'
        )
    _kept.jit = "autoclustering" if enabled else ""
