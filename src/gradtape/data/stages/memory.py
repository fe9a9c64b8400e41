"""Sources in memory: rows of tensors, one element, ranges and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.tensor import Tensor
from gradtape.data.rows import Addressed, Columns, Elements, InOrder, Pack, RowStream
from gradtape.data.stage import INFINITE, RandomStage, Run, Stage, StageIterator
from gradtape.data.structure import array_of, fresh, normalised, packer, spec_of, without_first_size
from gradtape.shapes import TensorSpec


class AddressedStage(Stage):
    """A source whose elements are addressed."""

    def rows(self, run: Run) -> RowStream | None:
        source = self.addressed()
        return None if source is None else InOrder(source)

    def iterator(self, run: Run) -> StageIterator:
        rows = self.rows(run)
        assert rows is not None
        return Elements(rows)


class Slices(AddressedStage):
    """The rows of tensors: `from_tensor_slices`."""

    name = "from_tensor_slices"

    def __init__(self, tensors: Any) -> None:
        super().__init__()
        self._tensors = normalised(tensors, "from_tensor_slices: tensors")
        leaves = nest.flatten(self._tensors)
        if not leaves:
            raise ValueError("from_tensor_slices: tensors must hold at least one tensor.")
        self._columns = [
            with_rows(leaf, f"from_tensor_slices: tensor {place}")
            for place, leaf in enumerate(leaves)
        ]
        self._length = one_length([len(column) for column in self._columns])

    @cached_property
    def spec(self) -> Any:
        return without_first_size(spec_of(self._tensors), self.name)

    def cardinality(self) -> int:
        return self._length

    def addressed(self) -> Addressed:
        return Table(self._columns, packer(self._tensors))


def one_length(lengths: list[int]) -> int:
    """How many rows all tensors have."""
    if len(set(lengths)) > 1:
        raise ValueError(
            "from_tensor_slices: all tensors must have as many rows, got "
            f"{', '.join(map(str, lengths))}."
        )
    return lengths[0]


def with_rows(leaf: Any, argument: str) -> Any:
    """The array of a leaf, which must have rows."""
    if not isinstance(leaf, Tensor):
        raise TypeError(
            f"{argument} must be a tensor, got {type(leaf).__name__}: give dense tensors."
        )
    column = array_of(leaf, argument)
    if not column.ndim:
        raise ValueError(f"{argument} is a scalar, which has no rows: use from_tensors.")
    return column


class Table(Addressed):
    """Rows of arrays."""

    def __init__(self, columns: Columns, pack: Pack) -> None:
        super().__init__(len(columns[0]), pack)
        self._columns = columns

    def gather(self, numbers: Any) -> Columns:
        return [column.take(numbers, axis=0) for column in self._columns]

    def span(self, start: int, stop: int) -> Columns:
        return [column[start:stop] for column in self._columns]


class One(Stage):
    """One element: `from_tensors`."""

    name = "from_tensors"

    def __init__(self, tensors: Any) -> None:
        super().__init__()
        self._element = normalised(tensors, "from_tensors: tensors")

    @cached_property
    def spec(self) -> Any:
        return spec_of(self._element)

    def cardinality(self) -> int:
        return 1

    def iterator(self, run: Run) -> StageIterator:
        return ListedElements([self._element])


class Listed(Stage):
    """Elements that are there: those of `window`, and what a group has gathered."""

    def __init__(
        self, elements: list[Any], spec: Callable[[], Any], *, ragged_rows: bool = False
    ) -> None:
        super().__init__()
        self._elements = elements
        self._spec = spec
        self._ragged_rows = ragged_rows

    @cached_property
    def spec(self) -> Any:
        return self._spec()

    @property
    def has_ragged_rows(self) -> bool:
        return self._ragged_rows

    def cardinality(self) -> int:
        return len(self._elements)

    def iterator(self, run: Run) -> StageIterator:
        return ListedElements(self._elements)


class ListedElements(StageIterator):
    def __init__(self, elements: list[Any]) -> None:
        super().__init__()
        self._elements = elements
        self._at = 0

    def __next__(self) -> Any:
        if self._at >= len(self._elements):
            raise StopIteration
        self._at += 1
        return fresh(self._elements[self._at - 1])

    def skip(self, count: int) -> None:
        self._at += count


class Range(AddressedStage):
    """Numbers in equal steps; without end if there is no `stop`."""

    name = "range"

    def __init__(self, start: int, stop: int | None, step: int, dtype: Any) -> None:
        super().__init__()
        self._start, self._step = start, step
        self._size = None if stop is None else len(range(start, stop, step))
        self._dtype = dtype

    @cached_property
    def spec(self) -> Any:
        return TensorSpec([], self._dtype)

    def cardinality(self) -> int:
        return INFINITE if self._size is None else self._size

    def addressed(self) -> Addressed:
        return Progression(self._start, self._step, self._size, self._dtype)


class Progression(Addressed):
    """Numbers in equal steps."""

    def __init__(self, start: int, step: int, size: int | None, dtype: Any) -> None:
        super().__init__(size, lambda leaves: leaves[0])
        self._start, self._step, self._dtype = start, step, dtype

    def gather(self, numbers: Any) -> Columns:
        return [(self._start + np.asarray(numbers, np.int64) * self._step).astype(self._dtype)]


class RandomNumbers(RandomStage):
    """Random integers without end: `Dataset.random`."""

    name = "random"

    @cached_property
    def spec(self) -> Any:
        return TensorSpec([], np.int64)

    def cardinality(self) -> int:
        return INFINITE

    def rows(self, run: Run) -> RowStream:
        return RandomRows(run.generator(self))

    def iterator(self, run: Run) -> StageIterator:
        return Elements(self.rows(run))


class RandomRows(RowStream):
    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__(lambda leaves: leaves[0])
        self._generator = generator

    def take(self, count: int) -> Columns:
        return [self._generator.integers(0, 1 << 32, count, np.int64)]
