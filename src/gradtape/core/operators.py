"""`TensorOperators`: Python's operators and indexing, as `Tensor` and `Variable` inherit them.

What an operator does is defined in `ops.operators`, which core may not import. An operator that is
a single op takes on that op's generated code at its first call; the others call what the ops layer
has put into `needed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape.core.array_methods import ArrayMethods
from gradtape.core.late import written_when_called
from gradtape.core.needed_ops import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradtape.core.tensor import Tensor


def _op(name: str) -> Any:
    """An operator that is exactly the op `name`."""
    return written_when_called(
        name, lambda function, namespace: needed.write_operator(name, function, namespace)
    )


# Tensor and Variable say that they are unhashable.
class TensorOperators(ArrayMethods):  # noqa: PLW1641
    """The operators that `Tensor` and `Variable` share."""

    __slots__ = ()
    __array_priority__ = 100  # so that `ndarray + tensor` asks the tensor
    # Libraries whose objects stand for tensors give them these methods.
    OVERLOADABLE_OPERATORS = frozenset(
        f"__{name}__"
        for name in [
            "abs",
            "add",
            "and",
            "eq",
            "floordiv",
            "ge",
            "getitem",
            "gt",
            "invert",
            "le",
            "lt",
            "matmul",
            "mod",
            "mul",
            "ne",
            "neg",
            "or",
            "pow",
            "radd",
            "rand",
            "rfloordiv",
            "rmatmul",
            "rmod",
            "rmul",
            "ror",
            "rpow",
            "rsub",
            "rtruediv",
            "rxor",
            "sub",
            "truediv",
            "xor",
        ]
    )

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
    else:
        __add__ = _op("add")
        __sub__ = _op("subtract")
        __mul__ = _op("multiply")
        __floordiv__ = _op("floordiv")
        __mod__ = _op("floormod")
        __pow__ = _op("pow")
        __lt__ = _op("less")
        __le__ = _op("less_equal")
        __gt__ = _op("greater")
        __ge__ = _op("greater_equal")
        __neg__ = _op("negative")
        __pos__ = _op("identity")
        __abs__ = _op("abs")

    def __radd__(self, other: Any) -> Tensor:
        return needed.operators.add(other, self)

    def __rsub__(self, other: Any) -> Tensor:
        return needed.operators.subtract(other, self)

    def __rmul__(self, other: Any) -> Tensor:
        return needed.operators.multiply(other, self)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return needed.operators.floordiv(other, self)

    def __rmod__(self, other: Any) -> Tensor:
        return needed.operators.floormod(other, self)

    def __rpow__(self, other: Any) -> Tensor:
        return needed.operators.power(other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return needed.operators.divide(self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return needed.operators.divide(other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return needed.operators.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return needed.operators.matmul(other, self)

    def __and__(self, other: Any) -> Tensor:
        return needed.operators.and_(self, other)

    def __rand__(self, other: Any) -> Tensor:
        return needed.operators.and_(other, self)

    def __or__(self, other: Any) -> Tensor:
        return needed.operators.or_(self, other)

    def __ror__(self, other: Any) -> Tensor:
        return needed.operators.or_(other, self)

    def __xor__(self, other: Any) -> Tensor:
        return needed.operators.xor(self, other)

    def __rxor__(self, other: Any) -> Tensor:
        return needed.operators.xor(other, self)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]  # elementwise
        return needed.operators.equal(self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return needed.operators.not_equal(self, other)

    def __invert__(self) -> Tensor:
        return needed.operators.invert(self)

    def __round__(self, ndigits: int | None = None) -> Tensor:
        return needed.operators.rounded(self, ndigits)

    def __getitem__(self, key: Any) -> Tensor:
        return needed.operators.index(self, key)

    def __iter__(self) -> Iterator[Tensor]:
        return needed.operators.iterate(self)

    def __setitem__(self, key: Any, value: Any = None) -> None:
        raise TypeError(
            f"A {type(self).__name__} does not support item assignment: write x = "
            "gradtape.where(mask, value, x) or "
            "x = gradtape.tensor_scatter_nd_update(x, indices, values), or v[key].assign(value) "
            "for a Variable."
        )

    __delitem__ = __setitem__
