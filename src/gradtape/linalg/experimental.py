"""`tf.linalg.experimental`: iterative solvers."""

from gradtape.api.solvers import conjugate_gradient

__all__ = ["conjugate_gradient"]
