"""`tf.compat.v1.losses`: losses that are weighted and reduced to one number.

`loss_collection`, which belongs to graphs, is accepted and has no effect.
"""

from __future__ import annotations

from typing import Any

import gradtape as tf
from gradtape.absent import absent_from


class Reduction:
    """How a loss becomes one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every way."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Refuses what is no way."""
        if key not in cls.all():
            raise ValueError(
                f"tf.compat.v1.losses: reduction must be one of {', '.join(sorted(set(cls.all())))}"
                f", got {key!r}."
            )


_USUAL = Reduction.SUM_BY_NONZERO_WEIGHTS


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """Losses, each times its weight, as one number."""
    Reduction.validate(reduction)
    losses = tf.convert_to_tensor(losses)
    weights = tf.cast(weights, losses.dtype)
    _check_weights(weights.shape, losses.shape)
    weighted = losses * weights
    if reduction == Reduction.NONE:
        return weighted
    total = tf.reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    spread = tf.broadcast_to(weights, losses.shape)
    if reduction == Reduction.MEAN:
        return tf.math.divide_no_nan(total, tf.reduce_sum(spread))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return tf.math.divide_no_nan(total, tf.cast(tf.size(losses), losses.dtype))
    return tf.math.divide_no_nan(total, tf.cast(tf.math.count_nonzero(spread), losses.dtype))


def _check_weights(weights: Any, losses: Any) -> None:
    """Refuses weights of a rank that broadcasting would silently put elsewhere."""
    if weights.rank in (0, None) or losses.rank is None:
        return
    fits = weights.rank == losses.rank and all(
        weight in (1, size) for weight, size in zip(weights, losses, strict=True)
    )
    if not fits:
        raise ValueError(
            f"tf.compat.v1.losses: weights of shape {weights} do not fit losses of shape {losses}: "
            "they must be a number, or have as many axes, each of the same size or of size 1."
        )


def _same(labels: Any, predictions: Any, caller: str) -> tuple[Any, Any]:
    """Both as tensors of one dtype and shape."""
    predictions = tf.convert_to_tensor(predictions)
    labels = tf.cast(labels, predictions.dtype)
    if not labels.shape.is_compatible_with(predictions.shape):
        raise ValueError(
            f"tf.compat.v1.losses.{caller}: labels and predictions must have one shape, got "
            f"{labels.shape} and {predictions.shape}."
        )
    return labels, predictions


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """`|predictions - labels|`."""
    labels, predictions = _same(labels, predictions, "absolute_difference")
    return compute_weighted_loss(tf.abs(predictions - labels), weights, reduction=reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """`(predictions - labels) ** 2`."""
    labels, predictions = _same(labels, predictions, "mean_squared_error")
    return compute_weighted_loss(tf.square(predictions - labels), weights, reduction=reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """Half the square up to `delta`, and linear beyond."""
    labels, predictions = _same(labels, predictions, "huber_loss")
    error = tf.abs(predictions - labels)
    near = tf.minimum(error, tf.cast(delta, error.dtype))
    return compute_weighted_loss(
        0.5 * near * near + delta * (error - near), weights, reduction=reduction
    )


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """The cross entropy of probabilities."""
    labels, predictions = _same(labels, predictions, "log_loss")
    losses = -labels * tf.math.log(predictions + epsilon) - (1 - labels) * tf.math.log(
        1 - predictions + epsilon
    )
    return compute_weighted_loss(losses, weights, reduction=reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """`relu(1 - (2 * labels - 1) * logits)`."""
    labels, logits = _same(labels, logits, "hinge_loss")
    return compute_weighted_loss(
        tf.nn.relu(1.0 - (2.0 * labels - 1.0) * logits), weights, reduction=reduction
    )


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
    dim: int | None = None,
) -> Any:
    """One minus the product of unit vectors along `axis`."""
    along = dim if axis is None else axis
    if along is None:
        raise ValueError("tf.compat.v1.losses.cosine_distance: give axis.")
    labels, predictions = _same(labels, predictions, "cosine_distance")
    losses = 1 - tf.reduce_sum(labels * predictions, axis=along, keepdims=True)
    return compute_weighted_loss(losses, weights, reduction=reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """The cross entropy of independent classes."""
    labels, logits = _same(multi_class_labels, logits, "sigmoid_cross_entropy")
    labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
    return compute_weighted_loss(losses, weights, reduction=reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """The cross entropy of classes that exclude each other; no gradient goes to the labels."""
    labels, logits = _same(onehot_labels, logits, "softmax_cross_entropy")
    classes = tf.cast(tf.shape(labels)[-1], logits.dtype)
    labels = labels * (1 - label_smoothing) + label_smoothing / classes
    losses = tf.nn.softmax_cross_entropy_with_logits(tf.stop_gradient(labels), logits)
    return compute_weighted_loss(losses, weights, reduction=reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = "losses",
    reduction: str = _USUAL,
) -> Any:
    """The cross entropy of classes that exclude each other, given by their numbers."""
    labels, logits = tf.convert_to_tensor(labels), tf.convert_to_tensor(logits)
    if labels.shape.rank == logits.shape.rank:
        labels = tf.squeeze(labels, axis=-1)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    weights = tf.convert_to_tensor(weights)
    if len(weights.shape) == len(losses.shape) + 1:
        weights = tf.squeeze(weights, axis=-1)
    return compute_weighted_loss(losses, weights, reduction=reduction)


__getattr__ = absent_from(__name__)
