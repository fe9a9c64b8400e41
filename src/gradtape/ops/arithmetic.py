"""Arithmetic, comparison, rounding and logic, element by element."""

from __future__ import annotations

import operator
from typing import Any

from gradtape.ops.declare import binary, op, unary
from gradtape.ops.selection import where, zeros_like

# A formula such as `g - g * out * out` stands for `g * (1 - out * out)` because NumPy takes half as long again for an
# operation with a Python number.


def _sign(xp: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return xp.sign(x)
    size = xp.abs(x)
    return xp.where(size == 0, 0, x / xp.where(size == 0, 1, size)).astype(x.dtype)


def _integer_safe(operation: Any) -> Any:
    """A division that refuses an integer zero, where NumPy would answer 0."""

    def kernel(xp: Any, x: Any, y: Any) -> Any:
        if getattr(y, "dtype", None) is not None and y.dtype.kind in "iu" and not xp.all(y):
            raise ValueError("integer division by zero")
        return operation(x, y)

    return kernel


add = binary("add", operator.add, lambda g: g, lambda g: g)
subtract = binary("subtract", operator.sub, lambda g: g, lambda g: -g)
multiply = binary("multiply", operator.mul, lambda g, y: g * y, lambda g, x: g * x)
divide = binary("divide", operator.truediv, lambda g, y: g / y, lambda g, y, out: -g * out / y)
floormod = binary("floormod", _integer_safe(operator.mod), lambda g: g, lambda g, x, y: -g * floor(divide(x, y)))
floordiv = binary("floordiv", _integer_safe(operator.floordiv))
maximum = binary(
    "maximum", "maximum", lambda g, x, y: where(greater_equal(x, y), g, 0), lambda g, x, y: where(greater_equal(x, y), 0, g)
)
minimum = binary(
    "minimum", "minimum", lambda g, x, y: where(less_equal(x, y), g, 0), lambda g, x, y: where(less_equal(x, y), 0, g)
)
squared_difference = binary(
    "squared_difference",
    lambda xp, x, y: xp.square(x - y),
    lambda g, x, y: g * (d := x - y) + g * d,
    lambda g, x, y: g * (d := y - x) + g * d,
)

negative = unary("negative", operator.neg, lambda g: -g)
square = unary("square", "square", lambda g, x: g * (x + x))
sign = unary("sign", _sign, lambda g: zeros_like(g))
absolute = op("abs", "abs", [lambda g, x: g * sign(x)], arguments=["x"])

floor = unary("floor", "floor")
ceil = unary("ceil", "ceil")
round_half_even = unary("round", "rint")

equal = binary("equal", operator.eq)
not_equal = binary("not_equal", operator.ne)
less = binary("less", operator.lt)
less_equal = binary("less_equal", operator.le)
greater = binary("greater", operator.gt)
greater_equal = binary("greater_equal", operator.ge)

logical_and = binary("logical_and", "logical_and")
logical_or = binary("logical_or", "logical_or")
logical_xor = binary("logical_xor", "logical_xor")
logical_not = unary("logical_not", "logical_not")
bitwise_and = binary("bitwise_and", "bitwise_and")
bitwise_or = binary("bitwise_or", "bitwise_or")
bitwise_xor = binary("bitwise_xor", "bitwise_xor")
bitwise_not = unary("bitwise_not", "invert")
