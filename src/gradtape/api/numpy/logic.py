"""NumPy's comparisons, logic, tests such as `isnan`, and bitwise operations, on Tensors.

None of them has a derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import into, plain, tensor_of, tensors_of, values_of
from gradtape.api.numpy.ufunc import by_value, floating, is_of_kind, pair, ufunc
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic
from gradtape.published import published


@published("numpy.equal", "array_api.equal")
@ufunc
def equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether `x1` is equal to `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.equal([1.0, 2.0], 2.0).numpy()
    array([False,  True])
    """
    return arithmetic.equal(*pair(x1, x2, "equal"))


@published("numpy.not_equal", "array_api.not_equal")
@ufunc
def not_equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether `x1` differs from `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.not_equal([1.0, 2.0], 2.0).numpy()
    array([ True, False])
    """
    return arithmetic.not_equal(*pair(x1, x2, "not_equal"))


@published("numpy.less", "array_api.less")
@ufunc
def less(x1: Any, x2: Any, /) -> Tensor:
    """Whether `x1` is less than `x2`; complex numbers are compared by their real parts first.

    >>> import gradtape as tf
    >>> tf.numpy.less([1.0, 2.0], 2.0).numpy()
    array([ True, False])
    """
    return _compare(arithmetic.less, "less", x1, x2)


@published("numpy.less_equal", "array_api.less_equal")
@ufunc
def less_equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether `x1` is not greater than `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.less_equal([1.0, 2.0], 2.0).numpy()
    array([ True,  True])
    """
    return _compare(arithmetic.less_equal, "less_equal", x1, x2)


@published("numpy.greater", "array_api.greater")
@ufunc
def greater(x1: Any, x2: Any, /) -> Tensor:
    """Whether `x1` is greater than `x2`; complex numbers are compared by their real parts first.

    >>> import gradtape as tf
    >>> tf.numpy.greater([1.0, 2.0], 2.0).numpy()
    array([False, False])
    """
    return _compare(arithmetic.greater, "greater", x1, x2)


@published("numpy.greater_equal", "array_api.greater_equal")
@ufunc
def greater_equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether `x1` is not less than `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.greater_equal([1.0, 2.0], 2.0).numpy()
    array([False,  True])
    """
    return _compare(arithmetic.greater_equal, "greater_equal", x1, x2)


def _compare(op: Any, function: str, x1: Any, x2: Any) -> Tensor:
    """Numbers by the op; truth values and complex numbers, which it does not take, by NumPy."""
    x1, x2 = pair(x1, x2, function)
    return (
        by_value(function, x1, x2) if is_of_kind(x1, "bc") or is_of_kind(x2, "bc") else op(x1, x2)
    )


@published("numpy.logical_and", "array_api.logical_and")
@ufunc
def logical_and(x1: Any, x2: Any, /) -> Tensor:
    """Whether both are true; a number is true if it is not 0.

    >>> import gradtape as tf
    >>> tf.numpy.logical_and([True, False], True).numpy()
    array([ True, False])
    """
    return by_value("logical_and", *pair(x1, x2, "logical_and"))


@published("numpy.logical_or", "array_api.logical_or")
@ufunc
def logical_or(x1: Any, x2: Any, /) -> Tensor:
    """Whether one of them is true; a number is true if it is not 0.

    >>> import gradtape as tf
    >>> tf.numpy.logical_or([True, False], True).numpy()
    array([ True,  True])
    """
    return by_value("logical_or", *pair(x1, x2, "logical_or"))


@published("numpy.logical_xor", "array_api.logical_xor")
@ufunc
def logical_xor(x1: Any, x2: Any, /) -> Tensor:
    """Whether exactly one of them is true; a number is true if it is not 0.

    >>> import gradtape as tf
    >>> tf.numpy.logical_xor([True, False], True).numpy()
    array([False,  True])
    """
    return by_value("logical_xor", *pair(x1, x2, "logical_xor"))


@published("numpy.logical_not", "array_api.logical_not")
@ufunc
def logical_not(x: Any, /) -> Tensor:
    """Whether `x` is false; a number is false if it is 0.

    >>> import gradtape as tf
    >>> tf.numpy.logical_not([True, False]).numpy()
    array([False,  True])
    """
    return by_value("logical_not", tensor_of(x, "logical_not"))


