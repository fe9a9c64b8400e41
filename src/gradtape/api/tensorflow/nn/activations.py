"""Neural networks without convolution: activations, softmax and losses, normalisation,
dropout and embeddings of `tf.nn`.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    NUMERIC,
    REAL,
    Kind,
    of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import (
    ShapeLike,
    TensorLike,
    as_float,
    as_int,
    as_shape,
    integers,
    one_axis,
)
from gradtape.api.tensorflow.random import draws
from gradtape.api.tensorflow.random.sequence import source
from gradtape.api.tensorflow.random.stateless import stateless_source
from gradtape.convert import TENSORFLOW, as_indices, as_tensor
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.errors import invalid_argument
from gradtape.ops import activations, arithmetic, broadcasting, elementary, reductions
from gradtape.ops.indexing import take
from gradtape.ops.selection import keep, where, zeros_like
from gradtape.ops.shaping import concat, reshape, transpose
from gradtape.published import published

_INTEGERS = Kind("integer", frozenset(d.numpy for d in dtypes.ALL if d.is_integer))


# Activations


@published("nn.relu")
def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """`max(features, 0)`; the derivative at 0 is 0.

    >>> import gradtape as tf
    >>> tf.nn.relu([-1.0, 0.0, 2.0]).numpy()
    array([0., 0., 2.], dtype=float32)
    """
    return activations.relu(of_kind(features, REAL, "relu", "features"))


@published("nn.relu6")
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """`min(max(features, 0), 6)`; the derivative at 0 and at 6 is 0.

    >>> import gradtape as tf
    >>> tf.nn.relu6([-1.0, 3.0, 8.0]).numpy()
    array([0., 3., 6.], dtype=float32)
    """
    return activations.relu6(of_kind(features, REAL, "relu6", "features"))


@published("nn.leaky_relu")
def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`features` where it is positive, else `alpha * features`; the derivative at 0 is `alpha`.

    >>> import gradtape as tf
    >>> tf.nn.leaky_relu([-1.0, 3.0], alpha=0.5).numpy()
    array([-0.5,  3. ], dtype=float32)
    """
    x = of_kind(features, REAL, "leaky_relu", "features")
    if x.array.dtype.kind in "iu":
        x = broadcasting.cast(x, dtype=dtypes.float32.numpy)
    if isinstance(alpha, (Tensor, Variable)):
        raise TypeError(f"leaky_relu: alpha must be a Python number, got {alpha!r}.")
    return activations.leaky_relu(x, alpha=as_float(alpha, "leaky_relu: alpha"))


@published("nn.elu")
def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """`features` where it is positive, else `exp(features) - 1`.

    >>> import gradtape as tf
    >>> tf.nn.elu([-1.0, 3.0]).numpy().round(4)
    array([-0.6321,  3.    ], dtype=float32)
    """
    return activations.elu(of_kind(features, FLOATING, "elu", "features"))


@published("nn.selu")
def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """The scaled `elu` that keeps mean 0 and variance 1 from layer to layer.

    >>> import gradtape as tf
    >>> tf.nn.selu([-1.0, 3.0]).numpy().round(4)
    array([-1.1113,  3.1521], dtype=float32)
    """
    return activations.selu(of_kind(features, FLOATING, "selu", "features"))


@published("nn.gelu")
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """`features` times the normal distribution function of it, or times its approximation by tanh.

    >>> import gradtape as tf
    >>> tf.nn.gelu([-1.0, 3.0]).numpy().round(4)
    array([-0.1587,  2.996 ], dtype=float32)
    """
    x = of_kind(features, FLOATING, "gelu", "features", ValueError)
    return activations.gelu_by_tanh(x) if approximate else x * activations.normal_cdf(x)


@published("nn.silu", "nn.swish")
def silu(features: TensorLike, beta: TensorLike = 1.0) -> Tensor:
    """`features * sigmoid(beta * features)`, also known as swish.

    >>> import gradtape as tf
    >>> tf.nn.silu([-1.0, 3.0]).numpy().round(4)
    array([-0.2689,  2.8577], dtype=float32)
    """
    x = of_kind(features, INEXACT, "silu", "features")
    return x * activations.sigmoid(x if type(beta) in (int, float) and beta == 1 else x * beta)


@published("math.softsign", "nn.softsign")
def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """`features / (1 + abs(features))`.

    >>> import gradtape as tf
    >>> tf.nn.softsign([-1.0, 3.0]).numpy()
    array([-0.5 ,  0.75], dtype=float32)
    """
    return activations.softsign(of_kind(features, FLOATING, "softsign", "features"))


