"""Differences, numerical gradients, integrals and interpolation: `numpy.diff`,
`gradient`, `trapezoid`, `interp`.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import (
    axes_of,
    axis_of,
    converted,
    float_dtype,
    inexact,
    promoted,
    real_dtype,
    tensor_of,
    tensors_of,
)
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike, has_axes
from gradtape.convert import common_dtype, is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.ops import (
    arithmetic,
    broadcasting,
    counting,
    indexing,
    ordering,
    reductions,
    selection,
    shaping,
)
from gradtape.published import published


@published("numpy.diff", "array_api.diff")
def diff(
    a: TensorLike, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Tensor:
    """Each element less the one before it along an axis, `n` times over; of truth values,
    whether they differ.

    >>> import gradtape as tf
    >>> tf.numpy.diff([1.0, 4.0, 9.0]).numpy()
    array([3., 5.], dtype=float32)
    """
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}.")
    x = tensor_of(a, "diff", "a")
    if not x.array.ndim:
        raise ValueError("diff: a must have at least one axis, got a scalar.")
    along = axis_of(axis, x.array.ndim, "diff")
    if n == 0:
        return x
    parts = [_one_wide(prepend, x, along, "prepend"), x, _one_wide(append, x, along, "append")]
    given = [part for part in parts if part is not None]
    found: Any = shaping.concat(*promoted(given), axis=along) if len(given) > 1 else x
    for _ in range(n):
        later, earlier = _part(found, along, 1, None), _part(found, along, None, -1)
        found = (
            arithmetic.not_equal(later, earlier)
            if found.array.dtype.kind == "b"
            else later - earlier
        )
    return found


def _one_wide(value: Any, x: Tensor, along: int, argument: str) -> Any:
    """What goes before or after `x`; a number stands for a whole slice."""
    if value is None:
        return None
    _, given = tensors_of([x, value], "diff", ["a", argument])
    if given.array.ndim:
        return given
    return broadcasting.broadcast_to(
        given, shape=(*x.array.shape[:along], 1, *x.array.shape[along + 1 :])
    )


def _part(x: Tensor, axis: int, start: int | None, stop: int | None) -> Tensor:
    return shaping.getitem(x, key=(*(slice(None),) * axis, slice(start, stop)))


@published("numpy.ediff1d")
def ediff1d(ary: TensorLike, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Each element less the one before it, in all of `ary` read row by row,
    with what goes before and after them.

    >>> import gradtape as tf
    >>> tf.numpy.ediff1d([1.0, 4.0, 9.0], to_end=0.0).numpy()
    array([3., 5., 0.], dtype=float32)
    """
    x = _in_a_row(tensor_of(ary, "ediff1d", "ary"))
    parts = [_same_kind(to_begin, x, "to_begin"), x[1:] - x[:-1], _same_kind(to_end, x, "to_end")]
    given = [part for part in parts if part is not None]
    return shaping.concat(*given, axis=0) if len(given) > 1 else given[0]


def _same_kind(value: Any, x: Tensor, argument: str) -> Any:
    if value is None:
        return None
    _, given = tensors_of([x, value], "ediff1d", ["ary", argument])
    if not np.can_cast(given.array.dtype, x.array.dtype, "same_kind"):
        raise TypeError(
            f"ediff1d: {argument} has dtype {given.dtype.name}, which cannot be converted to "
            f"{x.dtype.name}."
        )
    return _in_a_row(converted(given, x.array.dtype))


def _in_a_row(x: Tensor) -> Tensor:
    return x if x.array.ndim == 1 else shaping.reshape(x, shape=(x.array.size,))


# Numerical gradients


