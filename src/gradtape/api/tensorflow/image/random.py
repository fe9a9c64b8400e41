"""Random augmentation of `tf.image`: from a generator with state, or from a seed alone
(`stateless_...`).
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.tensorflow.arguments import TensorLike, as_shape
from gradtape.api.tensorflow.image.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
)
from gradtape.api.tensorflow.image.geometry import as_batch
from gradtape.api.tensorflow.random import draws
from gradtape.api.tensorflow.random.sequence import source
from gradtape.api.tensorflow.random.stateless import stateless_source
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting
from gradtape.ops.indexing import take
from gradtape.ops.selection import where
from gradtape.ops.shaping import getitem, reverse
from gradtape.published import published

_FLOAT32 = np.dtype(np.float32)


def _uniforms(numbers: draws.Source, shape: tuple[int, ...] = ()) -> Tensor:
    return numbers.tensor(draws.uniforms, shape, _FLOAT32)


def _between(numbers: draws.Source, lower: Any, upper: Any) -> Tensor:
    return _uniforms(numbers) * (upper - lower) + lower


def _check_delta(max_delta: Any, function: str, most: float | None = None) -> Any:
    if max_delta < 0 or (most is not None and max_delta > most):
        raise ValueError(
            f"{function}: max_delta must be "
            f"{'at least 0' if most is None else f'from 0 to {most}'}, got {max_delta}."
        )
    return max_delta


def _check_range(lower: Any, upper: Any, function: str) -> None:
    if upper <= lower or lower < 0:
        raise ValueError(
            f"{function}: lower must be at least 0 and less than upper, got {lower} and {upper}."
        )


@published("image.random_brightness")
def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a random number from -max_delta to max_delta.

    >>> import gradtape as tf
    >>> float(tf.image.random_brightness(tf.zeros([1, 1, 1]), 0.5).numpy().item()) <= 0.5
    True
    """
    delta = _check_delta(max_delta, "random_brightness")
    return adjust_brightness(image, _between(source("random_brightness", seed), -delta, delta))


