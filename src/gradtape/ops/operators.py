"""What Python's operators and indexing do with Tensors and Variables; the methods are in
`core.operators`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.convert import as_tensor, operand
from gradtape.core.batching import BatchedTensor
from gradtape.core.endings import End, Ending, ending, note_endings
from gradtape.core.location import caller, locate
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import XlaTensor, is_traced
from gradtape.engines.engine import XLA, engine_of
from gradtape.errors import InvalidArgumentError, invalid_argument
from gradtape.ops import arithmetic as a
from gradtape.ops import elementary, matrix
from gradtape.ops.broadcasting import cast
from gradtape.ops.indexing import take, take_at
from gradtape.ops.picking import pick
from gradtape.ops.registry import registry
from gradtape.ops.shaping import getitem, reshape
from gradtape.ops.written import write_call


def true_divide(x: Any, y: Any) -> Any:
    """Division with a float result: integers of up to 16 bits become float32,
    longer ones float64.
    """
    x, y = operand(x), operand(y)
    if isinstance(x, Tensor) and x.array.dtype.kind in "biu" and _is_integral(y):
        x = _as_float(x)
    elif isinstance(y, Tensor) and y.array.dtype.kind in "biu" and _is_integral(x):
        y = _as_float(y)
    return a.divide(x, y)


def _is_integral(value: Any) -> bool:
    dtype = value.array.dtype if isinstance(value, Tensor) else np.asarray(value).dtype
    return dtype.kind in "biu"


def _as_float(x: Tensor) -> Tensor:
    small = x.array.dtype.itemsize <= 2
    return cast(x, dtype=(dtypes.float32 if small else dtypes.float64).numpy)


def divide(x: Any, y: Any) -> Any:
    """The operator: straight to the op unless integers are involved."""
    if type(x) is Tensor and x.array.dtype.kind == "f":
        return a.divide(x, y)
    return true_divide(x, y)


def matmul(x: Any, y: Any) -> Any:
    """The operator: straight to the op unless a vector is involved,
    which NumPy takes where TensorFlow does not.
    """
    known = type(y)
    if (
        type(x) is Tensor
        and (known is Tensor or known is Variable)
        and x.array.ndim > 1 < y.array.ndim
    ):
        return matrix.matmul(x, y)
    if getattr(y, "__array_ufunc__", y) is None:  # it takes such products over, from NumPy too
        return NotImplemented
    x, y = operand(x), operand(y)
    left, right = np.ndim(_array(x)), np.ndim(_array(y))
    if left != 1 != right:
        return matrix.matmul(x, y)
    product = matrix.matmul(
        _with_axis(x, 0) if left == 1 else x, _with_axis(y, 1) if right == 1 else y
    )
    shape = product.array.shape
    rows, columns = shape[-2:-1] if left != 1 else (), shape[-1:] if right != 1 else ()
    return reshape(product, shape=(*shape[:-2], *rows, *columns))


def _with_axis(vector: Any, axis: int) -> Any:
    """A vector as a matrix of one row (axis 0) or of one column (axis 1)."""
    if not isinstance(vector, Tensor):
        return np.expand_dims(np.asarray(vector), axis)
    return reshape(
        vector, shape=(1, *vector.array.shape) if axis == 0 else (*vector.array.shape, 1)
    )


def _logical_or_bitwise(
    logical: Callable[..., Any], bitwise: Callable[..., Any]
) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        x = operand(x)
        first = x if isinstance(x, Tensor) else operand(y)
        return (logical if first.array.dtype.kind == "b" else bitwise)(x, y)

    return call


def invert(x: Any) -> Any:
    x = operand(x)
    return (a.logical_not if x.array.dtype.kind == "b" else a.bitwise_not)(x)


def _equal(op: Callable[..., Any], answer_if_unlike: bool) -> Callable[..., Any]:
    """Elementwise; shapes that do not fit, and things that are no numbers, are simply unequal."""

    def call(x: Any, y: Any) -> Any:
        if y is None:
            return answer_if_unlike
        if hasattr(y, "__gradtape_watched__"):  # a composite compares itself
            return NotImplemented
        try:
            np.broadcast_shapes(np.shape(_array(x)), np.shape(_array(y)))
        except ValueError:
            return answer_if_unlike
        try:
            return op(x, y)
        except (TypeError, ValueError):
            return NotImplemented

    return call


def _array(value: Any) -> Any:
    return value.array if isinstance(value, (Tensor, Variable)) else value


def rounded(x: Any, ndigits: int | None = None) -> Any:
    if ndigits not in (None, 0):
        raise TypeError("round() of a tensor takes no ndigits: it rounds to integers only.")
    return a.round_half_even(x)


def index(x: Tensor, key: Any) -> Tensor:
    """`x[key]` with TensorFlow's rules: integers, slices, `...`, new axes,
    scalar integer tensors, or one boolean mask.

    Where TensorFlow takes nothing else, arrays of integers and of truth values index as in NumPy.
    """
    x = operand(x)
    if isinstance(key, (Tensor, Variable, np.ndarray)) and _array(key).dtype.kind == "b":
        if is_traced(key):
            raise _not_traceable("a boolean mask", "gradtape.where(mask, x, 0)")
        found = _masked(x, np.asarray(_array(key)))
        return _chosen_by(found, [operand(key)]) if isinstance(key, (Tensor, Variable)) else found
    if _holds_arrays(key):
        return pick(x, _parts_with_arrays(key))
    chosen: list[Any] = []
    try:
        found = getitem(x, key=_parts(key, chosen))
        return _chosen_by(found, chosen) if chosen else found
    except IndexError as error:
        raise invalid_argument(f"getitem: {error}") from error
    except InvalidArgumentError as error:
        if not isinstance(key, list):
            raise
        hint = (
            "a list holds one index for each axis, as in TensorFlow; write "
            "x[np.array([...])] to "
            "pick elements"
        )
        raise invalid_argument(f"{error}: {hint}.") from error


def _chosen_by(found: Tensor, indices: Sequence[Any]) -> Tensor:
    """What was found at indices that are tensors, of which no gradient passes back to those."""
    nodes = [getattr(index, "node", None) for index in indices]
    if any(nodes):
        if found.node is None:
            found.node = ending("getitem", End.NO_DERIVATIVE, nodes)
        elif isinstance(found.node, Ending):
            found.node = ending("getitem", End.NO_DERIVATIVE, [*nodes, found.node])
        else:
            note_endings("getitem", found.node, nodes)
    return found


class MaskShapeError(ValueError, IndexError):
    """A boolean mask that does not fit what it indexes: a ValueError in TensorFlow, an IndexError
    in NumPy and the Array API.
    """


def _not_traceable(what: str, instead: str) -> BeyondXlaError:
    return BeyondXlaError(
        f"getitem at {locate(*caller())}: {what} that is known only when a gradtape.function runs "
        f"results in a tensor of unknown shape, which XLA cannot compile: write {instead}, or "
        "index outside the function."
    )


def _masked(x: Tensor, mask: Any) -> Tensor:
    """What a mask over the first axes picks; a mask may have no elements along an axis,
    and then it picks nothing.
    """
    masked, rest = x.array.shape[: mask.ndim], x.array.shape[mask.ndim :]
    if mask.ndim > x.array.ndim or any(
        m not in (size, 0) for m, size in zip(mask.shape, masked, strict=True)
    ):
        raise MaskShapeError(
            f"getitem: a boolean mask of shape {mask.shape} does not fit a tensor of shape "
            f"{x.array.shape}."
        )
    return take(reshape(x, shape=(math.prod(masked), *rest)), np.flatnonzero(mask), axis=0)


def _holds_arrays(key: Any) -> bool:
    """Whether an index array is in the key, or a number that is not known yet;
    a list or a tuple is one only beside other parts.
    """
    if isinstance(key, tuple):
        return any(isinstance(part, (list, tuple)) or _picks(part) for part in key)
    return _picks(key)


def _picks(part: Any) -> bool:
    if not isinstance(part, (Tensor, Variable, np.ndarray)):
        return False
    return part.ndim > 0 or engine_of(_array(operand(part))) is XLA


def _parts_with_arrays(key: Any) -> tuple[Any, ...]:
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(
        [
            operand(list(part) if isinstance(part, tuple) else part)
            if isinstance(part, (list, tuple)) or _picks(part)
            else _index_part(part)
            for part in parts
        ]
    )


def _parts(key: Any, chosen: list[Any] | None = None) -> tuple[Any, ...]:
    """An index as a tuple; a Python list is one index for each axis, as in TensorFlow. Those that
    are not plain numbers are added to `chosen`.
    """
    parts = key if isinstance(key, (tuple, list)) else (key,)
    return tuple([_index_part(part, chosen) for part in parts])


def _index_part(part: Any, chosen: list[Any] | None = None) -> Any:
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        bounds = part.start, part.stop, part.step
        return slice(*[_bound(bound, chosen) for bound in bounds])
    if isinstance(part, bool) or (
        isinstance(part, (Tensor, Variable)) and part.array.dtype.kind == "b"
    ):
        raise TypeError(
            f"Cannot index with {part!r} among other indices: use gradtape.boolean_mask."
        )
    return _integer(part, chosen)


def _bound(value: Any, chosen: list[Any] | None = None) -> int | None:
    if is_traced(value):
        raise _not_traceable(
            "a slice with a bound", "gradtape.slice(x, begin, size) with a known size"
        )
    return None if value is None else _integer(value, chosen)


def _integer(value: Any, chosen: list[Any] | None = None) -> int:
    """A Python integer from what stands for one."""
    if isinstance(value, int):
        return value
    if chosen is not None:
        chosen.append(value)
    if isinstance(value, (Tensor, Variable, np.ndarray, np.generic)):
        array = _array(value)  # NumPy's, or one on a device
        if array.ndim == 0 and array.dtype.kind in "iu":
            return int(array)
    raise TypeError(
        "Only integers, slices, ellipsis, gradtape.newaxis, scalar integer tensors and a boolean "
        "mask are valid indices, "
        f"got {value!r}; use gradtape.gather to pick several elements."
    )


class _AssignablePart:
    """What a part of a Variable has besides being a Tensor."""

    __slots__ = ()
    _key: Any
    _variable: Variable

    def assign(self, value: Any, name: str | None = None) -> Variable:
        """Writes `value` into that part of the Variable."""
        variable = self._variable
        array = variable._compatible(value, "assign")
        try:
            variable.write_at(self._key, array, given=value)
        except (ValueError, IndexError) as error:
            raise invalid_argument(f"assign: {error}") from error
        return variable


class VariableSlice(_AssignablePart, Tensor):
    """Part of a Variable, as indexing gives it: a Tensor that can be assigned to."""

    __slots__ = ("_key", "_variable")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self.array,)


class XlaVariableSlice(_AssignablePart, XlaTensor):
    """The same in a program that is being traced, or on an accelerator."""

    __slots__ = ("_key", "_variable")


def variable_index(variable: Variable, key: Any) -> Tensor:
    """Part of a Variable; inside `vmap` a Tensor only, if each example has its own part."""
    found = index(variable.tensor(), key)
    if isinstance(found, BatchedTensor):
        return found
    kind = XlaVariableSlice if isinstance(found, XlaTensor) else VariableSlice
    part = kind(found.array, found.node)
    part._variable = variable
    part._key = (
        tuple([_array(p) for p in _parts_with_arrays(key)]) if _holds_arrays(key) else _parts(key)
    )
    return part


def sparse_read(variable: Variable, indices: Any) -> Tensor:
    """The rows of a Variable at `indices`."""
    return take(variable, as_tensor(indices, argument="sparse_read: indices"), axis=0)


def gather_nd(variable: Variable, indices: Any) -> Tensor:
    """The elements or slices of a Variable at the coordinates in the last axis of `indices`."""
    return take_at(variable, as_tensor(indices, argument="gather_nd: indices"))


def iterate(x: Any) -> Iterator[Tensor]:
    x = operand(x)
    if not x.array.ndim:
        raise TypeError("A scalar tensor cannot be iterated over.")
    return (getitem(x, key=(i,)) for i in range(len(x.array)))


add, subtract, multiply, floordiv, floormod, power = (
    a.add,
    a.subtract,
    a.multiply,
    a.floordiv,
    a.floormod,
    elementary.power,
)
and_ = _logical_or_bitwise(a.logical_and, a.bitwise_and)
or_ = _logical_or_bitwise(a.logical_or, a.bitwise_or)
xor = _logical_or_bitwise(a.logical_xor, a.bitwise_xor)
equal, not_equal = _equal(a.equal, False), _equal(a.not_equal, True)


def _write_operator(name: str, function: Any, namespace: dict[str, Any]) -> None:
    write_call(registry[name], function, namespace, depth=1)  # its caller is the user


needed.operators = sys.modules[__name__]
needed.write_operator = _write_operator
