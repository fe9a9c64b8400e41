"""`tf.autograph.experimental`: functions that are not to be converted, and options of loops."""

from gradtape.functions.autograph.marks import Feature, do_not_convert, set_loop_options

__all__ = ["Feature", "do_not_convert", "set_loop_options"]
