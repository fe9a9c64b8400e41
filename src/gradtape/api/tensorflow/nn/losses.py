"""Losses and measures of `tf.nn`: cross entropies of logits, averages of losses, and whether a
class is among the best.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import (
    FLOATING,
    NUMERIC,
    Kind,
    of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import (
    TensorLike,
    as_int,
)
from gradtape.api.tensorflow.nn.activations import class_axis
from gradtape.convert import TENSORFLOW, as_tensor
from gradtape.core.replicas import replicas_now
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import activations, arithmetic, broadcasting, elementary, reductions
from gradtape.ops.selection import where, zeros_like
from gradtape.ops.shaping import reshape, transpose
from gradtape.published import published

_INTEGERS = Kind("integer", frozenset(d.numpy for d in dtypes.ALL if d.is_integer))


@published("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """`-reduce_sum(labels * log_softmax(logits), axis)`; gradients flow to the labels too.

    >>> import gradtape as tf
    >>> tf.nn.softmax_cross_entropy_with_logits(
    ...     labels=[[0.0, 1.0]], logits=[[0.0, 0.0]]
    ... ).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    function = "softmax_cross_entropy_with_logits"
    y = of_kind(logits, FLOATING, function, "logits")
    p = TENSORFLOW.tensor(labels, f"{function}: labels")
    if p.array.dtype != y.array.dtype:
        p = broadcasting.cast(p, dtype=y.array.dtype)
    if p.array.shape != y.array.shape:
        p, y = _broadcast_together(p, y, f"{function}: labels and logits")
    last, position = y.ndim - 1, class_axis(axis, y, function)
    if position != last:
        order = (*[i for i in range(last + 1) if i != position], position)
        p, y = transpose(p, perm=order), transpose(y, perm=order)
    return activations.softmax_cross_entropy(p, y)


def _broadcast_together(x: Tensor, y: Tensor, what: str) -> list[Tensor]:
    try:
        shape = np.broadcast_shapes(x.array.shape, y.array.shape)
    except ValueError as error:
        raise invalid_argument(
            f"{what} have shapes {x.shape} and {y.shape}, which do not fit together."
        ) from error
    return [
        value if value.array.shape == shape else broadcasting.broadcast_to(value, shape=shape)
        for value in (x, y)
    ]


