"""`tf.sysconfig`: what the library was built with."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.library import get_build_info, get_lib

__all__ = ["get_build_info", "get_lib"]
