"""Reductions by segment: `tf.math.segment_sum` and related functions for sorted segments,
`unsorted_segment_*` for any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import INEXACT, NUMERIC, REAL, Kind, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_int, known
from gradtape.convert import as_indices
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import segments
from gradtape.ops.arithmetic import maximum
from gradtape.ops.broadcasting import cast
from gradtape.ops.elementary import sqrt
from gradtape.ops.operators import true_divide
from gradtape.ops.selection import ones_like
from gradtape.ops.shaping import reshape
from gradtape.ops.truncation import truncatediv
from gradtape.published import published


@published("math.segment_sum")
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment; `segment_ids` gives each row's segment in rising order.

    >>> import gradtape as tf
    >>> tf.math.segment_sum([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([3., 3.], dtype=float32)
    """
    x, ids, size = _sorted(data, segment_ids, NUMERIC, "segment_sum")
    return segments.segment_sum(x, ids, size=size)


@published("math.segment_mean")
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment, 0 for a segment without rows;
    that of integers is cut off towards 0.

    >>> import gradtape as tf
    >>> tf.math.segment_mean([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([1.5, 3. ], dtype=float32)
    """
    x, ids, size = _sorted(data, segment_ids, NUMERIC, "segment_mean")
    divide = truncatediv if x.array.dtype.kind in "iu" else true_divide
    return divide(segments.segment_sum(x, ids, size=size), _counts(x, ids, size))


@published("math.segment_prod")
def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The product of the rows of each segment, 1 for a segment without rows.

    >>> import gradtape as tf
    >>> tf.math.segment_prod([1.0, 2.0, 3.0], [0, 1, 1]).numpy()
    array([1., 6.], dtype=float32)
    """
    x, ids, size = _sorted(data, segment_ids, NUMERIC, "segment_prod")
    return segments.segment_prod(x, ids, size=size)


@published("math.segment_max")
def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The largest of the rows of each segment, 0 for a segment without rows;
    rows that tie share the gradient equally.

    >>> import gradtape as tf
    >>> tf.math.segment_max([1.0, 2.0, 3.0], [0, 0, 2]).numpy()
    array([2., 0., 3.], dtype=float32)
    """
    x, ids, size = _sorted(data, segment_ids, REAL, "segment_max")
    return segments.segment_max(x, ids, size=size, empty=0)


@published("math.segment_min")
def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The smallest of the rows of each segment, 0 for a segment without rows;
    rows that tie share the gradient equally.

    >>> import gradtape as tf
    >>> tf.math.segment_min([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([1., 3.], dtype=float32)
    """
    x, ids, size = _sorted(data, segment_ids, REAL, "segment_min")
    return segments.segment_min(x, ids, size=size, empty=0)


@published("math.unsorted_segment_sum")
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of the rows of each of `num_segments` segments;
    a row with a negative number belongs to none.

    >>> import gradtape as tf
    >>> tf.math.unsorted_segment_sum([1.0, 2.0, 3.0], [1, 0, 1], num_segments=3).numpy()
    array([2., 4., 0.], dtype=float32)
    """
    x, ids, size = _unsorted(data, segment_ids, num_segments, NUMERIC, "unsorted_segment_sum")
    return segments.segment_sum(x, ids, size=size)


@published("math.unsorted_segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The mean of the rows of each of `num_segments` segments, 0 for one without rows.

    >>> import gradtape as tf
    >>> tf.math.unsorted_segment_mean([1.0, 2.0, 3.0], [1, 0, 1], num_segments=3).numpy()
    array([2., 2., 0.], dtype=float32)
    """
    x, ids, size = _unsorted(data, segment_ids, num_segments, NUMERIC, "unsorted_segment_mean")
    return true_divide(segments.segment_sum(x, ids, size=size), _counts(x, ids, size))


@published("math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of the rows of each of `num_segments` segments,
    divided by the square root of their number.

    >>> import gradtape as tf
    >>> tf.math.unsorted_segment_sqrt_n([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 0], num_segments=1).numpy()
    array([5.], dtype=float32)
    """
    x, ids, size = _unsorted(data, segment_ids, num_segments, INEXACT, "unsorted_segment_sqrt_n")
    return true_divide(segments.segment_sum(x, ids, size=size), sqrt(_counts(x, ids, size)))


@published("math.unsorted_segment_prod")
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The product of the rows of each of `num_segments` segments, 1 for one without rows.

    >>> import gradtape as tf
    >>> tf.math.unsorted_segment_prod([1.0, 2.0, 3.0], [1, 0, 1], num_segments=3).numpy()
    array([2., 3., 1.], dtype=float32)
    """
    x, ids, size = _unsorted(data, segment_ids, num_segments, NUMERIC, "unsorted_segment_prod")
    return segments.segment_prod(x, ids, size=size)


@published("math.unsorted_segment_max")
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The largest of the rows of each of `num_segments` segments;
    the least number of the dtype for one without rows.

    >>> import gradtape as tf
    >>> tf.math.unsorted_segment_max([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy()
    array([2., 3.], dtype=float32)
    """
    x, ids, size = _unsorted(data, segment_ids, num_segments, REAL, "unsorted_segment_max")
    return segments.segment_max(x, ids, size=size, empty=x.dtype.min)


@published("math.unsorted_segment_min")
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """The smallest of the rows of each of `num_segments` segments;
    the greatest number of the dtype for one without rows.

    >>> import gradtape as tf
    >>> tf.math.unsorted_segment_min([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy()
    array([2., 1.], dtype=float32)
    """
    x, ids, size = _unsorted(data, segment_ids, num_segments, REAL, "unsorted_segment_min")
    return segments.segment_min(x, ids, size=size, empty=x.dtype.max)


def _sorted(data: Any, segment_ids: Any, kind: Kind, function: str) -> tuple[Tensor, Tensor, int]:
    """Rows, their segments, and how many of those there are: the last number says it."""
    x, ids = (
        of_kind(data, kind, function, "data"),
        as_indices(segment_ids, f"{function}: segment_ids"),
    )
    if ids.array.ndim != 1 or not x.array.ndim or ids.array.shape[0] != x.array.shape[0]:
        raise invalid_argument(
            f"{function}: segment_ids has shape {ids.shape} and data has shape {x.shape}: each "
            "row of data needs one id."
        )
    numbers = known(ids, f"{function}: segment_ids", f"use gradtape.math.unsorted_{function}")
    if not numbers.size:
        return x, ids, 0
    if numbers[0] < 0 or (numbers[1:] < numbers[:-1]).any():
        raise invalid_argument(
            f"{function}: segment_ids must be sorted and not negative, got {numbers}: use "
            f"gradtape.math.unsorted_{function}."
        )
    return x, ids, int(numbers[-1]) + 1


def _unsorted(
    data: Any, segment_ids: Any, num_segments: Any, kind: Kind, function: str
) -> tuple[Tensor, Tensor, int]:
    """Rows, their segments, and how many of those there are.

    Segments may have several axes, which become one.
    """
    x, ids = (
        of_kind(data, kind, function, "data"),
        as_indices(segment_ids, f"{function}: segment_ids"),
    )
    size = as_int(num_segments, f"{function}: num_segments")
    if size < 0:
        raise invalid_argument(f"{function}: num_segments={size} is negative.")
    shape, given = x.array.shape, ids.array.shape
    if shape[: len(given)] != given:
        raise invalid_argument(
            f"{function}: data of shape {x.shape} does not begin with the shape of segment_ids, "
            f"{ids.shape}."
        )
    if len(given) == 1:
        return x, ids, size
    count = math.prod(given)
    return reshape(x, shape=(count, *shape[len(given) :])), reshape(ids, shape=(count,)), size


def _counts(x: Tensor, ids: Tensor, size: int) -> Any:
    """How many rows each segment has, at least 1, in the dtype of `x` and with its rank."""
    ones = ones_like(
        reshape(ids, shape=(ids.array.shape[0], *(1,) * (x.array.ndim - 1))),
        dtype=np.dtype(np.int64),
    )
    return cast(
        maximum(segments.segment_sum(ones, ids, size=size), np.int64(1)), dtype=x.array.dtype
    )
