"""Keras's convolutions."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common.backend_utils import (
    check_conv_input_channels,
    check_conv_transpose_input_channels,
    compute_conv_transpose_padding_args_for_jax,
)
from keras.src.backend.config import standardize_data_format

import gradtape as tf
from keras_gradtape.src.ops.nn.layout import data_format_of, per_axis, window_padding
from keras_gradtape.src.ops.nn.operands import alike

Sizes = int | tuple[int, ...]


def conv(
    inputs: Any,
    kernel: Any,
    strides: Sizes = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = 1,
) -> tf.Tensor:
    """Convolves with a kernel `(*sizes, channels, filters)`; a kernel with fewer channels than the
    inputs makes groups of them.
    """
    x, w = alike(inputs, kernel)
    return _convolved(x, w, strides, padding, data_format, dilation_rate)


def _convolved(
    x: tf.Tensor,
    w: tf.Tensor,
    strides: Any,
    padding: str,
    data_format: str | None,
    dilation_rate: Any,
) -> tf.Tensor:
    layout, how = data_format_of(x, data_format), window_padding(padding)
    *kernel, inner, _ = w.shape
    shape = tuple(x.shape)
    sizes, channels = (shape[1:-1], shape[-1]) if layout[-1] == "C" else (shape[2:], shape[1])
    if channels % inner:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. "
            f"Received input channels {channels} and kernel in_channels {inner}."
        )
    if how == "VALID":
        rates = per_axis(dilation_rate, len(sizes))
        reaches = [(size - 1) * rate + 1 for size, rate in zip(kernel, rates, strict=True)]
        if any(0 < size < reach for size, reach in zip(sizes, reaches, strict=True)):
            raise ValueError(
                f"The convolution has no output: its kernel spans {reaches} elements, but the "
                f"inputs have {list(sizes)}. Use padding='same', a smaller kernel or larger "
                "inputs."
            )
    return tf.nn.convolution(x, w, strides, how, layout, dilation_rate)


def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: Sizes = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = 1,
) -> tf.Tensor:
    """Convolves each channel with filters of its own: the kernel is
    `(*sizes, channels, filters for each channel)`.
    """
    x, w = alike(inputs, kernel)
    check_conv_input_channels(x, w, standardize_data_format(data_format))
    *sizes, channels, times = w.shape
    w = tf.reshape(w, [*sizes, 1, channels * times])
    return _convolved(x, w, strides, padding, data_format, dilation_rate)


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Sizes = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sizes = 1,
) -> tf.Tensor:
    """A depthwise convolution, and after it one with a kernel of a single element that mixes the
    channels.
    """
    between = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(between, pointwise_kernel, data_format=data_format)


def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Sizes = 1,
    padding: str = "valid",
    output_padding: Sizes | None = None,
    data_format: str | None = None,
    dilation_rate: Sizes = 1,
) -> tf.Tensor:
    """The transpose of a convolution, with a kernel `(*sizes, filters, channels)`.

    What a transposed convolution makes of the inputs is cut off at both ends, or filled up with
    zeros, to the size that Keras wants.
    """
    x, w = alike(inputs, kernel)
    check_conv_transpose_input_channels(x, w, standardize_data_format(data_format))
    layout = data_format_of(x, data_format)
    spatial = x.ndim - 2
    first = 1 if layout.endswith("C") else 2
    padded = compute_conv_transpose_padding_args_for_jax(
        x.shape, w.shape, strides, padding, output_padding, dilation_rate
    )
    steps, rates = per_axis(strides, spatial), per_axis(dilation_rate, spatial)
    shape, cut, filled = list(x.shape), [(0, 0)] * x.ndim, [(0, 0)] * x.ndim
    shape[-1 if first == 1 else 1] = w.shape[-2]
    for axis, (size, step, rate, (low, high)) in enumerate(
        zip(w.shape[:-2], steps, rates, padded, strict=True), start=first
    ):
        # Keras counts the padding of what lies before and after the inputs.
        reach = (size - 1) * rate
        cut[axis] = max(reach - low, 0), max(reach - high, 0)
        filled[axis] = max(low - reach, 0), max(high - reach, 0)
        shape[axis] = (x.shape[axis] - 1) * step + reach + 1 - sum(cut[axis])
    out = tf.nn.conv_transpose(x, w, shape, steps, cut, layout, rates)
    return tf.pad(out, filled) if any(map(any, filled)) else out
