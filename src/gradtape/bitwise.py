"""`tf.bitwise`: the bits of integers."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.bitwise import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    right_shift,
)

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]
