"""`RaggedOperators`: Python's operators, as `RaggedTensor` inherits them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.core.late import imported_when_called
from gradtape.ops import arithmetic, operators

Method = Callable[..., Any]


def _operator(function: Method) -> Method:
    """A Python operator that is a function of tensors."""
    return lambda self, *others: function(self, *others)


def _both(function: Method) -> tuple[Method, Method]:
    """An operator, and the one for a RaggedTensor on its right."""
    return _operator(function), lambda self, other: function(other, self)


class RaggedOperators:
    """The operators of a RaggedTensor: functions of tensors, element by element."""

    __add__, __radd__ = _both(operators.add)
    __sub__, __rsub__ = _both(operators.subtract)
    __mul__, __rmul__ = _both(operators.multiply)
    __truediv__, __rtruediv__ = _both(operators.divide)
    __floordiv__, __rfloordiv__ = _both(operators.floordiv)
    __mod__, __rmod__ = _both(operators.floormod)
    __pow__, __rpow__ = _both(operators.power)
    __and__, __rand__ = _both(operators.and_)
    __or__, __ror__ = _both(operators.or_)
    __xor__, __rxor__ = _both(operators.xor)
    __invert__ = _operator(operators.invert)
    __neg__, __abs__ = _operator(arithmetic.negative), _operator(arithmetic.absolute)
    __lt__, __le__ = _operator(arithmetic.less), _operator(arithmetic.less_equal)
    __gt__, __ge__ = _operator(arithmetic.greater), _operator(arithmetic.greater_equal)
    __eq__ = imported_when_called("gradtape.ragged.elementwise", "equal")
    __ne__ = imported_when_called("gradtape.ragged.elementwise", "not_equal")

    def __hash__(self) -> int:
        raise TypeError("RaggedTensor is unhashable: use ragged.ref() as the key.")
