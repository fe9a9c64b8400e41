"""`tf.types.experimental`: what `tf.function` and `get_concrete_function` return, and what can be
converted to a tensor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.functions import concrete_function, function, open_function
from gradtape.published import published

TensorLike = (
    Tensor
    | Variable
    | int
    | float
    | bool
    | str
    | bytes
    | complex
    | tuple  # type: ignore[type-arg]
    | list  # type: ignore[type-arg]
    | np.ndarray
    | np.generic
)
"""What can be made a tensor: tensors, Variables, numbers, strings, arrays,
and sequences of them.
"""


@published("types.experimental.Callable")
class Callable(ABC):
    """What is called like a function and runs programs.

    >>> import gradtape as tf
    >>> isinstance(tf.function(lambda x: x), tf.types.experimental.Callable)
    True
    """

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a program for these arguments."""


@published("types.experimental.GenericFunction", "types.experimental.PolymorphicFunction")
class GenericFunction(Callable):
    """What `tf.function` gives: a function that is traced for each kind of arguments.

    >>> import gradtape as tf
    >>> (
    ...     isinstance(tf.function(lambda x: x), tf.types.experimental.GenericFunction),
    ...     isinstance(len, tf.types.experimental.GenericFunction),
    ... )
    (True, False)
    """


@published("types.experimental.ConcreteFunction")
class ConcreteFunction(Callable):
    """What `get_concrete_function` gives: a function that was traced for arguments of one kind.

    >>> import gradtape as tf
    >>> program = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([None]))
    >>> isinstance(program, tf.types.experimental.ConcreteFunction)
    True
    """


GenericFunction.register(function.Function)
ConcreteFunction.register(concrete_function.ConcreteFunction)
ConcreteFunction.register(open_function.OpenFunction)

PUBLISHED = {
    "types.experimental.TensorLike": TensorLike,
}
