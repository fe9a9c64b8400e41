"""Keras's pooling: maxima and averages over windows of a given size, or over a given number of
parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src.backend.config import standardize_data_format

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.layout import data_format_of, window_padding
from keras_gradtape.src.ops.operands import by_rule, inexact

Sizes = int | tuple[int, ...]


def max_pool(
    inputs: Any,
    pool_size: Sizes,
    strides: Sizes | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> tf.Tensor:
    """The largest element of each window."""
    x = convert_to_tensor(inputs)
    steps = pool_size if strides is None else strides
    return tf.nn.max_pool(
        x, pool_size, steps, window_padding(padding), data_format_of(x, data_format)
    )


def average_pool(
    inputs: Any,
    pool_size: Sizes,
    strides: Sizes | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> tf.Tensor:
    """The mean of each window; padding does not count."""
    x = by_rule(inputs, inexact)
    steps = pool_size if strides is None else strides
    return tf.nn.avg_pool(
        x, pool_size, steps, window_padding(padding), data_format_of(x, data_format)
    )


def adaptive_average_pool(
    inputs: Any, output_size: Sizes, data_format: str | None = None
) -> tf.Tensor:
    """The means of as many parts of each axis as are asked for;
    parts may overlap by one element.
    """
    return _adaptive(by_rule(inputs, inexact), output_size, data_format, _means)


def adaptive_max_pool(inputs: Any, output_size: Sizes, data_format: str | None = None) -> tf.Tensor:
    """The largest elements of as many parts of each axis as are asked for;
    parts may overlap by one element.
    """
    return _adaptive(convert_to_tensor(inputs), output_size, data_format, _maxima)


def _adaptive(
    x: tf.Tensor,
    output_size: Any,
    data_format: str | None,
    pool: Callable[[tf.Tensor, int, int], tf.Tensor],
) -> tf.Tensor:
    """Pools one spatial axis after the other."""
    spatial = x.ndim - 2
    if spatial not in (1, 2, 3):
        raise ValueError(
            f"Adaptive pooling takes inputs of rank 3, 4 or 5. Received: inputs.shape={x.shape}"
        )
    first = 1 if standardize_data_format(data_format) == "channels_last" else 2
    counts = (output_size,) * spatial if isinstance(output_size, int) else output_size
    for axis, count in enumerate(counts, start=first):
        if x.shape[axis] != count:
            x = pool(x, axis, count)
    return x


def _parts(size: int, count: int) -> tuple[Any, Any]:
    """Where each of `count` parts of an axis begins and ends."""
    numbers = np.arange(count)
    return numbers * size // count, -(-(numbers + 1) * size // count)


def _means(x: tf.Tensor, axis: int, count: int) -> tf.Tensor:
    """A product with a matrix that has a column of equal weights for each part."""
    size = x.shape[axis]
    begin, end = _parts(size, count)
    places = np.arange(size)[:, None]
    weights = ((begin <= places) & (places < end)) / (end - begin)
    return gnp.moveaxis(gnp.tensordot(x, tf.constant(weights, x.dtype), axes=(axis, 0)), -1, axis)


def _maxima(x: tf.Tensor, axis: int, count: int) -> tf.Tensor:
    """The maxima of gathered parts, in which shorter parts have their last element once more."""
    begin, end = _parts(x.shape[axis], count)
    places = np.minimum(begin[:, None] + np.arange(max(end - begin)), end[:, None] - 1)
    return tf.reduce_max(tf.gather(x, places, axis=axis), axis=axis + 1)
