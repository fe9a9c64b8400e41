"""`tf.autograph.experimental`: functions that must not be converted, and options for loops."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.functions.autograph.marks import Feature, do_not_convert, set_loop_options

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["Feature", "do_not_convert", "set_loop_options"]
