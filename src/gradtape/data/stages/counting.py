"""Which elements: repeat, take, skip, shard, and their numbers."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.data.rows import Addressed, Columns, RowStream, elements_of, taken
from gradtape.data.stage import INFINITE, UNKNOWN, Run, Stage, StageIterator
from gradtape.shapes import TensorSpec


class Repeat(Stage):
    """All elements several times, or for ever if `count` is None: each time is a pass of its
    own.
    """

    name = "repeat"

    def __init__(self, source: Stage, count: int | None) -> None:
        super().__init__(source)
        self._count = count

    def cardinality(self) -> int:
        size = self.input.cardinality()
        if self._count is None:
            return 0 if size == 0 else INFINITE
        if self._count == 0 or size >= 0:
            return self._count * size if self._count else 0
        return size

    def iterator(self, run: Run) -> StageIterator:
        return elements_of(self, run) or _Repeated(self, run)

    def rows(self, run: Run) -> RowStream | None:
        first = self.input.rows(run)
        return None if first is None else _RepeatedRows(self, run, first)

    def addressed(self) -> Addressed | None:
        source = self.input.addressed()
        if source is None or not source.size:
            return source
        size = None if self._count is None else self._count * source.size
        return _Cycle(source, source.size, size)

    def begins(self, passes: int) -> bool:
        """Whether there is one more pass after so many."""
        return self._count is None or passes < self._count


class _Repeated(StageIterator):
    def __init__(self, stage: Repeat, run: Run) -> None:
        self._stage, self._run = stage, run
        self._passes = 0
        self._found = True  # whether the last pass had an element
        super().__init__()

    def __next__(self) -> Any:
        while True:
            if not self.inputs:
                if not self._found or not self._stage.begins(self._passes):
                    raise StopIteration
                self._passes += 1
                self._found = False
                self.inputs = (self._stage.input.iterator(self._run),)
            try:
                element = next(self.inputs[0])
            except StopIteration:
                self.close()
                self.inputs = ()
                continue
            self._found = True
            return element


class _RepeatedRows(RowStream):
    def __init__(self, stage: Repeat, run: Run, first: RowStream) -> None:
        super().__init__(first.pack)
        self._stage, self._run = stage, run
        self._now: RowStream | None = first if stage.begins(0) else None
        self._passes = 1
        self._found = False

    def take(self, count: int) -> Columns | None:
        while self._now is not None:
            columns = self._now.take(count)
            if columns is not None:
                self._found = True
                return columns
            self._next_pass()
        return None

    def _next_pass(self) -> None:
        self.close()
        self._now = None
        if self._found and self._stage.begins(self._passes):
            self._passes += 1
            self._found = False
            self._now = self._stage.input.rows(self._run)

    def close(self) -> None:
        if self._now is not None:
            self._now.close()


class _Cycle(Addressed):
    """Addressed elements again and again."""

    def __init__(self, source: Addressed, length: int, size: int | None) -> None:
        super().__init__(size, source.pack)
        self._source, self._length = source, length

    def gather(self, numbers: Any) -> Columns:
        return self._source.gather(numbers % self._length)

    def span(self, start: int, stop: int) -> Columns:
        begin, length = start % self._length, stop - start
        if begin + length <= self._length:
            return self._source.span(begin, begin + length)
        return self.gather(np.arange(start, stop))


class Part(Stage):
    """Every `step`-th element from number `start` on, at most `count` of them: take, skip and
    shard.
    """

    def __init__(
        self, source: Stage, name: str, start: int = 0, step: int = 1, count: int | None = None
    ) -> None:
        super().__init__(source)
        self.name = name
        self.start, self.step, self.count = start, step, count

    def cardinality(self) -> int:
        size = self.input.cardinality()
        if self.count == 0:
            return 0
        if size == UNKNOWN or (size == INFINITE and self.count is None):
            return size
        return self._size(None if size == INFINITE else size) or 0

    def _size(self, size: int | None) -> int | None:
        """How many there are of `size` elements, of which None stands for no end."""
        if size is None:
            return self.count
        found = len(range(self.start, size, self.step))
        return found if self.count is None else min(found, self.count)

    def iterator(self, run: Run) -> StageIterator:
        return _PartOfElements(self, self.input.iterator(run))

    def rows(self, run: Run) -> RowStream | None:
        rows = self.input.rows(run)
        return None if rows is None else _PartOfRows(self, rows)

    def addressed(self) -> Addressed | None:
        source = self.input.addressed()
        if source is None:
            return None
        return _PartOfAddressed(self, source, self._size(source.size))


class _PartOfElements(StageIterator):
    def __init__(self, stage: Part, source: StageIterator) -> None:
        super().__init__(source)
        self._left, self._step = stage.count, stage.step
        self._before = stage.start

    def __next__(self) -> Any:
        if self._left == 0:
            raise StopIteration
        source = self.inputs[0]
        while self._before:
            next(source)
            self._before -= 1
        element = next(source)
        self._before = self._step - 1
        if self._left is not None:
            self._left -= 1
        return element


class _PartOfRows(RowStream):
    def __init__(self, stage: Part, source: RowStream) -> None:
        super().__init__(source.pack)
        self._source = source
        self._left, self._step = stage.count, stage.step
        if stage.start:
            source.skip(stage.start)

    def take(self, count: int) -> Columns | None:
        count = count if self._left is None else min(count, self._left)
        if not count:
            return None
        take = self._source.take if self._step == 1 else partial(taken, self._source)
        columns = take(count * self._step)
        if columns is None:
            return None
        if self._step > 1:
            columns = [column[:: self._step] for column in columns]
        if self._left is not None:
            self._left -= len(columns[0])
        return columns

    def skip(self, count: int) -> None:
        count = count if self._left is None else min(count, self._left)
        if self._left is not None:
            self._left -= count
        self._source.skip(count * self._step)

    def close(self) -> None:
        self._source.close()


class _PartOfAddressed(Addressed):
    def __init__(self, stage: Part, source: Addressed, size: int | None) -> None:
        super().__init__(size, source.pack)
        self._source = source
        self._start, self._step = stage.start, stage.step

    def gather(self, numbers: Any) -> Columns:
        return self._source.gather(self._start + np.asarray(numbers) * self._step)

    def span(self, start: int, stop: int) -> Columns:
        if self._step == 1:
            return self._source.span(self._start + start, self._start + stop)
        return self.gather(np.arange(start, stop))


class Enumerated(Stage):
    """Each element behind its number."""

    name = "enumerate"

    def __init__(self, source: Stage, start: int) -> None:
        super().__init__(source)
        self._start = start

    @cached_property
    def spec(self) -> Any:
        return TensorSpec([], np.int64), self.input.spec

    def iterator(self, run: Run) -> StageIterator:
        own = elements_of(self, run)
        return own or _EnumeratedElements(self.input.iterator(run), self._start)

    def rows(self, run: Run) -> RowStream | None:
        rows = self.input.rows(run)
        return None if rows is None else _EnumeratedRows(rows, self._start)

    def addressed(self) -> Addressed | None:
        source = self.input.addressed()
        return None if source is None else _EnumeratedAddressed(source, self._start)


class _EnumeratedElements(StageIterator):
    def __init__(self, source: StageIterator, start: int) -> None:
        super().__init__(source)
        self._at = start

    def __next__(self) -> Any:
        try:
            element = next(self.inputs[0])
        except StopIteration:
            raise
        except Exception:
            self._at += 1  # what fails has a number too
            raise
        self._at += 1
        return Tensor(np.int64(self._at - 1)), element

    def skip(self, count: int) -> None:
        self.inputs[0].skip(count)
        self._at += count


class _EnumeratedRows(RowStream):
    def __init__(self, source: RowStream, start: int) -> None:
        super().__init__(lambda leaves: (leaves[0], source.pack(leaves[1:])))
        self._source = source
        self._at = start

    def take(self, count: int) -> Columns | None:
        try:
            columns = self._source.take(count)
        except Exception:
            self._at += 1
            raise
        if columns is None:
            return None
        start, self._at = self._at, self._at + len(columns[0])
        return [np.arange(start, self._at), *columns]

    def skip(self, count: int) -> None:
        self._source.skip(count)
        self._at += count

    def close(self) -> None:
        self._source.close()


class _EnumeratedAddressed(Addressed):
    def __init__(self, source: Addressed, start: int) -> None:
        super().__init__(source.size, lambda leaves: (leaves[0], source.pack(leaves[1:])))
        self._source, self._start = source, start

    def gather(self, numbers: Any) -> Columns:
        return [np.asarray(numbers, np.int64) + self._start, *self._source.gather(numbers)]
