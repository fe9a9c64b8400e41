"""Adding rows to an array at indices that may repeat, in NumPy.

`ufunc.at` takes one row at a time, half a microsecond each. Rows that are all different can be read, combined and written back
at once: ten times as fast. So the rows are taken in rounds, in each of which no index repeats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_FEW = 64  # rows for which `ufunc.at` is as fast as another round
_ROUNDS = 6


def combine_rows(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    """`array[i] = ufunc(array[i], value)` for each index and row of values, in their order; no index is negative."""
    rounds: list[tuple[Any, Any]] = []
    if array.ndim > 1 and array.flags.c_contiguous:
        indices, values = _into_rounds(len(array), indices, values, rounds)
    if len(indices):
        _one_by_one(ufunc, array, indices, values)
    for once, rows in reversed(rounds):
        array[once] = ufunc(array.take(once, 0), rows)


def _into_rounds(size: int, indices: Any, values: Any, rounds: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Moves the last occurrence of every index into a round, and again, as long as it pays; what is left comes before them all."""
    place = None
    while len(indices) > _FEW and len(rounds) < _ROUNDS:
        if place is None:
            place = np.empty(size, np.intp)
        numbers = np.arange(len(indices))
        place[indices] = numbers
        last = place[indices] == numbers
        count = np.count_nonzero(last)
        if 4 * count < len(indices):  # each index repeats so often that few are done in a round
            break
        if count == len(indices):
            rounds.append((indices, values))
            return indices[:0], values[:0]
        chosen, earlier = np.flatnonzero(last), np.flatnonzero(~last)
        rounds.append((indices.take(chosen), values.take(chosen, 0)))
        indices, values = indices.take(earlier), values.take(earlier, 0)
    return indices, values


def _one_by_one(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    if values.size < 512 or array.ndim == 1 or not array.flags.c_contiguous:
        ufunc.at(array, indices, values)
        return
    width = math.prod(array.shape[1:])  # element by element is four times as fast as row by row
    places = (indices.astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
    ufunc.at(array.reshape(-1), places, values.reshape(-1))
