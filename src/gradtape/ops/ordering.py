"""The order of elements: the indices that would sort them.

The sorting itself is a gather.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.ops.batching import as_it_is
from gradtape.ops.declare import op


def _argsort(xp: Any, x: Any, *, descending: bool) -> Any:
    """Equal elements keep their order, also from the largest down."""
    if not descending:
        return xp.argsort(x, axis=-1, stable=True)
    return x.shape[-1] - 1 - xp.flip(xp.argsort(xp.flip(x, -1), axis=-1, stable=True), -1)


def _top_indices(xp: Any, x: Any, *, count: int) -> Any:
    """The first of `_argsort(descending=True)`.

    Few of many are found without sorting all: they are those that are not below the least of them,
    in each row. Where others are equal to that one, or NaN is among them, the row is sorted.
    """
    length = x.shape[-1]
    if not 0 < count <= length // 4 or not x.size:
        return _argsort(xp, x, descending=True)[..., :count]
    rows = x.reshape(-1, length)
    least = np.partition(rows, length - count, axis=-1)[:, length - count, None]
    chosen = rows >= least
    simple = np.add.reduce(chosen, 1, dtype=np.intp) == count
    if simple.all():
        found = (np.flatnonzero(chosen) % length).reshape(-1, count)
        order = _argsort(np, np.take_along_axis(rows, found, -1), descending=True)
        found = np.take_along_axis(found, order, -1)
    else:
        found = np.empty((len(rows), count), np.intp)
        if simple.any():
            found[simple] = _top_indices(np, rows[simple], count=count)
        found[~simple] = _argsort(np, rows[~simple], descending=True)[:, :count]
    return found.reshape(*x.shape[:-1], count)


argsort = op("argsort", _argsort, [None], batch=as_it_is)
top_indices = op(
    "top_indices",
    _top_indices,
    [None],
    batch=as_it_is,
    xla=lambda xp, x, *, count: _argsort(xp, x, descending=True)[..., :count],
)
