"""`tf.types`: the types of functions and of what can be made a tensor."""

from gradtape.types import experimental

__all__ = ["experimental"]
