"""NumPy's exponentials, logarithms, trigonometric and hyperbolic functions, and rounding,
on Tensors.
"""

from __future__ import annotations

import math
from typing import Any

from gradtape.api.numpy.operands import into, tensor_of
from gradtape.api.numpy.ufunc import by_value, floating, floating_pair, ufunc
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, elementary, ufuncs
from gradtape.published import published


@published("numpy.exp", "array_api.exp")
@ufunc
def exp(x: Any, /) -> Tensor:
    """e to the power of `x`.

    >>> import gradtape as tf
    >>> tf.numpy.exp([0.0, 1.0]).numpy().round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    return elementary.exp(floating(x, "exp"))


@published("numpy.exp2")
@ufunc
def exp2(x: Any, /) -> Tensor:
    """2 to the power of `x`.

    >>> import gradtape as tf
    >>> tf.numpy.exp2([0.0, 3.0]).numpy().round(4)
    array([1., 8.], dtype=float32)
    """
    return ufuncs.exp2(floating(x, "exp2"))


@published("numpy.expm1", "array_api.expm1")
@ufunc
def expm1(x: Any, /) -> Tensor:
    """`exp(x) - 1`, exact for small `x` too.

    >>> import gradtape as tf
    >>> tf.numpy.expm1([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.7183], dtype=float32)
    """
    return elementary.expm1(floating(x, "expm1"))


@published("numpy.log", "array_api.log")
@ufunc
def log(x: Any, /) -> Tensor:
    """The natural logarithm.

    >>> import gradtape as tf
    >>> tf.numpy.log([1.0, 10.0]).numpy().round(4)
    array([0.    , 2.3026], dtype=float32)
    """
    return elementary.log(floating(x, "log"))


@published("numpy.log2", "array_api.log2")
@ufunc
def log2(x: Any, /) -> Tensor:
    """The logarithm to the base 2.

    >>> import gradtape as tf
    >>> tf.numpy.log2([1.0, 8.0]).numpy().round(4)
    array([0., 3.], dtype=float32)
    """
    return ufuncs.log2(floating(x, "log2"))


@published("numpy.log10", "array_api.log10")
@ufunc
def log10(x: Any, /) -> Tensor:
    """The logarithm to the base 10.

    >>> import gradtape as tf
    >>> tf.numpy.log10([1.0, 100.0]).numpy().round(4)
    array([0., 2.], dtype=float32)
    """
    return ufuncs.log10(floating(x, "log10"))


@published("numpy.log1p", "array_api.log1p")
@ufunc
def log1p(x: Any, /) -> Tensor:
    """`log(1 + x)`, exact for small `x` too.

    >>> import gradtape as tf
    >>> tf.numpy.log1p([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return elementary.log1p(floating(x, "log1p"))


@published("numpy.sin", "array_api.sin")
@ufunc
def sin(x: Any, /) -> Tensor:
    """The sine.

    >>> import gradtape as tf
    >>> tf.numpy.sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    return elementary.sin(floating(x, "sin"))


@published("numpy.cos", "array_api.cos")
@ufunc
def cos(x: Any, /) -> Tensor:
    """The cosine.

    >>> import gradtape as tf
    >>> tf.numpy.cos([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    return elementary.cos(floating(x, "cos"))


@published("numpy.tan", "array_api.tan")
@ufunc
def tan(x: Any, /) -> Tensor:
    """The tangent.

    >>> import gradtape as tf
    >>> tf.numpy.tan([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    return elementary.tan(floating(x, "tan"))


@published("numpy.arcsin", "numpy.asin", "array_api.asin")
@ufunc
def arcsin(x: Any, /) -> Tensor:
    """The arc sine, from -π/2 to π/2.

    >>> import gradtape as tf
    >>> tf.numpy.arcsin([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return elementary.asin(floating(x, "arcsin"))


@published("numpy.arccos", "numpy.acos", "array_api.acos")
@ufunc
def arccos(x: Any, /) -> Tensor:
    """The arc cosine, from 0 to π.

    >>> import gradtape as tf
    >>> tf.numpy.arccos([0.0, 1.0]).numpy().round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return elementary.acos(floating(x, "arccos"))


@published("numpy.arctan", "numpy.atan", "array_api.atan")
@ufunc
def arctan(x: Any, /) -> Tensor:
    """The arc tangent, from -π/2 to π/2.

    >>> import gradtape as tf
    >>> tf.numpy.arctan([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return elementary.atan(floating(x, "arctan"))


@published("numpy.sinh", "array_api.sinh")
@ufunc
def sinh(x: Any, /) -> Tensor:
    """The hyperbolic sine.

    >>> import gradtape as tf
    >>> tf.numpy.sinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    return elementary.sinh(floating(x, "sinh"))


@published("numpy.cosh", "array_api.cosh")
@ufunc
def cosh(x: Any, /) -> Tensor:
    """The hyperbolic cosine.

    >>> import gradtape as tf
    >>> tf.numpy.cosh([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    return elementary.cosh(floating(x, "cosh"))


@published("numpy.tanh", "array_api.tanh")
@ufunc
def tanh(x: Any, /) -> Tensor:
    """The hyperbolic tangent.

    >>> import gradtape as tf
    >>> tf.numpy.tanh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    return elementary.tanh(floating(x, "tanh"))


@published("numpy.arcsinh", "numpy.asinh", "array_api.asinh")
@ufunc
def arcsinh(x: Any, /) -> Tensor:
    """The inverse hyperbolic sine.

    >>> import gradtape as tf
    >>> tf.numpy.arcsinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    return elementary.asinh(floating(x, "arcsinh"))


@published("numpy.arccosh", "numpy.acosh", "array_api.acosh")
@ufunc
def arccosh(x: Any, /) -> Tensor:
    """The inverse hyperbolic cosine.

    >>> import gradtape as tf
    >>> tf.numpy.arccosh([1.0, 2.0]).numpy().round(4)
    array([0.   , 1.317], dtype=float32)
    """
    return elementary.acosh(floating(x, "arccosh"))


@published("numpy.arctanh", "numpy.atanh", "array_api.atanh")
@ufunc
def arctanh(x: Any, /) -> Tensor:
    """The inverse hyperbolic tangent.

    >>> import gradtape as tf
    >>> tf.numpy.arctanh([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return elementary.atanh(floating(x, "arctanh"))


@published("numpy.arctan2", "numpy.atan2", "array_api.atan2")
@ufunc
def arctan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point `(x2, x1)`, from -π to π.

    >>> import gradtape as tf
    >>> tf.numpy.arctan2([1.0, -1.0], [1.0, -1.0]).numpy().round(4)
    array([ 0.7854, -2.3562], dtype=float32)
    """
    return elementary.atan2(*floating_pair(x1, x2, "arctan2"))


@published("numpy.logaddexp", "array_api.logaddexp")
@ufunc
def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """`log(exp(x1) + exp(x2))` without overflow.

    >>> import gradtape as tf
    >>> tf.numpy.logaddexp([0.0, 1000.0], [0.0, 1000.0]).numpy().round(4)
    array([6.9309998e-01, 1.0006932e+03], dtype=float32)
    """
    return ufuncs.logaddexp(*floating_pair(x1, x2, "logaddexp"))


@published("numpy.logaddexp2")
@ufunc
def logaddexp2(x1: Any, x2: Any, /) -> Tensor:
    """`log2(2**x1 + 2**x2)` without overflow.

    >>> import gradtape as tf
    >>> tf.numpy.logaddexp2([0.0, 3.0], [0.0, 3.0]).numpy().round(4)
    array([1., 4.], dtype=float32)
    """
    return ufuncs.logaddexp2(*floating_pair(x1, x2, "logaddexp2"))


@published("numpy.deg2rad")
@ufunc
def deg2rad(x: Any, /) -> Tensor:
    """An angle in degrees in radians.

    >>> import gradtape as tf
    >>> tf.numpy.deg2rad([0.0, 180.0]).numpy().round(4)
    array([0.    , 3.1416], dtype=float32)
    """
    return arithmetic.multiply(floating(x, "deg2rad"), math.pi / 180)


@published("numpy.radians")
@ufunc
def radians(x: Any, /) -> Tensor:
    """An angle in degrees in radians.

    >>> import gradtape as tf
    >>> tf.numpy.radians([0.0, 180.0]).numpy().round(4)
    array([0.    , 3.1416], dtype=float32)
    """
    return arithmetic.multiply(floating(x, "radians"), math.pi / 180)


@published("numpy.rad2deg")
@ufunc
def rad2deg(x: Any, /) -> Tensor:
    """An angle in radians in degrees.

    >>> import gradtape as tf
    >>> tf.numpy.rad2deg([0.0, 3.141592653589793]).numpy().round(4)
    array([  0., 180.], dtype=float32)
    """
    return arithmetic.multiply(floating(x, "rad2deg"), 180 / math.pi)


@published("numpy.degrees")
@ufunc
def degrees(x: Any, /) -> Tensor:
    """An angle in radians in degrees.

    >>> import gradtape as tf
    >>> tf.numpy.degrees([0.0, 3.141592653589793]).numpy().round(4)
    array([  0., 180.], dtype=float32)
    """
    return arithmetic.multiply(floating(x, "degrees"), 180 / math.pi)


@published("numpy.floor", "array_api.floor")
@ufunc
def floor(x: Any, /) -> Tensor:
    """The largest whole number that is not above `x`; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy.floor([1.7, -1.2]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return by_value("floor", tensor_of(x, "floor"))


@published("numpy.ceil", "array_api.ceil")
@ufunc
def ceil(x: Any, /) -> Tensor:
    """The smallest whole number that is not below `x`; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return by_value("ceil", tensor_of(x, "ceil"))


@published("numpy.trunc", "array_api.trunc")
@ufunc
def trunc(x: Any, /) -> Tensor:
    """`x` cut off towards 0; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy.trunc([1.7, -1.7]).numpy()
    array([ 1., -1.], dtype=float32)
    """
    return by_value("trunc", tensor_of(x, "trunc"))


@published("numpy.rint")
@ufunc
def rint(x: Any, /) -> Tensor:
    """The nearest whole number, of two equally near ones the even one;
    no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy.rint([0.5, 1.5, 2.4]).numpy()
    array([0., 2., 2.], dtype=float32)
    """
    return by_value("rint", floating(x, "rint"))


@published("numpy.fix")
def fix(x: Any, out: Any = None) -> Tensor:
    """`x` cut off towards 0; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy.fix([1.7, -1.7]).numpy()
    array([ 1., -1.], dtype=float32)
    """
    return into(out, by_value("trunc", tensor_of(x, "fix")), "fix")


@published("numpy.round", "array_api.round")
def round(a: Any, decimals: int = 0, out: Any = None) -> Tensor:
    """The nearest number with `decimals` digits behind the point,
    of two equally near ones the even one; it has no gradient.

    >>> import gradtape as tf
    >>> tf.numpy.round([0.55, 1.234], 1).numpy()
    array([0.6, 1.2], dtype=float32)
    """
    x = tensor_of(a, "round", "a")
    return into(out, by_value("round", x, decimals=decimals), "round")


around = round


PUBLISHED = {"numpy.around": around}
