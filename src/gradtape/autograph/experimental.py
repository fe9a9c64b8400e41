"""`tf.autograph.experimental`: functions that must not be converted, and options for loops."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.functions.autograph.marks import Feature, do_not_convert, set_loop_options

__all__ = ["Feature", "do_not_convert", "set_loop_options"]
