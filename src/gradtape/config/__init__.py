"""`tf.config`: devices, and settings of the whole process."""

from gradtape.api.config import (
    LogicalDevice,
    PhysicalDevice,
    functions_run_eagerly,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    run_functions_eagerly,
    set_soft_device_placement,
    set_visible_devices,
)
from gradtape.config import experimental, threading

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "experimental",
    "functions_run_eagerly",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "run_functions_eagerly",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]
