"""Powers, exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
import operator
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.ops.arithmetic import greater, not_equal
from gradtape.ops.broadcasting import cast
from gradtape.ops.declare import binary, unary
from gradtape.ops.selection import ones_like, where, zeros_like


def _pow_dx(g: Any, x: Any, y: Any) -> Any:
    """y x**(y - 1). For the number 1 without a power of x, so that no 0 * x**-1 spoils the next derivative at 0."""
    if not hasattr(y, "dtype") and y == 1:
        return g * _one(x)
    return g * (y * x ** (y - 1))


def _pow_dy(g: Any, x: Any, out: Any) -> Any:
    """x**y log x, and 0 where the logarithm has no (real) value."""
    if not hasattr(x, "dtype"):
        return g * (out * math.log(x)) if x > 0 else g * 0
    defined = not_equal(x, 0) if _dtype(out).kind == "c" else greater(x, 0)
    return g * where(defined, out * log(where(defined, x, ones_like(x))), 0)


def _is_number_but_0(saved: Any) -> bool:
    """Whether what a power saved tells that its exponent is a number other than 0: any number to the power of 0 is 1, NaN too."""
    by_x, by_y = saved
    return by_y is None and not hasattr(by_x[2], "dtype") and by_x[2] != 0


def _nonzero(x: Any) -> Any:
    """1 where x is not zero, else 0."""
    return cast(not_equal(x, 0), dtype=_dtype(x))


def _dtype(x: Any) -> Any:
    return (x.array if isinstance(x, Tensor) else x).dtype


def _sqrt_one_minus_square(x: Any) -> Any:
    """Complex numbers on the branch cut keep the sign of a zero imaginary part, which `1 - x * x` would lose."""
    return sqrt(-(x * x - 1) if _dtype(x).kind == "c" else 1 - x * x)


_one = unary("one", "ones_like", lambda g: zeros_like(g), plain=False)
power = binary("pow", operator.pow, _pow_dx, _pow_dy, kinds="iufcV", plain=_is_number_but_0)

exp = unary("exp", "exp", lambda g, out: g * out)
expm1 = unary("expm1", "expm1", lambda g, out: g * out + g)
log = unary("log", "log", lambda g, x: g / x)
log1p = unary("log1p", "log1p", lambda g, x: g / (x + 1))
sqrt = unary("sqrt", "sqrt", lambda g, out: g / (out + out))
rsqrt = unary("rsqrt", lambda xp, x: 1 / xp.sqrt(x), lambda g, x, out: g * out / (x * -2), plain=True)
reciprocal = unary("reciprocal", lambda xp, x: 1 / x, lambda g, out: -g * out * out, plain=True)

sin = unary("sin", "sin", lambda g, x: g * cos(x))
cos = unary("cos", "cos", lambda g, x: -g * sin(x))
tan = unary("tan", "tan", lambda g, out: g + g * out * out)
tanh = unary("tanh", "tanh", lambda g, out: g - g * out * out)
asin = unary("asin", "arcsin", lambda g, x: g / _sqrt_one_minus_square(x))
acos = unary("acos", "arccos", lambda g, x: -g / _sqrt_one_minus_square(x))
atan = unary("atan", "arctan", lambda g, x: g / (x * x + 1))
# The angle of the point (y, x): the argument that mathematics, and the public function, call `y` comes first.
atan2 = binary("atan2", "arctan2", lambda g, x, y: g * (y / (x * x + y * y)), lambda g, x, y: -g * (x / (x * x + y * y)))

sinh = unary("sinh", "sinh", lambda g, x: g * cosh(x))
cosh = unary("cosh", "cosh", lambda g, x: g * sinh(x))
asinh = unary("asinh", "arcsinh", lambda g, out: g / cosh(out))
acosh = unary("acosh", "arccosh", lambda g, out: g / sinh(out))
atanh = unary("atanh", "arctanh", lambda g, x: g / (1 - x * x))

# Both are 0 where x is 0, whatever y is, and so are their derivatives.
xlogy = binary(
    "xlogy",
    lambda xp, x, y: xp.where(xp.equal(x, 0), 0, x * xp.log(xp.asarray(y, dtype=xp.result_type(x, y))))[()],
    lambda g, x, y: g * xlogy(_nonzero(x), y),
    lambda g, x, y: g * xdivy(x, y),
)
xdivy = binary(
    "xdivy",
    lambda xp, x, y: xp.where(xp.equal(x, 0), 0, x / y)[()],
    lambda g, x, y: g * xdivy(_nonzero(x), y),
    lambda g, y, out: -g * xdivy(out, y),
)
