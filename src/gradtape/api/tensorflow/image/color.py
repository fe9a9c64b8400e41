"""The colours of `tf.image`: spaces, brightness and contrast, and the dtypes of images.

Channels are in the last axis. An integer image stands for numbers from 0 to 1: the largest number
of its dtype is 1.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, REAL, of_kind
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike
from gradtape.api.tensorflow.image.geometry import at_least_3d
from gradtape.convert import TENSORFLOW
from gradtape.core.composite import itself
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.errors import FailedPreconditionError, invalid_argument
from gradtape.ops import arithmetic, broadcasting, elementary, matrix, reductions
from gradtape.ops.computing import HALF
from gradtape.ops.selection import where
from gradtape.ops.shaping import getitem, reshape, stack
from gradtape.published import published

_FLOAT16 = np.dtype(np.float16)
_FLOAT32 = np.dtype(np.float32)
_GRAY = [[0.2989], [0.5870], [0.1140]]
_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YIQ = [
    [1.0, 1.0, 1.0],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_FROM_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


# Dtypes


@published("image.convert_image_dtype")
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Images in another dtype, scaled so that 1.0 in floats is the largest number in integers.

    With `saturate`, what is outside the range of the new dtype becomes its limit.

    >>> import gradtape as tf
    >>> tf.image.convert_image_dtype(tf.constant([0, 255], tf.uint8), tf.float32).numpy()
    array([0., 1.], dtype=float32)
    """
    return _converted(of_kind(image, REAL, "convert_image_dtype", "image"), dtype, saturate)


