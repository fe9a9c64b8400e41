"""`tf.config`: devices, and settings of the whole process."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.config import (
    LogicalDevice,
    PhysicalDevice,
    disable_compile_cache,
    enable_compile_cache,
    functions_run_eagerly,
    get_compile_every_shape,
    get_programs_per_function,
    get_soft_device_placement,
    get_visible_devices,
    get_wait_for_compilation,
    list_logical_devices,
    list_physical_devices,
    run_functions_eagerly,
    set_compile_every_shape,
    set_programs_per_function,
    set_soft_device_placement,
    set_visible_devices,
    set_wait_for_compilation,
)
from gradtape.api.tensorflow.config import (
    functions_run_eagerly as experimental_functions_run_eagerly,
)
from gradtape.api.tensorflow.config import (
    run_functions_eagerly as experimental_run_functions_eagerly,
)
from gradtape.api.tensorflow.execution import (
    LogicalDeviceConfiguration,
    get_logical_device_configuration,
    set_logical_device_configuration,
)
from gradtape.config import experimental, optimizer, threading

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "LogicalDevice", "LogicalDeviceConfiguration", "PhysicalDevice", "disable_compile_cache",
    "enable_compile_cache", "experimental", "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly", "functions_run_eagerly", "get_compile_every_shape",
    "get_logical_device_configuration", "get_programs_per_function", "get_soft_device_placement",
    "get_visible_devices", "get_wait_for_compilation", "list_logical_devices",
    "list_physical_devices", "optimizer", "run_functions_eagerly", "set_compile_every_shape",
    "set_logical_device_configuration", "set_programs_per_function", "set_soft_device_placement",
    "set_visible_devices", "set_wait_for_compilation", "threading",
]  # fmt: skip
