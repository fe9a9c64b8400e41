"""Keras's functions that sort, search, count and pick. Positions are int32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import by_rule, cast_to, inexact, result_type, tensors
from keras_gradtape.src.ops.sparse import counted, of_values

_INFINITY = float("inf")


def _positions(found: Any) -> Any:
    return cast_to(found, "int32")


# Sorting


def sort(x: Any, axis: Any = -1) -> Any:
    """The elements in rising order."""
    return gnp.sort(convert_to_tensor(x), axis)


def argsort(x: Any, axis: Any = -1) -> Any:
    """The places of the elements in rising order."""
    x = convert_to_tensor(x)
    return _positions(gnp.argsort(x, axis if x.ndim else None))


def argpartition(x: Any, kth: Any, axis: Any = -1) -> Any:
    """Places such that no element before the `kth` is larger than it,
    and none behind it smaller.
    """
    return _positions(gnp.argpartition(convert_to_tensor(x), kth, axis))


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The places of the largest elements."""
    return _positions(gnp.argmax(convert_to_tensor(x), axis, keepdims=keepdims))


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The places of the smallest elements."""
    return _positions(gnp.argmin(convert_to_tensor(x), axis, keepdims=keepdims))


def nanargmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The places of the largest elements that are not NaN; -1 where there are only NaNs."""
    return _without_nan(argmax, x, -_INFINITY, axis, keepdims)


def nanargmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The places of the smallest elements that are not NaN; -1 where there are only NaNs."""
    return _without_nan(argmin, x, _INFINITY, axis, keepdims)


def _without_nan(
    place: Callable[..., Any], x: Any, instead: float, axis: Any, keepdims: bool
) -> Any:
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        return place(x, axis, keepdims)
    missing = gnp.isnan(x)
    found = place(gnp.where(missing, instead, x), axis, keepdims)
    return gnp.where(gnp.all(missing, axis=axis, keepdims=keepdims), -1, found)


# Searching and counting


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> Any:
    """The places at which values would go into a sorted sequence."""
    sequence, values = tensors((sorted_sequence, values))
    if sequence.ndim != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use "
            "`keras.ops.vectorized_map` "
            f"to extend it to N-D sequences. Received: sorted_sequence.shape={sequence.shape}"
        )
    return _positions(gnp.searchsorted(sequence, values, side))


def digitize(x: Any, bins: Any) -> Any:
    """The number of the bin in which each element is;
    zeros that a sparse tensor leaves out stay 0.
    """
    if isinstance(x, tf.SparseTensor):
        return of_values(digitize, x, bins)
    if isinstance(x, tf.RaggedTensor):
        return tf.ragged.map_flat_values(digitize, x, bins)
    x, bins = tensors((x, bins))
    if not tf.is_symbolic_tensor(bins):
        return _positions(gnp.digitize(x, bins))
    rising, falling = (
        gnp.searchsorted(bins, x, "right"),
        gnp.searchsorted(gnp.flip(bins), x, "left"),
    )
    return _positions(gnp.where(bins[:1] > bins[-1:], bins.shape[0] - falling, rising))


def nonzero(x: Any) -> Any:
    """The indices of the elements that are not 0, axis by axis."""
    return tuple(map(_positions, gnp.nonzero(convert_to_tensor(x))))


def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements of `x1` are in `x2`."""
    return gnp.isin(convert_to_tensor(x1), convert_to_tensor(x2), assume_unique, invert)


def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    """How often each number from 0 on is in a vector or in each row of a matrix,
    or the sums of its weights.

    The largest number says how long the result is. A program must know that before: while it is
    traced, numbers up to `minlength` are counted.
    """
    if isinstance(x, tf.SparseTensor):
        return counted(x, weights, minlength, bincount)
    if sparse:
        return tf.sparse.from_dense(bincount(x, weights, minlength))
    x = convert_to_tensor(x)
    dtype = "int32"
    if weights is not None:
        weights = convert_to_tensor(weights)
        dtype = result_type(x.dtype.name, weights.dtype.name)
        weights = gnp.ravel(cast_to(weights, dtype))
    length = minlength
    if tf.is_symbolic_tensor(x):
        if not minlength:
            raise ValueError(
                "bincount: inside a compiled function the result's length must be known: give "
                "`minlength`."
            )
        x = gnp.where(x < length, x, -1)  # -1 is counted nowhere
    elif x.ndim != 2:
        return cast_to(gnp.bincount(x, weights, minlength), dtype)
    else:
        length = max(minlength, int(gnp.max(x)) + 1 if len(gnp.ravel(x)) else 0)
    rows = tuple(x.shape)[:-1]
    numbers = cast_to(x, "int64")
    if rows:  # every row counts in a range of its own
        numbers = gnp.where(
            x < 0, -1, numbers + gnp.arange(rows[0], dtype="int64")[:, None] * length
        )
    each = gnp.ones(gnp.size(x), dtype) if weights is None else weights
    return gnp.reshape(
        tf.math.unsorted_segment_sum(each, gnp.ravel(numbers), math.prod(rows) * length),
        (*rows, length),
    )


def histogram(x: Any, bins: Any = 10, range: Any = None) -> Any:
    """How many elements each bin holds, and the edges of the bins."""
    x = by_rule(x, inexact)
    counts, edges = gnp.histogram(x, bins, range)
    return cast_to(counts, x.dtype.name), edges


# Picking


def take(x: Any, indices: Any, axis: Any = None) -> Any:
    """The slices at `indices` along an axis, or the elements of the flat tensor."""
    x, indices = convert_to_tensor(x), convert_to_tensor(indices)
    if axis not in (0, -x.ndim):
        return gnp.take(x, indices, axis)
    # Its gradient names the rows, for embeddings.
    return tf.gather(x, tf.where(indices < 0, indices + x.shape[0], indices))


def take_along_axis(x: Any, indices: Any, axis: Any = None) -> Any:
    """For each place of `indices`, the element of its own row along the axis."""
    return gnp.take_along_axis(convert_to_tensor(x), convert_to_tensor(indices), axis)


def unravel_index(indices: Any, shape: Any) -> Any:
    """Flat indices as an index for each axis."""
    indices = convert_to_tensor(indices)
    if not tf.is_symbolic_tensor(indices):
        return tuple(
            cast_to(index, result_type(indices.dtype.name))
            for index in gnp.unravel_index(indices, shape)
        )
    found: list[Any] = []
    for size in reversed(shape):
        found.insert(0, gnp.mod(indices, size))
        indices = gnp.floor_divide(indices, size)
    return tuple(found)


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = None, signature: str | None = None
) -> Any:
    """A function of one example made a function of batches."""
    return gnp.vectorize(pyfunc, excluded=excluded, signature=signature)
