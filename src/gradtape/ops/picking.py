"""Indexing with arrays, by NumPy's rules: `x[rows, columns]`, `x[:, places]`, `x[mask, 0]`.

Each is a slice and a gather.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.convert import array_of
from gradtape.core.tensor import Tensor
from gradtape.engines.engine import XLA, engine_of
from gradtape.errors import invalid_argument
from gradtape.ops.arithmetic import add, less
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.ops.indexing import flat_index, take
from gradtape.ops.selection import where
from gradtape.ops.shaping import getitem, reshape, stack, transpose

Shape = tuple[int, ...]

_INT64 = np.dtype(np.int64)


def pick(x: Tensor, key: tuple[Any, ...]) -> Tensor:
    """`x[key]` where at least one part of the key is an array; parts are integers, slices,
    `...`, None, and arrays.

    The axes that arrays and integers index become those of the arrays' common shape: in the place
    of the first of them if they stand side by side, else in front, as in NumPy.
    """
    parts = _complete(_without_masks(key, x.array.shape), x.array.ndim)
    indexed = [
        i for i, part in enumerate(parts) if not isinstance(part, slice) and part is not None
    ]
    if any(part is None or (isinstance(part, slice) and part != slice(None)) for part in parts):
        x = getitem(
            x, key=tuple([slice(None) if i in indexed else part for i, part in enumerate(parts)])
        )
    sizes = [x.array.shape[i] for i in indexed]
    indices = [_from_the_front(parts[i], size) for i, size in zip(indexed, sizes, strict=True)]
    first = indexed[0]
    if indexed[-1] - first >= len(indexed):  # something stands between them
        x = transpose(x, perm=(*indexed, *[i for i in range(x.array.ndim) if i not in indexed]))
        first = 0
    if len(indices) == 1:
        return take(x, indices[0], axis=first, sparse=False)
    before, behind = x.array.shape[:first], x.array.shape[first + len(indexed) :]
    rows = reshape(x, shape=(*before, math.prod(sizes), *behind))
    return take(rows, flat_index(_together(indices), sizes=tuple(sizes)), axis=first, sparse=False)


def _without_masks(key: Sequence[Any], shape: Shape) -> list[Any]:
    """The key with the indices of the true elements in the place of each boolean array."""
    parts: list[Any] = []
    covered = sum(_width(part) for part in key)
    axis = 0
    for part in key:
        if part is Ellipsis:
            axis += len(shape) - covered
        mask = _mask(part)
        if mask is None:
            parts.append(part)
        else:
            if mask.shape != shape[axis : axis + mask.ndim]:
                raise invalid_argument(
                    f"getitem: a mask of shape {mask.shape} does not fit axis {axis} of a tensor "
                    f"of shape {shape}."
                )
            parts += np.nonzero(mask)
        axis += _width(part)
    return parts


def _mask(part: Any) -> Any:
    """A boolean array in a key, else None."""
    found = array_of(part)
    array = np.asarray(part) if isinstance(part, list) else part if found is None else found
    return array if getattr(array, "ndim", 0) and array.dtype.kind == "b" else None


def _width(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None or part is Ellipsis:
        return 0
    mask = _mask(part)
    return 1 if mask is None else mask.ndim


def _complete(parts: list[Any], rank: int) -> list[Any]:
    """A part for each axis: slices in the place of the ellipsis and at the end."""
    missing = rank - sum(part is not None and part is not Ellipsis for part in parts)
    if missing < 0:
        raise invalid_argument(
            f"getitem: {rank - missing} indices are too many for a tensor with {rank} axes."
        )
    place = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    if any(part is Ellipsis for part in parts[place + 1 :]):
        raise invalid_argument("getitem: an index can have only one ellipsis ('...').")
    return [*parts[:place], *[slice(None)] * missing, *parts[place + 1 :]]


def _from_the_front(part: Any, size: int) -> Tensor:
    """An index array without negative entries.

    One whose values are not known yet is checked where they are: in the gather.
    """
    known = array_of(part)
    indices: Any = np.asarray(part) if known is None else known
    if not indices.size:
        return Tensor(np.zeros(indices.shape, _INT64))
    if indices.dtype.kind not in "iu":
        raise TypeError(f"getitem: index arrays must be integers or booleans, got {indices.dtype}.")
    if engine_of(indices) is XLA:
        wide = cast(part, dtype=_INT64)
        from_the_front = where(less(wide, 0), add(wide, size), wide)
        # What is still negative would count from the end once more.
        return where(less(from_the_front, 0), size, from_the_front)
    # A copy, since the user's array may change before the gradient is asked for.
    indices = np.array(indices, _INT64)
    low, high = indices.min(), indices.max()
    if low < -size or high >= size:
        raise invalid_argument(
            f"getitem: index {low if low < -size else high} is out of range for an axis of "
            f"size {size}."
        )
    return Tensor(np.where(indices < 0, indices + size, indices) if low < 0 else indices)


def _together(indices: list[Tensor]) -> Tensor:
    """Index arrays of one shape as coordinates in a last axis."""
    shapes = [i.array.shape for i in indices]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise invalid_argument(
            f"getitem: index arrays of the shapes {', '.join(map(str, shapes))} do not broadcast."
        ) from error
    return stack(*[broadcast_to(i, shape=shape) for i in indices], axis=len(shape))
