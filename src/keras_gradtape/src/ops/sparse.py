"""Sparse tensors: what Keras's functions do with a `SparseTensor`, and with an `IndexedSlices`,
which is sparse in its rows.

A function that maps 0 to 0 is applied to the values alone, and functions of two tensors merge their
values. Both need to know the indices of the values: while a program is traced these are not known,
and there only a function that is linear in one tensor keeps it sparse. Repeated indices add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import SPARSE, convert_to_tensor

Function = Callable[..., Any]


def is_sparse(x: Any) -> bool:
    """Whether a tensor is one of the two kinds that are mostly zero."""
    return isinstance(x, SPARSE)


# Places: flat ones of a SparseTensor, rows of an IndexedSlices


def _known(*xs: Any) -> bool:
    """Whether it is known which places hold values."""
    return not any(tf.is_symbolic_tensor(x.indices) for x in xs)


def _places(x: Any) -> np.ndarray[Any, Any]:
    indices = np.asarray(x.indices)
    if isinstance(x, tf.IndexedSlices):
        return indices
    if not x.shape.rank or not len(indices):
        return np.zeros(len(indices), np.int64)
    return np.asarray(np.ravel_multi_index(tuple(indices.T), tuple(x.shape)))


def _made(like: Any, places: np.ndarray[Any, Any], values: Any) -> Any:
    """A tensor like another, with values at other places."""
    if isinstance(like, tf.IndexedSlices):
        return tf.IndexedSlices(
            values, places.astype(np.asarray(like.indices).dtype), like.dense_shape
        )
    shape = tuple(like.shape)
    coordinates = (
        np.stack(np.unravel_index(places, shape), axis=1)
        if shape
        else np.zeros((len(places), 0), np.int64)
    )
    return tf.SparseTensor(coordinates.astype(np.int64), values, shape)


def _once(x: Any) -> Any:
    """The same tensor with every place named once, in order."""
    found = _places(x)
    places, group = np.unique(found, return_inverse=True)
    return x if np.array_equal(places, found) else _made(x, places, _added(x, group, len(places)))


def _added(x: Any, group: np.ndarray[Any, Any], count: int) -> Any:
    """The sums of the values of each group."""
    return tf.math.unsorted_segment_sum(x.values, group, count)


def _taken_at(x: Any, other: Any) -> Any:
    """The elements of a dense tensor at the places of a sparse one."""
    return (
        tf.gather(other, x.indices)
        if isinstance(x, tf.IndexedSlices)
        else tf.gather_nd(other, x.indices)
    )


# Elementwise functions


def of_values(function: Function, x: Any, *args: Any, linear: bool = False) -> Any:
    """A function that takes 0 to 0."""
    if not linear:
        if not _known(x):
            return function(convert_to_tensor(x), *args)
        x = _once(x)
    return x.with_values(function(x.values, *args))


def union(function: Function, x1: Any, x2: Any) -> Any:
    """A function that takes 0 and 0 to 0: its result has values where one of the two has.

    With a dense tensor it is dense.
    """
    if type(x1) is not type(x2) or not _known(x1, x2):
        return function(convert_to_tensor(x1), convert_to_tensor(x2))
    first, second = _places(x1), _places(x2)
    places, group = np.unique(np.concatenate([first, second]), return_inverse=True)
    count = len(places)
    return _made(
        x1,
        places,
        function(_added(x1, group[: len(first)], count), _added(x2, group[len(first) :], count)),
    )


def intersection(function: Function, x1: Any, x2: Any) -> Any:
    """A product: its result has values only where both have."""
    if not is_sparse(x1):
        return _with_dense(lambda values, other: function(other, values), x2, x1)
    if not is_sparse(x2):
        return _with_dense(function, x1, x2)
    if type(x1) is not type(x2) or not _known(x1, x2):
        return function(convert_to_tensor(x1), convert_to_tensor(x2))
    x1, x2 = _once(x1), _once(x2)
    places, first, second = np.intersect1d(
        _places(x1), _places(x2), assume_unique=True, return_indices=True
    )
    return _made(x1, places, function(tf.gather(x1.values, first), tf.gather(x2.values, second)))


def _with_dense(function: Function, x: Any, other: Any) -> Any:
    """A function of a sparse tensor and a number or dense tensor that is 0 where the first is;
    it is linear in the first.
    """
    if not np.ndim(other):
        return x.with_values(function(x.values, other))
    other, shape = convert_to_tensor(other), tuple(x.shape)
    if np.broadcast_shapes(other.shape, shape) != shape:
        return function(convert_to_tensor(x), other)
    return x.with_values(function(x.values, _taken_at(x, gnp.broadcast_to(other, shape))))


def quotient(function: Function, x1: Any, x2: Any) -> Any:
    """A quotient: by a dense tensor it has values also where that is 0 or NaN;
    by a sparse one it is dense.
    """
    if is_sparse(x2) or (
        np.ndim(x2) and (not _known(x1) or tf.is_symbolic_tensor(convert_to_tensor(x2)))
    ):
        return function(convert_to_tensor(x1), convert_to_tensor(x2))
    if np.ndim(x2):
        x2 = gnp.broadcast_to(convert_to_tensor(x2), tuple(x1.shape))
        holes = gnp.logical_or(x2 == 0, x2 != x2)  # noqa: PLR0124 - NaN differs from itself
        rows = (
            gnp.any(holes, axis=tuple(range(1, x2.ndim)))
            if isinstance(x1, tf.IndexedSlices)
            else holes
        )
        more = np.flatnonzero(np.asarray(rows))
        if len(more):
            x1 = union(
                gnp.add, x1, _made(x1, more, tf.zeros([len(more), *x1.values.shape[1:]], x1.dtype))
            )
    return _with_dense(function, x1, x2)


# Reductions and shapes


def summed(x: Any, axis: Any, keepdims: bool) -> Any:
    """The sums over axes, as a sparse tensor."""
    shape = tuple(x.shape)
    axes = (
        range(len(shape))
        if axis is None
        else [a % len(shape) for a in np.atleast_1d(np.array(axis, int))]
    )
    kept = [a for a in range(len(shape)) if a not in axes]
    sizes = tuple(shape[a] for a in kept)
    result = tf.SparseTensor(
        tf.gather(x.indices, np.array(kept, np.int64), axis=1), x.values, sizes
    )
    if _known(x):
        result = _once(result)
    return (
        tf.sparse.reshape(result, [1 if a in axes else size for a, size in enumerate(shape)])
        if keepdims
        else result
    )


def expanded(x: Any, axis: Any) -> Any:
    """New axes of size 1."""
    axes = np.atleast_1d(axis)
    rank = len(x.shape) + len(axes)
    sizes = iter(x.shape)
    new = {int(a) % rank for a in axes}
    return tf.sparse.reshape(x, [1 if a in new else next(sizes) for a in range(rank)])


def squeezed(x: Any, axis: Any) -> Any:
    """Without axes of size 1."""
    shape = tuple(x.shape)
    axes = (
        [a for a, size in enumerate(shape) if size == 1]
        if axis is None
        else [a % len(shape) for a in np.atleast_1d(axis)]
    )
    if any(shape[a] != 1 for a in axes):
        raise ValueError(
            f"squeeze: axis={axis} must name axes of size 1. Received: x.shape={shape}"
        )
    return tf.sparse.reshape(x, [size for a, size in enumerate(shape) if a not in axes])


# Products


def product(function: Function, x1: Any, x2: Any) -> Any:
    """The product of matrices, which is sparse if both are."""
    if isinstance(x1, tf.SparseTensor) and isinstance(x2, tf.SparseTensor):
        return tf.sparse.from_dense(function(convert_to_tensor(x1), convert_to_tensor(x2)))
    if (
        isinstance(x1, tf.SparseTensor)
        and len(x1.shape) == 2 == np.ndim(x2)
        and x1.dtype.is_floating
    ):
        other = convert_to_tensor(x2)
        if other.dtype == x1.dtype:
            return tf.sparse.sparse_dense_matmul(x1, other)
    return function(convert_to_tensor(x1), convert_to_tensor(x2))


# Counts and classes


def counted(x: Any, weights: Any, minlength: int, count: Function) -> tf.SparseTensor:
    """How often each number is among the values of a vector, or of each row of a matrix."""
    numbers = x.values
    weights = (
        weights.values
        if is_sparse(weights)
        else None
        if weights is None
        else _taken_at(x, convert_to_tensor(weights))
    )
    length = max(minlength, int(gnp.max(numbers)) + 1 if len(numbers) else 0)
    rows = tuple(x.shape)[:-1]
    if rows:
        numbers = x.indices[:, 0] * length + tf.cast(numbers, "int64")
    flat = count(numbers, weights, math.prod(rows) * length)
    return tf.sparse.from_dense(tf.reshape(flat, [*rows, length]))


def one_hot(x: tf.Tensor, classes: int, axis: int, dtype: Any) -> tf.SparseTensor:
    """A 1 at the place of each class along a new axis."""
    values = np.asarray(x)
    exists = (values >= 0) & (values < classes)
    place = axis % (values.ndim + 1)
    coordinates = [*np.nonzero(exists)]
    coordinates.insert(place, values[exists])
    shape = [*values.shape]
    shape.insert(place, classes)
    return _ones(np.stack(coordinates, axis=1), shape, dtype)


def any_along(x: tf.SparseTensor, axis: int) -> tf.SparseTensor:
    """A 1 wherever one is along an axis."""
    kept = [a for a in range(len(x.shape)) if a != axis]
    places = np.unique(np.asarray(x.indices)[:, kept], axis=0)
    return _ones(places, [x.shape[a] for a in kept], x.dtype)


def _ones(places: np.ndarray[Any, Any], shape: Sequence[int], dtype: Any) -> tf.SparseTensor:
    order = np.lexsort(places.T[::-1])
    return tf.SparseTensor(places[order].astype(np.int64), tf.ones([len(places)], dtype), shape)
