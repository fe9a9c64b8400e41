"""Row partitions: the ways to say where the rows of a RaggedTensor begin and end, all turned into
`row_splits`.

With n rows, `row_splits` has n + 1 entries, and row i is `values[row_splits[i]:row_splits[i + 1]]`.
Everything here also works on the tensors of a function that is being traced, as long as the number
of rows and of values is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.counting import searchsorted
from gradtape.api.tensorflow.creation import cast
from gradtape.api.tensorflow.indexing import gather
from gradtape.api.tensorflow.joining import concat
from gradtape.api.tensorflow.reductions import cumsum
from gradtape.convert import as_tensor, is_tensor_like, operand
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument

INDEX_DTYPES = (dtypes.int32, dtypes.int64)


def partition(value: Any, argument: str) -> Tensor:
    """A vector of int32 or int64 that describes rows; plain integers become int64."""
    if is_tensor_like(value) or isinstance(value, (np.ndarray, np.generic)):
        found = as_tensor(value, argument=argument)
    else:
        found = as_tensor(value, dtypes.int64, argument=argument)
    if found.dtype not in INDEX_DTYPES:
        raise ValueError(f"{argument} must be int32 or int64, got {found.dtype.name}: cast it.")
    if found.ndim != 1:
        raise ValueError(f"{argument} must be a vector, got shape {found.shape}.")
    return found


def index_dtype(dtype: Any, argument: str) -> dtypes.DType:
    """A `row_splits_dtype`: int32 or int64."""
    found = dtypes.as_dtype(dtype)
    if found not in INDEX_DTYPES:
        raise ValueError(f"{argument} must be int32 or int64, got {found.name}.")
    return found


def known_values(x: Tensor) -> Any:
    """The NumPy array of a partition; None in a function that is being traced."""
    return None if is_traced(x) else np.asarray(operand(x).array)


def check_splits(splits: Tensor, count: int, function: str) -> None:
    """Refuses splits that do not begin with 0, fall, or do not end with the number of values."""
    if not splits.shape[0]:
        raise ValueError(f"{function}: row_splits may not be empty: for no rows it is [0].")
    found = known_values(splits)
    if found is None:
        return
    if found[0] != 0:
        raise invalid_argument(f"{function}: row_splits must begin with 0, got {found[0]}.")
    if (found[1:] < found[:-1]).any():
        raise invalid_argument(f"{function}: row_splits must not fall, got {found}.")
    if found[-1] != count:
        raise invalid_argument(
            f"{function}: row_splits ends with {found[-1]}, but there are {count} values."
        )


def check_lengths(lengths: Tensor, function: str) -> None:
    found = known_values(lengths)
    if found is not None and (found < 0).any():
        raise invalid_argument(f"{function}: row_lengths must not be negative, got {found}.")


def splits_of_lengths(lengths: Tensor) -> Tensor:
    zero = np.zeros(1, lengths.array.dtype)
    return concat([zero, cumsum(lengths)], 0)


def splits_of_rowids(rowids: Tensor, nrows: int) -> Tensor:
    """Row i begins where the sorted numbers of the rows reach i."""
    numbers = np.arange(nrows + 1, dtype=rowids.array.dtype)
    return searchsorted(rowids, numbers, out_type=rowids.dtype)


def rowids_of_splits(splits: Tensor, count: int) -> Tensor:
    """For each of `count` values, the number of its row."""
    if not count:
        return Tensor(np.zeros(0, splits.array.dtype))
    places = np.arange(count, dtype=splits.array.dtype)
    found = searchsorted(splits, places, side="right", out_type=splits.dtype)
    return found - 1


def places_in_rows(splits: Tensor, rowids: Tensor, count: int) -> Tensor:
    """For each of `count` values, its place in its row."""
    return Tensor(np.arange(count, dtype=splits.array.dtype)) - gather(splits, rowids)


def lengths_of_splits(splits: Tensor) -> Tensor:
    return splits[1:] - splits[:-1]


def in_dtype(splits: Tensor, dtype: dtypes.DType) -> Tensor:
    return splits if splits.dtype == dtype else cast(splits, dtype)


def same_values(a: Tensor, b: Tensor) -> bool:
    """Whether two partitions are the same; in a function that is being traced, whether they may
    be.
    """
    if a is b:
        return True
    if a.shape.as_list() != b.shape.as_list():
        return False
    first, second = known_values(a), known_values(b)
    return first is None or second is None or bool((first == second).all())
