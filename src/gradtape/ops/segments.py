"""Reductions by segment: rows with the same id are summed, multiplied or compared.

`ids` holds the segment of each row of `x`; a row with a negative id belongs to none. `size` is how
many segments there are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.engines.arrays import divides
from gradtape.engines.numpy.scatter import in_rounds
from gradtape.ops.arithmetic import (
    absolute,
    add,
    divide_no_nan,
    equal,
    greater_equal,
    less,
    times,
)
from gradtape.ops.batching import every_mapped
from gradtape.ops.broadcasting import cast
from gradtape.ops.declare import op
from gradtape.ops.elementary import log
from gradtape.ops.indexing import take
from gradtape.ops.ordering import argsort
from gradtape.ops.selection import keep_array, ones_like, where
from gradtape.ops.shaping import Shape, concat, getitem, reshape, transpose


def _segmented(of: Any, x: Any, ids: Any, size: int, empty: Any) -> Any:
    """`of` is a ufunc; a segment without rows gets `empty`."""
    _check(ids, size)
    order = None
    if (ids[1:] < ids[:-1]).any():
        if of is np.add and x.ndim == 1 and x.dtype.char in "fd":
            return _sums(x, ids, size)
        # Numbers of 16 bits are sorted by their digits, several times as fast as others.
        few = np.maximum(ids, -1).astype(np.int16) if size <= 2**15 else ids
        order = np.argsort(few, kind="stable")
        ids = ids[order]
    out = np.full((size, *x.shape[1:]), empty, x.dtype)
    start = np.searchsorted(ids, 0)
    ids = ids[start:]
    if ids.size and x.size:
        firsts = np.flatnonzero(np.concatenate([np.ones(1, bool), ids[1:] != ids[:-1]]))
        counts = np.diff(firsts, append=len(ids))
        if counts.max() <= x.size // _PAYS:
            rows = np.arange(start, len(x)) if order is None else order[start:]
            in_rounds(of, x, rows, firsts, counts, out, ids[firsts])
        else:
            x = x[start:] if order is None else x[order[start:]]
            out[ids[firsts]] = of.reduceat(x, firsts, axis=0, dtype=x.dtype)
    return out


def _sums(x: Any, ids: Any, size: int) -> Any:
    """Sums of numbers, which NumPy adds up in double precision."""
    if ids.min() < 0:
        x, ids = x[ids >= 0], ids[ids >= 0]
    return np.bincount(ids, x, size).astype(x.dtype)


_PAYS = 4096  # elements for each round


def _segmented_on_xla(xp: Any, of: str, x: Any, ids: Any, size: int, start: Any, empty: Any) -> Any:
    """A scatter into `start`; a row of no segment goes to a place that is not there."""
    places = xp.where(ids < 0, size, ids)
    found = getattr(xp.full((size, *x.shape[1:]), start, x.dtype).at[places], of)(x, mode="drop")
    if start == empty:
        return found
    filled = xp.zeros(size, bool).at[places].set(True, mode="drop")
    return xp.where(filled.reshape(size, *(1,) * (x.ndim - 1)), found, xp.asarray(empty, x.dtype))


def _limit(dtype: Any, end: str) -> Any:
    """The number that no other one of a dtype is below ("min") or above ("max")."""
    return (
        getattr(np.iinfo(dtype), end)
        if dtype.kind in "iu"
        else -math.inf
        if end == "min"
        else math.inf
    )


def _check(ids: Any, size: int) -> None:
    if ids.size and ids.max() >= size:
        raise ValueError(f"segment id {ids.max()} is not in [0, {size})")


def _segment_take(xp: Any, x: Any, ids: Any) -> Any:
    """The row of each segment beside every row that belongs to it;
    0 beside those that belong to none.
    """
    _check(ids, x.shape[0])
    if not ids.size or ids.min() >= 0:
        return xp.take(x, ids, axis=0)
    out = np.zeros((ids.size, *x.shape[1:]), x.dtype)
    inside = ids >= 0
    out[inside] = x[ids[inside]]
    return out


def _segment_take_on_xla(xp: Any, x: Any, ids: Any) -> Any:
    inside = (ids >= 0).reshape(-1, *(1,) * (x.ndim - 1))
    if not x.shape[0]:
        return xp.zeros((ids.size, *x.shape[1:]), x.dtype)
    return keep_array(xp, xp.take(x, xp.maximum(ids, 0), axis=0), inside)


def _extremum_pull(g: Any, x: Any, ids: Any, out: Any, x_dtype: Any, size: int) -> Any:
    """The rows that attain the extremum share the cotangent equally."""
    attained = cast(equal(x, segment_take(out, ids)), dtype=x_dtype)
    share = divide_no_nan(g, segment_sum(attained, ids, size=size))
    return times(segment_take(share, ids), attained)


def _product_pull(g: Any, x: Any, ids: Any, out: Any, x_shape: Shape) -> Any:
    """A row's partial derivative is the product of the others in its segment: the whole product
    over the row, where that has all its digits.

    Else it is a product of those before the row, and of those behind it. Both are made of products
    alone, so that zeros do no harm in any derivative.
    """
    if divides(out) and _kept_digits(x, ids, out.shape[0]):
        return times(segment_take(g, ids), segment_take(out, ids) / x)
    order = argsort(ids, descending=False)
    back = argsort(order, descending=False)
    numbers = take(ids, order, axis=0)
    counted = reshape(greater_equal(numbers, 0), shape=(x_shape[0], *(1,) * (len(x_shape) - 1)))
    x = take(x, order, axis=0, sparse=False)
    x = where(counted, x, ones_like(x))
    others = _products_before(x, numbers, x_shape) * _reversed(
        _products_before(_reversed(x), _reversed(numbers), x_shape)
    )
    return times(segment_take(g, ids), take(others, back, axis=0, sparse=False))


def _kept_digits(x: Any, ids: Any, size: int) -> bool:
    """Whether the product of a segment stays a normal number from row to row, whatever their order:
    1e-30 * 1e-15 * 1e20 is one in the end.
    """
    far = segment_sum(absolute(log(absolute(x))), ids, size=size)
    return bool((far < -0.6 * np.finfo(x.dtype).minexp).all())  # log(2) is 0.69


def _products_before(x: Any, ids: Any, shape: Shape) -> Any:
    """For each row of sorted segments, the product of the rows before it in its own: of 1, of 2,
    of 4, ... of them.
    """
    count = shape[0]
    if not count:
        return x
    width = (1,) * (len(shape) - 1)

    def moved(rows: Any, step: int) -> Any:
        """The rows `step` further down; 1 where they come from another segment."""
        same = reshape(
            equal(getitem(ids, key=(slice(step, None),)), getitem(ids, key=(slice(count - step),))),
            shape=(count - step, *width),
        )
        above = getitem(rows, key=(slice(count - step),))
        return concat(
            ones_like(getitem(rows, key=(slice(step),))),
            where(same, above, ones_like(above)),
            axis=0,
        )

    product = moved(x, 1)
    step = 1
    while step < count - 1:
        product = product * moved(product, step)
        step *= 2
    return product


def _reversed(x: Any) -> Any:
    return getitem(x, key=(slice(None, None, -1),))


def _batch(op: Any, size: int, args: Any, mapped: Any, params: Any) -> Any:
    """With the same numbers for all examples the batch is one more axis behind the rows,
    else more segments.
    """
    x, ids = args
    if not mapped[1]:
        found = op.call(_swapped(x), ids, **params)
        return _swapped(found)
    x, ids = every_mapped(size, args, mapped)
    shape, rows = x.array.shape, ids.array.shape[1]
    segments = params.get("size", shape[1])
    starts = np.arange(size)[:, None] * segments
    inside = where(less(ids, segments), add(cast(ids, dtype=starts.dtype), starts), size * segments)
    numbers = reshape(where(greater_equal(ids, 0), inside, -1), shape=(size * rows,))
    if "size" in params:
        params = {**params, "size": size * segments}
    found = op.call(reshape(x, shape=(size * shape[1], *shape[2:])), numbers, **params)
    return reshape(found, shape=(size, segments if "size" in params else rows, *shape[2:]))


def _swapped(x: Any) -> Any:
    return transpose(x, perm=(1, 0, *range(2, x.array.ndim)))


segment_sum = op(
    "segment_sum",
    lambda xp, x, ids, *, size: _segmented(np.add, x, ids, size, 0),
    [lambda g, ids: segment_take(g, ids), None],
    apart=["ids"],
    linear=True,
    batch=_batch,
    xla=lambda xp, x, ids, *, size: _segmented_on_xla(xp, "add", x, ids, size, 0, 0),
)
segment_take = op(
    "segment_take",
    _segment_take,
    [lambda g, ids, x_shape: segment_sum(g, ids, size=x_shape[0]), None],
    apart=["ids"],
    linear=True,
    moves=True,
    batch=_batch,
    xla=_segment_take_on_xla,
)
segment_prod = op(
    "segment_prod",
    lambda xp, x, ids, *, size: _segmented(np.multiply, x, ids, size, 1),
    [_product_pull, None],
    apart=["ids"],
    batch=_batch,
    xla=lambda xp, x, ids, *, size: _segmented_on_xla(xp, "multiply", x, ids, size, 1, 1),
)
segment_max = op(
    "segment_max",
    lambda xp, x, ids, *, size, empty: _segmented(np.maximum, x, ids, size, empty),
    [_extremum_pull, None],
    apart=["ids"],
    batch=_batch,
    xla=lambda xp, x, ids, *, size, empty: _segmented_on_xla(
        xp, "max", x, ids, size, _limit(x.dtype, "min"), empty
    ),
)
segment_min = op(
    "segment_min",
    lambda xp, x, ids, *, size, empty: _segmented(np.minimum, x, ids, size, empty),
    [_extremum_pull, None],
    apart=["ids"],
    batch=_batch,
    xla=lambda xp, x, ids, *, size, empty: _segmented_on_xla(
        xp, "min", x, ids, size, _limit(x.dtype, "max"), empty
    ),
)
