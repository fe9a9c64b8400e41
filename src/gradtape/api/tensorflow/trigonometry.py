"""Trigonometric and hyperbolic functions: `tf.math.sin` and related functions."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import elementary
from gradtape.published import published


@published("sin", "math.sin")
def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """The sine.

    >>> import gradtape as tf
    >>> tf.sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    return elementary.sin(of_kind(x, INEXACT, "sin"))


@published("cos", "math.cos")
def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """The cosine.

    >>> import gradtape as tf
    >>> tf.cos([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    return elementary.cos(of_kind(x, INEXACT, "cos"))


@published("tan", "math.tan")
def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """The tangent.

    >>> import gradtape as tf
    >>> tf.tan([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    return elementary.tan(of_kind(x, INEXACT, "tan"))


@published("asin", "math.asin")
def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """The arc sine, from -π/2 to π/2.

    >>> import gradtape as tf
    >>> tf.asin([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return elementary.asin(of_kind(x, INEXACT, "asin"))


@published("acos", "math.acos")
def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """The arc cosine, from 0 to π.

    >>> import gradtape as tf
    >>> tf.acos([0.0, 1.0]).numpy().round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return elementary.acos(of_kind(x, INEXACT, "acos"))


@published("atan", "math.atan")
def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """The arc tangent, from -π/2 to π/2.

    >>> import gradtape as tf
    >>> tf.atan([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return elementary.atan(of_kind(x, INEXACT, "atan"))


@published("atan2", "math.atan2")
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The angle of the point `(x, y)`, from -π to π.

    >>> import gradtape as tf
    >>> tf.atan2([1.0, -1.0], [1.0, -1.0]).numpy().round(4)
    array([ 0.7854, -2.3562], dtype=float32)
    """
    return elementary.atan2(*tensors_of_kind(y, x, FLOATING, "atan2", ("y", "x")))


@published("sinh", "math.sinh")
def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic sine.

    >>> import gradtape as tf
    >>> tf.sinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    return elementary.sinh(of_kind(x, INEXACT, "sinh"))


@published("cosh", "math.cosh")
def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic cosine.

    >>> import gradtape as tf
    >>> tf.cosh([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    return elementary.cosh(of_kind(x, INEXACT, "cosh"))


@published("tanh", "math.tanh", "nn.tanh")
def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic tangent.

    >>> import gradtape as tf
    >>> tf.tanh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    return elementary.tanh(of_kind(x, INEXACT, "tanh"))


@published("asinh", "math.asinh")
def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine.

    >>> import gradtape as tf
    >>> tf.asinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    return elementary.asinh(of_kind(x, INEXACT, "asinh"))


@published("acosh", "math.acosh")
def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic cosine.

    >>> import gradtape as tf
    >>> tf.acosh([1.0, 2.0]).numpy().round(4)
    array([0.   , 1.317], dtype=float32)
    """
    return elementary.acosh(of_kind(x, INEXACT, "acosh"))


@published("atanh", "math.atanh")
def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic tangent.

    >>> import gradtape as tf
    >>> tf.atanh([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return elementary.atanh(of_kind(x, INEXACT, "atanh"))
