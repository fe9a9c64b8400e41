"""Comparisons, logic, and tests for special values: functions whose results are boolean."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from gradtape.api.tensorflow.accepted import ANY, FLOATING, REAL, boolean, of_kind, pair_of_kind
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic
from gradtape.published import published


@published("equal", "math.equal")
def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x == y`, element by element, with broadcasting; strings can be compared too.

    >>> import gradtape as tf
    >>> tf.equal([1.0, 2.0], 2.0).numpy()
    array([False,  True])
    """
    return arithmetic.equal(*pair_of_kind(x, y, ANY, "equal"))


@published("not_equal", "math.not_equal")
def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x != y`, element by element, with broadcasting; strings can be compared too.

    >>> import gradtape as tf
    >>> tf.not_equal(["a", "b"], "a").numpy()
    array([False,  True])
    """
    return arithmetic.not_equal(*pair_of_kind(x, y, ANY, "not_equal"))


@published("greater", "math.greater")
def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x > y`, element by element, with broadcasting.

    >>> import gradtape as tf
    >>> tf.greater([1.0, 2.0, 3.0], 2.0).numpy()
    array([False, False,  True])
    """
    return arithmetic.greater(*pair_of_kind(x, y, REAL, "greater"))


@published("greater_equal", "math.greater_equal")
def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x >= y`, element by element, with broadcasting.

    >>> import gradtape as tf
    >>> tf.greater_equal([1.0, 2.0, 3.0], 2.0).numpy()
    array([False,  True,  True])
    """
    return arithmetic.greater_equal(*pair_of_kind(x, y, REAL, "greater_equal"))


@published("less", "math.less")
def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x < y`, element by element, with broadcasting.

    >>> import gradtape as tf
    >>> tf.less([1.0, 2.0, 3.0], 2.0).numpy()
    array([ True, False, False])
    """
    return arithmetic.less(*pair_of_kind(x, y, REAL, "less"))


@published("less_equal", "math.less_equal")
def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x <= y`, element by element, with broadcasting.

    >>> import gradtape as tf
    >>> tf.less_equal([1.0, 2.0, 3.0], 2.0).numpy()
    array([ True,  True, False])
    """
    return arithmetic.less_equal(*pair_of_kind(x, y, REAL, "less_equal"))


@published("logical_and", "math.logical_and")
def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether both `x` and `y` are true, element by element.

    >>> import gradtape as tf
    >>> tf.logical_and([True, False], [True, True]).numpy()
    array([ True, False])
    """
    return arithmetic.logical_and(boolean(x, "logical_and"), boolean(y, "logical_and", "y"))


@published("logical_or", "math.logical_or")
def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x` or `y` is true, or both, element by element.

    >>> import gradtape as tf
    >>> tf.logical_or([True, False], [True, True]).numpy()
    array([ True,  True])
    """
    return arithmetic.logical_or(boolean(x, "logical_or"), boolean(y, "logical_or", "y"))


@published("math.logical_xor")
def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Tensor:
    """Whether exactly one of `x` and `y` is true, element by element.

    >>> import gradtape as tf
    >>> tf.math.logical_xor([True, False], [True, True]).numpy()
    array([False,  True])
    """
    return arithmetic.logical_xor(boolean(x, "logical_xor"), boolean(y, "logical_xor", "y"))


@published("logical_not", "math.logical_not")
def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x` is false, element by element.

    >>> import gradtape as tf
    >>> tf.logical_not([True, False]).numpy()
    array([False,  True])
    """
    return arithmetic.logical_not(boolean(x, "logical_not"))


@published("math.is_nan")
def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x` is NaN, element by element.

    >>> import gradtape as tf
    >>> tf.math.is_nan([1.0, float("inf"), float("nan")]).numpy()
    array([False, False,  True])
    """
    return arithmetic.is_nan(of_kind(x, FLOATING, "is_nan"))


@published("math.is_inf")
def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x` is infinite, element by element.

    >>> import gradtape as tf
    >>> tf.math.is_inf([1.0, float("inf"), float("nan")]).numpy()
    array([False,  True, False])
    """
    return arithmetic.is_inf(of_kind(x, FLOATING, "is_inf"))


@published("math.is_finite")
def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether `x` is neither infinite nor NaN, element by element.

    >>> import gradtape as tf
    >>> tf.math.is_finite([1.0, float("inf"), float("nan")]).numpy()
    array([ True, False, False])
    """
    return arithmetic.is_finite(of_kind(x, FLOATING, "is_finite"))
