"""NumPy's arithmetic on Tensors: sums, products, quotients, powers, extrema, signs,
and the parts of numbers.
"""

from __future__ import annotations

from typing import Any

from gradtape.api.numpy.operands import converted, promoted, tensor_of, tensors_of
from gradtape.api.numpy.ufunc import by_value, floating, floating_pair, is_of_kind, pair, ufunc
from gradtape.core.tensor import Tensor
from gradtape.ops import (
    arithmetic,
    broadcasting,
    elementary,
    operators,
    special,
    truncation,
    ufuncs,
)
from gradtape.ops.selection import where, zeros_like
from gradtape.published import published


@published("numpy.add", "array_api.add")
@ufunc
def add(x1: Any, x2: Any, /) -> Tensor:
    """`x1 + x2`; for truth values, whether one of them is true.

    >>> import gradtape as tf
    >>> tf.numpy.add([1.0, 2.0], 10.0).numpy()
    array([11., 12.], dtype=float32)
    """
    x1, x2 = pair(x1, x2, "add")
    return (
        by_value("add", x1, x2)
        if is_of_kind(x1, "b") and is_of_kind(x2, "b")
        else arithmetic.add(x1, x2)
    )


@published("numpy.subtract", "array_api.subtract")
@ufunc
def subtract(x1: Any, x2: Any, /) -> Tensor:
    """`x1 - x2`.

    >>> import gradtape as tf
    >>> tf.numpy.subtract([1.0, 2.0], 10.0).numpy()
    array([-9., -8.], dtype=float32)
    """
    return arithmetic.subtract(*pair(x1, x2, "subtract"))


@published("numpy.multiply", "array_api.multiply")
@ufunc
def multiply(x1: Any, x2: Any, /) -> Tensor:
    """`x1 * x2`; for truth values, whether both are true.

    >>> import gradtape as tf
    >>> tf.numpy.multiply([1.0, 2.0], 10.0).numpy()
    array([10., 20.], dtype=float32)
    """
    x1, x2 = pair(x1, x2, "multiply")
    return (
        by_value("multiply", x1, x2)
        if is_of_kind(x1, "b") and is_of_kind(x2, "b")
        else arithmetic.multiply(x1, x2)
    )


@published("numpy.divide", "numpy.true_divide", "array_api.divide")
@ufunc
def divide(x1: Any, x2: Any, /) -> Tensor:
    """`x1 / x2`; integers are divided as `/` divides them: as float32 up to 16 bits,
    longer ones as float64.

    >>> import gradtape as tf
    >>> tf.numpy.divide([1.0, 2.0], 4.0).numpy()
    array([0.25, 0.5 ], dtype=float32)
    """
    return operators.true_divide(*pair(x1, x2, "divide"))


@published("numpy.divide_no_nan")
def divide_no_nan(x1: Any, x2: Any) -> Tensor:
    """`x1 / x2`, and 0 where `x2` is 0; so are the derivatives.

    >>> import gradtape as tf
    >>> tf.numpy.divide_no_nan([1.0, 1.0], [0.0, 2.0]).numpy()
    array([0. , 0.5], dtype=float32)
    """
    return arithmetic.divide_no_nan(*floating_pair(x1, x2, "divide_no_nan"))


@published("numpy.floor_divide", "array_api.floor_divide")
@ufunc
def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """`x1 / x2` rounded down; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy.floor_divide([7.0, -7.0], 2.0).numpy()
    array([ 3., -4.], dtype=float32)
    """
    return by_value("floor_divide", *tensors_of([x1, x2], "floor_divide", ("x1", "x2")))


@published("numpy.remainder", "numpy.mod", "array_api.remainder")
@ufunc
def remainder(x1: Any, x2: Any, /) -> Tensor:
    """What `floor_divide` leaves over: it has the sign of `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.remainder([7.0, -7.0], 3.0).numpy()
    array([1., 2.], dtype=float32)
    """
    return arithmetic.floormod(*pair(x1, x2, "remainder"))


