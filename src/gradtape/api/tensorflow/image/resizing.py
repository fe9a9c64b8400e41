"""Resizing images: `resize` and related functions of `tf.image`.

Every method is a weighted sum along the rows and one along the columns, with weights that depend on
the sizes alone.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import FLOATING, REAL, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_float, as_int, integers
from gradtape.api.tensorflow.image.geometry import as_batch, pad_to_bounding_box
from gradtape.convert import as_indices
from gradtape.core.tensor import Tensor
from gradtape.engines.engine import NUMPY, NotTraceableError, engine_of
from gradtape.errors import OutOfRangeError, invalid_argument
from gradtape.ops import arithmetic, broadcasting
from gradtape.ops.indexing import take
from gradtape.ops.resampling import Taps, resample
from gradtape.ops.selection import where
from gradtape.ops.shaping import getitem, reshape, stack, unstack
from gradtape.published import published

_FLOAT32 = np.dtype(np.float32)
_INT64 = np.dtype(np.int64)

Kernel = Callable[[Any], Any]
"""The weight of an element, by its distance from the place that is asked for."""


@published("image.ResizeMethod")
class ResizeMethod:
    """The names of the methods of `resize`.

    >>> import gradtape as tf
    >>> tf.image.ResizeMethod.NEAREST_NEIGHBOR
    'nearest'
    """

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


def _lanczos(radius: int) -> Kernel:
    return lambda x: np.where(x < radius, np.sinc(x) * np.sinc(x / radius), 0.0)


def _gaussian(x: Any) -> Any:
    return np.where(x < 1.5, np.exp(-2.0 * x * x), 0.0)


def _keys_cubic(x: Any) -> Any:
    near, far = ((1.5 * x - 2.5) * x) * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _mitchell_cubic(x: Any) -> Any:
    near, far = ((7 / 6 * x - 2) * x) * x + 8 / 9, ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


_KERNELS: dict[str, tuple[Kernel, float]] = {
    "bilinear": (lambda x: np.maximum(1 - x, 0), 1),
    "bicubic": (_keys_cubic, 2),
    "lanczos3": (_lanczos(3), 3),
    "lanczos5": (_lanczos(5), 5),
    "gaussian": (_gaussian, 1.5),
    "mitchellcubic": (_mitchell_cubic, 2),
}
_METHODS = {*_KERNELS, "nearest", "area"}
_SMOOTHING = ("gaussian", "mitchellcubic")
"""The methods that change an image even if its size stays the same."""


@lru_cache(maxsize=256)
def _taps(method: str, size: int, wanted: int, antialias: bool) -> Taps:
    """The weights that make `wanted` elements of `size`: each covers the part of the axis that it
    would cover in the picture.
    """
    step: Any = size / wanted
    if method == "nearest":
        places = np.minimum(_middles(wanted, np.float32(step)) // 1, size - 1)
        return Taps(places.astype(np.int64)[:, None], np.ones((wanted, 1)), size)
    if method == "area":
        begin, end = np.arange(wanted) * step, (np.arange(wanted) + 1) * step
        index = np.floor(begin).astype(np.int64)[:, None] + np.arange(math.ceil(step) + 1)
        covered = np.minimum(index + 1, end[:, None]) - np.maximum(index, begin[:, None])
        return Taps(np.clip(index, 0, size - 1), np.maximum(covered, 0) / step, size)
    kernel, radius = _KERNELS[method]
    if antialias or method not in ("bilinear", "bicubic"):
        step = 1 / (np.float32(wanted) / np.float32(size))
    scale = max(step, type(step)(1)) if antialias else type(step)(1)
    middle = _middles(wanted, step)
    if (
        method == "bicubic" and not antialias
    ):  # TensorFlow looks these weights up in a table of 1,024 steps
        whole = np.floor(middle - 0.5)
        middle = whole + np.rint((middle - 0.5 - whole) * 1024) / 1024 + 0.5
    first = np.ceil(middle - radius * scale - 0.5).astype(np.int64)
    index = first[:, None] + np.arange(math.floor(2 * radius * scale) + 1)
    weights = kernel(np.abs(index.astype(middle.dtype) + 0.5 - middle[:, None]) / scale)
    if (
        method == "bilinear" and not antialias
    ):  # the border goes on outside; elsewhere the weights inside make up for it
        return Taps(np.clip(index, 0, size - 1), weights, size)
    weights = np.where((index >= 0) & (index < size), weights, 0.0)
    return Taps(np.clip(index, 0, size - 1), weights / weights.sum(axis=1, keepdims=True), size)


def _middles(wanted: int, step: Any) -> Any:
    """Where the elements of a result have their middles on an axis whose own are at 0.5, 1.5, ...;
    in the precision of `step`.

    Where a step in single precision decides which element is nearest, or which are just within
    reach, it is TensorFlow's.
    """
    return (np.arange(wanted, dtype=np.asarray(step).dtype) + 0.5) * step


@published("image.resize")
def resize(
    images: TensorLike,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images `(height, width, channels)`, or a batch of them, in another height and width,
    as float32.

    With the method 'nearest', elements are taken as they are and keep their dtype. With
    `antialias`, a smaller image takes every element into account. Each method has derivatives of
    every order in reverse and forward mode.

    >>> import gradtape as tf
    >>> tf.image.resize(tf.reshape([1.0, 3.0], [1, 2, 1]), [1, 4])[0, :, 0].numpy()
    array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    if not isinstance(method, str) or method not in _METHODS:
        raise ValueError(f"resize: method must be one of {sorted(_METHODS)}, got {method!r}.")
    batch = as_batch(of_kind(images, REAL, "resize", "images"), "resize: images")
    try:
        wanted = integers(size, "resize: size")
    except NotTraceableError:
        raise
    except TypeError as error:
        raise ValueError(str(error)) from error
    if len(wanted) != 2:
        raise ValueError(
            f"resize: size must have two integers, the new height and width, got {size!r}."
        )
    height, width = batch.height, batch.width
    if preserve_aspect_ratio and height and width:
        ratio = np.float32(
            min(
                np.float32(wanted[0]) / np.float32(height),
                np.float32(wanted[1]) / np.float32(width),
            )
        )
        wanted = (round(float(ratio * np.float32(height))), round(float(ratio * np.float32(width))))
    if min(wanted) < 1 or not height or not width:
        raise invalid_argument(
            f"resize: images of {height} by {width} cannot be resized to {wanted[0]} by "
            f"{wanted[1]}."
        )
    x = batch.images
    if method != "nearest" and x.array.dtype != _FLOAT32:
        x = broadcasting.cast(x, dtype=_FLOAT32)
    moves = x.array.dtype.kind != "f"
    steps = [(1, height, wanted[0]), (2, width, wanted[1])]
    # Along the width there are only channels to take at once: so it is done for as few rows as can
    # be.
    for axis, now, then in reversed(steps) if wanted[0] > height else steps:
        if now != then or method in _SMOOTHING:
            taps = _taps(method, now, then, bool(antialias))
            # One element each is a gather, which moves any dtype as it is. That of floats has the
            # faster gradient as a resampling.
            x = (
                take(x, taps.places[:, 0], axis=axis)
                if method == "nearest" and moves
                else resample(x, taps=taps, axis=axis)
            )
    return batch.leave(x)


@published("image.resize_with_pad")
def resize_with_pad(
    image: TensorLike,
    target_height: Any,
    target_width: Any,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Images in another size with their own proportions, and zeros where they do not fill it.

    >>> import gradtape as tf
    >>> tf.image.resize_with_pad(tf.ones([2, 1, 1]), 2, 3)[:, :, 0].numpy()
    array([[0., 1., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    function = "resize_with_pad"
    batch = as_batch(of_kind(image, REAL, function, "image"), f"{function}: image")
    wanted = (
        as_int(target_height, f"{function}: target_height"),
        as_int(target_width, f"{function}: target_width"),
    )
    if min(wanted) < 1:
        raise ValueError(
            f"{function}: target_height and target_width must be positive, got {list(wanted)}."
        )
    sizes, targets = (
        np.array([batch.height, batch.width], _FLOAT32),
        np.array(wanted, _FLOAT32),
    )  # as TensorFlow rounds
    fitting = sizes / np.max(sizes / targets) if all(sizes) else sizes
    top, left = np.maximum((targets - fitting) // 2, 0).astype(int).tolist()
    resized = resize(
        batch.images, np.floor(fitting).astype(int).tolist(), method, antialias=antialias
    )
    return batch.leave(pad_to_bounding_box(resized, top, left, *wanted))


@published("image.crop_and_resize")
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crops boxes `[y1, x1, y2, x2]` out of images, in coordinates from 0 to 1,
    and resizes each to `crop_size`.

    `box_indices` says which image each box is in. Gradients flow to the images and, with method
    'bilinear', to the boxes, in the dtype of the boxes.

    >>> import gradtape as tf
    >>> image = tf.reshape([1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 5, 1])
    >>> tf.image.crop_and_resize(image, [[0.0, 0.25, 1.0, 1.0]], [0], crop_size=[1, 3])[
    ...     0, 0, :, 0
    ... ].numpy()
    array([2. , 3.5, 5. ], dtype=float32)
    """
    function = "crop_and_resize"
    if method not in ("bilinear", "nearest"):
        raise invalid_argument(
            f"{function}: method must be 'bilinear' or 'nearest', got {method!r}."
        )
    x = of_kind(image, REAL, function, "image")
    corners = of_kind(boxes, FLOATING, function, "boxes")
    owners = as_indices(box_indices, f"{function}: box_indices")
    size = integers(crop_size, f"{function}: crop_size")
    if (
        x.ndim != 4
        or corners.ndim != 2
        or corners.array.shape[1] != 4
        or owners.array.shape != corners.array.shape[:1]
    ):
        raise invalid_argument(
            f"{function}: image must have 4 dimensions, boxes the shape (n, 4) and box_indices "
            f"(n,), got {x.shape}, "
            f"{corners.shape} and {owners.shape}."
        )
    if len(size) != 2 or min(size) < 1 or 0 in x.array.shape[1:3]:
        raise invalid_argument(
            f"{function}: crop_size must be two positive integers and image not empty, got "
            f"{list(size)}."
        )
    _check_owners(owners, x.array.shape[0])
    if x.array.dtype != corners.array.dtype:
        x = broadcasting.cast(x, dtype=corners.array.dtype)
    count, height, width, channels = x.array.shape
    pixels = reshape(x, shape=(count * height * width, channels))
    rows, inside_rows = _places(corners, 0, height, size[0])
    columns, inside_columns = _places(corners, 1, width, size[1])
    first = reshape(broadcasting.cast(owners, dtype=_INT64), shape=(-1, 1, 1)) * height

    def place(row: Tensor, column: Tensor) -> Tensor:
        return (first + getitem(_index(row), key=(..., None))) * width + getitem(
            _index(column), key=(slice(None), None)
        )

    if method == "nearest":
        places = place(arithmetic.floor(rows + 0.5), arithmetic.floor(columns + 0.5))
        found = take(pixels, places, axis=0, sparse=False)
    else:
        top, left = arithmetic.floor(rows), arithmetic.floor(columns)
        bottom, right = arithmetic.ceil(rows), arithmetic.ceil(columns)
        down = getitem(rows - top, key=(slice(None), slice(None), None, None))
        across = getitem(columns - left, key=(slice(None), None, slice(None), None))
        around = ((top, left), (top, right), (bottom, left), (bottom, right))
        # All at once, so that gradients are added up at once.
        places = stack(*[place(row, column) for row, column in around], axis=0)
        upper, beside_upper, lower, beside_lower = unstack(
            take(pixels, places, axis=0, sparse=False), axis=0
        )
        upper = upper + (beside_upper - upper) * across
        lower = lower + (beside_lower - lower) * across
        found = upper + (lower - upper) * down
    inside = arithmetic.logical_and(
        getitem(inside_rows, key=(slice(None), slice(None), None, None)),
        getitem(inside_columns, key=(slice(None), None, slice(None), None)),
    )
    return where(
        inside, found, as_float(extrapolation_value, "crop_and_resize: extrapolation_value")
    )


