"""`PchipInterpolator`: cubic pieces that do not overshoot."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops.arithmetic import (
    absolute,
    equal,
    greater,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    sign,
)
from gradtape.ops.selection import where
from gradtape.ops.shaping import concat
from gradtape.published import published
from gradtape.scipy.interpolate.pieces import PiecewisePolynomial, cubic_pieces
from gradtape.scipy.interpolate.splines import points_and_values


@published("scipy.interpolate.PchipInterpolator")
class PchipInterpolator(PiecewisePolynomial):
    """The monotone cubic interpolation of the values `y` at the points `x`, as
    `scipy.interpolate.PchipInterpolator`: a function of where it is evaluated and of `y`. The
    points are constants.

    >>> import gradtape as tf
    >>> y = tf.Variable([0.0, 1.0, 4.0])
    >>> with tf.GradientTape() as tape:
    ...     found = tf.scipy.interpolate.PchipInterpolator([0.0, 1.0, 2.0], y)(0.5)
    >>> found.numpy(), tape.gradient(found, y).numpy()
    (np.float32(0.3125), array([ 0.640625,  0.375   , -0.015625], dtype=float32))
    """

    def __init__(self, x: Any, y: TensorLike, axis: int = 0, extrapolate: Any = None) -> None:
        who = "PchipInterpolator"
        points, values, axis = points_and_values(who, x, y, axis)
        if len(points) < 2:
            raise ValueError(f"{who}: x must have at least 2 points, got {len(points)}.")
        pieces = cubic_pieces(points, values, _slopes(points, values))
        super().__init__(who, points, pieces, True if extrapolate is None else extrapolate, axis)


def _slopes(x: Any, y: Tensor) -> Tensor:
    widths = np.diff(x).reshape(-1, *(1 for _ in y.array.shape[1:])).astype(y.array.dtype)
    secants = (y[1:] - y[:-1]) / widths
    if len(x) == 2:
        return concat(secants, secants, axis=0)
    before, after = secants[:-1], secants[1:]
    turns = logical_or(
        not_equal(sign(before), sign(after)), logical_or(equal(before, 0), equal(after, 0))
    )
    first, second = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
    mean = first / where(turns, 1, before) + second / where(turns, 1, after)
    inner = where(turns, 0, (first + second) / where(turns, 1, mean))
    left = _end(widths[:1], widths[1:2], secants[:1], secants[1:2])
    right = _end(widths[-1:], widths[-2:-1], secants[-1:], secants[-2:-1])
    return concat(left, inner, right, axis=0)


def _end(h: Any, g: Any, near: Tensor, far: Tensor) -> Tensor:
    """The slope at an end, from three points, made smaller where it would overshoot."""
    slope = ((2 * h + g) * near - h * far) / (h + g)
    wrong = not_equal(sign(slope), sign(near))
    large = logical_and(
        logical_and(not_equal(sign(near), sign(far)), logical_not(wrong)),
        greater(absolute(slope), 3 * absolute(near)),
    )
    return where(wrong, 0, where(large, 3 * near, slope))
