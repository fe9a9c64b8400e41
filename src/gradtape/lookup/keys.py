"""What all tables do with keys: check them, go into RaggedTensors and SparseTensors, and find them
one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.convert import as_tensor
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.lookup.initializers import KEYS
from gradtape.ragged.tensor import RaggedTensor


def check_key_dtype(dtype: dtypes.DType, function: str) -> None:
    if dtype not in KEYS:
        raise TypeError(f"{function}: keys must be string, int32 or int64, got {dtype.name}.")


def of_flat(keys: Any, dtype: dtypes.DType, find: Callable[[Tensor], Any]) -> Any:
    """What a function finds for a tensor of keys, also for those inside a RaggedTensor or a
    SparseTensor.
    """
    if isinstance(keys, RaggedTensor):
        return keys.with_flat_values(of_flat(keys.flat_values, dtype, find))
    if isinstance(keys, SparseTensor):
        return keys.with_values(of_flat(keys.values, dtype, find))
    plain = isinstance(keys, (str, bytes, int, list, tuple))
    found = as_tensor(keys, dtype if plain else None, argument="lookup: keys")
    if found.dtype != dtype:
        raise TypeError(
            f"lookup: keys must have the dtype {dtype.name} of the table's keys, got "
            f"{found.dtype.name}."
        )
    return find(found)


def listed(keys: Any) -> list[Any]:
    """The keys of an array as what a dict can hold."""
    found: list[Any] = np.asarray(keys).reshape(-1).tolist()
    return found
