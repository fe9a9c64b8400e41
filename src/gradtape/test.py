"""`tf.test`: checking derivatives, and which devices this machine has."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.debugging.gradients import (
    compute_gradient,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_built_with_xla,
    is_gpu_available,
)
from gradtape.api.tensorflow.test_case import TestCase, main

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "TestCase", "compute_gradient", "gpu_device_name", "is_built_with_cuda",
    "is_built_with_gpu_support", "is_built_with_rocm", "is_built_with_xla", "is_gpu_available",
    "main",
]  # fmt: skip