def _converted(x: Tensor, dtype: Any, saturate: bool) -> Tensor:
    wanted = dtypes.as_dtype(dtype)
    if not (wanted.is_floating or wanted.is_integer):
        raise AttributeError(
            "convert_image_dtype: dtype must be a floating-point or integer dtype, got "
            f"{wanted.name}."
        )
    target = wanted.numpy
    if x.array.dtype == target:
        return itself(x)
    if x.dtype.is_floating and wanted.is_floating:
        return broadcasting.cast(x, dtype=target)
    if wanted.is_floating:
        return broadcasting.cast(x, dtype=target) * (1.0 / np.iinfo(x.array.dtype).max)
    if x.dtype.is_floating:
        wide = broadcasting.cast(x, dtype=_FLOAT32) if x.array.dtype in HALF else x
        scaled = wide * (np.iinfo(target).max + 0.5)
        return _saturated(scaled, target) if saturate else broadcasting.cast(scaled, dtype=target)
    most, least = int(np.iinfo(x.array.dtype).max), int(np.iinfo(target).max)
    if most > least:
        smaller = arithmetic.floordiv(x, Tensor(np.array((most + 1) // (least + 1), x.array.dtype)))
        return _saturated(smaller, target) if saturate else broadcasting.cast(smaller, dtype=target)
    larger = _saturated(x, target) if saturate else broadcasting.cast(x, dtype=target)
    return larger * Tensor(np.array((least + 1) // (most + 1), target))


def _saturated(x: Tensor, target: Any) -> Tensor:
    """`x` in a dtype of integers, with its limits for what is outside them."""
    limits, dtype = np.iinfo(target), x.array.dtype
    if dtype.kind in "iu":
        own = np.iinfo(dtype)
        low, high = (
            np.array(max(limits.min, own.min), dtype),
            np.array(min(limits.max, own.max), dtype),
        )
    else:
        low, high = np.array(limits.min, dtype), np.array(limits.max, dtype)
        if float(high) > limits.max:  # the limit itself is rounded up and would overflow
            high = np.nextafter(high.astype(np.float32), np.float32(0)).astype(dtype)
    return broadcasting.cast(
        arithmetic.minimum(arithmetic.maximum(x, Tensor(low)), Tensor(high)), dtype=target
    )


def _as_floats(x: Tensor) -> Tensor:
    return x if x.dtype.is_floating else _converted(x, dtypes.float32, saturate=False)


def _back(x: Tensor, like: Tensor) -> Tensor:
    return _converted(x, like.dtype, saturate=True)


# Brightness and contrast


@published("image.adjust_brightness")
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """`image + delta`, computed in floats.

    >>> import gradtape as tf
    >>> tf.image.adjust_brightness(tf.constant([[[100, 250]]], tf.uint8), 0.1).numpy()
    array([[[125, 255]]], dtype=uint8)
    """
    x = of_kind(image, REAL, "adjust_brightness", "image")
    floats = _as_floats(x)
    return _back(floats + _factor(delta, floats, "adjust_brightness: delta"), x)


def _factor(value: Any, x: Tensor, argument: str) -> Any:
    """A number, or a tensor in the dtype of the image."""
    if isinstance(value, (int, float)):
        return value
    found = TENSORFLOW.tensor(value, argument)
    return (
        found
        if found.array.dtype == x.array.dtype
        else broadcasting.cast(found, dtype=x.array.dtype)
    )


@published("image.adjust_contrast")
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """The distance of each pixel from the mean of its channel, times `contrast_factor`.

    >>> import gradtape as tf
    >>> tf.image.adjust_contrast(tf.reshape([1.0, 3.0], [1, 2, 1]), 2.0)[0, :, 0].numpy()
    array([0., 4.], dtype=float32)
    """
    x = of_kind(images, REAL, "adjust_contrast", "images")
    if x.ndim < 3:
        raise invalid_argument(
            f"adjust_contrast: images must have at least 3 dimensions, got shape {x.shape}."
        )
    floats = _as_floats(x)
    mean = reductions.reduce_mean(floats, axis=(x.ndim - 3, x.ndim - 2), keepdims=True)
    return _back(
        (floats - mean) * _factor(contrast_factor, floats, "adjust_contrast: contrast_factor")
        + mean,
        x,
    )


@published("image.adjust_gamma")
def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """`gain * image**gamma`, computed in floats.

    >>> import gradtape as tf
    >>> tf.image.adjust_gamma(tf.constant([0.5, 1.0]), gamma=2.0).numpy()
    array([0.25, 1.  ], dtype=float32)
    """
    x = of_kind(image, REAL, "adjust_gamma", "image")
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise ValueError(f"adjust_gamma: gamma must not be negative, got {gamma}.")
    floats = _as_floats(x)
    power = elementary.power(floats, _factor(gamma, floats, "adjust_gamma: gamma"))
    return _back(power * _factor(gain, floats, "adjust_gamma: gain"), x)


@published("image.per_image_standardization")
def per_image_standardization(image: TensorLike) -> Tensor:
    """Each image less its mean, divided by its standard deviation,
    which is taken to be at least `1 / sqrt(pixels)`.

    >>> import gradtape as tf
    >>> tf.image.per_image_standardization(tf.reshape([1.0, 3.0], [1, 2, 1]))[0, :, 0].numpy()
    array([-1.,  1.], dtype=float32)
    """
    x = at_least_3d(
        of_kind(image, REAL, "per_image_standardization", "image"), "per_image_standardization"
    )
    floats = x if x.array.dtype in (_FLOAT32, _FLOAT16) else broadcasting.cast(x, dtype=_FLOAT32)
    axes = tuple(range(x.ndim - 3, x.ndim))
    centred = floats - reductions.reduce_mean(floats, axis=axes, keepdims=True)
    variance = reductions.reduce_mean(arithmetic.square(centred), axis=axes, keepdims=True)
    count = max(1, int(np.prod(x.array.shape[-3:])))
    return centred / elementary.sqrt(arithmetic.maximum(variance, 1 / count))


# Colour spaces


@published("image.rgb_to_grayscale")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """The brightness of colours: 0.2989 red + 0.587 green + 0.114 blue.

    >>> import gradtape as tf
    >>> tf.image.rgb_to_grayscale([[[1.0, 0.0, 0.0]]]).numpy()
    array([[[0.2989]]], dtype=float32)
    """
    x = of_kind(images, REAL, "rgb_to_grayscale", "images")
    return _back(_mixed(_as_floats(x), _GRAY, "rgb_to_grayscale"), x)


@published("image.grayscale_to_rgb")
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Three equal channels from one.

    >>> import gradtape as tf
    >>> tf.image.grayscale_to_rgb(tf.constant([[[0.5]]])).numpy()
    array([[[0.5, 0.5, 0.5]]], dtype=float32)
    """
    x = TENSORFLOW.tensor(images, "grayscale_to_rgb: images")
    if not x.ndim or x.array.shape[-1] != 1:
        raise ValueError(
            f"grayscale_to_rgb: images must have one channel in the last axis, got shape {x.shape}."
        )
    return broadcasting.broadcast_to(x, shape=(*x.array.shape[:-1], 3))


@published("image.rgb_to_yiq")
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Colours as luma and the two chroma channels of NTSC.

    >>> import gradtape as tf
    >>> tf.image.rgb_to_yiq([[1.0, 1.0, 1.0]])[0, 0].numpy()
    np.float32(1.0)
    """
    return _mixed(of_kind(images, FLOATING, "rgb_to_yiq", "images", TypeError), _YIQ, "rgb_to_yiq")


@published("image.yiq_to_rgb")
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yiq`.

    >>> import gradtape as tf
    >>> tf.image.yiq_to_rgb([[1.0, 0.0, 0.0]]).numpy()
    array([[1., 1., 1.]], dtype=float32)
    """
    return _mixed(
        of_kind(images, FLOATING, "yiq_to_rgb", "images", TypeError), _FROM_YIQ, "yiq_to_rgb"
    )


@published("image.rgb_to_yuv")
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Colours as luma and the two chroma channels of PAL.

    >>> import gradtape as tf
    >>> tf.image.rgb_to_yuv([[1.0, 1.0, 1.0]])[0, 0].numpy()
    np.float32(1.0)
    """
    return _mixed(of_kind(images, FLOATING, "rgb_to_yuv", "images", TypeError), _YUV, "rgb_to_yuv")


@published("image.yuv_to_rgb")
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yuv`.

    >>> import gradtape as tf
    >>> tf.image.yuv_to_rgb([[1.0, 0.0, 0.0]]).numpy()
    array([[1., 1., 1.]], dtype=float32)
    """
    return _mixed(
        of_kind(images, FLOATING, "yuv_to_rgb", "images", TypeError), _FROM_YUV, "yuv_to_rgb"
    )


def _mixed(x: Tensor, weights: list[list[float]], function: str) -> Tensor:
    _check_channels(x, function)
    shape = x.array.shape
    made = matrix.matmul(
        reshape(x, shape=(int(np.prod(shape[:-1])), 3)), Tensor(np.array(weights, x.array.dtype))
    )
    return reshape(made, shape=(*shape[:-1], len(weights[0])))


def _check_channels(x: Tensor, function: str, error: Any = invalid_argument) -> None:
    if not x.ndim or x.array.shape[-1] != 3:
        raise error(
            f"{function}: images must have 3 channels in the last axis, got shape {x.shape}."
        )


@published("image.rgb_to_hsv")
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Colours as hue, saturation and value, all from 0 to 1.

    >>> import gradtape as tf
    >>> tf.image.rgb_to_hsv([[1.0, 0.5, 0.5]]).numpy()
    array([[0. , 0.5, 1. ]], dtype=float32)
    """
    if isinstance(images, (Tensor, Variable)):
        x = of_kind(images, FLOATING, "rgb_to_hsv", "images")
    else:  # plain values have no dtype of their own
        x = of_kind(images, REAL, "rgb_to_hsv", "images")
        x = x if x.dtype.is_floating else broadcasting.cast(x, dtype=_FLOAT32)
    _check_channels(x, "rgb_to_hsv", _failed_precondition)
    hue, value, spread = _hue_value_spread(x)
    return stack(hue, _saturation(value, spread), value, axis=-1)


@published("image.hsv_to_rgb")
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `rgb_to_hsv`; it has derivatives, which TensorFlow's has not.

    >>> import gradtape as tf
    >>> tf.image.hsv_to_rgb([[0.0, 0.5, 1.0]]).numpy()
    array([[1. , 0.5, 0.5]], dtype=float32)
    """
    x = of_kind(images, FLOATING, "hsv_to_rgb", "images")
    _check_channels(x, "hsv_to_rgb", _failed_precondition)
    hue, saturation, value = [getitem(x, key=(..., i)) for i in range(3)]
    return _colour(hue, value * (1.0 - saturation), saturation * value)


def _failed_precondition(message: str) -> Exception:
    return FailedPreconditionError(None, None, message)


def _hue_value_spread(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The hue, the largest channel, and its distance from the smallest."""
    red, green, blue = [getitem(x, key=(..., i)) for i in range(3)]
    value = reductions.reduce_max(x, axis=(x.ndim - 1,))
    spread = value - reductions.reduce_min(x, axis=(x.ndim - 1,))
    coloured = arithmetic.greater(spread, 0)
    sixth = where(coloured, spread, 1.0) * 6.0
    hue = where(
        arithmetic.equal(red, value),
        (green - blue) / sixth,
        where(
            arithmetic.equal(green, value),
            (blue - red) / sixth + 2 / 6,
            (red - green) / sixth + 4 / 6,
        ),
    )
    hue = where(arithmetic.less(hue, 0), hue + 1.0, hue)
    return where(coloured, hue, 0.0), value, spread


def _saturation(value: Tensor, spread: Tensor) -> Tensor:
    bright = arithmetic.greater(value, 0)
    return where(bright, spread / where(bright, value, 1.0), 0.0)


def _colour(hue: Tensor, darkest: Tensor, spread: Tensor) -> Tensor:
    """The colour of a hue whose smallest channel is `darkest` and whose largest is `spread` above
    it.
    """
    angle = hue * 6.0
    shares = [
        arithmetic.absolute(angle - 3.0) - 1.0,
        2.0 - arithmetic.absolute(angle - 2.0),
        2.0 - arithmetic.absolute(angle - 4.0),
    ]
    channels = [
        darkest + spread * arithmetic.minimum(arithmetic.maximum(share, 0.0), 1.0)
        for share in shares
    ]
    return stack(*channels, axis=-1)


@published("image.adjust_hue")
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Colours whose hue is turned by `delta`, a part of the full circle from -1 to 1.

    >>> import gradtape as tf
    >>> tf.image.adjust_hue(tf.constant([[[1.0, 0.0, 0.0]]]), 1 / 3).numpy().round(4)
    array([[[0., 1., 0.]]], dtype=float32)
    """
    if isinstance(delta, (int, float)) and not -1 <= delta <= 1:
        raise ValueError(f"adjust_hue: delta must be from -1 to 1, got {delta}.")
    x, floats = _pixels(image, "adjust_hue")
    hue, value, spread = _hue_value_spread(floats)
    turned = arithmetic.floormod(hue + _factor(delta, floats, "adjust_hue: delta"), 1.0)
    return _back(_colour(turned, value - spread, spread), x)


@published("image.adjust_saturation")
def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Colours whose saturation is multiplied by a factor, and kept between 0 and 1.

    >>> import gradtape as tf
    >>> tf.image.adjust_saturation(tf.constant([[[1.0, 0.5, 0.5]]]), 2.0).numpy()
    array([[[1., 0., 0.]]], dtype=float32)
    """
    x, floats = _pixels(image, "adjust_saturation")
    hue, value, spread = _hue_value_spread(floats)
    factor = _factor(saturation_factor, floats, "adjust_saturation: saturation_factor")
    scaled = arithmetic.minimum(arithmetic.maximum(_saturation(value, spread) * factor, 0.0), 1.0)
    return _back(_colour(hue, value * (1.0 - scaled), value * scaled), x)


def _pixels(image: Any, function: str) -> tuple[Tensor, Tensor]:
    x = of_kind(image, REAL, function, "image")
    if x.ndim < 3:
        raise invalid_argument(
            f"{function}: image must have at least 3 dimensions, got shape {x.shape}."
        )
    _check_channels(x, function)
    return x, _as_floats(x)
