"""NumPy's functions on arrays as sets: `unique` and its family, `union1d`, `intersect1d`, `isin`
and related functions.

The elements of a result are gathered, so a gradient flows back to the first of several equal ones;
indices and counts are int64.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from gradtape.api.numpy.operands import BOOL, axis_of, promoted, tensor_of, tensors_of, values_of
from gradtape.api.numpy.ordering import place_in, sort
from gradtape.api.numpy.shaping import flat
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.ops.arithmetic import equal, logical_not, minimum
from gradtape.ops.indexing import take
from gradtape.ops.selection import zeros_like
from gradtape.published import published


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


@overload
def unique(
    ar: TensorLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Tensor: ...
@overload
def unique(
    ar: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Tensor, ...]: ...
@published("numpy.unique")
def unique(
    ar: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Each element, or each slice along an axis, once, in rising order; and, if asked, where it
    stood first, its number for each element, and how often it was there.

    >>> import gradtape as tf
    >>> values, counts = tf.numpy.unique([3, 1, 3, 2], return_counts=True)
    >>> values.numpy(), counts.numpy()
    (array([1, 2, 3], dtype=int32), array([1, 1, 2]))
    """
    x = tensor_of(ar, "unique", "ar")
    values, first, inverse, counts = _unique(x, axis, equal_nan)
    asked = [
        part
        for part, wanted in (
            (first, return_index),
            (inverse, return_inverse),
            (counts, return_counts),
        )
        if wanted
    ]
    return (values, *map(Tensor, asked)) if asked else values


def _unique(x: Tensor, axis: Any, equal_nan: bool) -> tuple[Tensor, Any, Any, Any]:
    place = None if axis is None else axis_of(axis, x.array.ndim, "unique")
    _, first, inverse, counts = np.unique(
        _comparable(x, "unique"),
        return_index=True,
        return_inverse=True,
        return_counts=True,
        axis=place,
        equal_nan=equal_nan,
    )
    values = take(flat(x) if place is None else x, Tensor(first), axis=place or 0, sparse=False)
    return values, first, inverse, counts


def _comparable(x: Tensor, function: str) -> Any:
    """The values in a dtype that NumPy can sort: bfloat16 is none of its own."""
    array = values_of(x, function, "its argument")
    return array.astype(np.float32) if array.dtype.kind == "V" else array


@published("numpy.unique_values", "array_api.unique_values")
def unique_values(x: TensorLike) -> Tensor:
    """Each element once; every NaN is one of its own.

    >>> import gradtape as tf
    >>> tf.numpy.unique_values([3, 1, 3]).numpy()
    array([1, 3], dtype=int32)
    """
    return _unique(tensor_of(x, "unique_values"), None, False)[0]


@published("numpy.unique_counts", "array_api.unique_counts")
def unique_counts(x: TensorLike) -> UniqueCountsResult:
    """Each element once, and how often it was there.

    >>> import gradtape as tf
    >>> tf.numpy.unique_counts([3, 1, 3]).counts.numpy()
    array([1, 2])
    """
    values, _, _, counts = _unique(tensor_of(x, "unique_counts"), None, False)
    return UniqueCountsResult(values, Tensor(counts))


@published("numpy.unique_inverse", "array_api.unique_inverse")
def unique_inverse(x: TensorLike) -> UniqueInverseResult:
    """Each element once, and for each element its number among them.

    >>> import gradtape as tf
    >>> tf.numpy.unique_inverse([3, 1, 3]).inverse_indices.numpy()
    array([1, 0, 1])
    """
    values, _, inverse, _ = _unique(tensor_of(x, "unique_inverse"), None, False)
    return UniqueInverseResult(values, Tensor(inverse))