@published("math.log_sigmoid")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the sigmoid, without underflow.

    >>> import gradtape as tf
    >>> tf.math.log_sigmoid([-1000.0, 0.0]).numpy().round(4)
    array([-1.000e+03, -6.931e-01], dtype=float32)
    """
    return -activations.softplus(-of_kind(x, FLOATING, "log_sigmoid"))


@published("nn.crelu")
def crelu(features: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """`relu(features)` and `relu(-features)` side by side.

    >>> import gradtape as tf
    >>> tf.nn.crelu([-1.0, 3.0]).numpy()
    array([0., 3., 1., 0.], dtype=float32)
    """
    x = of_kind(features, REAL, "crelu", "features")
    return concat(
        activations.relu(x), activations.relu(-x), axis=one_axis(axis, x.ndim, "crelu: axis")
    )


# Softmax and losses


@published("math.softmax", "nn.softmax")
def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """`exp(logits)` divided by its sum over `axis`, the last one if not given.

    >>> import gradtape as tf
    >>> tf.nn.softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    x = of_kind(logits, FLOATING, "softmax", "logits")
    return activations.softmax(x, axis=_class_axis(axis, x, "softmax"))


@published("math.log_softmax", "nn.log_softmax")
def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """The logarithm of `softmax`, without underflow.

    >>> import gradtape as tf
    >>> tf.nn.log_softmax([1000.0, 0.0]).numpy()
    array([    0., -1000.], dtype=float32)
    """
    x = of_kind(logits, FLOATING, "log_softmax", "logits")
    return activations.log_softmax(x, axis=_class_axis(axis, x, "log_softmax"))


def _class_axis(axis: Any, x: Tensor, function: str) -> int:
    if not x.ndim:
        raise invalid_argument(f"{function}: logits must have an axis of classes, got a scalar.")
    return one_axis(-1 if axis is None else axis, x.ndim, f"{function}: axis")


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
    last, position = y.ndim - 1, _class_axis(axis, y, function)
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
    """The sum of the losses, each with its weight, divided by the size of the batch.

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
        size = losses.array.shape[0]
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
    """A regularisation loss divided by the number of replicas that will add it up:
    here there is one.

    >>> import gradtape as tf
    >>> tf.nn.scale_regularization_loss(tf.constant(3.0)).numpy()
    np.float32(3.0)
    """
    return reductions.reduce_sum(
        of_kind(regularization_loss, FLOATING, "scale_regularization_loss", "regularization_loss")
    )


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


# Layers


@published("nn.bias_add")
def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """`value` plus a vector `bias` along its channels: the last axis, or the second one for a
    `data_format` such as 'NCHW'.

    >>> import gradtape as tf
    >>> tf.nn.bias_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]).numpy()
    array([[11., 22.],
           [13., 24.]], dtype=float32)
    """
    if data_format is not None and not (
        isinstance(data_format, str)
        and data_format.startswith("N")
        and "C" in (data_format[1:2], data_format[-1:])
    ):
        raise ValueError(
            f"bias_add: data_format must be of the form 'N...C' or 'NC...', got {data_format!r}."
        )
    x, b = tensors_of_kind(value, bias, NUMERIC, "bias_add", ("value", "bias"))
    if x.ndim < 2 or b.ndim != 1:
        raise invalid_argument(
            f"bias_add: value needs two axes or more and bias one, got shapes {x.shape} and "
            f"{b.shape}."
        )
    channels_first = data_format is not None and data_format[1] == "C"
    channels = x.array.shape[1 if channels_first else -1]
    if b.array.shape[0] != channels:
        raise invalid_argument(
            f"bias_add: bias has {b.array.shape[0]} entries, but value of shape {x.shape} has "
            f"{channels} channels."
        )
    return x + (reshape(b, shape=(channels, *(1,) * (x.ndim - 2))) if channels_first else b)


@published("nn.dropout")
def dropout(
    x: TensorLike,
    rate: TensorLike,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sets a fraction `rate` of the elements to 0, at random, and divides the others by `1 - rate`.

    Along axes where `noise_shape` is 1, elements are kept or dropped together. With rate 0, `x`
    comes back itself.

    >>> import gradtape as tf
    >>> sorted(set(tf.nn.dropout(tf.ones([100]), rate=0.5, seed=1).numpy().tolist()))
    [0.0, 2.0]
    """
    return _dropped(
        x, rate, noise_shape, lambda shape: _uniforms(source("dropout", seed), shape), "dropout"
    )


