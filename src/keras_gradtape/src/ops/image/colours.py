"""Keras's colours: grey, and hue, saturation and value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradtape as tf
import gradtape.image as gimage
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.image.batches import channels_axis, check_rank
from keras_gradtape.src.ops.operands import cast_to, inexact

_BRIGHTNESS = (0.2989, 0.5870, 0.1140)


def rgb_to_grayscale(images: Any, data_format: str | None = None) -> tf.Tensor:
    """How bright colours are to the eye, in one channel."""
    x, axis = convert_to_tensor(images), channels_axis(data_format)
    check_rank(x)
    if x.shape[axis] not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: "
            f"images.shape={x.shape}"
        )
    if x.shape[axis] == 1:
        return x
    floats = cast_to(x, inexact(x.dtype.name))
    grey = gnp.tensordot(floats, tf.constant(_BRIGHTNESS, floats.dtype), axes=(axis, 0))
    return cast_to(tf.expand_dims(grey, axis), x.dtype.name)


def rgb_to_hsv(images: Any, data_format: str | None = None) -> tf.Tensor:
    """Colours as hue, saturation and value, all from 0 to 1."""
    return _in_colours(gimage.rgb_to_hsv, images, data_format)


def hsv_to_rgb(images: Any, data_format: str | None = None) -> tf.Tensor:
    """The inverse of `rgb_to_hsv`."""
    return _in_colours(gimage.hsv_to_rgb, images, data_format)


def _in_colours(
    convert: Callable[[tf.Tensor], tf.Tensor], images: Any, data_format: str | None
) -> tf.Tensor:
    x, axis = convert_to_tensor(images), channels_axis(data_format)
    check_rank(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"Invalid images dtype: expected float dtype. Received: images.dtype={x.dtype.name}"
        )
    return gnp.moveaxis(convert(gnp.moveaxis(x, axis, -1)), -1, axis)
