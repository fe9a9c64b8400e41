"""Counting and finding: `tf.math.bincount`, histograms, `tf.unique`, `tf.searchsorted`, sequence
masks and related functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import ANY, NUMERIC, REAL, of_kind, tensors_of_kind
from gradtape.api.tensorflow.arguments import (
    DTypeLike,
    ShapeLike,
    TensorLike,
    as_int,
    as_shape,
    known,
    numpy_dtype,
    tensor,
)
from gradtape.convert import as_indices
from gradtape.core.composite import takes_composites
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops import counting
from gradtape.ops.arithmetic import (
    add,
    greater_equal,
    less,
    less_equal,
    logical_and,
    minimum,
    multiply,
)
from gradtape.ops.broadcasting import cast
from gradtape.ops.computing import HALF
from gradtape.ops.indexing import take
from gradtape.ops.reductions import reduce_all
from gradtape.ops.segments import segment_sum
from gradtape.ops.selection import ones_like, where
from gradtape.ops.shaping import getitem, reshape, transpose
from gradtape.published import published

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_INDEX_DTYPES = (_INT32, _INT64)


class Unique(NamedTuple):
    """The result of `unique`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The result of `unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment] # TensorFlow's name hides tuple.count


@published("math.bincount")
@takes_composites
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """How often each number from 0 on stands in `arr`, or the sum of its `weights`; `axis=-1`
    counts each row for itself.

    >>> import gradtape as tf
    >>> (
    ...     tf.math.bincount([1, 1, 3]).numpy(),
    ...     tf.math.bincount([1, 1, 3], weights=[0.5, 1.0, 2.0]).numpy(),
    ... )
    (array([0, 2, 0, 1], dtype=int32), array([0. , 1.5, 0. , 2. ], dtype=float32))
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"bincount: axis={axis!r} is not supported: use 0, -1 or None.")
    if binary_output and weights is not None:
        raise ValueError("bincount: binary_output and weights cannot be used together.")
    numbers = cast(of_kind(arr, REAL, "bincount", "arr"), dtype=_INT64)
    if axis != -1 or numbers.array.ndim < 2:
        return _counts(
            reshape(numbers, shape=(numbers.array.size,)),
            weights,
            minlength,
            maxlength,
            dtype,
            binary_output,
        )
    if numbers.array.ndim > 2:
        raise invalid_argument(
            f"bincount: with axis=-1, arr must be a vector or a matrix, got shape {numbers.shape}."
        )
    return _counts(numbers, weights, minlength, maxlength, dtype, binary_output)


def _counts(
    numbers: Tensor, weights: Any, minlength: Any, maxlength: Any, dtype: Any, binary: bool
) -> Tensor:
    """The counts of a row, or of each row of a matrix:
    the numbers of row i then stand behind those of the rows before it.
    """
    least = 0 if minlength is None else as_int(minlength, "bincount: minlength")
    most = math.inf if maxlength is None else as_int(maxlength, "bincount: maxlength")
    size, shape = _length(numbers, least, most), numbers.array.shape
    rows = shape[0] if len(shape) == 2 else 1
    starts = (np.arange(rows) * size)[:, None] if len(shape) == 2 else 0
    inside = logical_and(greater_equal(numbers, 0), less(numbers, size))
    ids = reshape(where(inside, add(numbers, starts), -1), shape=(math.prod(shape),))
    if weights is None:
        counts = segment_sum(ones_like(ids), ids, size=rows * size)
        found = cast(minimum(counts, 1) if binary else counts, dtype=numpy_dtype(dtype))
    else:
        weight = of_kind(weights, NUMERIC, "bincount", "weights")
        if weight.array.size != math.prod(shape):
            raise invalid_argument(
                f"bincount: weights have shape {weight.shape}, but arr has {math.prod(shape)} "
                "elements."
            )
        found = segment_sum(reshape(weight, shape=(math.prod(shape),)), ids, size=rows * size)
    return reshape(found, shape=(*shape[:-1], size))


def _length(numbers: Tensor, least: int, most: float) -> int:
    """How many numbers are counted: up to the largest one, unless the limits say it."""
    if is_traced(numbers) and least == most:
        return least
    values = known(numbers, "bincount: arr", "pass the same minlength and maxlength")
    if values.size and values.min() < 0:
        raise invalid_argument(f"bincount: arr must not hold negative numbers, got {values.min()}.")
    return int(min(max(int(values.max()) + 1 if values.size else 0, least), most))


@published("math.confusion_matrix")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: Any = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """How often each class (row) was predicted as each class (column),
    or the sum of the `weights` of those cases.

    >>> import gradtape as tf
    >>> tf.math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy()
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
    given, predicted = _without_last_axis(
        cast(of_kind(labels, REAL, "confusion_matrix", "labels"), dtype=_INT64),
        cast(of_kind(predictions, REAL, "confusion_matrix", "predictions"), dtype=_INT64),
    )
    if given.array.ndim != 1 or given.array.shape != predicted.array.shape:
        raise invalid_argument(
            f"confusion_matrix: labels of shape {given.shape} and predictions of shape "
            f"{predicted.shape} must be vectors of the same length."
        )
    size = (
        _classes((given, predicted))
        if num_classes is None
        else as_int(num_classes, "confusion_matrix: num_classes")
    )
    for argument, row in (("labels", given), ("predictions", predicted)):
        if is_traced(row) or not row.array.size:
            continue
        low, high = row.array.min(), row.array.max()
        if not 0 <= low <= high < size:
            raise invalid_argument(
                f"confusion_matrix: {argument} must be from 0 to {size - 1}, got {low} to {high}."
            )
    wanted = numpy_dtype(dtype)
    if weights is None:
        values = ones_like(given, dtype=wanted)
    else:
        values = cast(of_kind(weights, NUMERIC, "confusion_matrix", "weights"), dtype=wanted)
        if values.array.shape != given.array.shape:
            raise ValueError(
                f"confusion_matrix: weights have shape {values.shape}, but labels have shape "
                f"{given.shape}."
            )
    found = segment_sum(values, add(multiply(given, size), predicted), size=size * size)
    return reshape(found, shape=(size, size))


def _classes(both: Sequence[Tensor]) -> int:
    """One more than the largest number."""
    found = [known(x, "confusion_matrix: labels and predictions", "pass num_classes") for x in both]
    return max([int(values.max(initial=-1)) + 1 for values in found])


def _without_last_axis(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Where one of two tensors has one more axis, of size 1, it is dropped."""
    extra = x.array.ndim - y.array.ndim
    if extra == 1 and x.array.shape[-1] == 1:
        x = reshape(x, shape=x.array.shape[:-1])
    if extra == -1 and y.array.shape[-1] == 1:
        y = reshape(y, shape=y.array.shape[:-1])
    return x, y


@published("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: Any = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The number of each value's bin, of `nbins` equal ones; what lies outside `value_range` goes
    to the first or the last.

    >>> import gradtape as tf
    >>> tf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([0, 0, 1, 2, 4, 4], dtype=int32)
    """
    return cast(
        _bins(values, value_range, nbins, "histogram_fixed_width_bins")[0],
        dtype=_index_dtype(dtype, "dtype", "histogram_fixed_width_bins"),
    )


@published("histogram_fixed_width")
def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: Any = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """How many values fall into each of `nbins` equal bins;
    those outside `value_range` count in the first or the last.

    >>> import gradtape as tf
    >>> tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([2, 1, 1, 0, 2], dtype=int32)
    """
    wanted = _index_dtype(dtype, "dtype", "histogram_fixed_width")
    bins, count = _bins(values, value_range, nbins, "histogram_fixed_width")
    ids = reshape(bins, shape=(bins.array.size,))
    return segment_sum(ones_like(ids, dtype=wanted), ids, size=count)


def _bins(values: Any, value_range: Any, nbins: Any, function: str) -> tuple[Tensor, int]:
    x, limits = tensors_of_kind(values, value_range, REAL, function, ("values", "value_range"))
    count = as_int(nbins, f"{function}: nbins")
    if count <= 0:
        raise invalid_argument(f"{function}: nbins must be positive, got {count}.")
    if limits.array.shape != (2,):
        raise invalid_argument(
            f"{function}: value_range must be two numbers, got shape {limits.shape}."
        )
    if x.array.dtype.kind in "iu":
        x, limits = cast(x, dtype=np.dtype(np.float64)), cast(limits, dtype=np.dtype(np.float64))
    return counting.histogram_bins(
        x, getitem(limits, key=(0,)), getitem(limits, key=(1,)), nbins=count
    ), count


@published("unique")
def unique(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Unique:
    """The elements of a vector, each once in the order in which they come,
    and for each element its place among them.

    >>> import gradtape as tf
    >>> y, idx = tf.unique([3, 1, 3, 2])
    >>> y.numpy(), idx.numpy()
    (array([3, 1, 2], dtype=int32), array([0, 1, 0, 2], dtype=int32))
    """
    return Unique(*_unique(x, out_idx, "unique")[:2])


@published("unique_with_counts")
def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """What `unique` gives, and how often each element is there.

    >>> import gradtape as tf
    >>> tf.unique_with_counts([3, 1, 3, 2]).count.numpy()
    array([2, 1, 1], dtype=int32)
    """
    return UniqueWithCounts(*_unique(x, out_idx, "unique_with_counts"))


def _unique(value: Any, out_idx: Any, function: str) -> tuple[Tensor, Tensor, Tensor]:
    x = of_kind(value, ANY, function)
    wanted = _index_dtype(out_idx, "out_idx", function)
    if x.array.ndim != 1:
        raise invalid_argument(
            f"{function}: x must be a vector, got shape {x.shape}: flatten it with "
            "gradtape.reshape(x, [-1])."
        )
    array = known(x, f"{function}: x", "use gradtape.sort")
    array = array.astype(np.float32) if array.dtype in HALF else array
    _, first, place, count = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    idx, counts = rank[place.reshape(-1)].astype(wanted), count[order].astype(wanted)
    return take(x, Tensor(first[order]), axis=0, sparse=False), Tensor(idx), Tensor(counts)


def _index_dtype(dtype: Any, argument: str, function: str) -> Any:
    wanted = numpy_dtype(dtype)
    if wanted not in _INDEX_DTYPES:
        raise invalid_argument(
            f"{function}: {argument} must be int32 or int64, got {dtypes.as_dtype(dtype).name}."
        )
    return wanted


@published("searchsorted")
def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Where each value would go into the sorted last axis:
    before what equals it ("left") or behind it ("right").

    >>> import gradtape as tf
    >>> tf.searchsorted([1.0, 3.0, 5.0], [0.0, 3.0, 6.0]).numpy()
    array([0, 1, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}.")
    wanted = _index_dtype(out_type, "out_type", "searchsorted")
    row, x = tensors_of_kind(
        sorted_sequence, values, REAL, "searchsorted", ("sorted_sequence", "values")
    )
    if not row.array.ndim or not x.array.ndim or row.array.shape[:-1] != x.array.shape[:-1]:
        raise invalid_argument(
            f"searchsorted: sorted_sequence of shape {row.shape} and values of shape {x.shape} "
            "must agree in all axes but the last."
        )
    return cast(counting.searchsorted(row, x, side=side), dtype=wanted)


@published("sequence_mask")
def sequence_mask(
    lengths: TensorLike,
    maxlen: Any = None,
    dtype: DTypeLike = dtypes.bool_,
    name: str | None = None,
) -> Tensor:
    """For each length, a row of `maxlen` (the greatest length,
    if None) in which so many first elements are true.

    >>> import gradtape as tf
    >>> tf.sequence_mask([1, 3], 4, dtype=tf.int32).numpy()
    array([[1, 0, 0, 0],
           [1, 1, 1, 0]], dtype=int32)
    """
    given = of_kind(lengths, REAL, "sequence_mask", "lengths")
    if maxlen is None:
        longest = known(given, "sequence_mask: lengths", "pass maxlen")
        size = max(math.ceil(longest.max()), 0) if longest.size else 0
    else:
        limit = tensor(maxlen, "sequence_mask: maxlen")
        if limit.array.ndim:
            raise ValueError(f"sequence_mask: maxlen must be a scalar, got shape {limit.shape}.")
        if limit.array.dtype.kind not in "iuf" or not np.isfinite(limit.array):
            raise invalid_argument(f"sequence_mask: maxlen must be a number, got {maxlen!r}.")
        size = math.ceil(float(limit))
        if size < 0:
            raise invalid_argument(f"sequence_mask: maxlen={size} is negative.")
    column = reshape(given, shape=(*given.array.shape, 1))
    return cast(less(np.arange(size), column), dtype=numpy_dtype(dtype))


@published("math.invert_permutation")
def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """The permutation that undoes `x`: element `x[i]` of the result is i.

    >>> import gradtape as tf
    >>> tf.math.invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    numbers = as_indices(x, "invert_permutation: x")
    if numbers.array.ndim != 1:
        raise invalid_argument(
            f"invert_permutation: x must be a vector, got shape {numbers.shape}."
        )
    return counting.invert_permutation(numbers)


@published("math.is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element of `x`, read row by row, is less than the one before it.

    >>> import gradtape as tf
    >>> tf.math.is_non_decreasing([1.0, 1.0, 2.0]).numpy()
    np.True_
    """
    flat = _in_a_row(x, "is_non_decreasing")
    return reduce_all(
        less_equal(getitem(flat, key=(slice(None, -1),)), getitem(flat, key=(slice(1, None),)))
    )


@published("math.is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element of `x`, read row by row, is greater than the one before it.

    >>> import gradtape as tf
    >>> tf.math.is_strictly_increasing([1.0, 1.0, 2.0]).numpy()
    np.False_
    """
    flat = _in_a_row(x, "is_strictly_increasing")
    return reduce_all(
        less(getitem(flat, key=(slice(None, -1),)), getitem(flat, key=(slice(1, None),)))
    )


def _in_a_row(x: Any, function: str) -> Tensor:
    given = of_kind(x, REAL, function, refusal=TypeError)
    return reshape(given, shape=(given.array.size,))


@published("unravel_index")
def unravel_index(indices: TensorLike, dims: ShapeLike, name: str | None = None) -> Tensor:
    """The coordinates of places in a tensor of shape `dims` that is read row by row:
    one row for each axis.

    >>> import gradtape as tf
    >>> tf.unravel_index([2, 5, 7], [3, 3]).numpy()
    array([[0, 1, 2],
           [2, 2, 1]], dtype=int32)
    """
    places, sizes = (
        as_indices(indices, "unravel_index: indices"),
        as_shape(dims, "unravel_index: dims"),
    )
    if places.array.ndim > 1:
        raise invalid_argument(
            f"unravel_index: indices must be a scalar or a vector, got shape {places.shape}."
        )
    if 0 in sizes:
        raise invalid_argument(
            f"unravel_index: dims={list(sizes)} has an axis of size 0, which has no elements."
        )
    found = counting.coordinates(places, sizes=sizes)
    return transpose(found, perm=tuple(reversed(range(found.array.ndim))))
