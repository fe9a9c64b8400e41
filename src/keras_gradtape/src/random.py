"""Keras's random numbers: pure functions of a seed, which Keras's seed generators advance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras.src.backend.config import floatx
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed

import gradtape as tf
import gradtape.numpy as gnp
from gradtape.extend import replica_context
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.operands import at_least_float32
from keras_gradtape.src.ops.operands import by_rule, cast_to, inexact

__all__ = [
    "SeedGenerator",
    "beta",
    "binomial",
    "categorical",
    "draw_seed",
    "dropout",
    "gamma",
    "make_default_seed",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]

Shape = Sequence[int]


def _seed(seed: Any) -> tf.Tensor:
    """Two integers for gradtape: from a seed generator, a number,
    or a tensor that is a seed already.
    """
    if isinstance(seed, tf.Tensor):
        return tf.cast(seed, "int64")
    drawn, context = tf.cast(draw_seed(seed), "int64"), replica_context()
    if context is None or not isinstance(seed, SeedGenerator):
        return drawn
    # Each replica draws its own numbers from the generator that all have.
    number = tf.cast(context.replica_id_in_sync_group, "int64")
    return drawn + tf.stack([tf.zeros_like(number), number * 2**32])


def normal(
    shape: Shape, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> tf.Tensor:
    """Numbers of the normal distribution."""
    return tf.random.stateless_normal(shape, _seed(seed), mean, stddev, dtype or floatx())


def truncated_normal(
    shape: Shape, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> tf.Tensor:
    """Numbers of the normal distribution within two deviations."""
    return tf.random.stateless_truncated_normal(shape, _seed(seed), mean, stddev, dtype or floatx())


def uniform(
    shape: Shape, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None
) -> tf.Tensor:
    """Numbers spread evenly from `minval` to before `maxval`."""
    return tf.random.stateless_uniform(shape, _seed(seed), minval, maxval, dtype or floatx())


def randint(
    shape: Shape, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None
) -> tf.Tensor:
    """Integers spread evenly from `minval` to before `maxval`."""
    low, high = (
        bound if isinstance(bound, int) else cast_to(convert_to_tensor(bound), "int64")
        for bound in (minval, maxval)
    )
    return tf.cast(tf.random.stateless_uniform(shape, _seed(seed), low, high, "int64"), dtype)


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> tf.Tensor:
    """For each row of `logits`, classes drawn with the probabilities `softmax(logits)`."""
    return tf.cast(
        tf.random.stateless_categorical(by_rule(logits, inexact), num_samples, _seed(seed)), dtype
    )


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> tf.Tensor:
    """Sets a fraction `rate` of the elements to 0 and divides the others by `1 - rate`; elements
    along axes of noise 1 go together.
    """
    x = by_rule(inputs, inexact)
    if rate >= 1:
        return tf.zeros_like(x)
    if rate == 0:
        return x
    return tf.nn.experimental.stateless_dropout(x, rate, _seed(seed), noise_shape=noise_shape)


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> tf.Tensor:
    """The entries along an axis in another order."""
    moved = gnp.moveaxis(convert_to_tensor(x), axis, 0)
    return gnp.moveaxis(tf.random.experimental.stateless_shuffle(moved, _seed(seed)), 0, axis)


def gamma(shape: Shape, alpha: Any, dtype: Any = None, seed: Any = None) -> tf.Tensor:
    """Numbers of the gamma distribution of shape `alpha` and rate 1; gradients flow to `alpha`."""
    dtype = dtype or floatx()
    shapes = gnp.broadcast_to(convert_to_tensor(alpha, dtype), tuple(shape))
    return tf.random.stateless_gamma(shape, _seed(seed), shapes, dtype=dtype)


def binomial(
    shape: Shape, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None
) -> tf.Tensor:
    """How many of `counts` trials succeed with a probability."""
    trials, chances = (
        gnp.broadcast_to(convert_to_tensor(value), tuple(shape))
        for value in (counts, probabilities)
    )
    return tf.random.stateless_binomial(shape, _seed(seed), trials, chances, dtype or floatx())


def beta(shape: Shape, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> tf.Tensor:
    """Numbers of the beta distribution; gradients flow to `alpha` and `beta`.

    They are made of the logarithms of two gamma numbers, which small parameters would make too
    small for a quotient.
    """
    dtype = dtype or floatx()
    wide = at_least_float32(tf.as_dtype(dtype).name)
    first, second = tf.unstack(tf.random.split(_seed(seed)))
    return cast_to(
        tf.sigmoid(_log_gamma(shape, alpha, wide, first) - _log_gamma(shape, beta, wide, second)),
        dtype,
    )


def _log_gamma(shape: Shape, alpha: Any, dtype: str, seed: tf.Tensor) -> tf.Tensor:
    """The logarithms of gamma numbers: one of shape `alpha + 1`,
    times a power of a uniform number.
    """
    shapes = gnp.broadcast_to(convert_to_tensor(alpha, dtype), tuple(shape))
    first, second = tf.unstack(tf.random.split(seed))
    larger = tf.random.stateless_gamma(shape, first, shapes + 1.0, dtype=dtype)
    uniform = 1.0 - tf.random.stateless_uniform(shape, second, dtype=dtype)  # in (0, 1]
    return tf.math.log(larger) + tf.math.log(uniform) / shapes
