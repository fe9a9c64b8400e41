"""Gathering at indices and its transpose. Boolean masks, `gather_nd` and windows of pooling are gathers too."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.core.indexed_slices import RawSlices
from gradtape.core.needed_ops import needed
from gradtape.ops.declare import op
from gradtape.ops.shaping import Shape, reshape, transpose


def _take(xp: Any, x: Any, indices: Any, *, axis: int) -> Any:
    size = x.shape[axis]
    if indices.size and not (0 <= indices.min() and indices.max() < size):
        bad = indices[(indices < 0) | (indices >= size)].reshape(-1)[0]
        raise ValueError(f"index {bad} is not in [0, {size})")
    return xp.take(x, indices, axis=axis)


def _take_pull(g: Any, indices: Any, x_shape: Shape, indices_shape: Shape, axis: int) -> Any:
    """The rows at their indices: sparse for the first axis, added up for another."""
    rows = np.prod(indices_shape, dtype=int)
    flat = reshape(indices, shape=(rows,))
    if axis == 0:
        return RawSlices(reshape(g, shape=(rows, *x_shape[1:])), flat, x_shape)
    width = len(indices_shape)
    front = tuple(range(axis, axis + width))
    rest = tuple([i for i in range(g.ndim) if i not in front])
    other = tuple([size for i, size in enumerate(x_shape) if i != axis])
    dense = scatter_rows(reshape(transpose(g, perm=front + rest), shape=(rows, *other)), flat, shape=(x_shape[axis], *other))
    return transpose(dense, perm=(*range(1, axis + 1), 0, *range(axis + 1, len(x_shape))))


def _scatter_rows(xp: Any, values: Any, indices: Any, *, shape: Shape) -> Any:
    out = np.zeros(shape, values.dtype)
    np.add.at(out, indices, values)
    return out


take = op("take", _take, [_take_pull, None], apart=["indices"], linear=True, moves=True)
scatter_rows = op(
    "scatter_rows", _scatter_rows, [lambda g, indices: take(g, indices, axis=0), None], apart=["indices"], linear=True
)

needed.scatter_rows = scatter_rows