@published("image.stateless_random_brightness")
def stateless_random_brightness(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_brightness` that depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> first, second = (
    ...     tf.image.stateless_random_brightness(tf.zeros([1, 1, 1]), 0.5, seed=[1, 2])
    ...     for _ in range(2)
    ... )
    >>> bool(tf.reduce_all(first == second))
    True
    """
    function = "stateless_random_brightness"
    delta = _check_delta(max_delta, function)
    return adjust_brightness(image, _between(stateless_source(seed, function), -delta, delta))


@published("image.random_contrast")
def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """`adjust_contrast` by a random factor from `lower` to `upper`.

    >>> import gradtape as tf
    >>> tf.image.random_contrast(tf.ones([1, 2, 1]), 0.5, 2.0)[0, :, 0].numpy()
    array([1., 1.], dtype=float32)
    """
    _check_range(lower, upper, "random_contrast")
    return adjust_contrast(image, _between(source("random_contrast", seed), lower, upper))


@published("image.stateless_random_contrast")
def stateless_random_contrast(
    image: TensorLike, lower: float, upper: float, seed: TensorLike
) -> Tensor:
    """`random_contrast` that depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> tf.image.stateless_random_contrast(tf.ones([1, 2, 1]), 0.5, 2.0, seed=[1, 2])[
    ...     0, :, 0
    ... ].numpy()
    array([1., 1.], dtype=float32)
    """
    _check_range(lower, upper, "stateless_random_contrast")
    return adjust_contrast(
        image, _between(stateless_source(seed, "stateless_random_contrast"), lower, upper)
    )


@published("image.random_saturation")
def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """`adjust_saturation` by a random factor from `lower` to `upper`.

    >>> import gradtape as tf
    >>> tf.image.random_saturation(tf.ones([1, 1, 3]), 0.5, 2.0).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    _check_range(lower, upper, "random_saturation")
    return adjust_saturation(image, _between(source("random_saturation", seed), lower, upper))


@published("image.stateless_random_saturation")
def stateless_random_saturation(
    image: TensorLike, lower: float, upper: float, seed: TensorLike | None = None
) -> Tensor:
    """`random_saturation` that depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> tf.image.stateless_random_saturation(tf.ones([1, 1, 3]), 0.5, 2.0, seed=[1, 2]).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    function = "stateless_random_saturation"
    _check_range(lower, upper, function)
    if seed is None:
        raise ValueError(f"{function}: seed must be a vector of two integers, got None.")
    return adjust_saturation(image, _between(stateless_source(seed, function), lower, upper))


@published("image.random_hue")
def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a random number from -max_delta to max_delta, which is at most 0.5.

    >>> import gradtape as tf
    >>> tf.image.random_hue(tf.ones([1, 1, 3]), 0.2).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    delta = _check_delta(max_delta, "random_hue", 0.5)
    return adjust_hue(image, _between(source("random_hue", seed), -delta, delta))


@published("image.stateless_random_hue")
def stateless_random_hue(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_hue` that depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> tf.image.stateless_random_hue(tf.ones([1, 1, 3]), 0.2, seed=[1, 2]).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    delta = _check_delta(max_delta, "stateless_random_hue", 0.5)
    return adjust_hue(
        image, _between(stateless_source(seed, "stateless_random_hue"), -delta, delta)
    )


# Flips


@published("image.random_flip_left_right")
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Each image with its columns in reverse, or as it is, at random.

    >>> import gradtape as tf
    >>> sorted(
    ...     tf.image.random_flip_left_right(tf.reshape([1.0, 2.0], [1, 2, 1]))
    ...     .numpy()
    ...     .ravel()
    ...     .tolist()
    ... )
    [1.0, 2.0]
    """
    return _flipped(image, source("random_flip_left_right", seed), "random_flip_left_right", 2)


@published("image.stateless_random_flip_left_right")
def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_left_right` that depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> sorted(
    ...     tf.image.stateless_random_flip_left_right(tf.reshape([1.0, 2.0], [1, 2, 1]), [1, 2])
    ...     .numpy()
    ...     .ravel()
    ...     .tolist()
    ... )
    [1.0, 2.0]
    """
    function = "stateless_random_flip_left_right"
    return _flipped(image, stateless_source(seed, function), function, 2)


@published("image.random_flip_up_down")
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Each image with its rows in reverse, or as it is, at random.

    >>> import gradtape as tf
    >>> sorted(
    ...     tf.image.random_flip_up_down(tf.reshape([1.0, 2.0], [2, 1, 1])).numpy().ravel().tolist()
    ... )
    [1.0, 2.0]
    """
    return _flipped(image, source("random_flip_up_down", seed), "random_flip_up_down", 1)


@published("image.stateless_random_flip_up_down")
def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_up_down` that depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> sorted(
    ...     tf.image.stateless_random_flip_up_down(tf.reshape([1.0, 2.0], [2, 1, 1]), [1, 2])
    ...     .numpy()
    ...     .ravel()
    ...     .tolist()
    ... )
    [1.0, 2.0]
    """
    function = "stateless_random_flip_up_down"
    return _flipped(image, stateless_source(seed, function), function, 1)


def _flipped(image: Any, numbers: draws.Source, function: str, axis: int) -> Tensor:
    batch = as_batch(TENSORFLOW.tensor(image, f"{function}: image"), f"{function}: image")
    drawn = _uniforms(numbers, (batch.images.array.shape[0], 1, 1, 1))
    return batch.leave(
        where(arithmetic.less(drawn, 0.5), reverse(batch.images, axis=axis), batch.images)
    )


# Crops


@published("image.random_crop")
def random_crop(
    value: TensorLike, size: Any, seed: int | None = None, name: str | None = None
) -> Tensor:
    """A part of `value` of this size, at a random place.

    >>> import gradtape as tf
    >>> tf.image.random_crop(tf.zeros([8, 8, 3]), size=[4, 4, 3]).shape
    TensorShape([4, 4, 3])
    """
    return _cropped(value, size, source("random_crop", seed), "random_crop")


@published("image.stateless_random_crop")
def stateless_random_crop(
    value: TensorLike, size: Any, seed: TensorLike, name: str | None = None
) -> Tensor:
    """`random_crop` that depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> tf.image.stateless_random_crop(tf.zeros([8, 8, 3]), size=[4, 4, 3], seed=[1, 2]).shape
    TensorShape([4, 4, 3])
    """
    return _cropped(
        value, size, stateless_source(seed, "stateless_random_crop"), "stateless_random_crop"
    )


def _cropped(value: Any, size: Any, numbers: draws.Source, function: str) -> Tensor:
    x = TENSORFLOW.tensor(value, f"{function}: value")
    wanted = as_shape(size, f"{function}: size")
    shape = x.array.shape
    if len(wanted) != len(shape) or any(
        part > whole for part, whole in zip(wanted, shape, strict=True)
    ):
        raise invalid_argument(
            f"{function}: size={list(wanted)} does not fit into a value of shape {x.shape}."
        )
    drawn = _uniforms(numbers, (len(shape),))
    for axis, (part, whole) in enumerate(zip(wanted, shape, strict=True)):
        if part != whole:
            start = arithmetic.floor(getitem(drawn, key=(axis,)) * (whole - part + 1))
            places = broadcasting.cast(start, dtype=np.dtype(np.int64)) + Tensor(np.arange(part))
            x = take(x, places, axis=axis, sparse=False)
    return x
