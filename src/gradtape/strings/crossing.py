"""`tf.sparse.cross_hashed`: features crossed into one number for each combination."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, known
from gradtape.convert import as_tensor
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.strings.hashing import combined, fingerprint64, hashes

_KEY = 0xDECAFCAFFE
_LARGEST = np.iinfo(np.int64).max


@published("sparse.cross_hashed")
def cross_hashed(
    inputs: Sequence[Any],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """For each row, a hash of each combination of one entry from every input, modulo `num_buckets`
    if that is not 0. Inputs are matrices or SparseTensors of strings or integers.

    >>> import gradtape as tf
    >>> crossed = tf.sparse.cross_hashed([[["a"], ["b"]], [[1], [2]]], num_buckets=10)
    >>> tf.sparse.to_dense(crossed).numpy()
    array([[5],
           [7]])
    """
    buckets = as_int(num_buckets, "cross_hashed: num_buckets")
    if buckets < 0:
        raise ValueError(f"cross_hashed: num_buckets must not be negative, got {buckets}.")
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise TypeError("cross_hashed: inputs must be a list of at least one matrix.")
    columns = [_rows(value, f"cross_hashed: inputs[{i}]") for i, value in enumerate(inputs)]
    counts = {len(column) for column in columns}
    if len(counts) > 1:
        raise invalid_argument(
            f"cross_hashed: inputs must have the same number of rows, got {sorted(counts)}."
        )
    key = np.uint64(_KEY if hash_key is None else as_int(hash_key, "cross_hashed: hash_key"))
    places, found = [], []
    for row, entries in enumerate(zip(*columns, strict=True)):
        for place, combination in enumerate(product(*entries)):
            hashed = key
            for each in combination:
                hashed = combined(hashed, each)
            places.append((row, place))
            found.append(int(hashed) % (buckets or _LARGEST))
    width = max((place for _, place in places), default=-1) + 1
    return SparseTensor(
        Tensor(np.array(places, np.int64).reshape(len(places), 2)),
        Tensor(np.array(found, np.int64)),
        Tensor(np.array([counts.pop(), width], np.int64)),
    )


def _rows(value: Any, argument: str) -> list[list[np.uint64]]:
    """The hashes of the entries of each row: integers are their own."""
    sparse = isinstance(value, SparseTensor)
    given = value.values if sparse else as_tensor(value, argument=argument)
    if not (given.dtype == dtypes.string or given.dtype.is_integer):
        raise TypeError(f"{argument} must hold strings or integers, got {given.dtype.name}.")
    if not sparse and given.ndim != 2:
        raise invalid_argument(f"{argument} must be a matrix, got shape {given.shape}.")
    array = known(given, argument).reshape(-1)
    if given.dtype == dtypes.string:
        numbers = hashes(array.tolist(), fingerprint64)
    else:
        numbers = array.astype(np.int64).view(np.uint64)
    if not sparse:
        return [list(row) for row in numbers.reshape(given.array.shape)]
    rows: list[list[np.uint64]] = [[] for _ in range(value.shape[0] or 0)]
    indices = known(value.indices, argument)
    for (row, _), number in zip(indices.tolist(), numbers, strict=True):
        rows[row].append(number)
    return rows
