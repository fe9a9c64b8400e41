"""`tf.sets`: the rows along the last axis of a tensor, or of a SparseTensor, are sets.

How many elements a result has depends on the values, so a function computes them outside of XLA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.api.tensorflow.arguments import known
from gradtape.convert import as_tensor
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.published import published

Rows = dict[tuple[int, ...], Any]


@published("sets.difference")
def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements of each row of `a` that are not in that of `b`; the other way around without
    `aminusb`.

    >>> import gradtape as tf
    >>> tf.sparse.to_dense(tf.sets.difference([[1, 2, 3]], [[3, 4, 1]])).numpy()
    array([[2]], dtype=int32)
    """
    return _combined(
        "difference", a, b, np.setdiff1d if aminusb else lambda x, y: np.setdiff1d(y, x)
    )


@published("sets.intersection")
def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in a row of `a` and in that of `b`.

    >>> import gradtape as tf
    >>> tf.sparse.to_dense(tf.sets.intersection([[1, 2, 3]], [[3, 4, 1]])).numpy()
    array([[1, 3]], dtype=int32)
    """
    return _combined("intersection", a, b, np.intersect1d)


@published("sets.union")
def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in a row of `a` or in that of `b`.

    >>> import gradtape as tf
    >>> tf.sparse.to_dense(tf.sets.union([[1, 2, 3]], [[3, 4, 1]])).numpy()
    array([[1, 2, 3, 4]], dtype=int32)
    """
    return _combined("union", a, b, np.union1d)


@published("sets.size")
def size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many different elements each row of a SparseTensor has.

    >>> import gradtape as tf
    >>> tf.sets.size(tf.sparse.from_dense([[1, 1], [2, 3]])).numpy()
    array([1, 2], dtype=int32)
    """
    if not isinstance(a, SparseTensor):
        raise TypeError(f"sets.size: a must be a SparseTensor, got {type(a).__name__}.")
    rows, outer, _ = _rows(a, "sets.size: a")
    found = np.zeros(outer, np.int32)
    for place, row in rows.items():
        found[place] = np.unique(row).size
    return Tensor(found)


def _combined(name: str, a: Any, b: Any, combine: Callable[[Any, Any], Any]) -> SparseTensor:
    (first, outer, dtype), (second, other, others) = (
        _rows(value, f"sets.{name}: {argument}") for argument, value in (("a", a), ("b", b))
    )
    if outer != other:
        raise ValueError(f"sets.{name}: a and b must have as many rows, got {outer} and {other}.")
    if dtype != others:
        raise TypeError(f"sets.{name}: a and b must have the same dtype, got {dtype} and {others}.")
    nothing = np.zeros(0, dtype)
    indices: list[tuple[int, ...]] = []
    values: list[Any] = []
    for place in np.ndindex(*outer):
        found = combine(first.get(place, nothing), second.get(place, nothing))
        indices += [(*place, i) for i in range(len(found))]
        values += found.tolist()
    longest = max((index[-1] + 1 for index in indices), default=0)
    return SparseTensor(
        np.array(indices, np.int64).reshape(-1, len(outer) + 1),
        Tensor(np.array(values, dtype)),
        np.array([*outer, longest], np.int64),
    )


def _rows(value: Any, argument: str) -> tuple[Rows, tuple[int, ...], Any]:
    """The elements of each row by its place, the sizes of the other axes, and the dtype."""
    if isinstance(value, SparseTensor):
        indices, values, shape = (
            known(part, argument) for part in (value.indices, value.values, value.dense_shape)
        )
        sparse: dict[tuple[int, ...], list[Any]] = {}
        for index, entry in zip(indices.tolist(), values.tolist(), strict=True):
            sparse.setdefault(tuple(index[:-1]), []).append(entry)
        rows = {place: np.array(row, values.dtype) for place, row in sparse.items()}
        return rows, tuple(shape.tolist()[:-1]), values.dtype
    array = known(as_tensor(value, argument=argument), argument)
    if array.ndim < 2:
        raise ValueError(f"{argument} must have at least two axes, got shape {array.shape}.")
    places = np.ndindex(*array.shape[:-1])
    return {place: array[place] for place in places}, array.shape[:-1], array.dtype
