"""Keras's `resize`, and `scale_and_translate`, which resizes by any factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradtape as tf
import gradtape.image as gimage
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.image.batches import Batch
from keras_gradtape.src.ops.nn.operands import alike, at_least_float32
from keras_gradtape.src.ops.operands import cast_to

RESIZE_INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
SCALE_AND_TRANSLATE_METHODS = {
    "linear",
    "bilinear",
    "trilinear",
    "cubic",
    "bicubic",
    "tricubic",
    "lanczos3",
    "lanczos5",
}

Kernel = Callable[[tf.Tensor], tf.Tensor]
"""The weight of an element, by its distance."""


def resize(
    images: Any,
    size: Sequence[int],
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> tf.Tensor:
    """Images in another height and width; cropped or padded first if their proportions are to
    stay.
    """
    if interpolation not in RESIZE_INTERPOLATIONS:
        raise ValueError(
            "Invalid value for argument `interpolation`. Expected of one "
            f"{RESIZE_INTERPOLATIONS}. Received: interpolation={interpolation}"
        )
    if fill_mode != "constant":
        raise ValueError(
            "Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: "
            f"fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`."
        )
    if len(size) != 2:
        raise ValueError(
            "Argument `size` must be a tuple of two elements (height, width). Received: "
            f"size={size}"
        )
    batch, wanted = Batch(images, data_format), (int(size[0]), int(size[1]))
    x = batch.images
    if crop_to_aspect_ratio:
        x = _cropped(x, *wanted)
    elif pad_to_aspect_ratio:
        x = _padded(x, *wanted, fill_value)
    if x.dtype.name != "float64" or interpolation == "nearest":
        return batch.leave(gimage.resize(x, wanted, interpolation, antialias=antialias))
    # gradtape's own `resize` computes in float32, as TensorFlow's does.
    scale = tf.constant(
        [new / old for new, old in zip(wanted, x.shape[1:3], strict=True)], "float64"
    )
    return batch.leave(
        _moved(x, [1, 2], wanted, scale, tf.zeros_like(scale), _KERNELS[interpolation], antialias)
    )


def _cropped(x: tf.Tensor, target_height: int, target_width: int) -> tf.Tensor:
    """The largest part around the middle that has the proportions of the target."""
    height, width = x.shape[1:3]
    high = max(min(height, int(width * target_height / target_width)), 1)
    wide = max(min(width, int(height * target_width / target_height)), 1)
    top, left = (height - high) // 2, (width - wide) // 2
    return x[:, top : top + high, left : left + wide]


def _padded(x: tf.Tensor, target_height: int, target_width: int, fill_value: float) -> tf.Tensor:
    """Images with a border at two sides that gives them about the proportions of the target."""
    height, width = x.shape[1:3]
    above = (max(height, int(width * target_height / target_width)) - height) // 2
    beside = 0 if above else (max(width, int(height * target_width / target_height)) - width) // 2
    return tf.pad(x, [(0, 0), (above, above), (beside, beside), (0, 0)], constant_values=fill_value)


def scale_and_translate(
    images: Any,
    output_shape: Sequence[int],
    scale: Any,
    translation: Any,
    spatial_dims: Sequence[int],
    method: str,
    antialias: bool = True,
) -> tf.Tensor:
    """Images that are scaled, then moved, along some axes; what comes from outside is 0."""
    if method not in SCALE_AND_TRANSLATE_METHODS:
        raise ValueError(
            f"Invalid value for argument `method`. Expected of one {SCALE_AND_TRANSLATE_METHODS}. "
            f"Received: method={method}"
        )
    x = convert_to_tensor(images)
    factors, shifts = alike(scale, translation)
    wanted = [output_shape[axis] for axis in spatial_dims]
    out = _moved(x, spatial_dims, wanted, factors, shifts, _KERNELS[method], antialias)
    if x.dtype.is_integer:
        return tf.saturate_cast(tf.round(out), x.dtype)
    return cast_to(out, x.dtype.name)


def _moved(
    x: tf.Tensor,
    axes: Sequence[int],
    sizes: Sequence[int],
    scale: tf.Tensor,
    shift: tf.Tensor,
    kernel: Kernel,
    antialias: bool,
) -> tf.Tensor:
    """A product with a matrix of weights along each axis."""
    dtype = at_least_float32(x.dtype.name)
    x = cast_to(x, dtype)
    for i, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
        weights = _weights(
            x.shape[axis],
            size,
            cast_to(scale[i], dtype),
            cast_to(shift[i], dtype),
            kernel,
            antialias,
        )
        x = gnp.moveaxis(gnp.tensordot(x, weights, axes=(axis, 0)), -1, axis)
    return x


def _weights(
    size: int, wanted: int, scale: tf.Tensor, shift: tf.Tensor, kernel: Kernel, antialias: bool
) -> tf.Tensor:
    """How much of each of `size` elements goes into each of `wanted` ones:
    by the distance of their middles, in all 1.
    """
    places, elements = (tf.constant(np.arange(count), scale.dtype) for count in (wanted, size))
    middles = (places + 0.5 - shift) / scale - 0.5
    distance = tf.abs(middles - elements[:, None])
    if antialias:  # what is made smaller takes every element into account
        distance = distance / tf.maximum(1.0 / scale, 1.0)
    weights = kernel(distance)
    total = gnp.sum(weights, axis=0)
    enough = tf.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    inside = tf.logical_and(middles >= -0.5, middles <= size - 0.5)
    return gnp.where(tf.logical_and(enough, inside), weights / gnp.where(enough, total, 1.0), 0.0)


def _triangle(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(1.0 - x)


def _keys_cubic(x: tf.Tensor) -> tf.Tensor:
    near, far = ((1.5 * x - 2.5) * x) * x + 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return gnp.where(x < 1.0, near, gnp.where(x < 2.0, far, 0.0))


def _lanczos(radius: int) -> Kernel:
    return lambda x: gnp.where(x < radius, gnp.sinc(x) * gnp.sinc(x / radius), 0.0)


_KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear"), _triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _keys_cubic),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
}
