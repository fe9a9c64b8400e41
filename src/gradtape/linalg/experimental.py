"""`tf.linalg.experimental`: iterative solvers."""

from gradtape.api.linalg.solvers import conjugate_gradient

__all__ = ["conjugate_gradient"]
