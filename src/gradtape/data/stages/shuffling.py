"""Shuffle: from a buffer of elements, one at random is given and the next takes its place.

Where elements are addressed, the buffer holds their numbers, and rows are gathered in the order in
which the numbers come out. The order is the same in both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count as numbers_from
from typing import Any

import numpy as np

from gradtape.data.rows import Addressed, Columns, RowStream, elements_of
from gradtape.data.stage import RandomStage, Run, Seed, Stage, StageIterator

_DRAWN = 1024  # random numbers that are drawn at once
Draw = Callable[[], np.random.Generator]


class Shuffle(RandomStage):
    """Elements in random order, from a buffer of `size`, or of all if it is None."""

    name = "shuffle"

    def __init__(self, source: Stage, size: int | None, *, seed: Seed, changes: bool) -> None:
        super().__init__(source, seed=seed, changes=changes)
        self._size = size

    def _buffer(self) -> int | None:
        """The size of the buffer; None if all elements are in it."""
        found = self.input.cardinality()
        return None if self._size is None or 0 <= found <= self._size else self._size

    def iterator(self, run: Run) -> StageIterator:
        return elements_of(self, run) or _Shuffled(
            self.input.iterator(run), self._buffer(), lambda: run.generator(self)
        )

    def rows(self, run: Run) -> RowStream | None:
        source = self.input.addressed()
        size = self._buffer()
        if source is None or (source.size is None and size is None):
            return None
        return source.stream(
            lambda stored: _ShuffledRows(stored, size, lambda: run.generator(self))
        )


class _Buffer:
    """What comes out of a buffer that an iterator fills."""

    def __init__(self, source: Iterator[Any], size: int, generator: np.random.Generator) -> None:
        self._source, self._size = source, size
        self._generator = generator
        self._drawn: list[float] = []
        self._held: list[Any] = []
        self._ended = False
        self._free: int | None = None  # the place of what was given last

    def __next__(self) -> Any:
        held = self._held
        while not self._ended and (self._free is not None or len(held) < self._size):
            self._fill()
        if not held:
            raise StopIteration
        if not self._drawn:
            self._drawn = self._generator.random(_DRAWN).tolist()
        place = int(self._drawn.pop() * len(held))
        found = held[place]
        if self._ended:
            held[place] = held[-1]
            held.pop()
        else:
            held[place], self._free = None, place
        return found

    def _fill(self) -> None:
        """Puts the next element where there is room, or closes the gap if there is none."""
        try:
            element = next(self._source)
        except StopIteration:
            self._ended = True
            if self._free is not None:
                self._held[self._free] = self._held[-1]
                self._held.pop()
            return
        if self._free is None:
            self._held.append(element)
        else:
            self._held[self._free], self._free = element, None

    def clear(self) -> None:
        self._held, self._ended, self._free = [], True, None


class _Shuffled(StageIterator):
    def __init__(self, source: StageIterator, size: int | None, draw: Draw) -> None:
        super().__init__(source)
        self._size, self._draw = size, draw
        self._all: list[Any] = []
        self._order: Iterator[Any] | None = None
        self._buffer: _Buffer | None = None

    def __next__(self) -> Any:
        if self._size is not None:
            if self._buffer is None:
                self._buffer = _Buffer(self.inputs[0], self._size, self._draw())
            return next(self._buffer)
        if self._order is None:
            self._all.extend(self.inputs[0])  # after an error the next call goes on from here
            self._order = iter(self._draw().permutation(len(self._all)).tolist())
        place = next(self._order)
        found, self._all[place] = self._all[place], None
        return found

    def close(self) -> None:
        self._all, self._order = [], iter(())
        if self._buffer is not None:
            self._buffer.clear()
        super().close()


class _ShuffledRows(RowStream):
    """Addressed elements in the order in which their numbers come out of the buffer."""

    def __init__(self, source: Addressed, size: int | None, draw: Draw) -> None:
        super().__init__(source.pack)
        self._source, self._size, self._draw = source, size, draw
        self._order: _Whole | _Buffered | None = None

    def _numbers(self, count: int) -> Any:
        if self._order is None:
            if self._size is None:
                assert self._source.size is not None
                self._order = _Whole(self._source.size, self._draw())
            else:
                self._order = _Buffered(self._source.size, self._size, self._draw())
        return self._order.take(count)

    def take(self, count: int) -> Columns | None:
        numbers = self._numbers(count)
        return self._source.gather(numbers) if len(numbers) else None

    def skip(self, count: int) -> None:
        self._numbers(count)


class _Whole:
    """A random order of all numbers."""

    def __init__(self, size: int, generator: np.random.Generator) -> None:
        self._order = generator.permutation(size)
        self._at = 0

    def take(self, count: int) -> Any:
        start, self._at = self._at, self._at + count
        return self._order[start : self._at]


class _Buffered:
    """Numbers out of a buffer."""

    def __init__(self, end: int | None, size: int, generator: np.random.Generator) -> None:
        source = numbers_from() if end is None else iter(range(end))
        self._buffer = _Buffer(source, size, generator)

    def take(self, count: int) -> Any:
        found = []
        for _ in range(count):
            number = next(self._buffer, None)
            if number is None:
                break
            found.append(number)
        return np.array(found, np.int64)
