"""Keras's functions that move elements between space and channels: `unfold`, `fold`,
`depth_to_space` and `space_to_depth`.
"""

from __future__ import annotations

from typing import Any

import gradtape as tf
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.layout import per_axis

Sizes = int | tuple[int, int]


def unfold(
    input: Any, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> tf.Tensor:
    """The blocks of images `(batch, channels, height, width)`, as
    `(batch, channels * block, blocks)`.
    """
    x = convert_to_tensor(input)
    (kernel, rates, pads, steps) = (
        per_axis(value, 2) for value in (kernel_size, dilation, padding, stride)
    )
    batch, channels, *sizes = x.shape
    counts = _counts(sizes, kernel, rates, pads, steps)
    x = tf.pad(x, [(0, 0), (0, 0), *[(pad, pad) for pad in pads]])
    rows, columns = (
        [slice(place * rate, place * rate + (count - 1) * step + 1, step) for place in range(size)]
        for size, rate, step, count in zip(kernel, rates, steps, counts, strict=True)
    )
    parts = tf.stack([x[:, :, row, column] for row in rows for column in columns], axis=2)
    return tf.reshape(parts, [batch, channels * len(rows) * len(columns), counts[0] * counts[1]])


def _counts(sizes: Any, kernel: Any, rates: Any, pads: Any, steps: Any) -> list[int]:
    """How many blocks fit on each axis."""
    return [
        (size + 2 * pad - (block - 1) * rate - 1) // step + 1
        for size, block, rate, pad, step in zip(sizes, kernel, rates, pads, steps, strict=True)
    ]


def fold(
    x: Any,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> tf.Tensor:
    """Images from their blocks, which are added up where they overlap:
    the transpose of `unfold`.
    """
    x = convert_to_tensor(x)
    height, width = per_axis(output_size, 2)
    rows, columns = per_axis(kernel_size, 2)
    batch, depth, _ = x.shape
    if depth % (rows * columns):
        raise ValueError(
            f"fold: blocks of {rows} by {columns} do not divide axis 1 of x. Received: "
            f"x.shape={x.shape}"
        )
    images = tf.zeros([batch, depth // (rows * columns), height, width], x.dtype)
    _, pull = tf.vjp(lambda images: unfold(images, kernel_size, dilation, padding, stride), images)
    return pull(x)[0]


def depth_to_space(x: Any, block_size: int, data_format: str = "channels_last") -> tf.Tensor:
    """Spreads the channels of each pixel over a square of pixels."""
    x, b = convert_to_tensor(x), block_size
    if data_format == "channels_last":
        n, h, w, c = x.shape
        apart = tf.transpose(tf.reshape(x, [n, h, w, b, b, c // b**2]), [0, 1, 3, 2, 4, 5])
        return tf.reshape(apart, [n, h * b, w * b, c // b**2])
    n, c, h, w = x.shape
    apart = tf.transpose(tf.reshape(x, [n, c // b**2, b, b, h, w]), [0, 1, 4, 2, 5, 3])
    return tf.reshape(apart, [n, c // b**2, h * b, w * b])


def space_to_depth(x: Any, block_size: int, data_format: str = "channels_last") -> tf.Tensor:
    """Gathers squares of pixels into the channels of one."""
    x, b = convert_to_tensor(x), block_size
    if data_format == "channels_last":
        n, h, w, c = x.shape
        apart = tf.transpose(tf.reshape(x, [n, h // b, b, w // b, b, c]), [0, 1, 3, 2, 4, 5])
        return tf.reshape(apart, [n, h // b, w // b, c * b**2])
    n, c, h, w = x.shape
    apart = tf.transpose(tf.reshape(x, [n, c, h // b, b, w // b, b]), [0, 1, 3, 5, 2, 4])
    return tf.reshape(apart, [n, c * b**2, h // b, w // b])
