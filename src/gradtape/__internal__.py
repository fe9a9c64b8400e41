"""`tf.__internal__`: what libraries on top of TensorFlow use of its internals."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.core.composite_tensor import CompositeTensor
from gradtape.core.type_spec import BatchableTypeSpec

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["BatchableTypeSpec", "CompositeTensor"]
