"""Adding rows to an array at indices that may repeat, in NumPy.

`ufunc.at` takes one row at a time, half a microsecond each. Rows that are all different can be
read, combined and written back at once: ten times as fast. So they are processed in rounds, each of
which takes the first occurrence of every remaining index.
"""

from __future__ import annotations

import math
from operator import setitem
from typing import Any

import numpy as np

_FEW = 8  # rows for which `ufunc.at` is as fast as another round
_ROUNDS = 6


def all_within(indices: Any, size: int) -> bool:
    """Whether all indices are in [0, size): read as unsigned numbers,
    the negative ones are the largest.
    """
    if not indices.size:
        return True
    # No positive one is too large.
    if indices.dtype.kind == "i" and size >> (8 * indices.itemsize - 1):
        return bool(indices.min() >= 0)
    return bool(indices.view(indices.dtype.str.replace("i", "u")).max() < size)


def combine_rows(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> None:
    """`array[i] = ufunc(array[i], value)` for each index and row of values, in their order;
    no index is negative.
    """
    write, *arguments = rows_to_combine(ufunc, array, indices, values)
    write(*arguments)


def rows_to_combine(
    ufunc: np.ufunc, array: Any, indices: Any, values: Any, rounds: int = _ROUNDS
) -> tuple[Any, ...]:
    """A function and its arguments: the single call that does what `combine_rows` does, so that no
    signal can interrupt it halfway.

    The first of these is the array or a view of it, and nothing else in them refers to it.
    """
    if not (
        array.ndim > 1 and array.size and array.flags.c_contiguous and not array.dtype.hasobject
    ):
        return ufunc.at, array, indices, values
    if rounds and len(indices) > _FEW:
        indices = indices.astype(np.intp, copy=False)
        numbers = np.arange(len(indices))
        place = np.empty(len(array), np.intp)
        place[indices[::-1]] = numbers[::-1]  # of what is written to one place the last stays
        repeated = place.take(indices) != numbers
        count = np.count_nonzero(repeated)
        # Else each index repeats so often that few are done in a round.
        if 4 * count <= 3 * len(indices):
            old = array.take(indices, 0)
            rows = ufunc(old, values, out=old)
            if count:  # the first occurrence of an index gathers what the later ones bring
                later = np.flatnonzero(repeated)
                write, *arguments = rows_to_combine(
                    ufunc, rows, place.take(indices.take(later)), values.take(later, 0), rounds - 1
                )
                write(*arguments)
                indices, rows = indices[::-1], rows[::-1]
            # A row as one element: half the time.
            wholes = _as_wholes(array, f"V{array.nbytes // len(array)}")
            return setitem, wholes, indices, _as_wholes(rows, wholes.dtype)
    return _one_by_one(ufunc, array, indices, values)


def _as_wholes(rows: Any, dtype: Any) -> Any:
    return rows.reshape(len(rows), -1).view(dtype)[:, 0]


def _one_by_one(ufunc: np.ufunc, array: Any, indices: Any, values: Any) -> tuple[Any, ...]:
    if values.size < 512:
        return ufunc.at, array, indices, values
    width = math.prod(array.shape[1:])  # element by element is four times as fast as row by row
    places = (indices.astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
    return ufunc.at, array.reshape(-1), places, values.reshape(-1)


def in_rounds(
    of: Any, x: Any, rows: Any, firsts: Any, counts: Any, out: Any, segments: Any
) -> None:
    """All first rows of the segments, then all second ones, and so on: several times as fast as
    NumPy's `reduceat`, which goes through a segment one column at a time.

    The longest segments stand first, so that those that still have rows are always in front.
    """
    longest_first = np.argsort(-counts, kind="stable")
    firsts, counts = firsts[longest_first], counts[longest_first]
    found = x.take(rows[firsts], 0)
    left = np.searchsorted(-counts, -np.arange(1, counts[0]), side="left")
    for number, many in enumerate(left.tolist(), 1):
        part = found[:many]
        of(part, x.take(rows[firsts[:many] + number], 0), out=part, dtype=x.dtype)
    out[segments[longest_first]] = found
