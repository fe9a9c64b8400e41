"""Elements together in one: batch and what takes batches apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.data.rows import Columns, InBlocks, RowStream, cannot_batch, taken
from gradtape.data.stage import UNKNOWN, Run, Stage, StageIterator
from gradtape.data.structure import (
    array_of,
    batchable_spec,
    leaves_of,
    packer,
    row_of,
    rows_in,
    same_structure,
    spec_of,
    stack,
    with_first_size,
    without_first_size,
)
from gradtape.errors import invalid_argument
from gradtape.ragged.spec import RaggedTensorSpec
from gradtape.ragged.structure import stack as ragged_stack
from gradtape.ragged.tensor import RaggedTensor
from gradtape.shapes import TensorShape


class Batch(Stage):
    """Consecutive elements stacked, `size` of them; the last batch may have fewer."""

    name = "batch"

    def __init__(self, source: Stage, size: int, *, drop_remainder: bool) -> None:
        super().__init__(source)
        self.size, self.drop_remainder = size, drop_remainder

    @cached_property
    def spec(self) -> Any:
        return with_first_size(self.input.spec, self.size if self.drop_remainder else None)

    def cardinality(self) -> int:
        found = self.input.cardinality()
        if found < 0:
            return found
        return found // self.size if self.drop_remainder else -(-found // self.size)

    def iterator(self, run: Run) -> StageIterator:
        rows = self.input.rows(run)
        if rows is None:
            return Batches(self.input.iterator(run), self.size, drop_remainder=self.drop_remainder)
        if self.input.computes:
            rows = InBlocks(rows)
        return _BatchesOfRows(rows, self.size, drop_remainder=self.drop_remainder)


class _BatchesOfRows(StageIterator):
    """Batches that are taken as they are."""

    def __init__(self, rows: RowStream, size: int, *, drop_remainder: bool) -> None:
        super().__init__()
        self._rows, self._size, self._drop = rows, size, drop_remainder

    def __next__(self) -> Any:
        columns = taken(self._rows, self._size)
        if columns is None or (self._drop and len(columns[0]) < self._size):
            raise StopIteration
        return self._rows.pack([Tensor(column) for column in columns])

    def skip(self, count: int) -> None:
        self._rows.skip(count * self._size)

    def close(self) -> None:
        self._rows.close()


class Batches(StageIterator):
    """Elements gathered one by one."""

    name = "batch"

    def __init__(self, source: StageIterator, size: int, *, drop_remainder: bool) -> None:
        super().__init__(source)
        self._size, self._drop = size, drop_remainder

    def __next__(self) -> Any:
        found: list[Any] = []
        source = self.inputs[0]
        try:
            while len(found) < self._size:
                found.append(next(source))
        except StopIteration:
            if not found or self._drop:
                raise
        return self.together(found)

    def together(self, elements: Sequence[Any]) -> Any:
        return batch_of(elements)

    def skip(self, count: int) -> None:
        self.inputs[0].skip(count * self._size)


def batch_of(elements: Sequence[Any]) -> Any:
    """Elements stacked, leaf by leaf."""
    first = elements[0]
    columns = [leaves_of(element) for element in elements]
    if not _are_alike(elements, columns):
        for number, element in enumerate(elements):
            if not same_structure(first, element):
                raise invalid_argument(
                    f"batch: element 0 of the batch has the structure {spec_of(first)}, but "
                    f"element {number} has {spec_of(element)}."
                )
    pack = packer(first)
    return pack(
        [_stacked(leaves, place) for place, leaves in enumerate(zip(*columns, strict=True))]
    )


def _are_alike(elements: Sequence[Any], columns: Sequence[Sequence[Any]]) -> bool:
    """Whether elements are tensors, or tuples of as many tensors, which is quick to see."""
    kind, width = type(elements[0]), len(columns[0])
    flat = (kind is Tensor and width == 1) or (kind is tuple and len(elements[0]) == width)
    return flat and all(
        type(element) is kind and len(leaves) == width and (kind is Tensor or len(element) == width)
        for element, leaves in zip(elements, columns, strict=True)
    )


def _stacked(leaves: Sequence[Any], place: int) -> Any:
    if all(leaf is None for leaf in leaves):
        return None
    spec = batchable_spec(leaves[0])
    if spec is not None:
        columns = zip(*(spec._to_rows(leaf) for leaf in leaves), strict=True)
        return spec._batch(len(leaves))._from_rows(_stacked(column, place) for column in columns)
    if isinstance(leaves[0], SparseTensor):
        return _stacked_sparse(leaves, place)
    if isinstance(leaves[0], RaggedTensor):
        return _stacked_ragged(leaves, place)
    arrays = [array_of(leaf, f"batch: component {place}") for leaf in leaves]
    shape, dtype = arrays[0].shape, arrays[0].dtype
    for array in arrays:
        if array.shape != shape or array.dtype != dtype:
            raise cannot_batch(place, arrays[0], array)
    return Tensor(stack(arrays))


def _stacked_sparse(leaves: Sequence[Any], place: int) -> SparseTensor:
    """Sparse tensors together; their shape is the largest in each axis, as in TensorFlow."""
    shapes = [leaf.dense_shape.array for leaf in leaves]
    if len({len(shape) for shape in shapes}) > 1:
        raise invalid_argument(
            f"batch: the sparse tensors of component {place} have different ranks: "
            f"{[shape.tolist() for shape in shapes]}."
        )
    indices = [
        np.insert(np.asarray(leaf.indices), 0, number, axis=1) for number, leaf in enumerate(leaves)
    ]
    values = np.concatenate([np.asarray(leaf.values) for leaf in leaves])
    shape = [len(leaves), *np.max(shapes, axis=0).tolist()]
    return SparseTensor(np.concatenate(indices), Tensor(values), shape)


def _stacked_ragged(leaves: Sequence[Any], place: int) -> RaggedTensor:
    if any(not isinstance(leaf, RaggedTensor) for leaf in leaves):
        raise invalid_argument(
            f"batch: component {place} is ragged in some elements and a tensor in others."
        )
    found = ragged_stack(leaves)
    return found.with_row_splits_dtype(leaves[0].row_splits.dtype)


class Unbatch(Stage):
    """The rows of elements."""

    name = "unbatch"

    @cached_property
    def spec(self) -> Any:
        return without_first_size(self.input.spec, self.name)

    def cardinality(self) -> int:
        found = self.input.cardinality()
        if found <= 0:
            return found
        leaves = [leaf for leaf in nest.flatten(self.input.spec) if leaf is not None]
        shapes = [getattr(leaf, "shape", TensorShape(None)) for leaf in leaves]
        sizes = {shape[0] if shape.rank else None for shape in shapes}
        size = sizes.pop() if len(sizes) == 1 else None
        return UNKNOWN if size is None else found * size

    @property
    def has_ragged_rows(self) -> bool:
        try:
            leaves = nest.flatten(self.input.spec)
        except Exception:  # noqa: BLE001 - a function of the user's, which will say it itself
            leaves = []
        return super().has_ragged_rows or any(isinstance(leaf, RaggedTensorSpec) for leaf in leaves)

    def iterator(self, run: Run) -> StageIterator:
        return _Unbatched(self.input.iterator(run))


class _Unbatched(StageIterator):
    def __init__(self, source: StageIterator) -> None:
        super().__init__(source)
        self._columns: Columns = []
        self._at = self._count = 0
        self._pack: Any = None
        self._number = -1

    def __next__(self) -> Any:
        while self._at >= self._count:
            element = next(self.inputs[0])
            self._number += 1
            self._columns, self._count = rows_of(element, self.name, self._number, composites=True)
            self._pack, self._at = packer(element), 0
        self._at += 1
        return self._pack([
            None if column is None else row_of(column, self._at - 1) for column in self._columns
        ])  # fmt: skip

    name = "unbatch"


def rows_of(
    element: Any, stage: str, number: int, *, composites: bool = False
) -> tuple[Columns, int]:
    """The arrays of an element, whose rows are elements, and how many there are.

    With `composites`, RaggedTensors and SparseTensors may be among them.
    """
    columns = [
        leaf
        if leaf is None or (composites and rows_in(leaf) is not None)
        else array_of(leaf, f"{stage}: component {place}")
        for place, leaf in enumerate(leaves_of(element))
    ]
    there = [column for column in columns if column is not None]
    counts = {
        found
        if (found := rows_in(column)) is not None
        else column.shape[0]
        if column.ndim
        else None
        for column in there
    }
    if len(counts) != 1 or None in counts:
        raise invalid_argument(
            f"{stage}: the components of element {number} must have the same number of rows, got "
            f"the shapes {[list(column.shape) for column in there]}."
        )
    return columns, int(counts.pop() or 0)


class Rebatch(Stage):
    """Batches of other sizes: the rows of elements, put together in turns of `sizes`."""

    name = "rebatch"

    def __init__(self, source: Stage, sizes: Sequence[int], *, drop_remainder: bool) -> None:
        super().__init__(source)
        self._sizes, self._drop = sizes, drop_remainder

    @cached_property
    def spec(self) -> Any:
        rows = without_first_size(self.input.spec, self.name)
        size = self._sizes[0]
        always = self._drop or all(
            leaf.shape.rank and leaf.shape[0] is not None and leaf.shape[0] % size == 0
            for leaf in nest.flatten(self.input.spec)
        )
        return with_first_size(rows, size if always and len(set(self._sizes)) == 1 else None)

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Rebatched(self.input.iterator(run), self._sizes, drop_remainder=self._drop)


class _Rebatched(StageIterator):
    def __init__(
        self, source: StageIterator, sizes: Sequence[int], *, drop_remainder: bool
    ) -> None:
        super().__init__(source)
        self._sizes, self._drop = sizes, drop_remainder
        self._turn = 0
        self._number = -1
        self._rest: Columns = []
        self._pack: Any = None

    def __next__(self) -> Any:
        wanted = self._sizes[self._turn % len(self._sizes)]
        parts, count = ([self._rest], len(self._rest[0])) if self._rest else ([], 0)
        try:
            while count < wanted or not parts:
                element = next(self.inputs[0])
                self._number += 1
                columns, rows = rows_of(element, "rebatch", self._number)
                self._pack = packer(element)
                if rows:
                    parts.append(columns)
                    count += rows
        except StopIteration:
            self._rest = []
            if not count or self._drop:
                raise
            wanted = min(wanted, count)
        joined = [_joined(columns, n) for n, columns in enumerate(zip(*parts, strict=True))]
        self._rest = [column[wanted:] for column in joined] if count > wanted else []
        self._turn += 1
        return self._pack([Tensor(column[:wanted]) for column in joined])


def _joined(columns: Sequence[Any], place: int) -> Any:
    first = columns[0]
    for column in columns:
        if column.shape[1:] != first.shape[1:] or column.dtype != first.dtype:
            raise invalid_argument(
                f"rebatch: the rows of component {place} must be alike, got shape "
                f"{list(first.shape[1:])} and {first.dtype}, and then {list(column.shape[1:])} "
                f"and {column.dtype}."
            )
    return np.concatenate(columns)
