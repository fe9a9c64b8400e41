"""`tf.nn.experimental`: dropout as a pure function of a seed, or of given random numbers."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.nn.dropout import general_dropout, stateless_dropout

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["general_dropout", "stateless_dropout"]
