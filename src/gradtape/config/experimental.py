"""`tf.config.experimental`: devices under their older names, determinism and precision."""

# Written by `make names`: the decorators at the definitions say what is public.

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

__all__ = [
    "enable_op_determinism", "enable_tensor_float_32_execution", "get_memory_growth",
    "get_memory_info", "get_memory_usage", "get_visible_devices", "list_logical_devices",
    "list_physical_devices", "reset_memory_stats", "set_memory_growth", "set_visible_devices",
    "tensor_float_32_execution_enabled",
]  # fmt: skip
