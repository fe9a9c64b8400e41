"""`tf.types.experimental`: types for annotations and for isinstance."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.function_types import (
    Callable,
    ConcreteFunction,
    GenericFunction,
    TensorLike,
)
from gradtape.api.tensorflow.function_types import GenericFunction as PolymorphicFunction
from gradtape.types.experimental import distributed

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "Callable", "ConcreteFunction", "GenericFunction", "PolymorphicFunction", "TensorLike",
    "distributed",
]  # fmt: skip
