"""`tf.types.experimental`: types for annotations and for isinstance."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.function_types import (
    Callable,
    ConcreteFunction,
    GenericFunction,
    TensorLike,
)
from gradtape.api.tensorflow.function_types import GenericFunction as PolymorphicFunction

__all__ = ["Callable", "ConcreteFunction", "GenericFunction", "PolymorphicFunction", "TensorLike"]
