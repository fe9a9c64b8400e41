"""Keras's `map_coordinates`, and the affine, perspective and elastic transforms of images, which
are built on it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.image.batches import Batch
from keras_gradtape.src.ops.image.filters import gaussian_blur
from keras_gradtape.src.ops.nn.operands import at_least_float32, floats
from keras_gradtape.src.ops.operands import cast_to
from keras_gradtape.src.random import normal

AFFINE_TRANSFORM_INTERPOLATIONS = {"nearest": 0, "bilinear": 1}
AFFINE_TRANSFORM_FILL_MODES = {"constant", "nearest", "wrap", "mirror", "reflect"}
MAP_COORDINATES_FILL_MODES = {"constant", "nearest", "wrap", "mirror", "reflect"}


def map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: float = 0.0
) -> tf.Tensor:
    """The values at coordinates, one row for each axis: of the nearest elements (order 0),
    or between them (order 1).
    """
    x, places = convert_to_tensor(inputs), convert_to_tensor(coordinates)
    if places.shape[0] != x.ndim:
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. "
            f"Received inputs with shape: {x.shape} and coordinate leading dim of {places.shape[0]}"
        )
    if places.ndim < 2:
        raise ValueError(
            "Invalid coordinates rank: expected at least rank 2. Received input with shape: "
            f"{places.shape}"
        )
    _check_fill_mode(fill_mode, MAP_COORDINATES_FILL_MODES)
    if order not in (0, 1):
        raise ValueError(
            f"Invalid value for argument `order`. Expected one of [0, 1]. Received: order={order}"
        )
    found = _sampled(
        tf.reshape(x, [-1]), tuple(x.shape), tf.unstack(places), order, fill_mode, fill_value
    )
    return cast_to(_rounded(found) if x.dtype.is_integer else found, x.dtype.name)


def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0,
    data_format: str | None = None,
) -> tf.Tensor:
    """Images whose pixel (x, y) is that at (a0 x + a1 y + a2, b0 x + b1 y + b2), for transforms
    (a0, a1, a2, b0, b1, b2, 0, 0).
    """
    order = _order(interpolation)
    _check_fill_mode(fill_mode, AFFINE_TRANSFORM_FILL_MODES)
    batch = Batch(images, data_format)
    found = convert_to_tensor(transform)
    if found.ndim not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of "
            "transforms). "
            f"Received input with shape: transform.shape={found.shape}"
        )
    a0, a1, a2, b0, b1, b2, *_ = _columns(
        cast_to(found if found.ndim == 2 else found[None], _dtype(batch))
    )
    x, y = _grid(batch)
    return _transformed(
        batch, a0 * x + a1 * y + a2, b0 * x + b1 * y + b2, order, fill_mode, fill_value
    )


def perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: float = 0,
    data_format: str | None = None,
) -> tf.Tensor:
    """Images seen so that four points of each come to lie on four others; points are (x, y)."""
    order = _order(interpolation)
    batch = Batch(images, data_format)
    starts, ends = convert_to_tensor(start_points), convert_to_tensor(end_points)
    for name, points in (("start_points", starts), ("end_points", ends)):
        if points.ndim not in (2, 3) or points.shape[-2:] != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {points.shape}"
            )
    if starts.shape != ends.shape:
        raise ValueError(
            "start_points and end_points must have the same shape. "
            f"Received start_points.shape={starts.shape}, end_points.shape={ends.shape}"
        )
    starts, ends = (
        cast_to(points if points.ndim == 3 else points[None], _dtype(batch))
        for points in (starts, ends)
    )
    a0, a1, a2, b0, b1, b2, c0, c1 = _columns(compute_homography_matrix(starts, ends))
    x, y = _grid(batch)
    distance = c0 * x + c1 * y + 1.0
    return _transformed(
        batch,
        (a0 * x + a1 * y + a2) / distance,
        (b0 * x + b1 * y + b2) / distance,
        order,
        "constant",
        fill_value,
    )


def compute_homography_matrix(start_points: Any, end_points: Any) -> tf.Tensor:
    """The eight numbers of the perspective transforms that take `end_points` to `start_points`,
    both `(batch, 4, 2)`.
    """
    starts, ends = floats(start_points, end_points)
    dtype = starts.dtype.name
    starts, ends = (cast_to(points, at_least_float32(dtype)) for points in (starts, ends))
    ones = tf.ones_like(ends[..., :1])
    known = tf.concat([ends, ones], axis=-1)
    nothing = tf.zeros_like(known)
    x_rows = tf.concat([known, nothing, -starts[..., :1] * ends], axis=-1)
    y_rows = tf.concat([nothing, known, -starts[..., 1:] * ends], axis=-1)
    sides = tf.concat([starts[..., :1], starts[..., 1:]], axis=-2)
    found = tf.linalg.solve(tf.concat([x_rows, y_rows], axis=-2), sides)
    return cast_to(found[..., 0], dtype)


def elastic_transform(
    images: Any,
    alpha: Any = 20.0,
    sigma: Any = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: float = 0.0,
    seed: Any = None,
    data_format: str | None = None,
) -> tf.Tensor:
    """Images whose pixels are moved about at random,
    by `alpha` times noise that is blurred over `sigma` pixels.
    """
    order = _order(interpolation)
    _check_fill_mode(fill_mode, AFFINE_TRANSFORM_FILL_MODES)
    batch = Batch(images, data_format)
    dtype = _dtype(batch)
    count, height, width, _ = batch.images.shape
    strength, spread = convert_to_tensor(alpha, dtype), convert_to_tensor(sigma, dtype)
    reach = int(6 * spread) | 1
    noise = normal((count, height, width, 2), dtype=dtype, seed=seed) * spread
    moved = (
        gaussian_blur(noise, (reach, reach), (spread, spread), data_format="channels_last")
        * strength
    )
    x, y = _grid(batch)
    return _transformed(batch, x + moved[..., 0], y + moved[..., 1], order, fill_mode, fill_value)


def _order(interpolation: str) -> int:
    if interpolation not in AFFINE_TRANSFORM_INTERPOLATIONS:
        raise ValueError(
            "Invalid value for argument `interpolation`. Expected of one "
            f"{set(AFFINE_TRANSFORM_INTERPOLATIONS)}. Received: interpolation={interpolation}"
        )
    return AFFINE_TRANSFORM_INTERPOLATIONS[interpolation]


def _check_fill_mode(fill_mode: str, modes: set[str]) -> None:
    if fill_mode not in modes:
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Expected of one {modes}. Received: "
            f"fill_mode={fill_mode}"
        )


def _dtype(batch: Batch) -> str:
    """The dtype of coordinates."""
    return at_least_float32(batch.dtype)


def _grid(batch: Batch) -> tuple[tf.Tensor, tf.Tensor]:
    """The x and the y of every pixel."""
    _, height, width, _ = batch.images.shape
    y, x = np.indices((height, width))
    return tf.constant(x, _dtype(batch)), tf.constant(y, _dtype(batch))


def _columns(transforms: tf.Tensor) -> list[tf.Tensor]:
    """Each number of all transforms, to go with pixels."""
    return list(tf.unstack(transforms[:, None, None], axis=-1))


def _transformed(
    batch: Batch, x: tf.Tensor, y: tf.Tensor, order: int, fill_mode: str, fill_value: float
) -> tf.Tensor:
    """Images with the pixels at coordinates `(batch, height, width)`."""
    count, height, width, channels = batch.images.shape
    pixels = tf.reshape(batch.images, [count * height * width, channels])
    number = tf.constant(np.arange(count, dtype=np.int32).reshape(-1, 1, 1) * (height * width))
    places = [gnp.broadcast_to(place, (count, *place.shape[-2:])) for place in (y, x)]
    return batch.leave(
        _sampled(pixels, (height, width), places, order, fill_mode, fill_value, number)
    )


def _sampled(
    rows: tf.Tensor,
    sizes: Sequence[int],
    places: Sequence[tf.Tensor],
    order: int,
    fill_mode: str,
    fill_value: float,
    first: Any = 0,
) -> tf.Tensor:
    """The rows at places of an array of `sizes` that is laid out in them,
    from the row `first` on; in float32 at least.

    Between elements, each of the corners around a place counts as much as the place is near to it.
    """
    dtype = at_least_float32(rows.dtype.name)
    trailing = (..., *[None] * (rows.ndim - 1))
    corners = []
    for place, size in zip(places, sizes, strict=True):
        at = cast_to(place, dtype if place.dtype.is_integer else at_least_float32(place.dtype.name))
        if order == 0:
            corners.append([(_index(_rounded(at), size, fill_mode), None)])
        else:
            low = tf.floor(at)
            weight = cast_to(at - low, dtype)
            corners.append(
                [
                    (_index(low, size, fill_mode), 1.0 - weight),
                    (_index(low + 1.0, size, fill_mode), weight),
                ]
            )
    total: Any = None
    for corner in itertools.product(*corners):
        index, inside, weight = first, None, None
        for ((number, valid), share), stride in zip(corner, _strides(sizes), strict=True):
            index = index + number * stride
            inside = valid if inside is None or valid is None else tf.logical_and(inside, valid)
            weight = share if weight is None else weight * share
        found = cast_to(tf.gather(rows, index), dtype)
        if inside is not None:
            found = gnp.where(inside[trailing], found, convert_to_tensor(fill_value, dtype))
        part = found if weight is None else found * weight[trailing]
        total = part if total is None else total + part
    return total


def _rounded(x: tf.Tensor) -> tf.Tensor:
    """The nearest whole numbers; of two that are equally near, the one further from 0."""
    return tf.sign(x) * tf.floor(tf.abs(x) + 0.5)


def _strides(sizes: Sequence[int]) -> list[int]:
    """How many elements lie between neighbours along each axis."""
    return [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]


def _index(place: tf.Tensor, size: int, fill_mode: str) -> tuple[tf.Tensor, tf.Tensor | None]:
    """The element that stands at a place, also outside the array; and,
    where nothing stands outside, what is inside.
    """
    number = tf.cast(tf.clip_by_value(place, -(2.0**30), 2.0**30), "int32")
    if fill_mode == "wrap":
        return number % size, None
    if fill_mode in ("mirror", "reflect"):  # a mirror on the last element, or behind it
        period, last = (
            (max(2 * size - 2, 1), 2 * size - 2)
            if fill_mode == "mirror"
            else (2 * size, 2 * size - 1)
        )
        number = number % period
        return gnp.where(number < size, number, last - number), None
    inside = tf.logical_and(number >= 0, number < size) if fill_mode == "constant" else None
    return tf.clip_by_value(number, 0, size - 1), inside
