"""Keras's elementwise functions: arithmetic, elementary functions, comparisons, logic and bits."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common.dtypes import INT_TYPES

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops import sparse
from keras_gradtape.src.ops.numpy.declare import binary, bitwise, relation, unary
from keras_gradtape.src.ops.operands import (
    by_rule,
    cast_to,
    counting,
    floating,
    inexact,
    result_type,
    together,
    wide,
)

# Arithmetic

add = binary("add", of_sparse=sparse.union)
subtract = binary("subtract", of_sparse=sparse.union)
multiply = binary("multiply", of_sparse=sparse.intersection)
divide = true_divide = binary("divide", float, of_sparse=sparse.quotient)
divide_no_nan = binary("divide_no_nan", float)
floor_divide = binary("floor_divide")
power = binary("power")
mod = binary("mod", rule=counting)
fmod = binary("fmod", rule=counting)
maximum = binary("maximum", of_sparse=sparse.union)
minimum = binary("minimum", of_sparse=sparse.union)
fmax = binary("fmax")
fmin = binary("fmin")
hypot = binary("hypot", rule=inexact)
heaviside = binary("heaviside", rule=inexact)
nextafter = binary("nextafter", float)
gcd = binary("gcd")
lcm = binary("lcm")

negative = unary("negative", linear=True)
absolute = abs = unary("absolute", keeps_zeros=True)
fabs = unary("fabs", inexact)
sign = unary("sign", keeps_zeros=True)
square = unary("square", counting, keeps_zeros=True)
sqrt = unary("sqrt", floating, keeps_zeros=True)
cbrt = unary("cbrt", wide)
reciprocal = unary("reciprocal")

# Elementary functions

exp = unary("exp", inexact)
exp2 = unary("exp2", inexact)
expm1 = unary("expm1", inexact, keeps_zeros=True)
log = unary("log", floating)
log2 = unary("log2", floating)
log10 = unary("log10", floating)
log1p = unary("log1p", floating, keeps_zeros=True)
logaddexp = binary("logaddexp", float)
logaddexp2 = binary("logaddexp2", float)

sin = unary("sin", floating, keeps_zeros=True)
cos = unary("cos", floating)
tan = unary("tan", floating, keeps_zeros=True)
arcsin = unary("arcsin", floating, keeps_zeros=True)
arccos = unary("arccos", floating)
arctan = unary("arctan", floating, keeps_zeros=True)
arctan2 = binary("arctan2", float)
sinh = unary("sinh", floating, keeps_zeros=True)
cosh = unary("cosh", floating)
tanh = unary("tanh", floating, keeps_zeros=True)
arcsinh = unary("arcsinh", floating, keeps_zeros=True)
arccosh = unary("arccosh", floating)
arctanh = unary("arctanh", floating, keeps_zeros=True)
sinc = unary("sinc", floating)
i0 = unary("i0", wide)
deg2rad = unary("deg2rad", wide)
rad2deg = unary("rad2deg", wide)

# Rounding

ceil = unary("ceil", floating, keeps_zeros=True)
floor = unary("floor", floating, keeps_zeros=True)
trunc = unary("trunc")

# Complex numbers

real = unary("real", linear=True)
imag = unary("imag", linear=True)
angle = unary("angle", floating)
conjugate = conj = unary("conjugate", linear=True)

# Comparisons and logic

equal = relation("equal")
not_equal = relation("not_equal")
less = relation("less")
less_equal = relation("less_equal")
greater = relation("greater")
greater_equal = relation("greater_equal")
logical_and = relation("logical_and")
logical_or = relation("logical_or")
logical_xor = relation("logical_xor")
logical_not = unary("logical_not")
isfinite = unary("isfinite")
isinf = unary("isinf")
isnan = unary("isnan")
isneginf = unary("isneginf")
isposinf = unary("isposinf")
isreal = unary("isreal")
signbit = unary("signbit")

# Bits

bitwise_and = bitwise("bitwise_and")
bitwise_or = bitwise("bitwise_or")
bitwise_xor = bitwise("bitwise_xor")
bitwise_invert = bitwise_not = unary("bitwise_not")
bitwise_left_shift = left_shift = bitwise("left_shift")
bitwise_right_shift = right_shift = bitwise("right_shift")


def ldexp(x1: Any, x2: Any) -> Any:
    """`x1 * 2**x2` for whole numbers `x2`."""
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    if x2.dtype.name not in INT_TYPES:
        raise TypeError(
            f"ldexp exponent must be an integer type. Received: x2 dtype={x2.dtype.name}"
        )
    return gnp.ldexp(cast_to(x1, result_type(x1.dtype.name, x2.dtype.name, float)), x2)


def round(x: Any, decimals: int = 0) -> Any:
    """`x` to so many decimals."""
    if sparse.is_sparse(x):
        return sparse.of_values(round, x, decimals)
    return gnp.round(convert_to_tensor(x), decimals)


def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    """`x` with the elements below `x_min` and above `x_max` replaced by those."""
    x = by_rule(x, counting)
    return cast_to(gnp.clip(x, _bound(x_min), _bound(x_max)), x.dtype.name)


def _bound(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float)) else convert_to_tensor(value)


def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """`x` with numbers in the place of NaN and the infinities."""
    return gnp.nan_to_num(convert_to_tensor(x), nan=nan, posinf=posinf, neginf=neginf)


def isclose(x1: Any, x2: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Where `x1` and `x2` are equal within tolerances."""
    return gnp.isclose(convert_to_tensor(x1), convert_to_tensor(x2), rtol, atol, equal_nan)


def allclose(x1: Any, x2: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether `x1` and `x2` are equal within tolerances."""
    return gnp.all(isclose(x1, x2, rtol, atol, equal_nan))


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """`x1` where the condition holds, `x2` elsewhere; with the condition alone,
    the indices where it holds.
    """
    condition = convert_to_tensor(condition)
    if x1 is None or x2 is None:
        return tuple(cast_to(indices, "int32") for indices in gnp.nonzero(condition))
    return gnp.where(condition, *together((x1, x2)))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The elements of the first choice whose condition holds."""
    *choices, default = together((*choicelist, default))
    return gnp.select([convert_to_tensor(condition) for condition in condlist], choices, default)


def view(x: Any, dtype: Any = None) -> Any:
    """The bytes of `x` read as another dtype."""
    x = convert_to_tensor(x)
    return x if dtype is None else gnp.view(x, tf.as_dtype(dtype))
