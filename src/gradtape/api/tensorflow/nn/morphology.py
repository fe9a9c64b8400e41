"""Grayscale morphology of `tf.nn`: `dilation2d` and `erosion2d`."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import REAL, tensors_of_kind
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.api.tensorflow.nn.convolution import AxisLayout, Padding, PerAxis
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic
from gradtape.ops.convolution import Windows
from gradtape.ops.selection import where
from gradtape.ops.shaping import getitem, pad, reverse
from gradtape.published import published


@published("nn.dilation2d")
def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: PerAxis,
    padding: Padding,
    data_format: str,
    dilations: PerAxis,
    name: str | None = None,
) -> Tensor:
    """The largest sum of a pixel and a filter `(height, width, channels)` in each window; at a tie,
    the first takes the gradient.

    >>> import gradtape as tf
    >>> image = tf.reshape([1.0, 5.0, 2.0, 0.0], [1, 1, 4, 1])
    >>> tf.nn.dilation2d(
    ...     image, tf.zeros([1, 2, 1]), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]
    ... ).numpy().ravel()
    array([5., 5., 2.], dtype=float32)
    """
    x, w = tensors_of_kind(input, filters, REAL, "dilation2d", ("input", "filters"))
    return _dilated("dilation2d", x, w, strides, padding, data_format, dilations)


@published("nn.erosion2d")
def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: PerAxis,
    padding: Padding,
    data_format: str,
    dilations: PerAxis,
    name: str | None = None,
) -> Tensor:
    """The smallest difference of a pixel and a filter `(height, width, channels)` in each window.

    >>> import gradtape as tf
    >>> image = tf.reshape([1.0, 5.0, 2.0, 4.0], [1, 1, 4, 1])
    >>> tf.nn.erosion2d(
    ...     image, tf.zeros([1, 2, 1]), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]
    ... ).numpy().ravel()
    array([1., 2., 2.], dtype=float32)
    """
    x, w = tensors_of_kind(value, filters, REAL, "erosion2d", ("value", "filters"))
    return -_dilated(
        "erosion2d", -x, reverse(w, axis=(0, 1)), strides, padding, data_format, dilations
    )


def _dilated(
    function: str,
    x: Tensor,
    w: Tensor,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
) -> Tensor:
    if data_format != "NHWC":
        raise ValueError(f"{function}: data_format must be 'NHWC', got {data_format!r}.")
    if x.ndim != 4 or w.ndim != 3 or x.array.shape[3] != w.array.shape[2]:
        raise invalid_argument(
            f"{function}: input must have the shape (batch, height, width, channels) and filters "
            f"(height, width, channels), got {x.shape} and {w.shape}."
        )
    layout = AxisLayout(function, data_format, x, 2)
    sizes = x.array.shape[1:3]
    windows = layout.windows(sizes, w.array.shape[:2], strides, padding, dilations)
    outputs = windows.outputs(sizes)
    x = pad(x, paddings=((0, 0), *windows.padding, (0, 0)), value=0)
    padded = any(map(any, windows.padding))
    best = None
    for place in np.ndindex(*windows.kernel):
        keys = tuple([
            slice(k * rate, k * rate + (count - 1) * stride + 1 if count else 0, stride)
            for k, rate, stride,
            count in zip(place, windows.dilations, windows.strides, outputs, strict=True)
        ])  # fmt: skip
        found = getitem(x, key=(slice(None), *keys)) + getitem(w, key=place)
        if padded:
            found = where(Tensor(_inside(windows, sizes, place, outputs)), found, _lowest(found))
        best = found if best is None else where(arithmetic.greater(found, best), found, best)
    return best  # type: ignore[return-value] # a filter has at least one place


def _inside(
    windows: Windows, sizes: tuple[int, ...], place: tuple[int, ...], outputs: tuple[int, ...]
) -> Any:
    """Which windows have a pixel, and no padding, at one place of the filter."""
    along = []
    for k, size, stride, (low, _), rate, count in zip(
        place, sizes, windows.strides, windows.padding, windows.dilations, outputs, strict=True
    ):
        pixel = np.arange(count) * stride + k * rate - low
        along.append((pixel >= 0) & (pixel < size))
    return np.logical_and.outer(along[0], along[1])[:, :, None]


def _lowest(x: Tensor) -> Any:
    return int(np.iinfo(x.array.dtype).min) if x.array.dtype.kind in "iu" else -math.inf
