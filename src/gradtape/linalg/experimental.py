"""`tf.linalg.experimental`: iterative solvers."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.linalg.solvers import conjugate_gradient

__all__ = ["conjugate_gradient"]
