"""`tf.config.experimental`: devices under their older names, determinism and precision."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.config import (
    enable_op_determinism,
    enable_tensor_float_32_execution,
    get_memory_growth,
    get_memory_info,
    get_memory_usage,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    reset_memory_stats,
    set_memory_growth,
    set_visible_devices,
    tensor_float_32_execution_enabled,
)
from gradtape.api.tensorflow.execution import (
    LogicalDeviceConfiguration as VirtualDeviceConfiguration,
)
from gradtape.api.tensorflow.execution import (
    disable_mlir_bridge,
    enable_mlir_bridge,
    get_device_details,
    get_device_policy,
    get_synchronous_execution,
    set_device_policy,
    set_synchronous_execution,
)
from gradtape.api.tensorflow.execution import (
    get_logical_device_configuration as get_virtual_device_configuration,
)
from gradtape.api.tensorflow.execution import (
    set_logical_device_configuration as set_virtual_device_configuration,
)

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "VirtualDeviceConfiguration", "disable_mlir_bridge", "enable_mlir_bridge",
    "enable_op_determinism", "enable_tensor_float_32_execution", "get_device_details",
    "get_device_policy", "get_memory_growth", "get_memory_info", "get_memory_usage",
    "get_synchronous_execution", "get_virtual_device_configuration", "get_visible_devices",
    "list_logical_devices", "list_physical_devices", "reset_memory_stats", "set_device_policy",
    "set_memory_growth", "set_synchronous_execution", "set_virtual_device_configuration",
    "set_visible_devices", "tensor_float_32_execution_enabled",
]  # fmt: skip
