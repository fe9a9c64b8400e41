"""`isotonic_regression`: the nearest monotonic sequence."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import REAL, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, one_axis
from gradtape.core.tensor import Tensor
from gradtape.ops import broadcasting
from gradtape.ops.indexing import scatter_rows, take
from gradtape.ops.isotonic import isotonic_segments
from gradtape.ops.selection import ones_like
from gradtape.ops.shaping import reshape, transpose
from gradtape.published import published


@published("nn.isotonic_regression")
def isotonic_regression(
    inputs: TensorLike, decreasing: bool = True, axis: int = -1
) -> tuple[Tensor, Tensor]:
    """The nearest sequence, by least squares, that never rises (or falls) along `axis`, and the
    segments in which it is level.

    >>> import gradtape as tf
    >>> levelled, segments = tf.nn.isotonic_regression(tf.constant([3.0, 1.0, 2.0, 1.0]))
    >>> levelled.numpy(), segments.numpy()
    (array([3. , 1.5, 1.5, 1. ], dtype=float32), array([0, 1, 1, 2], dtype=int32))
    """
    x = of_kind(inputs, REAL, "isotonic_regression", "inputs")
    if not x.dtype.is_floating:
        wide = dtypes.float64 if x.array.dtype.itemsize > 2 else dtypes.float32
        x = broadcasting.cast(x, dtype=wide.numpy)
    moved = one_axis(axis, x.ndim, "isotonic_regression: axis")
    order = (*[i for i in range(x.ndim) if i != moved], moved)
    back = tuple([order.index(i) for i in range(x.ndim)])
    x = transpose(x, perm=order)
    signed = x if decreasing else -x
    segments = isotonic_segments(signed)
    *rows, width = x.array.shape
    count = math.prod(rows)
    offsets = (np.arange(count) * width).reshape(*rows, 1)
    flat = reshape(segments + offsets, shape=(count * width,))
    sizes = scatter_rows(
        ones_like(reshape(x, shape=(count * width,))), flat, shape=(count * width,)
    )
    totals = scatter_rows(reshape(x, shape=(count * width,)), flat, shape=(count * width,))
    means = take(totals, flat, axis=0, sparse=False) / take(sizes, flat, axis=0)
    levelled = reshape(means, shape=x.array.shape)
    return transpose(levelled, perm=back), transpose(
        broadcasting.cast(segments, dtype=np.dtype(np.int32)), perm=back
    )