@published("numpy.gradient")
def gradient(
    f: TensorLike,
    *varargs: Any,
    axis: AxisLike = None,
    edge_order: int = 1,
) -> Tensor | Any:
    """The slope of `f` at each point along an axis, or along each axis in a tuple: from both
    neighbours, at the edges from one.

    The points are 1 apart, or as far as a number says for all axes or one for each; a vector gives
    coordinates along an axis.

    >>> import gradtape as tf
    >>> tf.numpy.gradient([1.0, 2.0, 4.0, 7.0]).numpy()
    array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    values = inexact(tensor_of(f, "gradient", "f"))
    places = axes_of(axis, values.array.ndim, "gradient")
    places = tuple(range(values.array.ndim)) if places is None else places
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order!r}.")
    spacings = list(varargs) or [1.0]
    if len(spacings) == 1 and not has_axes(spacings[0]):
        spacings *= len(places)
    if len(spacings) != len(places):
        raise TypeError(
            f"gradient: give one spacing for all axes, or one for each of {len(places)}, got "
            f"{len(spacings)}."
        )
    slopes = tuple(
        _slopes(values, place, spacing, edge_order)
        for place, spacing in zip(places, spacings, strict=True)
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _slopes(f: Tensor, axis: int, spacing: Any, edge_order: int) -> Tensor:
    rank, size = f.array.ndim, f.array.shape[axis]
    if size < edge_order + 1:
        raise ValueError(
            f"gradient: edge_order={edge_order} needs {edge_order + 1} points along axis {axis}, "
            f"got {size}."
        )
    _, given = tensors_of([f, spacing], "gradient", ["f", f"the spacing of axis {axis}"])
    order = (*(i for i in range(rank) if i != axis), axis)
    along = shaping.transpose(f, perm=order)
    if given.array.ndim:
        if given.array.shape != (size,):
            raise ValueError(
                f"gradient: the coordinates of axis {axis} must be {size} numbers, got shape "
                f"{given.shape}."
            )
        coordinates = inexact(given)
        found = _slopes_between(along, coordinates[1:] - coordinates[:-1], edge_order)
    else:
        found = _even_slopes(along, edge_order) / given
    return shaping.transpose(found, perm=tuple(order.index(i) for i in range(rank)))


def _even_slopes(f: Tensor, edge_order: int) -> Tensor:
    """The slopes along the last axis of points that are 1 apart."""
    inside = (f[..., 2:] - f[..., :-2]) / 2
    if edge_order == 1:
        first, last = f[..., 1:2] - f[..., :1], f[..., -1:] - f[..., -2:-1]
    else:
        first = f[..., :1] * -1.5 + f[..., 1:2] * 2 - f[..., 2:3] * 0.5
        last = f[..., -3:-2] * 0.5 - f[..., -2:-1] * 2 + f[..., -1:] * 1.5
    return shaping.concat(first, inside, last, axis=-1)


def _slopes_between(f: Tensor, gaps: Tensor, edge_order: int) -> Tensor:
    """The slopes along the last axis of points with gaps between them:
    those of the parabola through three of them.
    """
    rises = (f[..., 1:] - f[..., :-1]) / gaps
    before, after = gaps[:-1], gaps[1:]
    inside = (rises[..., :-1] * after + rises[..., 1:] * before) / (before + after)
    first, last = rises[..., :1], rises[..., -1:]
    if edge_order == 2:
        first = first - (rises[..., 1:2] - first) * gaps[:1] / (gaps[:1] + gaps[1:2])
        last = last + (last - rises[..., -2:-1]) * gaps[-1:] / (gaps[-1:] + gaps[-2:-1])
    return shaping.concat(*promoted([first, inside, last]), axis=-1)


@published("numpy.trapezoid")
def trapezoid(y: TensorLike, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """The integral of `y` along an axis, by straight lines between points at `x`, or `dx` apart.

    >>> import gradtape as tf
    >>> tf.numpy.trapezoid([1.0, 2.0, 4.0], x=[0.0, 1.0, 3.0]).numpy()
    np.float32(7.5)
    """
    values, width = tensors_of(
        [y, dx if x is None else x], "trapezoid", ["y", "dx" if x is None else "x"]
    )
    values = inexact(values)
    rank = values.array.ndim
    along = axis_of(axis, rank, "trapezoid")
    if x is not None:
        steps = axis_of(axis, width.array.ndim, "trapezoid") if width.array.ndim != 1 else 0
        width = _part(width, steps, 1, None) - _part(width, steps, None, -1)
        if width.array.ndim == 1:
            width = shaping.reshape(width, shape=(width.array.size, *(1,) * (rank - 1 - along)))
    areas = width * (_part(values, along, 1, None) + _part(values, along, None, -1)) / 2
    return reductions.reduce_sum(areas, axis=(along,))


# Interpolation


@published("numpy.interp")
def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    left: Any = None,
    right: Any = None,
    period: Any = None,
) -> Tensor:
    """The value at `x` of the straight lines through the points (xp, fp), where `xp` rises;
    differentiable by all three.

    Beyond the points it is `left` or `right`, or the first or last of `fp`. With a `period`, the
    points repeat themselves.

    >>> import gradtape as tf
    >>> tf.numpy.interp([0.5, 1.5, 9.0], [0.0, 1.0, 2.0], [0.0, 10.0, 0.0]).numpy()
    array([5., 5., 0.], dtype=float32)
    """
    given = tensors_of([x, xp, fp], "interp", ["x", "xp", "fp"])
    common = float_dtype(common_dtype([real_dtype(part.array.dtype) for part in given]))
    at, knots = (converted(part, common) for part in given[:2])
    values = given[2] if given[2].array.dtype.kind == "c" else converted(given[2], common)
    if knots.array.ndim != 1 or knots.array.shape != values.array.shape or not knots.array.size:
        raise ValueError(
            "interp: xp and fp must be non-empty vectors of the same length, got shapes "
            f"{knots.shape} and {values.shape}."
        )
    if period is not None:
        at, knots, values = _repeated(at, knots, values, period)
        left = right = None
    inside = _on_lines(at, knots, values)
    first, last = knots[0], knots[-1]
    below = values[0] if left is None else left
    above = values[-1] if right is None else right
    return selection.where(
        arithmetic.less(at, first),
        below,
        selection.where(arithmetic.greater(at, last), above, inside),
    )


def _on_lines(at: Tensor, knots: Tensor, values: Tensor) -> Any:
    """The line between the two knots around each point; at the last knot,
    the one that ends there.
    """
    count = knots.array.size
    behind = counting.searchsorted(
        broadcasting.stop_gradient(knots), broadcasting.stop_gradient(_in_a_row(at)), side="right"
    )
    low = shaping.reshape(
        arithmetic.maximum(arithmetic.minimum(behind - 1, count - 2), 0), shape=at.array.shape
    )
    high = arithmetic.minimum(low + 1, count - 1)
    start, end, first, second = (
        indexing.take(part, index, axis=0, sparse=False)
        for part in (knots, values)
        for index in (low, high)
    )
    width = end - start
    slope = (second - first) / converted(
        selection.where(arithmetic.equal(width, 0), 1, width), values.array.dtype
    )
    at_the_end = arithmetic.equal(at, knots[-1])
    from_start, from_end = (converted(at - knot, values.array.dtype) for knot in (start, end))
    return selection.where(at_the_end, second + slope * from_end, first + slope * from_start)


def _repeated(at: Tensor, knots: Tensor, values: Tensor, period: Any) -> tuple[Any, Any, Any]:
    """Everything within one period, and a knot of the neighbouring ones at either end."""
    if not is_tensor_like(period) and not period:
        raise ValueError("interp: period must not be zero.")
    length = arithmetic.absolute(tensors_of([knots, period], "interp", ["xp", "period"])[1])
    at, knots = arithmetic.floormod(at, length), arithmetic.floormod(knots, length)
    order = ordering.argsort(knots, descending=False)
    knots, values = (indexing.take(part, order, axis=0, sparse=False) for part in (knots, values))
    return (
        at,
        shaping.concat(knots[-1:] - length, knots, knots[:1] + length, axis=0),
        shaping.concat(values[-1:], values, values[:1], axis=0),
    )
