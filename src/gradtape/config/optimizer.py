"""`tf.config.optimizer`: options of the compiler."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.execution import (
    get_experimental_options,
    get_jit,
    set_experimental_options,
    set_jit,
)

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]
