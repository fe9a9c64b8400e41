"""`numpy.pad` in all its modes, recorded.

Axes are padded one after the other, including what the earlier ones have added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import FLOAT64, INT32, axis_of, converted, plain, tensor_of
from gradtape.api.numpy.shaping import stretched
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.convert import is_tensor_like, numpy_array
from gradtape.core.tensor import Tensor
from gradtape.ops import reductions, shaping
from gradtape.ops.arithmetic import floor, round_half_even
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.indexing import take
from gradtape.ops.ordering import argsort
from gradtape.published import published

Widths = tuple[int, int]

_KEYWORDS = {
    "constant": "constant_values", "linear_ramp": "end_values", "maximum": "stat_length",
    "minimum": "stat_length", "mean": "stat_length", "median": "stat_length",
    "reflect": "reflect_type", "symmetric": "reflect_type", "edge": None, "wrap": None,
    "empty": None,
}  # fmt: skip


@published("numpy.pad")
def pad(array: TensorLike, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Tensor:
    """With `pad_width` elements added before and behind each axis: a constant,
    or what `mode` makes of those that are there.

    >>> import gradtape as tf
    >>> (
    ...     tf.numpy.pad([1, 2, 3], (1, 2)).numpy(),
    ...     tf.numpy.pad([1, 2, 3], (1, 2), mode="reflect").numpy(),
    ... )
    (array([0, 1, 2, 3, 0, 0], dtype=int32), array([2, 1, 2, 3, 2, 1], dtype=int32))
    """
    x = tensor_of(array, "pad", "array")
    widths = _widths(pad_width, x.array.ndim)
    option = _option(mode, kwargs)
    if mode == "empty" or (mode == "constant" and _is_number(option)):
        value = 0 if option is None else x.array.dtype.type(option).item()
        return shaping.pad(x, paddings=widths, value=value)
    for axis, pair in enumerate(widths):
        if any(pair) and not x.array.shape[axis] and mode != "constant":
            raise ValueError(
                f"pad: axis {axis} is empty, so mode={mode!r} has nothing to pad it with; use "
                "mode='constant'."
            )
    if mode == "constant":
        return _each_axis(
            x, widths, _pairs(0 if option is None else option, x, "constant_values"), _constant
        )
    if mode == "linear_ramp":
        return _each_axis(
            x, widths, _pairs(0 if option is None else option, x, "end_values"), _ramp
        )
    if mode in ("maximum", "minimum", "mean", "median"):
        return _each_axis(x, widths, _lengths(option, x.array.ndim), _STATISTICS[mode])
    odd = _is_odd(option) if mode in ("reflect", "symmetric") else False
    for axis, pair in enumerate(widths):
        if any(pair):
            x = _extended(x, axis, pair, mode, odd)
    return x


# Arguments


def _widths(pad_width: Any, rank: int) -> tuple[Widths, ...]:
    """How many elements go before and behind each axis."""
    if isinstance(pad_width, dict):
        table = np.zeros((rank, 2), int)
        for axis, width in pad_width.items():
            table[axis_of(axis, rank, "pad", "pad_width")] = width
    else:
        table = numpy_array(plain(pad_width), "pad: pad_width")
    if table.dtype.kind not in "iu":
        raise TypeError(f"pad: pad_width must be integers, got {pad_width!r}.")
    try:
        table = np.broadcast_to(table, (rank, 2))
    except ValueError as error:
        raise ValueError(
            f"pad: pad_width={pad_width!r} must be a number, a pair, or a pair for each of "
            f"{rank} axes."
        ) from error
    if (table < 0).any():
        raise ValueError(f"pad: pad_width={pad_width!r} must not be negative.")
    return tuple((int(low), int(high)) for low, high in table)


def _option(mode: Any, keywords: dict[str, Any]) -> Any:
    """The one keyword that belongs to a mode."""
    if callable(mode):
        raise TypeError(
            "pad: mode cannot be a function that writes into its argument, since Tensors are "
            "immutable: use a named mode, or join the parts with concatenate."
        )
    if not isinstance(mode, str) or mode not in _KEYWORDS:
        raise ValueError(f"pad: mode must be one of {', '.join(_KEYWORDS)}, got {mode!r}.")
    allowed = _KEYWORDS[mode]
    for keyword in keywords:
        if keyword != allowed:
            raise ValueError(
                f"pad: mode={mode!r} takes {'no keyword' if allowed is None else allowed}, got "
                f"{keyword}."
            )
    return keywords.get(allowed) if allowed else None


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, np.generic))


def _is_odd(reflect_type: Any) -> bool:
    if reflect_type not in (None, "even", "odd"):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}.")
    return reflect_type == "odd"


def _pairs(values: Any, x: Tensor, argument: str) -> list[tuple[Any, Any]]:
    """One value for before and one for behind each axis, in the dtype of `x`;
    they may be recorded.
    """
    if not is_tensor_like(values) and not isinstance(values, (list, tuple)):
        values = np.asarray(values)
    table = stretched(
        converted(tensor_of(values, "pad", argument), x.array.dtype), (x.array.ndim, 2), "pad"
    )
    return [(table[axis, 0], table[axis, 1]) for axis in range(x.array.ndim)]


def _lengths(stat_length: Any, rank: int) -> list[tuple[Any, Any]]:
    """How many elements at either end of each axis a statistic looks at; None is all of them."""
    if stat_length is None:
        return [(None, None)] * rank
    table = np.broadcast_to(np.asarray(plain(stat_length)), (rank, 2))
    if table.dtype.kind not in "iu" or (table < 1).any():
        raise ValueError(f"pad: stat_length={stat_length!r} must be positive integers.")
    return [(int(low), int(high)) for low, high in table]


# What goes before and behind one axis

Block = Callable[[Tensor, int, int, Any, bool], Tensor]
"""`(x, axis, width, option, in_front)`: the block of `width` elements to put at one end of an
axis.
"""


def _each_axis(
    x: Tensor, widths: tuple[Widths, ...], options: list[tuple[Any, Any]], block: Block
) -> Tensor:
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, options, strict=True)):
        if low or high:
            before, behind = block(x, axis, low, first, True), block(x, axis, high, last, False)
            x = shaping.concat(before, x, behind, axis=axis)
    return x


def _constant(x: Tensor, axis: int, width: int, value: Any, in_front: bool) -> Tensor:
    return broadcast_to(value, shape=_wide(x, axis, width))


def _wide(x: Tensor, axis: int, width: int) -> tuple[int, ...]:
    sizes = x.array.shape
    return (*sizes[:axis], width, *sizes[axis + 1 :])


def _ramp(x: Tensor, axis: int, width: int, end: Any, in_front: bool) -> Tensor:
    """From the edge to `end` in equal steps; integers are rounded down."""
    edge = _end(x, axis, 1, in_front)
    steps = np.arange(width) if in_front else np.arange(width, 0, -1) - 1
    line = (steps / max(width, 1)).reshape(-1, *(1,) * (x.array.ndim - axis - 1))
    if x.array.dtype.kind in "biu":
        end, edge = converted(end, FLOAT64), converted(edge, FLOAT64)
        ramp = end + (edge - end) * line
        return converted(ramp if x.array.dtype.kind == "b" else floor(ramp), x.array.dtype)
    return end + (edge - end) * line.astype(x.array.dtype)


def _end(x: Tensor, axis: int, length: int | None, in_front: bool) -> Tensor:
    """The first or last elements of an axis."""
    size = x.array.shape[axis]
    count = size if length is None else min(length, size)
    return shaping.getitem(
        x, key=(*(slice(None),) * axis, slice(0, count) if in_front else slice(size - count, size))
    )


def _statistic(of: Callable[[Tensor, int], Tensor]) -> Block:
    def block(x: Tensor, axis: int, width: int, length: int | None, in_front: bool) -> Tensor:
        return broadcast_to(of(_end(x, axis, length, in_front), axis), shape=_wide(x, axis, width))

    return block


def _mean(x: Tensor, axis: int) -> Tensor:
    if x.array.dtype.kind not in "biu":
        return reductions.reduce_mean(x, axis=(axis,), keepdims=True)
    mean = reductions.reduce_mean(converted(x, FLOAT64), axis=(axis,), keepdims=True)
    return converted(round_half_even(mean), x.array.dtype)


def _median(x: Tensor, axis: int) -> Tensor:
    """The mean of the one or two middle elements."""
    rank, size = x.array.ndim, x.array.shape[axis]
    order = (*(i for i in range(rank) if i != axis), axis)
    rows = shaping.reshape(shaping.transpose(x, perm=order), shape=(x.array.size // size, size))
    middle = argsort(rows, descending=False)[:, (size - 1) // 2 : size // 2 + 1]
    starts = np.arange(x.array.size // size)[:, None] * size
    found = take(
        shaping.reshape(rows, shape=(x.array.size,)), middle + starts, axis=0, sparse=False
    )
    kept = _wide(x, axis, 1)
    return shaping.reshape(_mean(found, 1), shape=kept)


_STATISTICS = {
    "maximum": _statistic(lambda x, axis: reductions.reduce_max(x, axis=(axis,), keepdims=True)),
    "minimum": _statistic(lambda x, axis: reductions.reduce_min(x, axis=(axis,), keepdims=True)),
    "mean": _statistic(_mean),
    "median": _statistic(_median),
}


# Modes that repeat what is there


def _extended(x: Tensor, axis: int, pair: Widths, mode: str, odd: bool) -> Tensor:
    """An axis extended by its own elements: a gather; turned round the edges,
    if the reflection is odd.
    """
    size = x.array.shape[axis]
    indices = np.pad(np.arange(size), pair, mode=mode)  # type: ignore[call-overload]
    if not odd or size == 1:
        return take(x, Tensor(indices), axis=axis, sparse=False)
    if x.array.dtype.kind == "b":
        return converted(_extended(converted(x, INT32), axis, pair, mode, odd), x.array.dtype)
    first, last = (
        np.pad(unit, pair, mode=mode, reflect_type="odd")  # type: ignore[call-overload]
        for unit in _edge_units(size)
    )
    sign = np.where((indices == 0) | (indices == size - 1), 0, 1 - first - last)
    column = (-1, *(1,) * (x.array.ndim - axis - 1))
    by_found, by_first, by_last = (
        v.astype(x.array.dtype).reshape(column) for v in (sign, first, last)
    )
    found = take(x, Tensor(indices), axis=axis, sparse=False)
    return found * by_found + _end(x, axis, 1, True) * by_first + _end(x, axis, 1, False) * by_last


def _edge_units(size: int) -> tuple[Any, Any]:
    """Two rows that show how much of the first and of the last element an odd reflection puts at
    each place.

    Such a reflection is linear, and each place of it holds at most one other element, plus or
    minus.
    """
    first, last = np.zeros(size, int), np.zeros(size, int)
    first[0] = last[-1] = 1
    return first, last
