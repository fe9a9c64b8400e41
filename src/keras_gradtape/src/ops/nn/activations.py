"""Keras's activations. Those of integers are computed in Keras's default float."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import by_rule, inexact

# Rectifiers


def relu(x: Any) -> tf.Tensor:
    """`max(x, 0)`."""
    return tf.nn.relu(convert_to_tensor(x))


def relu6(x: Any) -> tf.Tensor:
    """`min(max(x, 0), 6)`."""
    return tf.nn.relu6(convert_to_tensor(x))


def leaky_relu(x: Any, negative_slope: float = 0.2) -> tf.Tensor:
    """`x` where it is positive, else `negative_slope * x`."""
    return tf.nn.leaky_relu(by_rule(x, inexact), alpha=negative_slope)


def elu(x: Any, alpha: float = 1.0) -> tf.Tensor:
    """`x` where it is positive, else `alpha * (exp(x) - 1)`."""
    x = by_rule(x, inexact)
    if type(alpha) in (int, float) and alpha == 1:
        return tf.nn.elu(x)
    return tf.nn.relu(x) + tf.math.expm1(tf.minimum(x, 0.0)) * alpha


def selu(x: Any) -> tf.Tensor:
    """The scaled `elu` that keeps mean 0 and variance 1 from layer to layer."""
    return tf.nn.selu(by_rule(x, inexact))


def celu(x: Any, alpha: float = 1.0) -> tf.Tensor:
    """`x` where it is positive, else `alpha * (exp(x / alpha) - 1)`."""
    x = by_rule(x, inexact)
    return tf.nn.relu(x) + tf.math.expm1(tf.minimum(x, 0.0) / alpha) * alpha


def threshold(x: Any, threshold: Any, default_value: Any) -> tf.Tensor:
    """`x` where it is above a threshold, else a default."""
    x = convert_to_tensor(x)
    return gnp.where(x > threshold, x, convert_to_tensor(default_value, x.dtype))


# Smooth


def sigmoid(x: Any) -> tf.Tensor:
    """`1 / (1 + exp(-x))`."""
    logits = by_rule(x, inexact)
    return _of_logits(tf.sigmoid(logits), logits)


def log_sigmoid(x: Any) -> tf.Tensor:
    """The logarithm of the sigmoid, without underflow."""
    return tf.math.log_sigmoid(by_rule(x, inexact))


def tanh(x: Any) -> tf.Tensor:
    """The hyperbolic tangent."""
    return tf.tanh(by_rule(x, inexact))


def tanh_shrink(x: Any) -> tf.Tensor:
    """`x - tanh(x)`."""
    x = by_rule(x, inexact)
    return x - tf.tanh(x)


def softplus(x: Any) -> tf.Tensor:
    """`log(1 + exp(x))`, without overflow."""
    return tf.nn.softplus(by_rule(x, inexact))


def softsign(x: Any) -> tf.Tensor:
    """`x / (1 + abs(x))`."""
    return tf.nn.softsign(by_rule(x, inexact))


def silu(x: Any) -> tf.Tensor:
    """`x * sigmoid(x)`."""
    return tf.nn.silu(by_rule(x, inexact))


def squareplus(x: Any, b: Any = 4) -> tf.Tensor:
    """`(x + sqrt(x**2 + b)) / 2`."""
    x = by_rule(x, inexact)
    return (x + tf.sqrt(tf.square(x) + convert_to_tensor(b, x.dtype))) * 0.5


def gelu(x: Any, approximate: bool = True) -> tf.Tensor:
    """`x` times the normal distribution function of it, or times its approximation by tanh."""
    return tf.nn.gelu(by_rule(x, inexact), approximate=approximate)


def glu(x: Any, axis: int = -1) -> tf.Tensor:
    """The first half of `x` along an axis, times the sigmoid of the second half."""
    x = by_rule(x, inexact)
    if x.shape[axis] % 2:
        raise ValueError(
            f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    passed, gate = tf.split(x, 2, axis=axis)
    return passed * tf.sigmoid(gate)


# Made of straight pieces


def hard_sigmoid(x: Any) -> tf.Tensor:
    """The sigmoid as a straight line from 0 at -3 to 1 at 3."""
    return tf.nn.relu6(by_rule(x, inexact) + 3.0) / 6.0


def hard_silu(x: Any) -> tf.Tensor:
    """`x * hard_sigmoid(x)`."""
    x = by_rule(x, inexact)
    return x * hard_sigmoid(x)


def hard_tanh(x: Any) -> tf.Tensor:
    """`x` between -1 and 1."""
    return tf.clip_by_value(by_rule(x, inexact), -1.0, 1.0)


def sparse_sigmoid(x: Any) -> tf.Tensor:
    """The sigmoid as a straight line from 0 at -1 to 1 at 1."""
    return (hard_tanh(x) + 1.0) * 0.5


def sparse_plus(x: Any) -> tf.Tensor:
    """0 below -1, `x` above 1, and a parabola between them."""
    x = by_rule(x, inexact)
    return gnp.where(x < 1.0, tf.square(tf.clip_by_value(x, -1.0, 1.0) + 1.0) * 0.25, x)


def soft_shrink(x: Any, threshold: float = 0.5) -> tf.Tensor:
    """`x` moved towards 0 by a threshold, and 0 within it."""
    x = by_rule(x, inexact)
    return x - tf.clip_by_value(x, -threshold, threshold)


def hard_shrink(x: Any, threshold: float = 0.5) -> tf.Tensor:
    """`x`, and 0 within a threshold."""
    x = by_rule(x, inexact)
    return gnp.where(tf.abs(x) > threshold, x, tf.zeros([], x.dtype))


# Over an axis


def softmax(x: Any, axis: int | None = -1) -> tf.Tensor:
    """`exp(x)` divided by its sum over an axis, or over all elements."""
    x = by_rule(x, inexact)
    if axis is None:
        return _of_logits(tf.reshape(tf.nn.softmax(tf.reshape(x, [-1])), x.shape), x)
    return _of_logits(tf.nn.softmax(x, axis=axis), x)


def _of_logits(probabilities: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Probabilities that remember their logits, from which the crossentropies are computed where
    probabilities round to 0 or 1.
    """
    probabilities._keras_logits = logits
    return probabilities


def log_softmax(x: Any, axis: int | None = -1) -> tf.Tensor:
    """The logarithm of `softmax`, without underflow."""
    x = by_rule(x, inexact)
    if axis is None:
        return tf.reshape(tf.nn.log_softmax(tf.reshape(x, [-1])), x.shape)
    return tf.nn.log_softmax(x, axis=axis)


def sparsemax(x: Any, axis: int = -1) -> tf.Tensor:
    """The point of the simplex that is nearest to `x` along an axis: many of its elements are 0."""
    x = by_rule(x, inexact)
    falling = -gnp.sort(-x, axis=axis)
    sums = gnp.cumsum(falling, axis=axis)
    counts = np.arange(1, x.shape[axis] + 1).reshape(
        [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    )
    inside = tf.cast(falling * counts > sums - 1.0, x.dtype)
    size = gnp.sum(inside, axis=axis, keepdims=True)
    excess = (gnp.sum(falling * inside, axis=axis, keepdims=True) - 1.0) / size
    return tf.nn.relu(x - excess)
