"""Arithmetic, comparison, rounding and logic, element by element."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gradtape.core.needed_ops import needed
from gradtape.core.strong_zeros import has_nan
from gradtape.engines.arrays import spread_number
from gradtape.ops import links
from gradtape.ops.batching import as_it_is, shifted
from gradtape.ops.broadcasting import cast
from gradtape.ops.declare import binary, op, unary
from gradtape.ops.jets import (
    Index,
    JetCall,
    NoRule,
    Partials,
    below,
    bilinear,
    minus,
    of_many,
    plus,
    product_rule,
    square_rule,
    through,
)
from gradtape.ops.selection import drop, keep, keep_array, zeros_like

# A formula such as `g - g * out * out` stands for `g * (1 - out * out)` because NumPy takes half as
# long again for an operation with a Python number.


def _floordiv(xp: Any, x: Any, y: Any) -> Any:
    """floor(x / y) for floats, where NumPy's own `//` rounds differently:
    1.0 // 0.1 is 10 in TensorFlow.
    """
    return x // _not_zero(xp, y) if _holds_integers(x, y) else xp.floor(x / y)


def _floormod(xp: Any, x: Any, y: Any) -> Any:
    return x % _not_zero(xp, y) if _holds_integers(x, y) else x % y


def _holds_integers(x: Any, y: Any) -> bool:
    """Whether a kernel's two operands are integers; one of them may be a Python number,
    and both then stand for floats.
    """
    return all(
        getattr(value, "dtype", None) is not None and value.dtype.kind in "iu" for value in (x, y)
    )


def _not_zero(xp: Any, y: Any) -> Any:
    """`y`, refused if it holds an integer zero, which NumPy would divide by and answer 0;
    XLA cannot refuse.
    """
    if xp is np and not np.all(y):
        raise ValueError("integer division by zero")
    return y


def _add_n(xp: Any, *terms: Any) -> Any:
    first, second, *rest = terms
    total = first + second
    for term in rest:
        total += term
    return total


def _product(xp: Any, x: Any, y: Any, dead: Any) -> Any:
    """A product, and 0 where `dead` says so; NumPy looks for a NaN before it asks."""
    product = xp.multiply(x, y)
    if xp is not np:
        return xp.where(dead(), product.dtype.type(0), product)
    if not has_nan(np.asarray(product)):
        return product
    return np.where(dead(), product.dtype.type(0), product)[()]


def _abs_pull(g: Any, x: Any, x_dtype: Any) -> Any:
    """g times the sign; for a complex number that is its direction,
    which is a function of it in turn.
    """
    if x_dtype.kind != "c":
        return times(g, sign(x))
    return times(cast(g, dtype=x_dtype), divide_no_nan(x, cast(absolute(x), dtype=x_dtype)))


def _square_pull(g: Any, x: Any) -> Any:
    if (number := spread_number(g)) is not None:
        return x * (number + number)
    twice = x + x
    twice *= g  # into its own buffer, if it is an array
    return twice


def _add_jet(step: JetCall) -> Partials:
    x, y = step.input(0), step.input(1)
    return lambda index: _spread(step, plus(x(index), y(index)), index)


def _subtract_jet(step: JetCall) -> Partials:
    x, y = step.input(0), step.input(1)
    return lambda index: _spread(step, minus(x(index), y(index)), index)


def _spread(step: JetCall, value: Any, index: Index) -> Any:
    return (
        None
        if value is None
        else step.spread(value, [i for i in (0, 1) if step.input(i)(index) is not None])
    )


def _divide_jet(step: JetCall) -> Partials:
    """From out * y = x."""
    x, y, out = step.input(0), step.input(1), step.output

    def partials(index: Index) -> Any:
        numerator = minus(x(index), product_rule(index, below(index, out), y))
        return None if numerator is None else numerator / y(())

    return partials


def _square_jet(step: JetCall) -> Partials:
    x = step.input(0)
    return lambda index: square_rule(index, x)


def _abs_jet(step: JetCall) -> Partials:
    x = step.input(0)(())
    if x.array.dtype.kind == "c":
        raise NoRule
    signs = sign(x)
    return through(step, lambda moved: moved * signs)


def _sum_of(step: JetCall, parts: list[Any]) -> Any:
    first, *others = [part for part in parts if part is not None]
    for part in others:
        first = first + part
    return first


BY_ZERO = (
    "it divides by 0 there, or by so little that the result overflows: add an epsilon to the "
    "divisor, or use tf.math.divide_no_nan, which is 0 where the divisor is."
)
"""What to do where a division is not finite."""

add = binary("add", operator.add, lambda g: g, lambda g: g, kinds="iufcVO", jet=_add_jet)
subtract = binary(
    "subtract", operator.sub, lambda g: g, lambda g: -g, kinds="iufcV", jet=_subtract_jet
)
multiply = binary(
    "multiply", operator.mul, lambda g, y: g * y, lambda g, x: g * x, kinds="iufcV", jet=bilinear
)
# The products that strong zeros are made of. `times` is 0 where x, which is a cotangent, is 0,
# whatever y is. For such an x it is the function 0 of y, so that its derivative by y is 0 where
# either factor is: `both`, whose derivatives are of its own kind.
times = binary(
    "times",
    lambda xp, x, y: _product(xp, x, y, lambda: xp.equal(x, 0)),
    lambda g, y: times(g, y),
    lambda g, x: both(g, x),
    selects=True,
    jet=bilinear,
)
both = binary(
    "both",
    lambda xp, x, y: _product(xp, x, y, lambda: xp.logical_or(xp.equal(x, 0), xp.equal(y, 0))),
    lambda g, y: both(g, y),
    lambda g, x: both(g, x),
    selects=True,
    jet=bilinear,
)
needed.times = times
divide = binary(
    "divide",
    operator.truediv,
    lambda g, y: g / y,
    lambda g, y, out: -g * out / y,
    jet=_divide_jet,
    when_not_finite=BY_ZERO,
)
divide_no_nan = binary(
    "divide_no_nan",
    lambda xp, x, y: keep_array(xp, x / y, xp.not_equal(y, 0))[()],
    lambda g, y: divide_no_nan(g, y),
    lambda g, y, out: -divide_no_nan(g * out, y),
)
multiply_no_nan = binary(
    "multiply_no_nan",
    lambda xp, x, y: keep_array(xp, x * y, xp.not_equal(y, 0))[()],
    lambda g, y: multiply_no_nan(g, y),
    lambda g, x: multiply_no_nan(x, g),
)
add_n = op(
    "add_n",
    _add_n,
    pull_all=lambda g, wanted: [g for _ in wanted],
    arguments=(),
    linear=True,
    batch=shifted(every=True),
    plain=True,
    jet=of_many(_sum_of),
    links=links.elementwise,
)
floormod = binary(
    "floormod", _floormod, lambda g: g, lambda g, x, y: -g * floor(divide(x, y)), kinds="iufV"
)
floordiv = binary("floordiv", _floordiv, kinds="iufV")
maximum = binary(
    "maximum",
    "maximum",
    lambda g, x, y: keep(g, greater_equal(x, y)),
    lambda g, x, y: drop(g, greater_equal(x, y)),
    selects=True,
    chooses=True,
)
minimum = binary(
    "minimum",
    "minimum",
    lambda g, x, y: keep(g, less_equal(x, y)),
    lambda g, x, y: drop(g, less_equal(x, y)),
    selects=True,
    chooses=True,
)
squared_difference = binary(
    "squared_difference",
    lambda xp, x, y: xp.square(x - y),
    lambda g, x, y: g * (d := x - y) + g * d,
    lambda g, x, y: g * (d := y - x) + g * d,
    plain=True,
)

negative = unary("negative", operator.neg, lambda g: -g)
square = unary("square", "square", _square_pull, jet=_square_jet)
sign = unary("sign", "sign", lambda g: zeros_like(g))
absolute = op(
    "abs",
    "abs",
    [_abs_pull],
    arguments=["x"],
    batch=as_it_is,
    jet=_abs_jet,
    links=links.elementwise,
)

floor = unary("floor", "floor")
ceil = unary("ceil", "ceil")
round_half_even = unary("round", lambda xp, x: x if x.dtype.kind in "iu" else xp.rint(x))

is_nan = unary("is_nan", "isnan")
is_inf = unary("is_inf", "isinf")
is_finite = unary("is_finite", "isfinite")

equal = binary("equal", operator.eq)
not_equal = binary("not_equal", operator.ne)
less = binary("less", operator.lt, kinds="iufV")
less_equal = binary("less_equal", operator.le, kinds="iufV")
greater = binary("greater", operator.gt, kinds="iufV")
greater_equal = binary("greater_equal", operator.ge, kinds="iufV")

needed.equal = equal

logical_and = binary("logical_and", "logical_and")
logical_or = binary("logical_or", "logical_or")
logical_xor = binary("logical_xor", "logical_xor")
logical_not = unary("logical_not", "logical_not")
bitwise_and = binary("bitwise_and", "bitwise_and")
bitwise_or = binary("bitwise_or", "bitwise_or")
bitwise_xor = binary("bitwise_xor", "bitwise_xor")
bitwise_not = unary("bitwise_not", "invert")
