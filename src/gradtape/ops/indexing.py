"""Gathering at indices, its transpose, and overwriting rows.

Boolean masks, `gather_nd` and windows of pooling are gathers too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.core.indexed_slices import RawSlices
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.engines.numpy.scatter import all_within, combine_rows, in_rounds
from gradtape.ops.arithmetic import equal, greater_equal, less, logical_and
from gradtape.ops.batching import as_it_is, every_mapped, lined_up, loop
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.ops.computing import HALF, widened
from gradtape.ops.declare import op
from gradtape.ops.selection import where, zeros_like
from gradtape.ops.shaping import Shape, getitem, reshape, transpose


def _take(xp: Any, x: Any, indices: Any, *, axis: int, sparse: bool = True) -> Any:
    size = x.shape[axis]
    if xp is np:
        if not all_within(indices, size):
            bad = indices[(indices < 0) | (indices >= size)].reshape(-1)[0]
            raise ValueError(f"index {bad} is not in [0, {size})")
        return x.take(indices, axis)
    if not indices.size or not size:
        # JAX gives an empty result the wrong shape, and refuses to take from an empty axis, where a
        # loop that never runs does. There every index is out of range, which NaN stands for.
        missing = 0 if x.dtype.kind in "biu" else np.nan
        return xp.full((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), missing, x.dtype)
    return xp.take(x, indices, axis=axis)


def _take_pull(
    g: Any, indices: Any, x_shape: Shape, indices_shape: Shape, axis: int, sparse: bool
) -> Any:
    """The rows at their indices: sparse for the first axis, unless that is not wanted;
    added up for another.
    """
    rows = math.prod(indices_shape)
    flat = reshape(indices, shape=(rows,))
    if axis == 0 and sparse:
        return RawSlices(reshape(g, shape=(rows, *x_shape[1:])), flat, x_shape)
    width = len(indices_shape)
    front = tuple(range(axis, axis + width))
    rest = tuple([i for i in range(g.ndim) if i not in front])
    other = tuple([size for i, size in enumerate(x_shape) if i != axis])
    dense = scatter_rows(
        reshape(transpose(g, perm=front + rest), shape=(rows, *other)),
        flat,
        shape=(x_shape[axis], *other),
    )
    return transpose(dense, perm=(*range(1, axis + 1), 0, *range(axis + 1, len(x_shape))))


def _scatter_rows(xp: Any, values: Any, indices: Any, *, shape: Shape) -> Any:
    if values.dtype in HALF:  # of a walk over plain arrays; sums are rounded once
        return _scatter_rows(xp, widened(values), indices, shape=shape).astype(values.dtype)
    strings = values.dtype == object
    width = math.prod(shape[1:])
    if width <= _NARROW and _MANY <= len(indices) >= shape[0] // 4 and values.dtype.char in "fd":
        return _sums_of_columns(values.reshape(len(indices), width), indices, shape)
    if width >= _WIDE and not strings and len(indices) > max(shape[0], _WIDE):
        return _sums_of_sorted(values, indices, shape)
    out = np.full(shape, b"", object) if strings else np.zeros(shape, values.dtype)
    combine_rows(np.add, out, indices, values)
    return out


_NARROW, _WIDE, _MANY = 8, 128, 1024
_MOST_ROUNDS = 64


def _sums_of_sorted(values: Any, indices: Any, shape: Shape) -> Any:
    """The same for long rows, each index several times."""
    out = np.zeros(shape, values.dtype)
    order = np.argsort(indices, kind="stable")
    numbers = indices[order]
    firsts = np.flatnonzero(np.concatenate([np.ones(1, bool), numbers[1:] != numbers[:-1]]))
    counts = np.diff(firsts, append=len(numbers))
    if counts.max() <= _MOST_ROUNDS:
        in_rounds(np.add, values, order, firsts, counts, out, numbers[firsts])
    else:
        combine_rows(np.add, out, indices, values)
    return out


def _sums_of_columns(values: Any, indices: Any, shape: Shape) -> Any:
    """The same for many short rows, which NumPy adds up in double precision, one column after the
    other.
    """
    out = np.empty((shape[0], values.shape[1]), values.dtype)
    for column, found in zip(values.T, out.T, strict=True):
        found[...] = np.bincount(indices, column, shape[0])
    return out.reshape(shape)


def _scatter_rows_on_xla(xp: Any, values: Any, indices: Any, *, shape: Shape) -> Any:
    return xp.zeros(shape, values.dtype).at[indices].add(values)


def _flat_index(xp: Any, indices: Any, *, sizes: Shape) -> Any:
    """Where the coordinates in the last axis stand in an array of shape `sizes` that is read row by
    row.
    """
    outside = (indices < 0) | (indices >= xp.asarray(sizes))
    if xp is np and outside.any():
        place = xp.argwhere(outside)[0][:-1]
        raise ValueError(
            f"indices{place.tolist()} = {indices[tuple(place)].tolist()} is not inside the shape "
            f"{list(sizes)}"
        )
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return (indices.astype(xp.int64) * xp.asarray(steps, dtype=xp.int64)).sum(-1)


def _set_rows(xp: Any, x: Any, indices: Any, values: Any) -> Any:
    out = np.array(x)
    out[indices] = values
    return out


def _set_rows_on_xla(xp: Any, x: Any, indices: Any, values: Any) -> Any:
    """Of several values for one row XLA would keep any: the last one is found first."""
    order = xp.arange(indices.shape[0])
    if not order.size:
        return x
    if order.size == 1:
        return x.at[indices].set(values)
    last = xp.full(x.shape[0], -1).at[indices].max(order)
    found = (last >= 0).reshape(-1, *(1,) * (x.ndim - 1))
    return xp.where(
        found,
        xp.take(xp.broadcast_to(values, (len(order), *x.shape[1:])), last, axis=0, mode="clip"),
        x,
    )


def _set_rows_by_values(g: Any, indices: Any, indices_shape: Shape, x_shape: Shape) -> Any:
    """The rows of the cotangent; of several values for one row only the last has counted."""
    if indices_shape == (1,):
        return take(g, indices, axis=0)
    order = np.arange(indices_shape[0])
    last = take(set_rows(np.zeros(x_shape[0], order.dtype), indices, order), indices, axis=0)
    counted = reshape(equal(last, order), shape=(*indices_shape, *(1,) * (len(x_shape) - 1)))
    return where(counted, take(g, indices, axis=0), 0)


def _joined(x: Any) -> Any:
    """The rows of all examples one after another."""
    size, rows, *rest = x.array.shape
    return reshape(x, shape=(size * rows, *rest))


def _in_joined(indices: Any, rows: int) -> Any:
    """Where the rows that each example names stand among those of all;
    what is no row of an example is no row of any.
    """
    size, *rest = indices.array.shape
    first = Tensor(np.arange(size).reshape(size, *(1,) * len(rest)) * rows)
    inside = logical_and(greater_equal(indices, 0), less(indices, rows))
    return where(inside, cast(indices, dtype=np.dtype(np.int64)) + first, size * rows)


def _batch_take(op: Any, size: int, args: Any, mapped: Any, params: Any) -> Any:
    (x, indices), axis = args, params["axis"]
    if not mapped[1]:
        return take(x, indices, axis=axis + 1)
    if mapped[0] and axis == 0 and is_traced(x):
        return take(_joined(x), _in_joined(indices, x.array.shape[1]), axis=0, sparse=False)
    if mapped[0]:
        return loop(op, size, args, mapped, params)
    found = take(x, indices, **params)
    return transpose(found, perm=(axis, *(i for i in range(found.array.ndim) if i != axis)))


def _batch_scatter_rows(op: Any, size: int, args: Any, mapped: Any, params: Any) -> Any:
    """With the same rows for all examples, the batch is just one more axis behind them."""
    (values, indices), (rows, *rest) = args, params["shape"]
    if mapped[1]:
        return loop(op, size, args, mapped, params)
    behind = transpose(values, perm=(1, 0, *range(2, values.array.ndim)))
    found = scatter_rows(behind, indices, shape=(rows, size, *rest))
    return transpose(found, perm=(1, 0, *range(2, found.array.ndim)))


def _batch_set_rows(op: Any, size: int, args: Any, mapped: Any, params: Any) -> Any:
    """The same: the batch goes behind the rows."""
    if mapped[1] and not any(map(is_traced, args)):
        return loop(op, size, args, mapped, params)
    x, indices, values = every_mapped(size, args, [mapped[0], True, mapped[2]])
    rank = x.array.ndim
    values = lined_up(values, rank - 1)
    if mapped[1]:
        count = indices.array.shape[1]
        values = broadcast_to(values, shape=(size, count, *x.array.shape[2:]))
        places = reshape(_in_joined(indices, x.array.shape[1]), shape=(size * count,))
        return reshape(set_rows(_joined(x), places, _joined(values)), shape=x.array.shape)
    behind = (1, 0, *range(2, rank))
    return transpose(
        set_rows(transpose(x, perm=behind), indices, transpose(values, perm=behind)), perm=behind
    )


def _reversed_rows(xp: Any, x: Any, lengths: Any) -> Any:
    """Along the second axis, the first elements in reverse, for each entry of the first axis as
    many as its length says.
    """
    count, size, *rest = x.shape
    if xp is np and lengths.size and not (0 <= lengths.min() and lengths.max() <= size):
        raise ValueError(f"lengths must be from 0 to {size}, got {lengths}")
    column, places = xp.expand_dims(lengths, -1), xp.arange(size)
    places = xp.where(places < column, column - 1 - places, places)
    if xp is not np:
        return xp.take_along_axis(x, places.reshape(count, size, *(1,) * len(rest)), axis=1)
    places = places + np.arange(count)[:, None] * size
    return x.reshape(count * size, *rest).take(places, 0)


def _batch_reversed_rows(op: Any, size: int, args: Any, mapped: Any, params: Any) -> Any:
    """A batch of batches is a larger batch."""
    x, lengths = every_mapped(size, args, mapped)
    found = reverse_rows(_joined(x), _joined(lengths))
    return reshape(found, shape=x.array.shape)


take = op(
    "take", _take, [_take_pull, None], apart=["indices"], linear=True, moves=True, batch=_batch_take
)
scatter_rows = op(
    "scatter_rows",
    _scatter_rows,
    [lambda g, indices: take(g, indices, axis=0), None],
    apart=["indices"],
    linear=True,
    batch=_batch_scatter_rows,
    xla=_scatter_rows_on_xla,
)
reverse_rows = op(
    "reverse_rows",
    _reversed_rows,
    [lambda g, lengths: reverse_rows(g, lengths), None],
    arguments=["x", "lengths"],
    apart=["lengths"],
    linear=True,
    moves=True,
    batch=_batch_reversed_rows,
)
flat_index = op("flat_index", _flat_index, [None], batch=as_it_is)


def take_at(x: Any, places: Tensor) -> Tensor:
    """What stands at the coordinates in the last axis of `places`:
    a take from the axes that they name, made into one.
    """
    depth = places.array.shape[-1]
    if depth == 1:
        return take(x, getitem(places, key=(..., 0)), axis=0)
    sizes, rest = x.array.shape[:depth], x.array.shape[depth:]
    return take(
        reshape(x, shape=(math.prod(sizes), *rest)), flat_index(places, sizes=sizes), axis=0
    )


set_rows = op(
    "set_rows",
    _set_rows,
    [
        lambda g, indices: set_rows(g, indices, zeros_like(take(g, indices, axis=0))),
        None,
        _set_rows_by_values,
    ],
    apart=["indices"],
    linear=True,
    moves=True,
    batch=_batch_set_rows,
    xla=_set_rows_on_xla,
)

needed.scatter_rows = scatter_rows
