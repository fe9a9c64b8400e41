"""`tf.profiler`: XLA's own profiler, for TensorBoard."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.profiler import experimental

__all__ = ["experimental"]
