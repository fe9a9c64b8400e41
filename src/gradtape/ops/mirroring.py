"""Padding with what stands inside, mirrored at the edges, and its transpose.

`apart` is how far the first element of an edge is from the one that it mirrors, less 1: 0 with the
edge itself, 1 without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradtape.ops.batching import with_params
from gradtape.ops.declare import op
from gradtape.ops.links import Link, LinkedCall, pairs

Paddings = Sequence[tuple[int, int]]


def _edges(
    shape: Sequence[int], paddings: Paddings, apart: int
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """For each edge of a padded array of this shape inside: where it is, and what it mirrors; one
    axis after the other, each over all of the axes before it.
    """
    along = [slice(low, low + size) for size, (low, _) in zip(shape, paddings, strict=True)]
    for axis, (size, (low, high)) in enumerate(zip(shape, paddings, strict=True)):
        before = (slice(None),) * axis
        behind = tuple(along[axis + 1 :])
        end = low + size
        for count, edge, first in ((low, 0, low + apart), (high, end, end - apart - high)):
            if count:
                backwards = slice(first + count - 1, first - 1 if first else None, -1)
                yield (
                    (*before, slice(edge, edge + count), *behind),
                    (*before, backwards, *behind),
                )


def _inside(shape: Sequence[int], paddings: Paddings) -> tuple[slice, ...]:
    return tuple([slice(low, low + size) for size, (low, _) in zip(shape, paddings, strict=True)])


def _mirror(xp: Any, x: Any, *, paddings: Paddings, apart: int) -> Any:
    out = np.empty(
        [low + size + high for (low, high), size in zip(paddings, x.shape, strict=True)], x.dtype
    )
    out[_inside(x.shape, paddings)] = x
    for edge, mirrored in _edges(x.shape, paddings, apart):
        out[edge] = out[mirrored]
    return out


def _mirror_on_xla(xp: Any, x: Any, *, paddings: Paddings, apart: int) -> Any:
    return xp.pad(x, list(paddings), mode="reflect" if apart else "symmetric")


def _shape_inside(shape: Sequence[int], paddings: Paddings) -> list[int]:
    return [size - low - high for (low, high), size in zip(paddings, shape, strict=True)]


def _fold(xp: Any, x: Any, *, paddings: Paddings, apart: int) -> Any:
    """The edges added to what they mirror, the last one first."""
    shape = _shape_inside(x.shape, paddings)
    out = np.array(x)
    for edge, mirrored in reversed(list(_edges(shape, paddings, apart))):
        out[mirrored] += out[edge]
    return out[_inside(shape, paddings)].copy()


def _fold_on_xla(xp: Any, x: Any, *, paddings: Paddings, apart: int) -> Any:
    shape = _shape_inside(x.shape, paddings)
    for edge, mirrored in reversed(list(_edges(shape, paddings, apart))):
        x = x.at[mirrored].add(x[edge])
    return x[_inside(shape, paddings)]


def _with_a_batch(size: int, shape: Any, *, paddings: Paddings, apart: int) -> dict[str, Any]:
    return {"paddings": ((0, 0), *paddings), "apart": apart}


def _links(call: LinkedCall, index: int) -> Link:
    return Link(_mirrored(call.inputs[index], **call.params))


def _fold_links(call: LinkedCall, index: int) -> Link:
    return Link(_mirrored(call.shape, **call.params).T.tocsr())


def _mirrored(shape: Sequence[int], *, paddings: Paddings, apart: int) -> Any:
    """Which elements of a padded array of this shape inside equal which ones inside."""
    size = math.prod(shape)
    found = _mirror(np, np.arange(size).reshape(shape), paddings=paddings, apart=apart)
    return pairs(np.arange(found.size), found, found.size, size)


mirror = op(
    "mirror",
    _mirror,
    [lambda g, paddings, apart: mirror_fold(g, paddings=paddings, apart=apart)],
    linear=True,
    batch=with_params(_with_a_batch),
    links=_links,
    xla=_mirror_on_xla,
)
mirror_fold = op(
    "mirror_fold",
    _fold,
    [lambda g, paddings, apart: mirror(g, paddings=paddings, apart=apart)],
    linear=True,
    batch=with_params(_with_a_batch),
    links=_fold_links,
    xla=_fold_on_xla,
)
