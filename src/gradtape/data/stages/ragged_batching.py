"""RaggedTensors in datasets: their rows as elements, and batches whose rows differ in length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.tensor import Tensor
from gradtape.data.rows import cannot_batch
from gradtape.data.stage import Run, Stage, StageIterator
from gradtape.data.stages.batching import Batch, Batches, batch_of
from gradtape.data.stages.memory import one_length, with_rows
from gradtape.data.structure import (
    array_of,
    leaves_of,
    map_leaves,
    normalised,
    packer,
    row_of,
    rows_in,
    spec_of,
    with_first_size,
    without_first_size,
)
from gradtape.ragged.spec import RaggedTensorSpec
from gradtape.ragged.tensor import RaggedTensor
from gradtape.shapes import TensorShape, TensorSpec


class RaggedBatch(Batch):
    """Batches in which a leaf whose sizes are not known becomes a RaggedTensor."""

    name = "ragged_batch"

    def __init__(
        self, source: Stage, size: int, row_splits_dtype: dtypes.DType, *, drop_remainder: bool
    ) -> None:
        super().__init__(source, size, drop_remainder=drop_remainder)
        self.row_splits_dtype = row_splits_dtype

    @cached_property
    def spec(self) -> Any:
        return map_leaves(self._batched, self.input.spec)

    def _batched(self, leaf: Any) -> Any:
        size = self.size if self.drop_remainder else None
        depth = _depth(leaf)
        if not depth:
            return with_first_size(leaf, size)
        shape = TensorShape([size]).concatenate(leaf.shape)
        return RaggedTensorSpec(shape, leaf.dtype, depth, self.row_splits_dtype)

    @cached_property
    def depths(self) -> list[int]:
        """How many axes of each leaf are partitioned in a batch."""
        return [_depth(leaf) for leaf in nest.flatten(self.input.spec)]

    def iterator(self, run: Run) -> StageIterator:
        return _RaggedBatches(self, self.input.iterator(run))


def _depth(leaf: Any) -> int:
    """The place of the last size that is not known, counted from 1."""
    if not isinstance(leaf, TensorSpec):
        return 0
    if leaf.shape.rank is None:
        raise ValueError(f"ragged_batch: the rank of each component must be known, got {leaf}.")
    return max((axis + 1 for axis, size in enumerate(leaf.shape) if size is None), default=0)


class _RaggedBatches(Batches):
    def __init__(self, stage: RaggedBatch, source: StageIterator) -> None:
        super().__init__(source, stage.size, drop_remainder=stage.drop_remainder)
        self._stage = stage

    def together(self, elements: Sequence[Any]) -> Any:
        columns = zip(*(leaves_of(element) for element in elements), strict=True)
        ways = zip(columns, self._stage.depths, strict=True)
        dtype = self._stage.row_splits_dtype
        return packer(elements[0])(
            [_batched(column, place, depth, dtype) for place, (column, depth) in enumerate(ways)]
        )


class BatchOfRaggedRows(Batch):
    """Batches in which rows of RaggedTensors become RaggedTensors again, also if they happen to
    have one length.
    """

    def iterator(self, run: Run) -> StageIterator:
        return _RowsTogether(self, self.input.iterator(run))

    @cached_property
    def dtypes(self) -> list[dtypes.DType | None]:
        """Of the splits of each leaf that is such a row; None for the others."""
        return [
            leaf.row_splits_dtype
            if isinstance(leaf, RaggedTensorSpec) and leaf.ragged_rank == 0
            else None
            for leaf in nest.flatten(self.input.spec)
        ]


class _RowsTogether(Batches):
    def __init__(self, stage: BatchOfRaggedRows, source: StageIterator) -> None:
        super().__init__(source, stage.size, drop_remainder=stage.drop_remainder)
        self._stage = stage

    def together(self, elements: Sequence[Any]) -> Any:
        columns = zip(*(leaves_of(element) for element in elements), strict=True)
        ways = zip(columns, self._stage.dtypes, strict=True)
        found = [
            batch_of(column) if dtype is None else _batched(column, place, 1, dtype)
            for place, (column, dtype) in enumerate(ways)
        ]
        return packer(elements[0])(found)


def _batched(leaves: Sequence[Any], place: int, depth: int, dtype: dtypes.DType) -> Any:
    if not isinstance(leaves[0], Tensor):
        return batch_of(leaves)
    arrays = [array_of(leaf, f"ragged_batch: component {place}") for leaf in leaves]
    first = arrays[0]
    for array in arrays:
        if array.ndim != first.ndim or array.dtype != first.dtype:
            raise cannot_batch(place, first, array)
        # What the spec knows may be only what the first elements were like.
        for axis in range(depth, first.ndim):
            if array.shape[axis] != first.shape[axis]:
                depth = axis + 1
    return _ragged(arrays, depth, dtype) if depth else batch_of(leaves)


def _ragged(arrays: Sequence[Any], depth: int, dtype: dtypes.DType) -> RaggedTensor:
    """Arrays as rows, with `depth` partitioned axes."""
    splits = []
    for level in range(depth):
        counts = [math.prod(array.shape[:level]) for array in arrays]
        lengths = np.repeat([array.shape[level] for array in arrays], counts)
        splits.append(Tensor(np.concatenate([[0], np.cumsum(lengths)]).astype(dtype.numpy)))
    flat = [array.reshape(math.prod(array.shape[:depth]), *array.shape[depth:]) for array in arrays]
    return RaggedTensor.from_nested_row_splits(Tensor(np.concatenate(flat)), splits, validate=False)


# Rows


class RaggedSlices(Stage):
    """The rows of tensors, some of which are ragged or sparse: `from_tensor_slices`."""

    name = "from_tensor_slices"

    @property
    def has_ragged_rows(self) -> bool:
        return True

    def __init__(self, tensors: Any) -> None:
        super().__init__()
        self._tensors = normalised(tensors, "from_tensor_slices: tensors")
        columns = [
            leaf
            if rows_in(leaf) is not None
            else with_rows(leaf, f"from_tensor_slices: tensor {place}")
            for place, leaf in enumerate(nest.flatten(self._tensors))
        ]
        lengths = [len(c) if (n := rows_in(c)) is None else n for c in columns]
        self._length = one_length(lengths)
        self._columns = columns

    @cached_property
    def spec(self) -> Any:
        return without_first_size(spec_of(self._tensors), self.name)

    def cardinality(self) -> int:
        return self._length

    def iterator(self, run: Run) -> StageIterator:
        return _Rows(self._columns, packer(self._tensors), self._length)


def has_composites(tensors: Any) -> bool:
    """Whether RaggedTensors or SparseTensors are among tensors."""
    return any(rows_in(leaf) is not None for leaf in nest.flatten(tensors))


class _Rows(StageIterator):
    def __init__(self, columns: list[Any], pack: Any, length: int) -> None:
        super().__init__()
        self._columns, self._pack, self._length = columns, pack, length
        self._at = 0

    def __next__(self) -> Any:
        if self._at >= self._length:
            raise StopIteration
        self._at += 1
        return self._pack([row_of(column, self._at - 1) for column in self._columns])

    def skip(self, count: int) -> None:
        self._at += count
