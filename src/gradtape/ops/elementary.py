"""Powers, exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import operator
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.ops.arithmetic import greater, not_equal
from gradtape.ops.declare import binary, unary
from gradtape.ops.selection import ones_like, where


def _pow_dy(g: Any, x: Any, out: Any) -> Any:
    """x**y log x, and 0 where the logarithm has no (real) value."""
    if not hasattr(x, "dtype"):
        return g * (out * log(Tensor(out.array.dtype.type(x)) if isinstance(out, Tensor) else out.dtype.type(x))) if x > 0 else g * 0
    is_complex = (out.array if isinstance(out, Tensor) else out).dtype.kind == "c"
    defined = not_equal(x, 0) if is_complex else greater(x, 0)
    return g * where(defined, out * log(where(defined, x, ones_like(x))), 0)


power = binary("pow", operator.pow, lambda g, x, y: g * (y * x ** (y - 1)), _pow_dy)

exp = unary("exp", "exp", lambda g, out: g * out)
expm1 = unary("expm1", "expm1", lambda g, out: g * out + g)
log = unary("log", "log", lambda g, x: g / x)
log1p = unary("log1p", "log1p", lambda g, x: g / (x + 1))
sqrt = unary("sqrt", "sqrt", lambda g, out: g / (out + out))
rsqrt = unary("rsqrt", lambda xp, x: 1 / xp.sqrt(x), lambda g, x, out: g * out / (x * -2))
reciprocal = unary("reciprocal", lambda xp, x: 1 / x, lambda g, out: -g * out * out)

sin = unary("sin", "sin", lambda g, x: g * cos(x))
cos = unary("cos", "cos", lambda g, x: -g * sin(x))
tan = unary("tan", "tan", lambda g, out: g + g * out * out)
tanh = unary("tanh", "tanh", lambda g, out: g - g * out * out)