@published("nn.experimental.stateless_dropout")
def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: Any = None,
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` whose choice depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> first, second = (
    ...     tf.nn.experimental.stateless_dropout(tf.ones([9]), rate=0.5, seed=[1, 2])
    ...     for _ in range(2)
    ... )
    >>> bool(tf.reduce_all(first == second))
    True
    """
    function, algorithm = "stateless_dropout", rng_alg or "auto_select"
    return _dropped(
        x,
        rate,
        noise_shape,
        lambda shape: _uniforms(stateless_source(seed, function, algorithm), shape),
        function,
    )


@published("nn.experimental.general_dropout")
def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Callable[..., TensorLike],
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` with random numbers from `uniform_sampler(shape=..., dtype=...)`,
    which gives numbers from 0 to 1.

    >>> import gradtape as tf
    >>> def sampler(shape, dtype):
    ...     return tf.linspace(0.0, 1.0, shape[0])
    >>> tf.nn.experimental.general_dropout(tf.ones([4]), rate=0.5, uniform_sampler=sampler).numpy()
    array([0., 0., 2., 2.], dtype=float32)
    """
    values = of_kind(x, FLOATING, "general_dropout", "x", ValueError)

    def drawn(shape: tuple[int, ...]) -> Tensor:
        return TENSORFLOW.tensor(
            uniform_sampler(shape=shape, dtype=values.dtype), "general_dropout: uniform_sampler"
        )

    return _dropped(values, rate, noise_shape, drawn, "general_dropout")


def _uniforms(numbers: draws.Source, shape: tuple[int, ...]) -> Tensor:
    return numbers.tensor(draws.uniforms, shape, np.dtype(np.float32))


def _dropped(
    x: Any, rate: Any, noise_shape: Any, sampler: Callable[[tuple[int, ...]], Tensor], function: str
) -> Tensor:
    values = of_kind(x, FLOATING, function, "x", ValueError)
    if isinstance(rate, Real):
        rate = float(rate)
        if not 0 <= rate < 1:
            raise ValueError(f"{function}: rate must be in [0, 1), got {rate}.")
        if rate == 0:
            return values
        scale: Any = 1 / (1 - rate)
    else:
        rate = _scalar_rate(rate, values, function)
        scale = 1.0 / (1.0 - rate)
    shape = values.array.shape
    if noise_shape is not None:
        given = (
            list(noise_shape)
            if isinstance(noise_shape, (list, tuple))
            else integers(noise_shape, f"{function}: noise_shape")
        )
        if len(given) == len(shape):
            given = [
                size if entry is None else entry for entry, size in zip(given, shape, strict=True)
            ]
        shape = as_shape(given, f"{function}: noise_shape")
    return keep(values * scale, arithmetic.greater_equal(sampler(shape), rate))


def _scalar_rate(rate: Any, x: Tensor, function: str) -> Tensor:
    if not isinstance(rate, (Tensor, Variable, np.ndarray)):
        raise ValueError(f"{function}: rate must be a number or a scalar tensor, got {rate!r}.")
    found = TENSORFLOW.tensor(rate, f"{function}: rate")
    if found.ndim or found.array.dtype != x.array.dtype:
        raise ValueError(
            f"{function}: rate must be a scalar of the dtype of x, {x.dtype.name}, got "
            f"{found.dtype.name} of shape {found.shape}."
        )
    return found


@published("nn.embedding_lookup")
def embedding_lookup(
    params: Any, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Tensor:
    """The rows of `params` at `ids`; their gradient is sparse, an `IndexedSlices`.

    A list of tensors stands for their rows one after another. With `max_norm`, longer rows are
    shortened to that length.

    >>> import gradtape as tf
    >>> table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> tf.nn.embedding_lookup(table, [2, 0]).numpy()
    array([[5., 6.],
           [1., 2.]], dtype=float32)
    """
    if params is None:
        raise ValueError(
            "embedding_lookup: params must be a tensor, a Variable or a list of them, got None."
        )
    if isinstance(params, (list, tuple)):
        if not params:
            raise ValueError(
                "embedding_lookup: params must have at least one tensor, got an empty list."
            )
        parts = TENSORFLOW.tensors(params, "embedding_lookup: params")
        table = parts[0] if len(parts) == 1 else concat(*parts, axis=0)
    else:
        table = TENSORFLOW.tensor(params, "embedding_lookup: params")
    if not table.ndim:
        raise invalid_argument("embedding_lookup: params must have rows, got a scalar.")
    rows = take(table, as_indices(ids, "embedding_lookup: ids"), axis=0)
    if max_norm is None:
        return rows
    width = tuple(range(rows.ndim - table.ndim + 1, rows.ndim))
    squares = reductions.reduce_sum(arithmetic.square(rows), axis=width, keepdims=True)
    too_long = arithmetic.greater(squares, as_float(max_norm, "embedding_lookup: max_norm") ** 2)
    length = elementary.sqrt(where(too_long, squares, 1.0))
    return rows * where(too_long, max_norm / length, 1.0)
