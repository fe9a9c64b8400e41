"""Reductions of RaggedTensors: `tf.reduce_sum` and related functions, over rows of different
lengths and over other axes. They have the arguments of the functions for tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow import reductions, segments
from gradtape.api.tensorflow.arguments import integers, known
from gradtape.api.tensorflow.counting import bincount as counts_of_tensors
from gradtape.api.tensorflow.creation import cast, stop_gradient, zeros_like
from gradtape.api.tensorflow.elementwise import divide, exp, maximum, sqrt, square
from gradtape.api.tensorflow.indexing import gather
from gradtape.api.tensorflow.nn.activations import softmax as softmax_of_tensors
from gradtape.api.tensorflow.shaping import reshape
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ragged import partitions
from gradtape.ragged.structure import axis_of, expand_dims, ones_like, rank_of
from gradtape.ragged.tensor import RaggedTensor

Reduction = Callable[..., Any]


def _reduction(whole: Reduction, by_segment: Reduction) -> Reduction:
    """A reduction of RaggedTensors from the one of tensors and the one by segments."""

    def reduce(
        input_tensor: RaggedTensor, axis: Any = None, keepdims: bool = False, name: Any = None
    ) -> Any:
        if axis is None:
            found = whole(input_tensor.flat_values)
            if keepdims:
                return reshape(found, (1,) * rank_of(input_tensor))
            return found
        rank = rank_of(input_tensor)
        function = f"{whole.__name__}: axis"
        places = {axis_of(a, rank, function) for a in integers(axis, function)}
        found = input_tensor
        for place in sorted(places, reverse=True):
            found = _over(found, place, whole, by_segment, keepdims)
        return found

    return reduce


def _over(x: Any, place: int, whole: Reduction, by_segment: Reduction, keepdims: bool) -> Any:
    if not isinstance(x, RaggedTensor):
        return whole(x, place, keepdims)
    if place > 1:
        inner = _over(x.values, place - 1, whole, by_segment, keepdims)
        return RaggedTensor(inner, x.row_splits, x._uniform_row_length)
    rowids = x.value_rowids()
    if place == 1:
        found = _by_segment(x.values, rowids, x.rows, by_segment)
    else:
        lengths = known(x.row_lengths(), "axis=0 of a RaggedTensor")
        longest = int(lengths.max(initial=0))
        columns = partitions.places_in_rows(x.row_splits, rowids, rowids.array.shape[0])
        found = _by_segment(x.values, columns, longest, by_segment)
    return expand_dims(found, place) if keepdims else found


def _by_segment(values: Any, ids: Tensor, count: int, by_segment: Reduction) -> Any:
    """The entries of each segment combined; ragged ones place by place, up to the longest."""
    if not isinstance(values, RaggedTensor):
        return by_segment(values, ids, count)
    lengths = segments.unsorted_segment_max(values.row_lengths(), ids, count)
    # A segment without rows has no length, rather than the smallest integer.
    lengths = maximum(lengths, lengths.array.dtype.type(0))
    splits = partitions.splits_of_lengths(lengths)
    rowids = values.value_rowids()
    places = partitions.places_in_rows(values.row_splits, rowids, rowids.array.shape[0])
    starts = gather(splits, gather(ids, rowids))
    total = int(known(splits[-1], "the lengths of rows"))
    inner = _by_segment(values.values, starts + places, total, by_segment)
    return RaggedTensor(inner, splits)


reduce_sum = _reduction(reductions.reduce_sum, segments.unsorted_segment_sum)
reduce_prod = _reduction(reductions.reduce_prod, segments.unsorted_segment_prod)
reduce_max = _reduction(reductions.reduce_max, segments.unsorted_segment_max)
reduce_min = _reduction(reductions.reduce_min, segments.unsorted_segment_min)


def _any_by_segment(values: Tensor, ids: Tensor, count: int) -> Tensor:
    return segments.unsorted_segment_sum(cast(values, dtypes.int32), ids, count) > 0


def _all_by_segment(values: Tensor, ids: Tensor, count: int) -> Tensor:
    return segments.unsorted_segment_prod(cast(values, dtypes.int32), ids, count) > 0


reduce_any = _reduction(reductions.reduce_any, _any_by_segment)
reduce_all = _reduction(reductions.reduce_all, _all_by_segment)


def bincount(
    arr: RaggedTensor,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """`tf.math.bincount`, of all values or, with `axis=-1`, of each row."""
    if isinstance(weights, RaggedTensor):
        weights = weights.flat_values
    options: dict[str, Any] = {"dtype": dtype, "binary_output": binary_output}
    if axis is None or axis == 0:
        return counts_of_tensors(arr.flat_values, weights, minlength, maxlength, **options)
    if axis != -1 or rank_of(arr) != 2:
        raise ValueError("bincount: of a RaggedTensor, axis must be None or -1, and its rank 2.")
    numbers = known(arr.flat_values, "bincount: arr")
    if (numbers < 0).any():
        raise invalid_argument("bincount: of a RaggedTensor, numbers must not be negative.")
    size = max(int(numbers.max(initial=-1)) + 1, int(minlength or 0))
    size = size if maxlength is None else min(size, int(maxlength))
    rows = known(arr.value_rowids(), "bincount: arr")
    # Numbers beyond the last one counted go to a row of their own, which is cut off.
    places = np.where(numbers < size, rows * size + numbers, arr.rows * size)
    found = counts_of_tensors(places, weights, arr.rows * size + 1, **options)
    return reshape(found[: arr.rows * size], (arr.rows, size))


def reduce_mean(
    input_tensor: RaggedTensor, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """`tf.reduce_mean`: of a row without entries, NaN; of integers, in float64."""
    total = reduce_sum(input_tensor, axis, keepdims)
    count = reduce_sum(ones_like(input_tensor), axis, keepdims)
    return divide(total, count)


def reduce_variance(
    input_tensor: RaggedTensor, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """`tf.math.reduce_variance`, from the mean of squares and the square of the mean.

    Numbers far from 0 would cancel each other out, so what is far is first moved to 0, which
    changes no variance.
    """
    far = stop_gradient(reductions.reduce_mean(input_tensor.flat_values))
    near: Any = input_tensor - far
    squares = reduce_mean(near * near, axis, keepdims)
    found = squares - square(reduce_mean(near, axis, keepdims))
    return maximum(found, zeros_like(found))


def reduce_std(
    input_tensor: RaggedTensor, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """`tf.math.reduce_std`."""
    return sqrt(reduce_variance(input_tensor, axis, keepdims))


def softmax(logits: RaggedTensor, axis: int | None = None, name: str | None = None) -> Any:
    """`tf.nn.softmax` over the last axis."""
    rank = rank_of(logits)
    if axis_of(-1 if axis is None else axis, rank, "softmax: axis") != rank - 1:
        raise ValueError(f"softmax: of a RaggedTensor, axis must be the last one, got {axis}.")
    values: Any = logits.values
    if isinstance(values, RaggedTensor) or values.ndim > 1:
        found = softmax(values) if isinstance(values, RaggedTensor) else softmax_of_tensors(values)
    else:
        rows = logits.value_rowids()
        highest = segments.unsorted_segment_max(stop_gradient(values), rows, logits.rows)
        shares = exp(values - gather(highest, rows))
        found = shares / gather(segments.unsorted_segment_sum(shares, rows, logits.rows), rows)
    return RaggedTensor(found, logits.row_splits, logits._uniform_row_length)