@published("numpy.fmod")
@ufunc
def fmod(x1: Any, x2: Any, /) -> Tensor:
    """What a division that is cut off towards 0 leaves over: it has the sign of `x1`.

    >>> import gradtape as tf
    >>> tf.numpy.fmod([7.0, -7.0], 3.0).numpy()
    array([ 1., -1.], dtype=float32)
    """
    return truncation.truncatemod(*tensors_of([x1, x2], "fmod", ("x1", "x2")))


@published("numpy.divmod")
@ufunc
def divmod(x1: Any, x2: Any, /) -> tuple[Tensor, Tensor]:
    """`floor_divide(x1, x2)` and `remainder(x1, x2)`; a gradient flows through the second.

    >>> import gradtape as tf
    >>> [part.numpy() for part in tf.numpy.divmod([7.0, -7.0], 3.0)]
    [array([ 2., -3.], dtype=float32), array([1., 2.], dtype=float32)]
    """
    return floor_divide(x1, x2), remainder(x1, x2)


@published("numpy.power", "numpy.pow", "array_api.pow")
@ufunc
def power(x1: Any, x2: Any, /) -> Tensor:
    """`x1` to the power of `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.power([2.0, 3.0], 2.0).numpy()
    array([4., 9.], dtype=float32)
    """
    return elementary.power(*pair(x1, x2, "power"))


@published("numpy.float_power")
@ufunc
def float_power(x1: Any, x2: Any, /) -> Tensor:
    """`x1` to the power of `x2` as a floating-point number, also if both are integers.

    >>> import gradtape as tf
    >>> tf.numpy.float_power([2, 4], -1).numpy()
    array([0.5 , 0.25], dtype=float32)
    """
    return elementary.power(*floating_pair(x1, x2, "float_power"))


@published("numpy.maximum", "array_api.maximum")
@ufunc
def maximum(x1: Any, x2: Any, /) -> Tensor:
    """The larger of two numbers, NaN if one of them is; the gradient of a tie goes to `x1`.

    >>> import gradtape as tf
    >>> tf.numpy.maximum([1.0, 5.0], 3.0).numpy()
    array([3., 5.], dtype=float32)
    """
    return arithmetic.maximum(*pair(x1, x2, "maximum"))


@published("numpy.minimum", "array_api.minimum")
@ufunc
def minimum(x1: Any, x2: Any, /) -> Tensor:
    """The smaller of two numbers, NaN if one of them is; the gradient of a tie goes to `x1`.

    >>> import gradtape as tf
    >>> tf.numpy.minimum([1.0, 5.0], 3.0).numpy()
    array([1., 3.], dtype=float32)
    """
    return arithmetic.minimum(*pair(x1, x2, "minimum"))


@published("numpy.fmax")
@ufunc
def fmax(x1: Any, x2: Any, /) -> Tensor:
    """The larger of two numbers; a NaN counts as missing.

    >>> import gradtape as tf
    >>> tf.numpy.fmax([1.0, float("nan")], 0.5).numpy()
    array([1. , 0.5], dtype=float32)
    """
    return ufuncs.fmax(*pair(x1, x2, "fmax"))


