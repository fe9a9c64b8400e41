"""Keras's image filters: `gaussian_blur` and `sobel_edges`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradtape as tf
import gradtape.image as gimage
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.image.batches import Batch, channels_axis
from keras_gradtape.src.ops.nn.convolution import depthwise_conv
from keras_gradtape.src.ops.nn.operands import at_least_float32
from keras_gradtape.src.ops.operands import by_rule, cast_to, inexact


def gaussian_blur(
    images: Any,
    kernel_size: Sequence[int] = (3, 3),
    sigma: Any = (1.0, 1.0),
    data_format: str | None = None,
) -> tf.Tensor:
    """Images in which each pixel is a mean of those around it;
    sizes and deviations are those of x and of y.
    """
    batch = Batch(images, data_format)
    dtype = at_least_float32(batch.dtype)
    width, height = (int(size) for size in kernel_size)
    spreads = convert_to_tensor(sigma, dtype)
    weights = _bell(height, spreads[1])[:, None] * _bell(width, spreads[0])
    kernel = gnp.repeat(weights[..., None, None], batch.images.shape[-1], axis=2)
    blurred = depthwise_conv(
        cast_to(batch.images, dtype), kernel, padding="same", data_format="channels_last"
    )
    return batch.leave(blurred)


def _bell(size: int, deviation: tf.Tensor) -> tf.Tensor:
    """Weights of the normal distribution around the middle of `size` elements, in all 1."""
    places = tf.constant(np.arange(size) - (size - 1) / 2, deviation.dtype)
    heights = tf.exp(tf.square(places / deviation) * -0.5)
    return heights / tf.reduce_sum(heights)


def sobel_edges(images: Any, data_format: str | None = None) -> tf.Tensor:
    """How much images change downwards and to the right, in a new last axis."""
    x, axis = by_rule(images, inexact), channels_axis(data_format)
    edges = gimage.sobel_edges(gnp.moveaxis(x, axis, -1))
    return gnp.moveaxis(edges, -2, axis - 1)
