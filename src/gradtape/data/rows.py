"""The planner: elements that are rows of arrays are taken many at a time.

Where elements lie in memory, or can be computed from their numbers, a pipeline is index
arithmetic. A batch of shuffled slices is one gather; so is one of shuffled, repeated, zipped or
sharded ones, and a function that can be vectorised runs once for all rows of a batch.

`Addressed` are elements by number. `RowStream` are the elements of one pass, in their order; each
stage makes one from that of the stage before, or says that it cannot. `Elements` gives the rows of
a stream one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.data.stage import Run, Stage, StageIterator
from gradtape.data.structure import one_of
from gradtape.errors import invalid_argument

Columns = list[Any]
"""An array for each leaf, whose first axis counts elements."""
Pack = Callable[[Sequence[Any]], Any]
"""Gives leaves the structure of an element."""

_MOST_ROWS = 256  # that are gathered at once where elements are asked for one by one
_MOST_BYTES = 1 << 20


class Addressed:
    """Elements by number: `size` of them, without end if it is None."""

    def __init__(self, size: int | None, pack: Pack) -> None:
        self.size = size
        self.pack = pack

    def gather(self, numbers: Any) -> Columns:
        """The elements of these numbers, an array of integers."""
        raise NotImplementedError

    def span(self, start: int, stop: int) -> Columns:
        """Consecutive elements, all of which exist."""
        return self.gather(np.arange(start, stop))

    def stream(self, order: Callable[[Addressed], RowStream]) -> RowStream:
        """The elements in an order, which is made from the elements that are looked up in it."""
        return order(self)


class RowStream:
    """The elements of one pass, in their order."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack

    def take(self, count: int) -> Columns | None:
        """The next elements: at least one and at most as many as are asked for; None at the end.

        After an error the next call goes on with the element after the one that failed.
        """
        raise NotImplementedError

    def skip(self, count: int) -> None:
        """Leaves elements out."""
        while count:
            columns = self.take(count)
            if columns is None:
                return
            count -= len(columns[0])

    def close(self) -> None:
        """Ends what works for this stream."""


class InOrder(RowStream):
    """Addressed elements from the first to the last."""

    def __init__(self, source: Addressed) -> None:
        super().__init__(source.pack)
        self._source = source
        self._at = 0

    def take(self, count: int) -> Columns | None:
        start = self._at
        stop = start + count
        size = self._source.size
        if size is not None and stop > size:
            stop = size
            if start >= stop:
                return None
        columns = self._source.span(start, stop)
        self._at = stop
        return columns

    def skip(self, count: int) -> None:
        self._at += count


class Elements(StageIterator):
    """The rows of a stream one by one; they are taken in blocks that grow."""

    def __init__(self, stream: RowStream) -> None:
        super().__init__()
        self._stream = stream
        self._columns: Columns = []
        self._at = self._count = 0
        self._block = 1
        self._limit = 0

    def __next__(self) -> Any:
        at = self._at
        if at >= self._count:
            self._refill()
            at = 0
        self._at = at + 1
        columns = self._columns
        if len(columns) == 1:
            return self._stream.pack((Tensor(one_of(columns[0], at)),))
        return self._stream.pack([Tensor(one_of(column, at)) for column in columns])

    def _refill(self) -> None:
        columns = self._stream.take(self._block)
        if columns is None:
            self._count = self._at = 0
            raise StopIteration
        self._columns, self._count = columns, len(columns[0])
        if not self._limit:
            size = sum(column[:1].nbytes for column in columns)
            self._limit = max(1, min(_MOST_ROWS, _MOST_BYTES // max(size, 1)))
        self._block = min(2 * self._block, self._limit)

    def skip(self, count: int) -> None:
        ready = min(count, self._count - self._at)
        self._at += ready
        if count > ready:
            self._stream.skip(count - ready)

    def close(self) -> None:
        self._stream.close()


class InBlocks(RowStream):
    """Rows that a function computes, taken several times as many at once as are asked for: a call
    of the function takes longer to prepare than to compute a few rows.
    """

    def __init__(self, source: RowStream) -> None:
        super().__init__(source.pack)
        self._source = source
        self._held: Columns = []
        self._at = self._count = 0
        self._times = 1

    def take(self, count: int) -> Columns | None:
        if self._at == self._count and not self._refill(count):
            return None
        start, self._at = self._at, min(self._at + count, self._count)
        return [column[start : self._at] for column in self._held]

    def _refill(self, count: int) -> bool:
        self._at = self._count = 0
        columns = self._source.take(count * self._times)
        if columns is None:
            return False
        self._held, self._count = columns, len(columns[0])
        size = sum(column.nbytes for column in columns)
        if self._count == count * self._times and 2 * size <= _MOST_BYTES:
            self._times *= 2
        return True

    def skip(self, count: int) -> None:
        ready = min(count, self._count - self._at)
        self._at += ready
        if count > ready:
            self._source.skip(count - ready)

    def close(self) -> None:
        self._source.close()


def elements_of(stage: Stage, run: Run) -> Elements | None:
    """The elements of a stage by way of its rows, if it has them.

    Where a function computes them it is called for each element: in a batch all results must have
    the same shape, but not in a dataset.
    """
    rows = None if stage.computes else stage.rows(run)
    return None if rows is None else Elements(rows)


def taken(stream: RowStream, count: int) -> Columns | None:
    """The next elements of a stream: as many as are asked for, fewer only at the end; then
    None.
    """
    columns = stream.take(count)
    if columns is None or len(columns[0]) == count:
        return columns
    parts = [columns]
    count -= len(columns[0])
    while count:
        more = stream.take(count)
        if more is None:
            break
        parts.append(more)
        count -= len(more[0])
    return joined(parts)


def joined(parts: Sequence[Columns]) -> Columns:
    """Columns of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return [_joined(columns, place) for place, columns in enumerate(zip(*parts, strict=True))]


def _joined(columns: Sequence[Any], place: int) -> Any:
    first = columns[0]
    for column in columns:
        if column.shape[1:] != first.shape[1:] or column.dtype != first.dtype:
            raise cannot_batch(place, first[0], column[0])
    return np.concatenate(columns)


def cannot_batch(place: int, one: Any, two: Any) -> Exception:
    """The error for elements of different shapes or dtypes in one batch."""
    return invalid_argument(
        f"batch: component {place} of one element has shape {list(one.shape)} and dtype "
        f"{one.dtype.name}, but that of another one in the same batch has shape {list(two.shape)} "
        f"and dtype {two.dtype.name}: use padded_batch for elements of different sizes."
    )