@published("numpy.isfinite", "array_api.isfinite")
@ufunc
def isfinite(x: Any, /) -> Tensor:
    """Whether `x` is neither infinite nor NaN.

    >>> import gradtape as tf
    >>> tf.numpy.isfinite([1.0, float("inf"), float("nan")]).numpy()
    array([ True, False, False])
    """
    return by_value("isfinite", tensor_of(x, "isfinite"))


@published("numpy.isinf", "array_api.isinf")
@ufunc
def isinf(x: Any, /) -> Tensor:
    """Whether `x` is infinite.

    >>> import gradtape as tf
    >>> tf.numpy.isinf([1.0, float("inf"), float("nan")]).numpy()
    array([False,  True, False])
    """
    return by_value("isinf", tensor_of(x, "isinf"))


@published("numpy.isnan", "array_api.isnan")
@ufunc
def isnan(x: Any, /) -> Tensor:
    """Whether `x` is NaN.

    >>> import gradtape as tf
    >>> tf.numpy.isnan([1.0, float("inf"), float("nan")]).numpy()
    array([False, False,  True])
    """
    return by_value("isnan", tensor_of(x, "isnan"))


@published("numpy.signbit", "array_api.signbit")
@ufunc
def signbit(x: Any, /) -> Tensor:
    """Whether `x` is negative; -0.0 and negative NaN are.

    >>> import gradtape as tf
    >>> tf.numpy.signbit([1.0, -0.0]).numpy()
    array([False,  True])
    """
    return by_value("signbit", floating(x, "signbit"))


@published("numpy.isposinf")
def isposinf(x: Any, out: Any = None) -> Tensor:
    """Whether `x` is positive infinity.

    >>> import gradtape as tf
    >>> tf.numpy.isposinf([1.0, float("inf"), -float("inf")]).numpy()
    array([False,  True, False])
    """
    return into(out, by_value("isposinf", tensor_of(x, "isposinf")), "isposinf")


@published("numpy.isneginf")
def isneginf(x: Any, out: Any = None) -> Tensor:
    """Whether `x` is negative infinity.

    >>> import gradtape as tf
    >>> tf.numpy.isneginf([1.0, float("inf"), -float("inf")]).numpy()
    array([False, False,  True])
    """
    return into(out, by_value("isneginf", tensor_of(x, "isneginf")), "isneginf")


@published("numpy.isreal")
def isreal(x: Any) -> Tensor:
    """Whether the imaginary part is 0.

    >>> import gradtape as tf
    >>> tf.numpy.isreal([1.0, 2.0j]).numpy()
    array([ True, False])
    """
    return by_value("isreal", tensor_of(x, "isreal"))


@published("numpy.iscomplex")
def iscomplex(x: Any) -> Tensor:
    """Whether the imaginary part is not 0.

    >>> import gradtape as tf
    >>> tf.numpy.iscomplex([1.0, 2.0j]).numpy()
    array([False,  True])
    """
    return by_value("iscomplex", tensor_of(x, "iscomplex"))


@published("numpy.isrealobj")
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not a complex one.

    >>> import gradtape as tf
    >>> tf.numpy.isrealobj([1.0, 2.0])
    True
    """
    return not iscomplexobj(x)


@published("numpy.iscomplexobj")
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is a complex one.

    >>> import gradtape as tf
    >>> tf.numpy.iscomplexobj([1.0, 2.0j])
    True
    """
    return tensor_of(x, "iscomplexobj").array.dtype.kind == "c"


@published("numpy.isclose")
def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether `a` and `b` differ by no more than `atol + rtol * abs(b)`.

    >>> import gradtape as tf
    >>> tf.numpy.isclose([1.0, 2.0], [1.000001, 2.1]).numpy()
    array([ True, False])
    """
    x, y = tensors_of([a, b], "isclose", ("a", "b"))
    options = {"rtol": plain(rtol), "atol": plain(atol), "equal_nan": equal_nan}
    return by_value("isclose", x, y, **options)


@published("numpy.allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements of `a` and `b` differ by no more than `atol + rtol * abs(b)`.

    >>> import gradtape as tf
    >>> tf.numpy.allclose([1.0, 2.0], [1.000001, 2.0])
    True
    """
    return bool(values_of(isclose(a, b, rtol, atol, equal_nan), "allclose", "a and b").all())


