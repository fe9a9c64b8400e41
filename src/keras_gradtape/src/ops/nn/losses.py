"""Keras's cross entropies, the encodings of classes, and the peak signal-to-noise ratio."""

from __future__ import annotations

import warnings
from typing import Any

from keras.src.backend.config import epsilon

import gradtape as tf
import gradtape.numpy as gnp
from gradtape.extend import MadeBy
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.operands import floats
from keras_gradtape.src.ops.operands import by_rule, inexact
from keras_gradtape.src.ops.sparse import any_along
from keras_gradtape.src.ops.sparse import one_hot as sparse_one_hot


def one_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Any:
    """A 1 at the place of each class along a new axis; a class that does not exist has none."""
    x = convert_to_tensor(x, "int32")
    if sparse:
        return sparse_one_hot(x, num_classes, axis, dtype or "float32")
    return tf.one_hot(x, num_classes, axis=axis, dtype=dtype or "float32")


def multi_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Any:
    """A 1 for each class that is among those of an example."""
    x = convert_to_tensor(x)
    along = 1 if x.ndim > 1 else 0
    found = one_hot(x, num_classes, axis, dtype, sparse)
    return any_along(found, along) if sparse else gnp.max(found, axis=along)


def _behind(output: Any, from_logits: bool, activation: str, function: str) -> tuple[Any, bool]:
    """The logits from which Keras's softmax or sigmoid computed `output`, as Keras finds them on
    TensorFlow; or `output` itself.

    Keras takes the logits of either activation. Those of TensorFlow's functions are known in
    programs only, and must be of the one that belongs to the loss.
    """
    found = getattr(output, "_keras_logits", None)
    if type(found) is MadeBy:
        last = found.params.get("axis", -1) in (-1, output.ndim - 1)
        found = found.argument if found.op == activation and last else None
    if found is None:
        return output, from_logits
    if from_logits:
        warnings.warn(
            f"`{function}` received `from_logits=True`, but the `output` argument was produced by "
            f"a {activation} activation and thus "
            "does not represent logits. The loss is computed from the logits behind it: leave out "
            "from_logits=True, or the activation.",
            stacklevel=4,
        )
    return found, True


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> tf.Tensor:
    """The cross entropy of probabilities, or of logits, for targets that are probabilities."""
    output, from_logits = _behind(output, from_logits, "softmax", "categorical_crossentropy")
    target, output = floats(target, output)
    _check_alike(target, output)
    if not output.ndim:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. Received: output.shape=()"
        )
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(target, output, axis=axis)
    return -gnp.sum(target * _log_probabilities(output, axis), axis=axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> tf.Tensor:
    """The cross entropy of probabilities, or of logits, for targets that are classes;
    a class that does not exist has 0.
    """
    output, from_logits = _behind(output, from_logits, "softmax", "sparse_categorical_crossentropy")
    classes, output = convert_to_tensor(target, "int32"), by_rule(output, inexact)
    if not output.ndim:
        raise ValueError("Argument `output` must be at least rank 1. Received: output.shape=()")
    if classes.ndim == output.ndim and classes.shape[-1] == 1:
        classes = tf.squeeze(classes, -1)
    if classes.shape != output.shape[:-1]:
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last dimension: "
            f"target.shape={classes.shape}, output.shape={output.shape}"
        )
    count = output.shape[axis]
    exists = tf.logical_and(classes >= 0, classes < count)
    known = gnp.where(exists, classes, 0)
    output = gnp.moveaxis(output, axis, -1)
    if not from_logits:  # what the next line divides by is their sum
        output = tf.math.log(tf.clip_by_value(output, epsilon(), 1.0 - epsilon()))
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(known, output)
    return gnp.where(exists, loss, tf.zeros([], loss.dtype))


def _log_probabilities(output: tf.Tensor, axis: int) -> tf.Tensor:
    """The logarithms of what is made to add up to 1, and kept away from 0 and 1."""
    share = output / gnp.sum(output, axis=axis, keepdims=True)
    return tf.math.log(tf.clip_by_value(share, epsilon(), 1.0 - epsilon()))


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> tf.Tensor:
    """The cross entropy of the probability of each element, or of its logit."""
    output, from_logits = _behind(output, from_logits, "sigmoid", "binary_crossentropy")
    target, output = floats(target, output)
    _check_alike(target, output)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(target, output)
    share = tf.clip_by_value(output, epsilon(), 1.0 - epsilon())
    return -(target * tf.math.log(share) + (1.0 - target) * tf.math.log(1.0 - share))


def psnr(x1: Any, x2: Any, max_val: Any) -> tf.Tensor:
    """The peak signal-to-noise ratio of two images, in decibels."""
    x1, x2 = floats(x1, x2)
    if x1.shape != x2.shape:
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation.")
    peak = convert_to_tensor(max_val, x2.dtype)
    return gnp.log10(peak) * 20.0 - gnp.log10(gnp.mean(tf.square(x1 - x2))) * 10.0


def _check_alike(target: tf.Tensor, output: tf.Tensor) -> None:
    if target.shape != output.shape:
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
