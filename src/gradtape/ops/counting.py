"""Ops that compute indices: bins, positions in a sorted row, inverse permutations, coordinates.

None has a derivative.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradtape.ops.batching import as_it_is, elementwise, together
from gradtape.ops.declare import op


def _histogram_bins(xp: Any, x: Any, low: Any, high: Any, *, nbins: int) -> Any:
    """The bin of each number; what lies outside goes to the first or the last."""
    if xp is np and not (low < high).all():
        raise ValueError(f"value_range must be increasing, got {low} to {high}")
    if xp is np and np.isnan(x).any():
        raise ValueError("NaN belongs to no bin")
    return xp.clip(xp.floor((x - low) / (high - low) * nbins), 0, nbins - 1).astype(np.int32)


def _searchsorted(xp: Any, x: Any, values: Any, *, side: str) -> Any:
    """Where each of the values would stand in its row of `x`; each axis but the last is of rows."""
    rows = (
        x.reshape(-1, x.shape[-1]) if x.size else x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    )
    wanted = values.reshape(len(rows), values.shape[-1])
    found = [
        xp.searchsorted(row, value, side=side) for row, value in zip(rows, wanted, strict=True)
    ]
    return xp.asarray(found, dtype=np.int64).reshape(values.shape)


def _searchsorted_on_xla(xp: Any, x: Any, values: Any, *, side: str) -> Any:
    """All rows at once: a loop over them would be as many programs."""
    search = xp.jax.vmap(partial(xp.searchsorted, side=side))
    found = search(
        x.reshape(math.prod(x.shape[:-1]), x.shape[-1]),
        values.reshape(math.prod(x.shape[:-1]), values.shape[-1]),
    )
    return found.reshape(values.shape).astype(np.int64)


def _invert_permutation(xp: Any, x: Any) -> Any:
    numbers = xp.arange(x.shape[-1], dtype=x.dtype)
    if xp is np and not (np.sort(x, axis=-1) == numbers).all():
        raise ValueError(f"each number from 0 to {x.shape[-1] - 1} must occur once")
    return xp.argsort(x, axis=-1).astype(x.dtype)


def _coordinates(xp: Any, x: Any, *, sizes: tuple[int, ...]) -> Any:
    """The coordinates, in a new last axis, of places in an array of shape `sizes` that is read row
    by row.
    """
    return xp.stack(xp.unravel_index(x, sizes), axis=-1).astype(x.dtype)


histogram_bins = op("histogram_bins", _histogram_bins, [None, None, None], batch=elementwise)
searchsorted = op(
    "searchsorted", _searchsorted, [None, None], batch=together, xla=_searchsorted_on_xla
)
invert_permutation = op("invert_permutation", _invert_permutation, [None], batch=as_it_is)
coordinates = op("coordinates", _coordinates, [None], batch=as_it_is)