@published("numpy.array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two tensors have the same shape and the same elements.

    >>> import gradtape as tf
    >>> tf.numpy.array_equal([1.0, 2.0], [1.0, 2.0])
    True
    """
    x, y = tensors_of([a1, a2], "array_equal", ("a1", "a2"))
    return np.array_equal(
        values_of(x, "array_equal", "a1"), values_of(y, "array_equal", "a2"), equal_nan=equal_nan
    )


@published("numpy.array_equiv")
def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two tensors are equal after broadcasting one against the other.

    >>> import gradtape as tf
    >>> tf.numpy.array_equiv([[1.0, 2.0], [1.0, 2.0]], [1.0, 2.0])
    True
    """
    x, y = tensors_of([a1, a2], "array_equiv", ("a1", "a2"))
    return np.array_equiv(values_of(x, "array_equiv", "a1"), values_of(y, "array_equiv", "a2"))


@published("numpy.bitwise_and", "array_api.bitwise_and")
@ufunc
def bitwise_and(x1: Any, x2: Any, /) -> Tensor:
    """The bits that are set in both.

    >>> import gradtape as tf
    >>> tf.numpy.bitwise_and([6, 9], 3).numpy()
    array([2, 1], dtype=int32)
    """
    return by_value("bitwise_and", *pair(x1, x2, "bitwise_and"))


@published("numpy.bitwise_or", "array_api.bitwise_or")
@ufunc
def bitwise_or(x1: Any, x2: Any, /) -> Tensor:
    """The bits that are set in one of them.

    >>> import gradtape as tf
    >>> tf.numpy.bitwise_or([6, 9], 3).numpy()
    array([ 7, 11], dtype=int32)
    """
    return by_value("bitwise_or", *pair(x1, x2, "bitwise_or"))


@published("numpy.bitwise_xor", "array_api.bitwise_xor")
@ufunc
def bitwise_xor(x1: Any, x2: Any, /) -> Tensor:
    """The bits that are set in exactly one of them.

    >>> import gradtape as tf
    >>> tf.numpy.bitwise_xor([6, 9], 3).numpy()
    array([ 5, 10], dtype=int32)
    """
    return by_value("bitwise_xor", *pair(x1, x2, "bitwise_xor"))


@published("numpy.left_shift", "numpy.bitwise_left_shift", "array_api.bitwise_left_shift")
@ufunc
def left_shift(x1: Any, x2: Any, /) -> Tensor:
    """The bits of `x1` moved up by `x2` places.

    >>> import gradtape as tf
    >>> tf.numpy.left_shift([6, 9], 3).numpy()
    array([48, 72], dtype=int32)
    """
    return by_value("left_shift", *pair(x1, x2, "left_shift"))


@published("numpy.right_shift", "numpy.bitwise_right_shift", "array_api.bitwise_right_shift")
@ufunc
def right_shift(x1: Any, x2: Any, /) -> Tensor:
    """The bits of `x1` moved down by `x2` places.

    >>> import gradtape as tf
    >>> tf.numpy.right_shift([6, 9], 3).numpy()
    array([0, 1], dtype=int32)
    """
    return by_value("right_shift", *pair(x1, x2, "right_shift"))


@published("numpy.invert", "numpy.bitwise_invert", "numpy.bitwise_not", "array_api.bitwise_invert")
@ufunc
def invert(x: Any, /) -> Tensor:
    """Every bit the other way round; of truth values, the opposite.

    >>> import gradtape as tf
    >>> tf.numpy.invert([0, 5]).numpy()
    array([-1, -6], dtype=int32)
    """
    return by_value("invert", tensor_of(x, "invert"))


@published("numpy.bitwise_count")
@ufunc
def bitwise_count(x: Any, /) -> Tensor:
    """How many bits of the absolute value are set.

    >>> import gradtape as tf
    >>> tf.numpy.bitwise_count([7, -8]).numpy()
    array([3, 1], dtype=uint8)
    """
    return by_value("bitwise_count", tensor_of(x, "bitwise_count"))
