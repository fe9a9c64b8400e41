"""`tf.linalg.experimental`: iterative solvers."""

from gradtape.api.tensorflow.linalg.solvers import conjugate_gradient

__all__ = ["conjugate_gradient"]
