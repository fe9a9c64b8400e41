"""The last steps of a layer: `tf.nn.bias_add`, activations and softmax."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    NUMERIC,
    REAL,
    of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import (
    TensorLike,
    as_float,
    one_axis,
)
from gradtape.core.composite import takes_composites
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.errors import invalid_argument
from gradtape.ops import activations, broadcasting
from gradtape.ops.shaping import concat, reshape
from gradtape.published import published

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
@takes_composites
def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """`exp(logits)` divided by its sum over `axis`, the last one if not given.

    >>> import gradtape as tf
    >>> tf.nn.softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    x = of_kind(logits, FLOATING, "softmax", "logits")
    return activations.softmax(x, axis=class_axis(axis, x, "softmax"))


@published("math.log_softmax", "nn.log_softmax")
def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """The logarithm of `softmax`, without underflow.

    >>> import gradtape as tf
    >>> tf.nn.log_softmax([1000.0, 0.0]).numpy()
    array([    0., -1000.], dtype=float32)
    """
    x = of_kind(logits, FLOATING, "log_softmax", "logits")
    return activations.log_softmax(x, axis=class_axis(axis, x, "log_softmax"))


def class_axis(axis: Any, x: Tensor, function: str) -> int:
    if not x.ndim:
        raise invalid_argument(f"{function}: logits must have an axis of classes, got a scalar.")
    return one_axis(-1 if axis is None else axis, x.ndim, f"{function}: axis")


# Biases


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
