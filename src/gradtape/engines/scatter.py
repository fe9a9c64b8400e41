"""Adding rows to an array at indices that may repeat, in NumPy.

`ufunc.at` takes one row at a time, half a microsecond each. Rows that are all different can be read, combined and written back
at once: ten times as fast. So they are taken in rounds, each of which is for the first occurrence of every index that is left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_FEW = 8  # rows for which `ufunc.at` is as fast as another round
_ROUNDS = 6


def all_within(indices: Any, size: int) -> bool:
    """Whether all indices are in [0, size): read as unsigned numbers, the negative ones are the largest."""
    if not indices.size:
        return True
    if indices.dtype.kind == "i" and size >> (8 * indices.itemsize - 1):  # no positive one is too large
        return bool(indices.min() >= 0)
    return bool(indices.view(indices.dtype.str.replace("i", "u")).max() < size)


def combine_rows(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    """`array[i] = ufunc(array[i], value)` for each index and row of values, in their order; no index is negative.

    If a signal's exception arrives between two writes, the first one is undone.
    """
    if array.ndim > 1 and array.size and array.flags.c_contiguous and not array.dtype.hasobject:
        _in_rounds(ufunc, array, indices.astype(np.intp, copy=False), values)
    elif len(indices):
        _one_by_one(ufunc, array, indices, values)


def _in_rounds(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    """Combines the first occurrence of every index, and again, as long as it pays; what is left comes after them all."""
    wholes = array.reshape(len(array), -1).view(f"V{array.nbytes // len(array)}")[:, 0]  # a row as one element: half the time
    place = np.empty(len(array), np.intp)
    written, before = None, None
    try:
        for _ in range(_ROUNDS):
            if len(indices) <= _FEW:
                break
            numbers = np.arange(len(indices))
            place[indices[::-1]] = numbers[::-1]  # of what is written to one place the last stays
            repeated = place.take(indices) != numbers
            count = np.count_nonzero(repeated)
            if 4 * count > 3 * len(indices):  # each index repeats so often that few are done in a round
                break
            old = array.take(indices, 0)
            if not count:
                wholes[indices] = _as_wholes(ufunc(old, values, out=old), wholes.dtype)
                return
            rows, last = _as_wholes(ufunc(old, values), wholes.dtype)[::-1], indices[::-1]
            first = indices, _as_wholes(old, wholes.dtype)
            later = np.flatnonzero(repeated)
            indices, values = indices.take(later), values.take(later, 0)
            if written is None:
                written, before = first
            wholes[last] = rows
        if len(indices):
            _one_by_one(ufunc, array, indices, values)
    except BaseException:
        if written is not None:
            wholes[written] = before
        raise


def _as_wholes(rows: Any, dtype: Any) -> Any:
    return rows.reshape(len(rows), -1).view(dtype)[:, 0]


def _one_by_one(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    if values.size < 512 or array.ndim == 1 or not array.flags.c_contiguous:
        ufunc.at(array, indices, values)
        return
    width = math.prod(array.shape[1:])  # element by element is four times as fast as row by row
    places = (indices.astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
    ufunc.at(array.reshape(-1), places, values.reshape(-1))
