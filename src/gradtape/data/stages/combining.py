"""Several datasets as one: zip, concatenate, and choices between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.data.rows import Addressed, Columns, Pack, RowStream, elements_of, joined
from gradtape.data.stage import (
    INFINITE,
    UNKNOWN,
    RandomStage,
    Run,
    Seed,
    Stage,
    StageIterator,
    raised_later,
)
from gradtape.data.structure import common_spec
from gradtape.errors import invalid_argument
from gradtape.shapes import TensorSpec


class Zip(Stage):
    """Elements side by side, in a structure of stages, as long as all of them have some."""

    name = "zip"

    def __init__(self, structure: Any) -> None:
        super().__init__(*nest.flatten(structure))
        self._structure = structure

    def pack(self, parts: Sequence[Any]) -> Any:
        """Elements of the stages, in their structure."""
        return nest.pack_sequence_as(self._structure, list(parts))

    @cached_property
    def spec(self) -> Any:
        return self.pack([stage.spec for stage in self.inputs])

    def cardinality(self) -> int:
        sizes = [stage.cardinality() for stage in self.inputs]
        if 0 in sizes:
            return 0
        if UNKNOWN in sizes:
            return UNKNOWN
        return min((size for size in sizes if size >= 0), default=INFINITE)

    def _packer(self) -> Pack:
        flat = type(self._structure) is tuple and len(self._structure) == len(self.inputs)
        return tuple if flat else self.pack

    def iterator(self, run: Run) -> StageIterator:
        return elements_of(self, run) or _Zipped(
            [stage.iterator(run) for stage in self.inputs], self._packer()
        )

    def rows(self, run: Run) -> RowStream | None:
        streams = []
        for stage in self.inputs:
            stream = stage.rows(run)
            if stream is None:
                return None
            streams.append(stream)
        return _ZippedRows(streams, self._packer())

    def addressed(self) -> Addressed | None:
        sources = []
        for stage in self.inputs:
            source = stage.addressed()
            if source is None:
                return None
            sources.append(source)
        return _ZippedAddressed(sources, self._packer())


class _Zipped(StageIterator):
    """Elements that stay beside each other: an error of one costs those that stand beside it."""

    def __init__(self, sources: Sequence[StageIterator], pack: Pack) -> None:
        super().__init__(*sources)
        self._pack = pack

    def __next__(self) -> Any:
        parts: list[Any] = []
        failed: list[Exception] = []
        for source in self.inputs:
            try:
                parts.append(next(source))
            except StopIteration:
                raise
            except Exception as error:  # noqa: BLE001 - raised when the others are past it too
                failed.append(error)
        if failed:
            del failed[1:]
            raised_later(failed.pop())
        return self._pack(parts)

    def skip(self, count: int) -> None:
        for source in self.inputs:
            source.skip(count)


class _Side:
    """Packs of elements that stand side by side: each takes as many leaves as its own has."""

    def __init__(self, packs: Sequence[Pack], pack: Pack) -> None:
        self._packs, self._pack = packs, pack
        self.widths: list[int] | None = None

    def __call__(self, leaves: Sequence[Any]) -> Any:
        assert self.widths is not None
        parts, at = [], 0
        for pack, width in zip(self._packs, self.widths, strict=True):
            parts.append(pack(leaves[at : at + width]))
            at += width
        return self._pack(parts)

    def joined(self, parts: Sequence[Columns], length: int | None = None) -> Columns:
        """All columns, cut to a length."""
        if self.widths is None:
            self.widths = [len(columns) for columns in parts]
        return [column[:length] for columns in parts for column in columns]


class _ZippedRows(RowStream):
    def __init__(self, sources: Sequence[RowStream], pack: Pack) -> None:
        self._side = _Side([source.pack for source in sources], pack)
        super().__init__(self._side)
        self._sources = sources
        self._held: list[Columns | None] = [None] * len(sources)

    def take(self, count: int) -> Columns | None:
        for place, source in enumerate(self._sources):
            if self._held[place] is None:
                try:
                    self._held[place] = source.take(count)
                except Exception:
                    self._leave_one_out(place)
                    raise
                if self._held[place] is None:
                    return None
        parts = [columns for columns in self._held if columns is not None]
        length = min(count, *(len(columns[0]) for columns in parts))
        self._held = [
            [column[length:] for column in columns] if len(columns[0]) > length else None
            for columns in parts
        ]
        return self._side.joined(parts, length)

    def _leave_one_out(self, failed: int) -> None:
        """Goes past the elements that stand beside one that has failed."""
        for place, source in enumerate(self._sources):
            columns = self._held[place]
            if place == failed:
                continue
            if columns is None:
                source.skip(1)
            else:
                rest = [column[1:] for column in columns]
                self._held[place] = rest if len(rest[0]) else None

    def skip(self, count: int) -> None:
        if any(columns is not None for columns in self._held):
            super().skip(count)
            return
        for source in self._sources:
            source.skip(count)

    def close(self) -> None:
        for source in self._sources:
            source.close()


class _ZippedAddressed(Addressed):
    def __init__(self, sources: Sequence[Addressed], pack: Pack) -> None:
        self._side = _Side([source.pack for source in sources], pack)
        sizes = [source.size for source in sources if source.size is not None]
        super().__init__(min(sizes, default=None), self._side)
        self._sources = sources

    def gather(self, numbers: Any) -> Columns:
        return self._side.joined([source.gather(numbers) for source in self._sources])

    def span(self, start: int, stop: int) -> Columns:
        return self._side.joined([source.span(start, stop) for source in self._sources])


class Concatenated(Stage):
    """All elements of one dataset, and then all of another."""

    name = "concatenate"

    def __init__(self, first: Stage, second: Stage) -> None:
        super().__init__(first, second)

    @cached_property
    def spec(self) -> Any:
        return common_spec(self.inputs[0].spec, self.inputs[1].spec, self.name)

    def cardinality(self) -> int:
        sizes = [stage.cardinality() for stage in self.inputs]
        if INFINITE in sizes:
            return INFINITE
        return UNKNOWN if UNKNOWN in sizes else sum(sizes)

    def _is_uniform(self) -> bool:
        """Whether all elements have the same shapes, so that rows can be joined."""
        specs = [nest.flatten(stage.spec) for stage in self.inputs]
        return all(
            isinstance(a, TensorSpec) and a.shape == b.shape and a.shape.is_fully_defined()
            for a, b in zip(*specs, strict=True)
        )

    def iterator(self, run: Run) -> StageIterator:
        return elements_of(self, run) or _ConcatenatedElements(self, run)

    def rows(self, run: Run) -> RowStream | None:
        first, second = (stage.rows(run) for stage in self.inputs)
        if first is None or second is None or self.computes or not self._is_uniform():
            return None
        return _ConcatenatedRows(first, second)

    def addressed(self) -> Addressed | None:
        first, second = (stage.addressed() for stage in self.inputs)
        if first is None or second is None or self.computes or not self._is_uniform():
            return None
        if first.size is None:
            return first
        return _ConcatenatedAddressed(first, first.size, second)


class _ConcatenatedElements(StageIterator):
    def __init__(self, stage: Concatenated, run: Run) -> None:
        super().__init__(stage.inputs[0].iterator(run))
        self._stage, self._run = stage, run
        self._in_first = True

    def __next__(self) -> Any:
        try:
            return next(self.inputs[0])
        except StopIteration:
            if not self._in_first:
                raise
        self.close()
        self._in_first = False
        self.inputs = (self._stage.inputs[1].iterator(self._run),)
        return next(self.inputs[0])


class _ConcatenatedRows(RowStream):
    def __init__(self, *sources: RowStream) -> None:
        super().__init__(sources[0].pack)
        self._sources = list(sources)

    def take(self, count: int) -> Columns | None:
        while self._sources:
            columns = self._sources[0].take(count)
            if columns is not None:
                return columns
            self._sources.pop(0).close()
        return None

    def close(self) -> None:
        for source in self._sources:
            source.close()


class _ConcatenatedAddressed(Addressed):
    def __init__(self, first: Addressed, boundary: int, second: Addressed) -> None:
        super().__init__(None if second.size is None else boundary + second.size, first.pack)
        self._first, self._boundary, self._second = first, boundary, second

    def gather(self, numbers: Any) -> Columns:
        early = numbers < self._boundary
        if early.all():
            return self._first.gather(numbers)
        if not early.any():
            return self._second.gather(numbers - self._boundary)
        late = ~early
        one = self._first.gather(numbers[early])
        two = self._second.gather(numbers[late] - self._boundary)
        found = [np.empty((len(numbers), *column.shape[1:]), column.dtype) for column in one]
        for out, a, b in zip(found, one, two, strict=True):
            out[early], out[late] = a, b
        return found

    def span(self, start: int, stop: int) -> Columns:
        if stop <= self._boundary:
            return self._first.span(start, stop)
        if start >= self._boundary:
            return self._second.span(start - self._boundary, stop - self._boundary)
        return joined([
            self._first.span(start, self._boundary),
            self._second.span(0, stop - self._boundary),
        ])  # fmt: skip


class Chosen(Stage):
    """The next element of the dataset whose number another dataset gives."""

    name = "choose_from_datasets"

    def __init__(self, sources: Sequence[Stage], choices: Stage, *, stop_on_empty: bool) -> None:
        super().__init__(choices, *sources)
        self._stop_on_empty = stop_on_empty

    @cached_property
    def spec(self) -> Any:
        specs = [stage.spec for stage in self.inputs[1:]]
        return reduce(lambda one, two: common_spec(one, two, self.name), specs)

    def cardinality(self) -> int:
        sizes = [stage.cardinality() for stage in self.inputs]
        if self._stop_on_empty or UNKNOWN in sizes:
            return UNKNOWN
        if INFINITE in sizes[1:]:
            return sizes[0] if sizes[0] >= 0 else INFINITE
        return UNKNOWN if sizes[0] >= 0 else sum(sizes[1:])

    def iterator(self, run: Run) -> StageIterator:
        return _ChosenElements(
            [stage.iterator(run) for stage in self.inputs], stop_on_empty=self._stop_on_empty
        )


class _ChosenElements(StageIterator):
    def __init__(self, inputs: Sequence[StageIterator], *, stop_on_empty: bool) -> None:
        super().__init__(*inputs)
        self._stop_on_empty = stop_on_empty
        self._empty: set[int] = set()

    def __next__(self) -> Any:
        count = len(self.inputs) - 1
        while len(self._empty) < count:
            number = int(next(self.inputs[0]))
            if not 0 <= number < count:
                raise invalid_argument(
                    f"choose_from_datasets: the choice dataset gave {number}, but there are "
                    f"{count} datasets: use 0 to {count - 1}."
                )
            if number not in self._empty:
                try:
                    return next(self.inputs[1 + number])
                except StopIteration:
                    self._empty.add(number)
            if self._stop_on_empty:
                break
        raise StopIteration


class RandomChoices(RandomStage):
    """Numbers of datasets, drawn with the given probabilities: `sample_from_datasets`."""

    name = "sample_from_datasets"

    def __init__(self, weights: Any, *, seed: Seed, changes: bool) -> None:
        super().__init__(seed=seed, changes=changes)
        self._bounds = np.cumsum(weights) / np.sum(weights)

    @cached_property
    def spec(self) -> Any:
        return TensorSpec([], np.int64)

    def cardinality(self) -> int:
        return INFINITE

    def iterator(self, run: Run) -> StageIterator:
        return _RandomChoices(self._bounds, run.generator(self))


class _RandomChoices(StageIterator):
    def __init__(self, bounds: Any, generator: np.random.Generator) -> None:
        super().__init__()
        self._bounds, self._generator = bounds, generator

    def __next__(self) -> Any:
        found = np.searchsorted(self._bounds, self._generator.random(), side="right")
        return min(int(found), len(self._bounds) - 1)
