"""`tf.config.optimizer`: options of the compiler."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.execution import (
    get_experimental_options,
    get_jit,
    set_experimental_options,
    set_jit,
)

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]