@published("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """The cross entropy of `softmax(logits)` for labels that are class numbers.

    >>> import gradtape as tf
    >>> tf.nn.sparse_softmax_cross_entropy_with_logits(
    ...     labels=[1], logits=[[0.0, 0.0]]
    ... ).numpy().round(4)
    array([0.6931], dtype=float32)
    """
    function = "sparse_softmax_cross_entropy_with_logits"
    y = of_kind(logits, FLOATING, function, "logits")
    classes = of_kind(labels, _INTEGERS, function, "labels")
    if not y.ndim or classes.array.shape != y.array.shape[:-1]:
        raise ValueError(
            f"{function}: labels must have the shape of logits without its last axis, got "
            f"{classes.shape} and {y.shape}."
        )
    return activations.sparse_softmax_cross_entropy(classes, y)


@published("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """The cross entropy of `sigmoid(logits)`, for each element on its own;
    gradients flow to the labels too.

    >>> import gradtape as tf
    >>> tf.nn.sigmoid_cross_entropy_with_logits(
    ...     labels=[1.0, 0.0], logits=[0.0, -20.0]
    ... ).numpy().round(4)
    array([0.6931, 0.    ], dtype=float32)
    """
    return activations.sigmoid_cross_entropy(
        *_labels_and_logits(labels, logits, "sigmoid_cross_entropy_with_logits")
    )


@published("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` in which positive labels count `pos_weight` times.

    >>> import gradtape as tf
    >>> tf.nn.weighted_cross_entropy_with_logits(
    ...     labels=[1.0, 0.0], logits=[0.0, 0.0], pos_weight=2.0
    ... ).numpy().round(4)
    array([1.3863, 0.6931], dtype=float32)
    """
    function = "weighted_cross_entropy_with_logits"
    p, y = _labels_and_logits(labels, logits, function)
    weight = (
        pos_weight
        if isinstance(pos_weight, (int, float))
        else of_kind(pos_weight, FLOATING, function, "pos_weight")
    )
    return (1.0 - p) * y + (p * (weight - 1.0) + 1.0) * activations.softplus(-y)


def _labels_and_logits(labels: Any, logits: Any, function: str) -> tuple[Tensor, Tensor]:
    if labels is None or logits is None:
        raise ValueError(f"{function}: both labels and logits must be given.")
    p, y = tensors_of_kind(labels, logits, FLOATING, function, ("labels", "logits"))
    if p.array.shape != y.array.shape:
        raise ValueError(
            f"{function}: labels and logits must have the same shape, got {p.shape} and {y.shape}."
        )
    return p, y


@published("nn.log_poisson_loss")
def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """The negative log likelihood of Poisson-distributed `targets`,
    given the logarithm of their mean.

    The full loss adds Stirling's approximation of the term that does not depend on `log_input`.

    >>> import gradtape as tf
    >>> tf.nn.log_poisson_loss(targets=[1.0], log_input=[0.0]).numpy()
    array([1.], dtype=float32)
    """
    t, x = tensors_of_kind(
        targets, log_input, FLOATING, "log_poisson_loss", ("targets", "log_input")
    )
    if t.array.shape != x.array.shape:
        raise ValueError(
            f"log_poisson_loss: targets and log_input must have the same shape, got {t.shape} and "
            f"{x.shape}."
        )
    loss = elementary.exp(x) - x * t
    if not compute_full_loss:
        return loss
    above = arithmetic.greater(t, 1.0)
    safe = where(above, t, 2.0)
    stirling = safe * elementary.log(safe) - safe + elementary.log(safe * (2 * math.pi)) * 0.5
    return loss + where(above, stirling, zeros_like(stirling))


@published("nn.l2_loss")
def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Half the sum of the squares of `t`.

    >>> import gradtape as tf
    >>> tf.nn.l2_loss([3.0, 4.0]).numpy()
    np.float32(12.5)
    """
    x = of_kind(t, FLOATING, "l2_loss", "t")
    return reductions.reduce_sum(arithmetic.square(x)) * 0.5


@published("nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: int | None = None,
) -> Tensor:
    """The sum of the losses, each with its weight, divided by the size of the batch: that of all
    replicas together.

    >>> import gradtape as tf
    >>> tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=4).numpy()
    np.float32(0.75)
    """
    losses = of_kind(per_example_loss, FLOATING, "compute_average_loss", "per_example_loss")
    if global_batch_size is None:
        if not losses.ndim:
            raise ValueError(
                "compute_average_loss: per_example_loss must have a batch axis, or give "
                "global_batch_size."
            )
        size = losses.array.shape[0] * replicas_now()
    else:
        size = as_int(global_batch_size, "compute_average_loss: global_batch_size")
        if size < 1:
            raise ValueError(
                f"compute_average_loss: global_batch_size must be at least 1, got {size}."
            )
    if sample_weight is not None:
        weights = as_tensor(
            sample_weight, losses.dtype, argument="compute_average_loss: sample_weight"
        )
        losses = losses * reshape(
            weights, shape=(*weights.array.shape, *(1,) * (losses.ndim - weights.ndim))
        )
    return reductions.reduce_sum(losses) / float(size)


@published("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """A regularisation loss divided by the number of replicas, which will add it up.

    >>> import gradtape as tf
    >>> tf.nn.scale_regularization_loss(tf.constant(3.0)).numpy()
    np.float32(3.0)
    """
    loss = reductions.reduce_sum(
        of_kind(regularization_loss, FLOATING, "scale_regularization_loss", "regularization_loss")
    )
    count = replicas_now()
    return loss if count == 1 else loss / float(count)


@published("math.in_top_k", "nn.in_top_k")
def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: int, name: str | None = None
) -> Tensor:
    """Whether each target class is among the `k` largest predictions of its row;
    ties count as inside.

    >>> import gradtape as tf
    >>> tf.nn.in_top_k(targets=[1, 1], predictions=[[0.1, 0.9], [0.8, 0.2]], k=1).numpy()
    array([ True, False])
    """
    classes = of_kind(targets, _INTEGERS, "in_top_k", "targets")
    scores = of_kind(predictions, FLOATING, "in_top_k", "predictions")
    if scores.ndim != 2 or classes.array.shape != scores.array.shape[:1]:
        raise invalid_argument(
            "in_top_k: predictions must be a matrix, and targets must have one entry for each "
            f"row, got {scores.shape} and {classes.shape}."
        )
    return activations.in_top_k(classes, scores, k=as_int(k, "in_top_k: k"))


@published("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The fraction of elements that are 0.

    >>> import gradtape as tf
    >>> tf.nn.zero_fraction([0.0, 1.0, 0.0, 2.0]).numpy()
    np.float32(0.5)
    """
    x = of_kind(value, NUMERIC, "zero_fraction", "value")
    return reductions.reduce_mean(
        broadcasting.cast(arithmetic.equal(x, 0), dtype=dtypes.float32.numpy)
    )
