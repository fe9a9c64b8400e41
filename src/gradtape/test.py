"""`tf.test`: checking derivatives, and which devices this machine has."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.debugging.gradients import (
    compute_gradient,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_built_with_xla,
    is_gpu_available,
)

__all__ = [
    "compute_gradient", "gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support",
    "is_built_with_rocm", "is_built_with_xla", "is_gpu_available",
]  # fmt: skip
