"""The methods of NumPy's ufuncs on Tensors: `np.add.reduce`, `np.multiply.accumulate`,
`np.subtract.outer` and `reduceat`.

Those of sums, products and the like use gradtape's reductions; any other binary ufunc runs over the
slices of an axis, from the first to the last, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.api.numpy import reductions
from gradtape.api.numpy.operands import (
    axes_of,
    axis_of,
    converted,
    dtype_of,
    into,
    refusal,
    tensor_of,
    tensors_of,
)
from gradtape.api.numpy.ufunc import floating
from gradtape.api.tensorflow.arguments import integers
from gradtape.core.tensor import Tensor
from gradtape.ops import running, shaping
from gradtape.ops.reductions import reduce_logsumexp

Binary = Callable[[Any, Any], Any]

_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: reductions.sum,
    np.multiply: reductions.prod,
    np.maximum: reductions.max,
    np.minimum: reductions.min,
    np.logical_and: reductions.all,
    np.logical_or: reductions.any,
}
_RUNNING: dict[Any, Callable[..., Any]] = {
    np.add: reductions.cumsum,
    np.multiply: reductions.cumprod,
}
_NOT_GIVEN = object()
_LOGICAL = frozenset((np.logical_and, np.logical_or))


def reduce(
    called: Any,
    function: Binary,
    array: Any,
    *,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = _NOT_GIVEN,
    where: Any = True,
) -> Any:
    """`called.reduce(array)`: the function of the elements along an axis,
    or along several if their order is nothing to it.

    It begins with `initial`, by default what leaves other numbers as they are; with the first
    element where that is None.
    """
    name = f"{called.__name__}.reduce"
    x = tensor_of(array, name, "array")
    identity = called.identity if initial is _NOT_GIVEN else initial
    initial = None if initial is _NOT_GIVEN else initial
    if called is np.logaddexp and initial is None and where is True:
        x = converted(floating(x, name), dtype_of(dtype, x.array.dtype))
        return into(
            out,
            reduce_logsumexp(x, axis=axes_of(axis, x.array.ndim, name), keepdims=bool(keepdims)),
            name,
        )
    known = _REDUCTIONS.get(called)
    if known is not None and (initial is None or called not in _LOGICAL):
        options = {
            "initial": initial,
            "where": where,
            "dtype": dtype if called in (np.add, np.multiply) else None,
        }
        given = {
            key: value for key, value in options.items() if value is not None and value is not True
        }
        return known(
            converted(x, dtype_of(dtype, x.array.dtype)), axis, out=out, keepdims=keepdims, **given
        )
    if where is not True:
        raise refusal(
            name, "where", f"write {called.__name__}.reduce(np.where(condition, x, neutral))"
        )
    return into(
        out,
        _folded(
            called, function, converted(x, dtype_of(dtype, x.array.dtype)), axis, keepdims, identity
        ),
        name,
    )


def _folded(called: Any, function: Binary, x: Tensor, axis: Any, keepdims: bool, start: Any) -> Any:
    name, rank = f"{called.__name__}.reduce", x.array.ndim
    axes = tuple(range(rank)) if axis is None else axes_of(axis, rank, name) or ()
    if len(axes) > 1:
        raise ValueError(
            f"{name}: the order of the elements matters, so only one axis can be reduced, got "
            f"{list(axes)}."
        )
    if not axes:
        return x
    (along,) = axes
    slices = _slices(x, along)
    if start is not None:
        shape = x.array.shape[:along] + x.array.shape[along + 1 :]
        first = np.asarray(start, x.array.dtype if isinstance(start, int) else None)
        slices = [
            tensors_of([x, np.broadcast_to(first, shape)], name, ("array", "initial"))[1],
            *slices,
        ]
    if not slices:
        raise ValueError(f"{name}: axis {along} is empty, and {called.__name__} has no identity.")
    result = slices[0] if len(slices) > 1 else _as_result(function, slices[0])
    for part in slices[1:]:
        result = function(result, part)
    kept = (*x.array.shape[:along], 1, *x.array.shape[along + 1 :])
    return shaping.reshape(result, shape=kept) if keepdims else result


def accumulate(
    called: Any, function: Binary, array: Any, *, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """`called.accumulate(array)`: the function of all elements up to each one, along an axis."""
    name = f"{called.__name__}.accumulate"
    known = _RUNNING.get(called)
    if known is not None:
        return known(array, axis, dtype, out)
    x = tensor_of(array, name, "array")
    x = converted(x, dtype_of(dtype, x.array.dtype))
    along = axis_of(axis, x.array.ndim, name)
    if called is np.logaddexp:
        return into(out, running.cumulative_logsumexp(floating(x, name), axis=along), name)
    parts = _slices(_as_result(function, x), along)
    for i in range(1, len(parts)):
        parts[i] = function(parts[i - 1], parts[i])
    return into(out, shaping.stack(*parts, axis=along) if parts else _as_result(function, x), name)


def _as_result(function: Binary, x: Tensor) -> Tensor:
    """What the function has not been called with, in the dtype of its results;
    a dtype that it does not take is refused.
    """
    nothing = Tensor(np.zeros(0, x.array.dtype))
    return converted(x, function(nothing, nothing).array.dtype)


def reduceat(
    called: Any,
    function: Binary,
    array: Any,
    indices: Any,
    *,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """`called.reduceat(array, indices)`: the reductions from each index to the next; of one element
    where the next is not greater.
    """
    name = f"{called.__name__}.reduceat"
    x = tensor_of(array, name, "array")
    along = axis_of(axis, x.array.ndim, name)
    count = x.array.shape[along]
    starts = integers(indices, f"{name}: indices")
    if any(not 0 <= start < count for start in starts):
        raise IndexError(f"{name}: indices must be from 0 to {count - 1}, got {list(starts)}.")
    parts = []
    if not starts:
        return into(
            out,
            _as_result(function, shaping.getitem(x, key=(*(slice(None),) * along, slice(0, 0)))),
            name,
        )
    for start, stop in zip(starts, (*starts[1:], count), strict=True):
        part = shaping.getitem(x, key=(*(slice(None),) * along, slice(start, max(stop, start + 1))))
        parts.append(
            reduce(called, function, part, axis=along, dtype=dtype, keepdims=True, initial=None)
        )
    return into(out, shaping.concat(*parts, axis=along), name)


def outer(called: Any, function: Binary, a: Any, b: Any, **keywords: Any) -> Any:
    """`called.outer(a, b)`: the function of every element of `a` with every element of `b`."""
    x, y = tensors_of([a, b], f"{called.__name__}.outer", ("A", "B"))
    columns = shaping.reshape(x, shape=(*x.array.shape, *(1,) * y.array.ndim))
    return getattr(function, "call", function)(columns, y, **keywords)


def _slices(x: Tensor, along: int) -> list[Any]:
    before = (slice(None),) * along
    return [shaping.getitem(x, key=(*before, i)) for i in range(x.array.shape[along])]


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "outer": outer,
}
