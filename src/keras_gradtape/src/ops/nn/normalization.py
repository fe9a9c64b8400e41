"""Keras's moments and batch normalization."""

from __future__ import annotations

from typing import Any

import gradtape as tf
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import by_rule, inexact

_HALF = ("float16", "bfloat16")


def moments(
    x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """The mean and the variance over axes.

    Those of half precision are computed in float32, and kept within its range.
    """
    if synchronized:
        raise NotImplementedError(
            "moments: synchronized=True is not supported by the backend 'gradtape'."
        )
    x = by_rule(x, inexact)
    if x.dtype.name not in _HALF:
        return tf.nn.moments(x, axes, keepdims=keepdims)
    found = tf.nn.moments(tf.cast(x, "float32"), axes, keepdims=keepdims)
    low, high = float(x.dtype.min), float(x.dtype.max)
    mean, variance = (tf.cast(tf.clip_by_value(moment, low, high), x.dtype) for moment in found)
    return mean, variance


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    axis: int,
    offset: Any = None,
    scale: Any = None,
    epsilon: float = 1e-3,
) -> tf.Tensor:
    """`(x - mean) / sqrt(variance + epsilon)`, times `scale` and plus `offset` where they are
    given, for vectors along an axis.
    """
    x = by_rule(x, inexact)
    shape = [1] * x.ndim
    shape[axis] = -1
    mean, variance, offset, scale = (
        None if value is None else tf.reshape(convert_to_tensor(value), shape)
        for value in (mean, variance, offset, scale)
    )
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)
