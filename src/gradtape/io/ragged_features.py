"""`tf.io.RaggedFeature`: a feature's values, and others that say how they are partitioned, become a
RaggedTensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.tensor import Tensor
from gradtape.io.features import RaggedFeature
from gradtape.ragged.partitions import index_dtype
from gradtape.ragged.tensor import RaggedTensor

Column = Callable[[str, dtypes.DType], list[Any]]
"""The values that each example has of a feature, as an array; None where it has none."""
Wrong = Callable[[int, str], Exception]
"""The error for one example."""


def ragged(
    key: str,
    feature: RaggedFeature,
    dtype: dtypes.DType,
    column: Column,
    wrong: Wrong,
    *,
    batch: bool,
) -> Any:
    """The tensor of a feature: its outermost rows are examples, if it is one of a `batch`."""
    name = key if feature.value_key is None else feature.value_key
    splits_dtype = index_dtype(feature.row_splits_dtype, f"RaggedFeature '{key}': row_splits_dtype")
    values = [_filled(one, dtype) for one in column(name, dtype)]
    counts = [len(one) for one in values]
    flat = _joined(values, dtype)
    partitions = list(feature.partitions)
    sizes: list[int] = []
    while partitions and isinstance(partitions[-1], RaggedFeature.UniformRowLength):
        length = _length(key, partitions.pop())
        sizes.insert(0, length)
        counts = [_whole(row, key, count, length, wrong) for row, count in enumerate(counts)]
    flat = flat.reshape(sum(counts), *sizes, *flat.shape[1:])
    levels: list[tuple[Any, int | None]] = []  # of all examples, the innermost first
    for partition in reversed(partitions):
        lengths = _lengths(key, partition, counts, column, wrong)
        is_uniform = isinstance(partition, RaggedFeature.UniformRowLength)
        levels.append((_joined(lengths, dtypes.int64), partition.length if is_uniform else None))
        counts = [len(one) for one in lengths]
    if batch:
        levels.append((np.array(counts, np.int64), None))
    found: Any = Tensor(flat)
    for lengths, uniform in levels:
        if uniform is not None:
            found = RaggedTensor.from_uniform_row_length(found, uniform, nrows=len(lengths))
            found = found.with_row_splits_dtype(splits_dtype)
        else:
            splits = np.concatenate([[0], np.cumsum(lengths)]).astype(splits_dtype.numpy)
            found = RaggedTensor.from_row_splits(found, Tensor(splits), validate=False)
    return found


def _joined(parts: Sequence[Any], dtype: dtypes.DType) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, dtype.numpy)


def _filled(values: Any, dtype: dtypes.DType) -> Any:
    return np.empty(0, dtype.numpy) if values is None else values


def _length(key: str, partition: Any) -> int:
    length = int(partition.length)
    if length < 1:
        raise ValueError(
            f"RaggedFeature '{key}': UniformRowLength must be at least 1, got {length}."
        )
    return length


def _whole(row: int, key: str, count: int, length: int, wrong: Wrong) -> int:
    if count % length:
        raise wrong(row, f"the {count} rows of '{key}' are no whole number of rows of {length}.")
    return count // length


def _lengths(
    key: str, partition: Any, counts: Sequence[int], column: Column, wrong: Wrong
) -> list[Any]:
    """By example, the lengths of the rows that a partition makes of so many values or rows."""
    if isinstance(partition, RaggedFeature.UniformRowLength):
        length = _length(key, partition)
        rows = [_whole(row, key, count, length, wrong) for row, count in enumerate(counts)]
        return [np.full(number, length) for number in rows]
    make = _MAKERS.get(type(partition))
    if make is None:
        raise ValueError(
            f"RaggedFeature '{key}': partitions must be RaggedFeature.RowSplits, RowLengths, "
            f"RowStarts, RowLimits, ValueRowIds or UniformRowLength, got {partition!r}."
        )
    found = []
    given = column(partition.key, dtypes.int64)
    for row, (numbers, count) in enumerate(zip(given, counts, strict=True)):
        lengths = make(_filled(numbers, dtypes.int64), count)
        if lengths is None or lengths.sum() != count or (lengths < 0).any():
            raise wrong(
                row,
                f"'{partition.key}' does not partition the {count} values or rows of '{key}' as "
                f"{type(partition).__name__.lstrip('_')}: it is "
                f"{_filled(numbers, dtypes.int64).tolist()}.",
            )
        found.append(lengths)
    return found


def _of_splits(splits: Any, count: int) -> Any:
    if not len(splits):
        return splits
    return None if splits[0] else np.diff(splits)


def _of_starts(starts: Any, count: int) -> Any:
    return _of_splits(np.append(starts, count), count) if len(starts) else starts


def _of_limits(limits: Any, count: int) -> Any:
    return np.diff(limits, prepend=0)


def _of_row_ids(ids: Any, count: int) -> Any:
    if len(ids) != count or (ids < 0).any() or (np.diff(ids) < 0).any():
        return None
    return np.bincount(ids)


_MAKERS: dict[type, Callable[[Any, int], Any]] = {
    RaggedFeature.RowSplits: _of_splits,
    RaggedFeature.RowLengths: lambda lengths, count: lengths,
    RaggedFeature.RowStarts: _of_starts,
    RaggedFeature.RowLimits: _of_limits,
    RaggedFeature.ValueRowIds: _of_row_ids,
}
