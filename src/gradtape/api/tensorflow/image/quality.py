"""What `tf.image` measures: edges, variation, and how alike two images are."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, REAL, SIGNED, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_float, as_int, as_list
from gradtape.api.tensorflow.image.color import convert_image_dtype
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import activations, arithmetic, broadcasting, elementary, pooling, reductions
from gradtape.ops.convolution import Windows, conv
from gradtape.ops.indexing import take
from gradtape.ops.resampling import Taps, resample
from gradtape.ops.shaping import getitem, pad, reshape, stack
from gradtape.published import published

_EVERY = slice(None)


@published("image.image_gradients")
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """The differences of each pixel to the one below and to the one on the right;
    0 in the last row and column.

    >>> import gradtape as tf
    >>> down, right = tf.image.image_gradients(tf.reshape([[1.0, 2.0], [4.0, 8.0]], [1, 2, 2, 1]))
    >>> down.numpy().ravel(), right.numpy().ravel()
    (array([3., 6., 0., 0.], dtype=float32), array([1., 0., 4., 0.], dtype=float32))
    """
    x = of_kind(image, REAL, "image_gradients", "image")
    if x.ndim != 4:
        raise ValueError(
            "image_gradients: image must have the shape (batch, height, width, channels), got "
            f"{x.shape}."
        )
    down, right = _differences(x)
    return (
        pad(down, paddings=((0, 0), (0, 1), (0, 0), (0, 0)), value=0),
        pad(right, paddings=((0, 0), (0, 0), (0, 1), (0, 0)), value=0),
    )


def _differences(x: Tensor) -> tuple[Tensor, Tensor]:
    """From pixel to pixel, down and to the right."""
    later, earlier = slice(1, None), slice(None, -1)
    return (
        getitem(x, key=(..., later, _EVERY, _EVERY))
        - getitem(x, key=(..., earlier, _EVERY, _EVERY)),
        getitem(x, key=(..., later, _EVERY)) - getitem(x, key=(..., earlier, _EVERY)),
    )


@published("image.total_variation")
def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the absolute differences between neighbouring pixels, for each image.

    >>> import gradtape as tf
    >>> tf.image.total_variation(tf.reshape([[1.0, 2.0], [4.0, 8.0]], [2, 2, 1])).numpy()
    np.float32(14.0)
    """
    x = of_kind(
        of_kind(images, SIGNED, "total_variation", "images"), REAL, "total_variation", "images"
    )
    if x.ndim not in (3, 4):
        raise ValueError(
            f"total_variation: images must have 3 or 4 dimensions, got shape {x.shape}."
        )
    axes = tuple(range(x.ndim - 3, x.ndim))
    down, right = [
        reductions.reduce_sum(arithmetic.absolute(d), axis=axes) for d in _differences(x)
    ]
    return down + right


@published("image.sobel_edges")
def sobel_edges(image: TensorLike) -> Tensor:
    """How much images change downwards and to the right, in a new last axis;
    the border is mirrored.

    >>> import gradtape as tf
    >>> tf.image.sobel_edges(tf.reshape([1.0, 2.0, 4.0] * 3, [1, 3, 3, 1]))[0, 1, 1, 0].numpy()
    array([ 0., 12.], dtype=float32)
    """
    x = of_kind(image, FLOATING, "sobel_edges", "image")
    if x.ndim != 4 or min(x.array.shape[1:3]) < 2:
        raise invalid_argument(
            "sobel_edges: image must be (batch, height, width, channels), at least 2 by 2, got "
            f"{x.shape}."
        )
    smooth, slope = np.array([1, 2, 1]), np.array([-1, 0, 1])
    pair = np.stack([np.outer(slope, smooth), np.outer(smooth, slope)], axis=-1)
    mirrored = _mirrored(_mirrored(x, 1), 2)
    channels = x.array.shape[-1]
    filters = np.tile(pair[:, :, None], (1, 1, 1, channels)).astype(x.array.dtype)
    edges = conv(mirrored, Tensor(filters), windows=_valid(3), groups=channels)
    return reshape(edges, shape=(*x.array.shape, 2))


def _mirrored(x: Tensor, axis: int) -> Tensor:
    size = x.array.shape[axis]
    return take(x, np.array([1, *range(size), size - 2]), axis=axis)


def _valid(size: int) -> Windows:
    return Windows((size, size), (1, 1), ((0, 0), (0, 0)), (1, 1))


# How alike two images are