def _check_owners(owners: Tensor, count: int) -> None:
    values = owners.array
    if (
        engine_of(values) is NUMPY
        and values.size
        and not (0 <= values.min() and values.max() < count)
    ):
        raise OutOfRangeError(
            None,
            None,
            f"crop_and_resize: box_indices must be in [0, {count}), got {values.tolist()}.",
        )


def _places(boxes: Tensor, axis: int, size: int, count: int) -> tuple[Tensor, Tensor]:
    """For each box, `count` places along an axis of the image, and which of them are inside it;
    the others are put at 0.
    """
    begin, end = (
        getitem(boxes, key=(slice(None), slice(axis, axis + 1))),
        getitem(boxes, key=(slice(None), slice(axis + 2, axis + 3))),
    )
    if count > 1:
        steps = np.arange(count, dtype=boxes.array.dtype)
        places = begin * (size - 1) + (end - begin) * (size - 1) / (count - 1) * steps
    else:
        places = (begin + end) * 0.5 * (size - 1)
    inside = arithmetic.logical_and(
        arithmetic.greater_equal(places, 0), arithmetic.less_equal(places, size - 1)
    )
    return where(inside, places, 0.0), inside


def _index(places: Tensor) -> Tensor:
    return broadcasting.cast(places, dtype=_INT64)
