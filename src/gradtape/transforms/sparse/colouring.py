"""Colouring the columns of a sparse matrix: columns of one colour share no row,
so one product computes them all.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

Colours = np.ndarray[Any, Any]

# Of columns that share a row, up to which they are listed: about a second's work.
_MOST_PAIRS = 4_000_000
_ROUNDS = 3  # of trying again: what they can save is saved by then


def colour_columns(pattern: Any) -> tuple[Colours, int]:
    """A colour for each column of a SciPy sparse matrix, counted from 0,
    and how many colours there are.

    No two columns of the same colour have an entry in the same row. There are at least as many
    colours as the fullest row has entries: the search stops when that bound is reached, so simple
    patterns are done at once. Equal patterns get equal colours.
    """
    by_column = pattern.tocsc()
    height, width = pattern.shape
    in_row = np.bincount(by_column.indices, minlength=height)
    fewest = int(in_row.max(initial=min(1, width)))
    filled = np.diff(by_column.indptr) > 0
    # A row has them all, so that each needs a colour of its own.
    if fewest == np.count_nonzero(filled):
        return np.maximum(np.cumsum(filled) - 1, 0) * filled, fewest

    columns = _slices(by_column)
    colours, count = _greedy(columns, range(width), height)
    if count > fewest and np.sum(in_row.astype(np.int64) ** 2) <= _MOST_PAIRS:
        ones = by_column.astype(np.int32)
        colours, count = min(
            (colours, count),
            _by_saturation(_slices((ones.T @ ones).tocsc())),
            key=lambda found: found[1],
        )
    shuffle = np.random.default_rng(0)
    for _ in range(_ROUNDS):
        if count == fewest:
            break
        # Taken colour by colour, in any order of colours, columns need no more of them than before,
        # and may need fewer.
        order = np.argsort(shuffle.permutation(count)[colours], kind="stable")
        colours, count = _greedy(columns, order.tolist(), height)
    return colours, count


def _slices(by_column: Any) -> list[list[int]]:
    """The rows of each column's entries."""
    starts, rows = by_column.indptr.tolist(), by_column.indices.tolist()
    return [rows[start:stop] for start, stop in pairwise(starts)]


# A set of colours is an integer with a bit for each: `~taken & (taken + 1)` is the first one that
# is not in `taken`.


def _greedy(columns: list[list[int]], order: Iterable[int], height: int) -> tuple[Colours, int]:
    """Each column in turn gets the first colour that none of its rows has yet."""
    in_row = [0] * height
    colours = np.zeros(len(columns), np.intp)
    every = 0
    for column in order:
        rows = columns[column]
        taken = 0
        for row in rows:
            taken |= in_row[row]
        colour = ~taken & (taken + 1)
        for row in rows:
            in_row[row] |= colour
        every |= colour
        colours[column] = colour.bit_length() - 1
    return colours, every.bit_length()


def _by_saturation(neighbours: list[list[int]]) -> tuple[Colours, int]:
    """The column that has the most colours around it goes next; of equal ones that with the most
    neighbours, then the first.
    """
    around = [0] * len(neighbours)
    colours = np.full(len(neighbours), -1, np.intp)
    waiting = [(0, -len(near), column) for column, near in enumerate(neighbours)]
    heapq.heapify(waiting)
    done = [False] * len(neighbours)
    while waiting:
        _, _, column = heapq.heappop(waiting)
        if done[column]:  # its entry with more colours around it came first
            continue
        done[column] = True
        colour = ~around[column] & (around[column] + 1)
        colours[column] = colour.bit_length() - 1
        for near in neighbours[column]:
            if not done[near] and not around[near] & colour:
                around[near] |= colour
                heapq.heappush(waiting, (-around[near].bit_count(), -len(neighbours[near]), near))
    return colours, int(colours.max()) + 1
