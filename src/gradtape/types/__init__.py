"""`tf.types`: the types of functions and of what can be converted to a tensor."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.types import experimental

__all__ = ["experimental"]
