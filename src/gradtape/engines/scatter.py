"""Adding rows to an array at indices that may repeat, in NumPy.

`ufunc.at` takes one row at a time, half a microsecond each. Rows that are all different can be read, combined and written back
at once: ten times as fast. So the rows are sorted by index, and taken in rounds, in each of which no index repeats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_FEW = 64  # rows for which `ufunc.at` is as fast as another round
_MANY = 2**14  # rows that take longer to sort than to combine one by one
_ROUNDS = 6


def combine_rows(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    """`array[i] = ufunc(array[i], value)` for each index and row of values, in their order; no index is negative."""
    if array.ndim > 1 and _FEW < len(indices) <= _MANY and array.flags.c_contiguous:
        indices, values = _in_rounds(ufunc, array, indices, values)
    if len(indices):
        _one_by_one(ufunc, array, indices, values)


def _in_rounds(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> tuple[Any, Any]:
    """Combines what it can in a few rounds: the indices and values that are left over."""
    order = np.argsort(indices, kind="stable")
    sorted_indices = indices[order]
    for _ in range(_ROUNDS):
        if len(order) <= _FEW:
            break
        first = np.empty(len(order), bool)
        first[0] = True
        np.not_equal(sorted_indices[1:], sorted_indices[:-1], out=first[1:])
        once, chosen = sorted_indices[first], order[first]
        if 4 * len(once) < len(order):  # each index repeats so often that few are done in a round
            break
        array[once] = ufunc(array.take(once, 0), values.take(chosen, 0))
        later = ~first
        order, sorted_indices = order[later], sorted_indices[later]
    return sorted_indices, values.take(order, 0)


def _one_by_one(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    if values.size < 512 or array.ndim == 1 or not array.flags.c_contiguous:
        ufunc.at(array, indices, values)
        return
    width = math.prod(array.shape[1:])  # element by element is four times as fast as row by row
    places = (indices.astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
    ufunc.at(array.reshape(-1), places, values.reshape(-1))