@published("image.psnr")
def psnr(a: TensorLike, b: TensorLike, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio in decibels, for each image;
    `max_val` is the largest value that a pixel can have.

    >>> import gradtape as tf
    >>> tf.image.psnr(tf.ones([2, 2, 1]), tf.zeros([2, 2, 1]), max_val=10.0).numpy().round(4)
    np.float32(20.0)
    """
    x, y, limit = _compared(a, b, max_val, "psnr")
    error = reductions.reduce_mean(
        arithmetic.squared_difference(x, y), axis=tuple(range(x.ndim - 3, x.ndim))
    )
    return (elementary.log(limit) * 2.0 - elementary.log(error)) * (10 / math.log(10))


def _compared(a: Any, b: Any, max_val: Any, function: str) -> tuple[Tensor, Tensor, Tensor]:
    """Two images of one shape, and the largest value that they can have, as float32."""
    x = of_kind(a, REAL, function, "the first image")
    y = TENSORFLOW.tensor(b, f"{function}: the second image")
    refusal = invalid_argument if function == "psnr" else ValueError
    if x.ndim < 3 or x.array.shape[-3:] != y.array.shape[-3:]:
        raise refusal(
            f"{function}: both images must have the shape (..., height, width, channels), got "
            f"{x.shape} and {y.shape}."
        )
    try:
        np.broadcast_shapes(x.array.shape, y.array.shape)
    except ValueError as error:
        raise refusal(
            f"{function}: the shapes {x.shape} and {y.shape} do not fit together."
        ) from error
    limit = broadcasting.cast(
        TENSORFLOW.tensor(max_val, f"{function}: max_val"), dtype=x.array.dtype
    )
    return (
        convert_image_dtype(x, dtypes.float32),
        convert_image_dtype(y, dtypes.float32),
        convert_image_dtype(limit, dtypes.float32),
    )


@published("image.ssim")
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images, from -1 to 1, in which 1 means equal; with
    `return_index_map` for each window.

    >>> import gradtape as tf
    >>> image = tf.reshape(tf.range(256.0), [16, 16, 1])
    >>> tf.image.ssim(image, image, max_val=255).numpy()
    np.float32(1.0)
    """
    x, y, limit = _compared(img1, img2, max_val, "ssim")
    size = _filter_size(filter_size, x, "ssim")
    similar, _ = _similarity(
        x, y, limit, size, as_float(filter_sigma, "ssim: filter_sigma"), k1, k2
    )
    rank = similar.ndim
    axes = (rank - 1,) if return_index_map else (rank - 3, rank - 2, rank - 1)
    return reductions.reduce_mean(similar, axis=axes)


def _filter_size(filter_size: Any, x: Tensor, function: str) -> int:
    size = as_int(filter_size, f"{function}: filter_size")
    if size < 1:
        raise invalid_argument(f"{function}: filter_size must be positive, got {size}.")
    if min(x.array.shape[-3:-1]) < size:
        raise invalid_argument(
            f"{function}: images of shape {x.shape} are smaller than the filter, {size} by {size}."
        )
    return size


def _similarity(
    x: Tensor, y: Tensor, limit: Tensor, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """For each window and channel: the whole similarity,
    and that of contrast and structure alone.
    """
    distance = np.arange(size) - (size - 1) / 2
    bell = np.exp(-(distance**2) / (2 * sigma**2))

    def averaged(images: Tensor) -> Tensor:
        """The mean of each window, weighted by a bell curve along the rows and one along the
        columns.
        """
        for axis in (images.ndim - 3, images.ndim - 2):
            whole = images.array.shape[axis]
            places = np.arange(whole - size + 1)[:, None] + np.arange(size)
            weights = np.broadcast_to(bell / bell.sum(), places.shape)
            images = resample(images, taps=Taps(places, weights, whole), axis=axis)
        return images

    mean_x, mean_y = averaged(x), averaged(y)
    first, second = arithmetic.square(limit * k1), arithmetic.square(limit * k2)
    means, squares = mean_x * mean_y * 2.0, arithmetic.square(mean_x) + arithmetic.square(mean_y)
    luminance = (means + first) / (squares + first)
    products, totals = averaged(x * y) * 2.0, averaged(arithmetic.square(x) + arithmetic.square(y))
    structure = (products - means + second) / (totals - squares + second)
    return luminance * structure, structure


@published("image.ssim_multiscale")
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The product of similarities at several scales, each half as large as the one before,
    to the powers given.

    >>> import gradtape as tf
    >>> image = tf.reshape(tf.range(1024.0), [32, 32, 1])
    >>> tf.image.ssim_multiscale(image, image, max_val=1023, power_factors=[0.5, 0.5]).numpy()
    np.float32(1.0)
    """
    function = "ssim_multiscale"
    x, y, limit = _compared(img1, img2, max_val, function)
    factors = np.asarray(
        [
            as_float(factor, f"{function}: power_factors")
            for factor in as_list(power_factors, f"{function}: power_factors")
        ],
        x.array.dtype,
    )
    sigma = as_float(filter_sigma, f"{function}: filter_sigma")
    scales: list[Tensor] = []
    similar = None
    for k in range(len(factors)):
        if k:
            x, y = _halved(x), _halved(y)
        size = _filter_size(filter_size, x, function)
        similar, structure = [
            _mean_of_windows(s) for s in _similarity(x, y, limit, size, sigma, k1, k2)
        ]
        scales.append(structure)
    if similar is None:
        raise ValueError(f"{function}: power_factors must have at least one entry.")
    together = stack(*[activations.relu(scale) for scale in [*scales[:-1], similar]], axis=-1)
    product = reductions.reduce_prod(
        elementary.power(together, Tensor(factors)), axis=(together.ndim - 1,)
    )
    return reductions.reduce_mean(product, axis=(product.ndim - 1,))


def _mean_of_windows(similar: Tensor) -> Tensor:
    return reductions.reduce_mean(similar, axis=(similar.ndim - 3, similar.ndim - 2))


def _halved(images: Tensor) -> Tensor:
    """The means of squares of two by two pixels; an odd last row or column counts twice."""
    shape = images.array.shape
    x = reshape(images, shape=(math.prod(shape[:-3]), *shape[-3:]))
    for axis in (1, 2):
        size = x.array.shape[axis]
        if size % 2:
            x = take(x, np.array([*range(size), size - 1]), axis=axis)
    x = pooling.avg_pool(x, windows=Windows((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)))
    return reshape(x, shape=(*shape[:-3], *x.array.shape[1:]))
