"""`tf.config`: devices, and settings of the whole process."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.config import (
    LogicalDevice,
    PhysicalDevice,
    disable_compile_cache,
    enable_compile_cache,
    functions_run_eagerly,
    get_programs_per_function,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    run_functions_eagerly,
    set_programs_per_function,
    set_soft_device_placement,
    set_visible_devices,
)
from gradtape.config import experimental, threading

__all__ = [
    "LogicalDevice", "PhysicalDevice", "disable_compile_cache", "enable_compile_cache",
    "experimental", "functions_run_eagerly", "get_programs_per_function",
    "get_soft_device_placement", "get_visible_devices", "list_logical_devices",
    "list_physical_devices", "run_functions_eagerly", "set_programs_per_function",
    "set_soft_device_placement", "set_visible_devices", "threading",
]  # fmt: skip