@published("numpy.unique_all", "array_api.unique_all")
def unique_all(x: TensorLike) -> UniqueAllResult:
    """Each element once, where it stood first, for each element its number among them,
    and how often it was there.

    >>> import gradtape as tf
    >>> tf.numpy.unique_all([3, 1, 3]).indices.numpy()
    array([1, 0])
    """
    values, first, inverse, counts = _unique(tensor_of(x, "unique_all"), None, False)
    return UniqueAllResult(values, Tensor(first), Tensor(inverse), Tensor(counts))


def _pair(ar1: TensorLike, ar2: TensorLike, function: str) -> tuple[Tensor, Tensor]:
    first, second = promoted(tensors_of([ar1, ar2], function, ["ar1", "ar2"]))
    return flat(first), flat(second)


@published("numpy.union1d")
def union1d(ar1: TensorLike, ar2: TensorLike) -> Tensor:
    """The elements that are in either, each once, in rising order.

    >>> import gradtape as tf
    >>> tf.numpy.union1d([1, 2], [2, 3]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    return unique(shaping.concat(*_pair(ar1, ar2, "union1d"), axis=0))


@overload
def intersect1d(
    ar1: TensorLike,
    ar2: TensorLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def intersect1d(
    ar1: TensorLike,
    ar2: TensorLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def intersect1d(
    ar1: TensorLike,
    ar2: TensorLike,
    assume_unique: bool = False,
    return_indices: bool = False,
) -> Any: ...
@published("numpy.intersect1d")
def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The elements that are in both, each once, in rising order; and, if asked,
    where they stand in either.

    >>> import gradtape as tf
    >>> tf.numpy.intersect1d([1, 3, 4], [3, 1, 5]).numpy()
    array([1, 3], dtype=int32)
    """
    x, y = _pair(ar1, ar2, "intersect1d")
    _, first, second = np.intersect1d(
        _comparable(x, "intersect1d"),
        _comparable(y, "intersect1d"),
        assume_unique=assume_unique,
        return_indices=True,
    )
    common = take(x, Tensor(first), axis=0, sparse=False)
    return (common, Tensor(first), Tensor(second)) if return_indices else common


@published("numpy.setdiff1d")
def setdiff1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The elements of the first that are not in the second, each once, in rising order.

    >>> import gradtape as tf
    >>> tf.numpy.setdiff1d([3, 1, 2, 1], [2]).numpy()
    array([1, 3], dtype=int32)
    """
    x, y = _pair(ar1, ar2, "setdiff1d")
    left = x if assume_unique else unique(x)
    kept = np.flatnonzero(
        np.isin(
            _comparable(left, "setdiff1d"),
            _comparable(y, "setdiff1d"),
            assume_unique=True,
            invert=True,
        )
    )
    return take(left, Tensor(kept), axis=0, sparse=False)


@published("numpy.setxor1d")
def setxor1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The elements that are in one of the two only, in rising order.

    >>> import gradtape as tf
    >>> tf.numpy.setxor1d([1, 2, 3], [2, 3, 4]).numpy()
    array([1, 4], dtype=int32)
    """
    parts = _pair(ar1, ar2, "setxor1d")
    both = shaping.concat(*(parts if assume_unique else [unique(x) for x in parts]), axis=0)
    values, _, _, counts = _unique(both, None, True)
    return take(values, Tensor(np.flatnonzero(counts == 1)), axis=0, sparse=False)


@published("numpy.isin")
def isin(
    element: TensorLike,
    test_elements: TensorLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Tensor:
    """For each element, whether it is among `test_elements`, or with `invert`, whether it is not.

    >>> import gradtape as tf
    >>> tf.numpy.isin([1, 2, 3], [2, 5]).numpy()
    array([False,  True, False])
    """
    x, y = promoted(tensors_of([element, test_elements], "isin", ["element", "test_elements"]))
    row, last = sort(flat(y)), y.array.size - 1
    if last < 0:
        found = zeros_like(x, dtype=BOOL)
    else:
        found = equal(x, take(row, minimum(place_in(row, x, "left"), last), axis=0, sparse=False))
    return logical_not(found) if invert else found
