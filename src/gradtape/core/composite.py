"""How functions meet a composite, a value made of tensors such as a RaggedTensor, where they expect
a tensor.

A composite's `__gradtape_tensor__` gives a `CompositeOperand`, which has a dtype but no array. Ops
hand their calls to it. Anything else asks it for a shape or for values, which raises a
`CompositeError`; a function that is decorated with `takes_composites` then calls the composite's
own function instead. For plain tensors this costs nothing but the decorator, a microsecond; a
function that training steps call asks `own_function` about its arguments instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NoReturn, TypeVar

from gradtape.core.batching import Abstract
from gradtape.core.messages import chain_of
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable

Function = TypeVar("Function", bound=Callable[..., Any])


class CompositeError(TypeError):
    """A composite is given where a function needs a tensor."""

    def __init__(self, message: str, instead_of: Callable[[Any], Any]) -> None:
        super().__init__(message)
        self.instead_of = instead_of  # of a function, the composite's own; None if it has none


class CompositeArray(Abstract):
    """Takes the place of the array: only its dtype is known."""

    __slots__ = ("_operand",)

    def __init__(self, operand: CompositeOperand, dtype: Any) -> None:
        self._operand = operand
        self.dtype = dtype

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return self._operand.refuse()

    @property
    def ndim(self) -> int:
        return self._operand.refuse()

    @property
    def size(self) -> int:
        return self._operand.refuse()

    def __len__(self) -> int:
        return self._operand.refuse()

    def __getattr__(self, name: str) -> Any:
        return self._operand.refuse()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operand.refuse()

    def __bool__(self) -> bool:
        return self._operand.refuse()


class CompositeOperand(Tensor):
    """A composite among the arguments of an op."""

    __slots__ = ("composite",)

    def __init__(self, composite: Any, dtype: Any) -> None:
        super().__init__(CompositeArray(self, dtype))
        self.composite = composite

    @abstractmethod
    def call(self, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The result of an op, one of whose arguments this is."""

    @abstractmethod
    def refuse(self) -> NoReturn:
        """Raises the CompositeError."""


_PLAIN = frozenset((Tensor, Variable))


def own_function(function: Any, *values: Any) -> Callable[..., Any] | None:
    """What stands in for `function` where one of these arguments is a composite with a function of
    its own; else None.
    """
    for value in values:
        if type(value) not in _PLAIN and hasattr(value, "__gradtape_instead_of__"):
            return value.__gradtape_instead_of__(function)
    return None


def itself(x: Any) -> Any:
    """What a function gives that returns its argument: the composite, if it was one."""
    return x.composite if isinstance(x, CompositeOperand) else x


def takes_composites(function: Function) -> Function:
    """A function for which composites may have one of their own with the same arguments."""

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except Exception as error:
            # A function may have wrapped it into an error of its own.
            found = [each for each in chain_of(error) if isinstance(each, CompositeError)]
            other = found[0].instead_of(call) if found else None
            if other is None:
                raise
        return other(*args, **keywords)

    return call  # type: ignore[return-value]
