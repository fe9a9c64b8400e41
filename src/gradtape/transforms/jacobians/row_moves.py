"""Ops that only move or add elements, on arrays that have rows as their first axis: their pulls and their pushes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.engines.arrays import sum_array_to
from gradtape.ops.broadcasting import broadcast_to, sum_to_shape
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.shaping import getitem, matrix_transpose, place, reshape, transpose

Shape = tuple[int, ...]


def lined_up(rows: Any, rank: int) -> Any:
    """Rows of tensors of lower rank as rows of tensors of `rank`, with axes of size 1 in front."""
    missing = rank + 1 - rows.ndim
    return rows.reshape(len(rows), *(1,) * missing, *rows.shape[1:]) if missing else rows


def spread(rows: Any, shape: Shape) -> Any:
    """Rows broadcast to a shape."""
    return np.broadcast_to(lined_up(rows, len(shape)), (len(rows), *shape))


def summed(rows: Any, shape: Shape) -> Any:
    """Rows summed back to the shape from which they had been broadcast."""
    count = len(rows)
    return sum_array_to(rows, (count, *(1,) * (rows.ndim - 1 - len(shape)), *shape)).reshape(count, *shape)


def placed(rows: Any, shape: Shape, key: Any, shows: bool = False) -> Any:
    """Zeros with the rows at a key of each."""
    out = np.zeros((len(rows), *shape), rows.dtype)
    out[(slice(None), *key)] = rows
    return out


def _reduced(rows: Any, axis: Shape | None = None, keepdims: bool = False) -> Any:
    axes = range(rows.ndim - 1) if axis is None else axis
    return rows.sum(axis=tuple([a if a < 0 else a + 1 for a in axes]), keepdims=keepdims)


def _unreduced(rows: Any, shape: Shape, axis: Shape | None) -> Any:
    """Rows of sums put beside every element that went into them."""
    reduced = range(len(shape)) if axis is None else [a % len(shape) for a in axis]
    kept = [1 if i in reduced else size for i, size in enumerate(shape)]
    return np.broadcast_to(rows.reshape(len(rows), *kept), (len(rows), *shape))


def _turned(rows: Any, perm: Shape) -> Any:
    return rows.transpose(0, *[axis + 1 for axis in perm])


def _turned_back(rows: Any, perm: Shape) -> Any:
    return rows.transpose(0, *[1 + perm.index(i) for i in range(len(perm))])


def _swapped(rows: Any) -> Any:
    return rows.swapaxes(-1, -2)


def _taken(rows: Any, key: Any) -> Any:
    return rows[(slice(None), *key)]


def _reshaped(rows: Any, shape: Shape) -> Any:
    return rows.reshape(len(rows), *shape)


_BOTH = (
    (broadcast_to, summed, spread),
    (getitem, placed, _taken),
    (matrix_transpose, _swapped, _swapped),
    (place, _taken, placed),
    (reduce_sum, _unreduced, _reduced),
    (reshape, _reshaped, _reshaped),
    (sum_to_shape, spread, summed),
    (transpose, _turned_back, _turned),
)

PULLS: dict[Any, Callable[..., Any]] = {move.op: pull for move, pull, _ in _BOTH}  # type: ignore[attr-defined]
"""By op, the pull on rows: it takes what the op's own pull saves."""

PUSHES: dict[Any, Callable[..., Any]] = {move.op: push for move, _, push in _BOTH}  # type: ignore[attr-defined]
"""By op, the push on rows: it takes the op's parameters as keywords."""