@published("numpy.fmin")
@ufunc
def fmin(x1: Any, x2: Any, /) -> Tensor:
    """The smaller of two numbers; a NaN counts as missing.

    >>> import gradtape as tf
    >>> tf.numpy.fmin([1.0, float("nan")], 0.5).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return ufuncs.fmin(*pair(x1, x2, "fmin"))


@published("numpy.negative", "array_api.negative")
@ufunc
def negative(x: Any, /) -> Tensor:
    """`-x`.

    >>> import gradtape as tf
    >>> tf.numpy.negative([1.0, -2.0]).numpy()
    array([-1.,  2.], dtype=float32)
    """
    return arithmetic.negative(tensor_of(x, "negative"))


@published("numpy.positive", "array_api.positive")
@ufunc
def positive(x: Any, /) -> Tensor:
    """`+x`, which is `x`.

    >>> import gradtape as tf
    >>> tf.numpy.positive([1.0, -2.0]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return broadcasting.identity(tensor_of(x, "positive"))


@published("numpy.absolute", "numpy.abs", "array_api.abs")
@ufunc
def absolute(x: Any, /) -> Tensor:
    """The absolute value; for complex numbers the modulus.

    >>> import gradtape as tf
    >>> tf.numpy.absolute([-1.5, 2.0]).numpy()
    array([1.5, 2. ], dtype=float32)
    """
    return arithmetic.absolute(tensor_of(x, "absolute"))


@published("numpy.fabs")
@ufunc
def fabs(x: Any, /) -> Tensor:
    """The absolute value as a floating-point number.

    >>> import gradtape as tf
    >>> tf.numpy.fabs([-1, 2]).numpy()
    array([1., 2.], dtype=float32)
    """
    return arithmetic.absolute(floating(x, "fabs"))


@published("numpy.sign", "array_api.sign")
@ufunc
def sign(x: Any, /) -> Tensor:
    """-1, 0 or 1, by the sign of `x`; for a complex number `x / abs(x)`, and 0 for 0.

    >>> import gradtape as tf
    >>> tf.numpy.sign([-3.0, 0.0, 2.0]).numpy()
    array([-1.,  0.,  1.], dtype=float32)
    """
    x = tensor_of(x, "sign")
    if x.array.dtype.kind != "c":
        return arithmetic.sign(x)
    return arithmetic.divide_no_nan(x, converted(arithmetic.absolute(x), x.array.dtype))


@published("numpy.copysign", "array_api.copysign")
@ufunc
def copysign(x1: Any, x2: Any, /) -> Tensor:
    """`x1` with the sign of `x2`, through which no gradient flows.

    >>> import gradtape as tf
    >>> tf.numpy.copysign([1.0, -2.0], [-0.0, 3.0]).numpy()
    array([-1.,  2.], dtype=float32)
    """
    x, y = floating_pair(x1, x2, "copysign")
    return where(arithmetic.equal(by_value("signbit", x), by_value("signbit", y)), x, -x)


@published("numpy.heaviside")
@ufunc
def heaviside(x1: Any, x2: Any, /) -> Tensor:
    """0 where `x1` is negative, 1 where it is positive, `x2` where it is 0;
    a gradient flows through `x2` alone.

    >>> import gradtape as tf
    >>> tf.numpy.heaviside([-1.5, 0.0, 2.0], 0.5).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    x, at_zero = floating_pair(x1, x2, "heaviside")
    return where(arithmetic.equal(x, 0), at_zero, by_value("heaviside", x, zeros_like(x)))


@published("numpy.square", "array_api.square")
@ufunc
def square(x: Any, /) -> Tensor:
    """`x * x`.

    >>> import gradtape as tf
    >>> tf.numpy.square([2.0, -3.0]).numpy()
    array([4., 9.], dtype=float32)
    """
    return arithmetic.square(tensor_of(x, "square"))


@published("numpy.reciprocal", "array_api.reciprocal")
@ufunc
def reciprocal(x: Any, /) -> Tensor:
    """`1 / x`; of integers, the whole part.

    >>> import gradtape as tf
    >>> tf.numpy.reciprocal([2.0, 4.0]).numpy()
    array([0.5 , 0.25], dtype=float32)
    """
    x = tensor_of(x, "reciprocal")
    return by_value("reciprocal", x) if x.array.dtype.kind in "biu" else elementary.reciprocal(x)


@published("numpy.sqrt", "array_api.sqrt")
@ufunc
def sqrt(x: Any, /) -> Tensor:
    """The square root.

    >>> import gradtape as tf
    >>> tf.numpy.sqrt([4.0, 9.0]).numpy()
    array([2., 3.], dtype=float32)
    """
    return elementary.sqrt(floating(x, "sqrt"))


@published("numpy.cbrt")
@ufunc
def cbrt(x: Any, /) -> Tensor:
    """The cube root.

    >>> import gradtape as tf
    >>> tf.numpy.cbrt([8.0, -1.0]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return ufuncs.cbrt(floating(x, "cbrt"))


@published("numpy.hypot", "array_api.hypot")
@ufunc
def hypot(x1: Any, x2: Any, /) -> Tensor:
    """The length of the hypotenuse, `sqrt(x1**2 + x2**2)`; its gradient at 0 is 0.

    >>> import gradtape as tf
    >>> tf.numpy.hypot([3.0, 0.0], 4.0).numpy()
    array([5., 4.], dtype=float32)
    """
    return ufuncs.hypot(*floating_pair(x1, x2, "hypot"))


@published("numpy.conjugate")
@ufunc
def conjugate(x: Any, /) -> Tensor:
    """The complex conjugate; a real tensor as it is.

    >>> import gradtape as tf
    >>> tf.numpy.conjugate([1.0 + 2.0j]).numpy()
    array([1.-2.j], dtype=complex64)
    """
    x = tensor_of(x, "conjugate")
    return broadcasting.conj(x) if x.array.dtype.kind == "c" else broadcasting.identity(x)


conj = conjugate


@published("numpy.nextafter", "array_api.nextafter")
@ufunc
def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The floating-point number next to `x1` in the direction of `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.nextafter([1.0], 2.0).numpy() - 1
    array([1.1920929e-07], dtype=float32)
    """
    return special.nextafter(*floating_pair(x1, x2, "nextafter"))


@published("numpy.spacing")
@ufunc
def spacing(x: Any, /) -> Tensor:
    """The distance from `x` to the next floating-point number; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy.spacing([1.0]).numpy()
    array([1.1920929e-07], dtype=float32)
    """
    return by_value("spacing", floating(x, "spacing"))


@published("numpy.ldexp")
@ufunc
def ldexp(x1: Any, x2: Any, /) -> Tensor:
    """`x1 * 2**x2` for integers `x2`.

    >>> import gradtape as tf
    >>> tf.numpy.ldexp([0.5, 3.0], [4, -1]).numpy()
    array([8. , 1.5], dtype=float32)
    """
    exponent = tensor_of(x2, "ldexp", "x2")
    if exponent.array.dtype.kind not in "biu":
        raise TypeError(
            f"ldexp: x2 must be integers, got dtype {exponent.dtype.name}: write x1 * 2.0**x2."
        )
    return ufuncs.ldexp(floating(x1, "ldexp"), exponent)


@published("numpy.frexp")
@ufunc
def frexp(x: Any, /) -> tuple[Tensor, Tensor]:
    """The mantissa, from 1/2 to 1, and the exponent of 2, an integer, whose `ldexp` is `x`.

    >>> import gradtape as tf
    >>> [part.numpy() for part in tf.numpy.frexp([8.0, 3.0])]
    [array([0.5 , 0.75], dtype=float32), array([4, 2], dtype=int32)]
    """
    x = floating(x, "frexp")
    exponent = ufuncs.exponent(x)
    return ufuncs.ldexp(x, arithmetic.negative(exponent)), exponent


@published("numpy.modf")
@ufunc
def modf(x: Any, /) -> tuple[Tensor, Tensor]:
    """What stands behind the point, and the whole number before it; both have the sign of `x`.

    >>> import gradtape as tf
    >>> [part.numpy() for part in tf.numpy.modf([1.75, -2.5])]
    [array([ 0.75, -0.5 ], dtype=float32), array([ 1., -2.], dtype=float32)]
    """
    x = floating(x, "modf")
    return ufuncs.fraction(x), by_value("trunc", x)


@published("numpy.gcd")
@ufunc
def gcd(x1: Any, x2: Any, /) -> Tensor:
    """The greatest common divisor of integers.

    >>> import gradtape as tf
    >>> tf.numpy.gcd([12, 9], 8).numpy()
    array([4, 1], dtype=int32)
    """
    return by_value("gcd", *promoted(tensors_of([x1, x2], "gcd", ("x1", "x2"))))


@published("numpy.lcm")
@ufunc
def lcm(x1: Any, x2: Any, /) -> Tensor:
    """The least common multiple of integers.

    >>> import gradtape as tf
    >>> tf.numpy.lcm([12, 9], 8).numpy()
    array([24, 72], dtype=int32)
    """
    return by_value("lcm", *promoted(tensors_of([x1, x2], "lcm", ("x1", "x2"))))


PUBLISHED = {"numpy.conj": conj, "array_api.conj": conj}
