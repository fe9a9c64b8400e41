"""`tf.autograph`: how Python's control flow is converted in a function."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.autograph import experimental
from gradtape.functions.autograph.requests import set_verbosity, to_code, to_graph, trace

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]
