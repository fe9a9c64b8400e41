"""Powers, exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.ops import float32
from gradtape.ops.arithmetic import BY_ZERO, greater, not_equal
from gradtape.ops.broadcasting import cast
from gradtape.ops.declare import binary, unary
from gradtape.ops.jets import (
    Index,
    JetCall,
    Partials,
    below,
    chain_rule,
    minus,
    product_rule,
    scaled,
    square_rule,
)
from gradtape.ops.selection import keep_array, ones_like, where, zeros_like


def _pow_dx(g: Any, x: Any, y: Any) -> Any:
    """y x**(y - 1).

    For the number 1 without a power of x, so that no 0 * x**-1 spoils the next derivative at 0.
    """
    if not hasattr(y, "dtype") and y == 1:
        return g * _one(x)
    return g * (y * x ** (y - 1))


def power_by_exponent(g: Any, x: Any, out: Any) -> Any:
    """x**y log x, and 0 where the logarithm has no (real) value."""
    if not hasattr(x, "dtype"):
        return g * (out * math.log(x)) if x > 0 else g * 0
    defined = not_equal(x, 0) if _dtype(out).kind == "c" else greater(x, 0)
    return g * where(defined, out * log(where(defined, x, ones_like(x))), 0)


def _is_number_but_0(saved: Any) -> bool:
    """Whether what a power saved tells that its exponent is a number other than 0: any number to
    the power of 0 is 1, NaN too.
    """
    by_x, by_y = saved
    return by_y is None and not hasattr(by_x[2], "dtype") and by_x[2] != 0


def one_unless_zero(x: Any) -> Any:
    """1 where x is not zero, else 0."""
    return cast(not_equal(x, 0), dtype=_dtype(x))


def _dtype(x: Any) -> Any:
    return (x.array if isinstance(x, Tensor) else x).dtype


def _sqrt_one_minus_square(x: Any) -> Any:
    """Complex numbers on the branch cut keep the sign of a zero imaginary part,
    which `1 - x * x` would lose.
    """
    return sqrt(-(x * x - 1) if _dtype(x).kind == "c" else 1 - x * x)


def _pow_jet(step: JetCall) -> Partials | None:
    """A power with an exponent that does not move is its factor times a lower power;
    a whole one comes to an end at 1.
    """
    if step.moves(1):
        return None
    x = step.input(0)

    @step.cached
    def lowered(times: int, index: Index) -> Any:
        """A partial of the derivative that is taken `times` by x itself."""
        if index:
            return chain_rule(index, lambda part: lowered(times + 1, part), x)
        exponent, factor = step.saved("y"), 1
        for i in range(times):
            factor = factor * (exponent - i)
        if isinstance(exponent, Tensor):
            return factor * x(()) ** (exponent - times)
        if factor == 0:
            return None
        if times == exponent:
            return Tensor(np.full(x(()).array.shape, factor, x(()).array.dtype))
        return scaled(x(()) if exponent - times == 1 else x(()) ** (exponent - times), factor)

    return lambda index: lowered(0, index)


def _exp_jet(step: JetCall) -> Partials:
    x, out = step.input(0), step.output
    return lambda index: chain_rule(index, out, x)


def _log_jet(step: JetCall) -> Partials:
    x = step.input(0)

    @step.cached
    def slope(index: Index) -> Any:
        return _partials_of_reciprocal(x, slope)(index) if index else 1 / x(())

    return lambda index: chain_rule(index, slope, x)


def _partials_of_reciprocal(x: Partials, out: Partials) -> Partials:
    """From out * x = 1: what the terms with lower partials of `out` add up to,
    that with the highest must make good.
    """

    def partials(index: Index) -> Any:
        rest = product_rule(index, below(index, out), x)
        return None if rest is None else -out(()) * rest

    return partials


def _sqrt_jet(step: JetCall) -> Partials:
    """From out * out = x."""
    x, out = step.input(0), step.output

    def partials(index: Index) -> Any:
        rest = minus(x(index), square_rule(index, below(index, out)))
        return None if rest is None else rest / (out(()) + out(()))

    return partials


def _sine_and_cosine(step: JetCall) -> tuple[Partials, Partials]:
    """The partials of both: each is the other's slope, but for the sign."""
    x = step.input(0)

    @step.cached
    def sine(index: Index) -> Any:
        return chain_rule(index, cosine, x) if index else sin(x(()))

    @step.cached
    def cosine(index: Index) -> Any:
        return minus(None, chain_rule(index, sine, x)) if index else cos(x(()))

    return sine, cosine


def _tanh_jet(step: JetCall) -> Partials:
    x, out = step.input(0), step.output

    @step.cached
    def slope(index: Index) -> Any:
        return square_rule(index, out, -1) if index else 1 - out(()) * out(())

    return lambda index: chain_rule(index, slope, x)


# What to do where they are not finite.

_LOG = (
    "its argument is 0 or negative there. If that is a softmax or a sigmoid, use "
    "tf.nn.log_softmax, tf.math.log_sigmoid, or a loss of logits such as "
    "tf.nn.sparse_softmax_cross_entropy_with_logits; otherwise add an epsilon, tf.math.log(x + "
    "1e-7), or mask it, tf.where(x > 0, tf.math.log(x), 0.0)."
)
_LOG1P = "its argument is -1 or less there: clip it, tf.maximum(x, -1 + 1e-7)."
_EXP = (
    "it overflows there: clip its argument (tf.minimum(x, 80.0) for float32), or stay in "
    "logarithms: tf.reduce_logsumexp, tf.nn.softmax and tf.math.softplus do not overflow."
)
_RSQRT = "its argument is 0 or negative there: add an epsilon, tf.math.rsqrt(x + 1e-12)."
_ATANH = "its argument is outside (-1, 1) there: clip it, tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6)."
_ANGLE = (
    "the angle of the point (0, 0) has no derivative: add an epsilon to one of the arguments, or "
    "mask the result with tf.where."
)
# Of the derivative there is another thing to say.
_SQRT = (
    "its argument is negative there: clip it, tf.sqrt(tf.maximum(x, 0.0)).",
    (
        "its derivative is infinite at 0: add an epsilon, tf.sqrt(x + 1e-12), or mask it, "
        "tf.where(x > 0, tf.sqrt(x), 0.0), which passes no gradient to what it hides."
    ),
)
_ARC = (
    (
        "its argument is outside [-1, 1] there, perhaps by rounding alone: clip it, "
        "tf.clip_by_value(x, -1.0, 1.0)."
    ),
    (
        "its derivative is infinite at -1 and 1: clip its argument a little further inside, "
        "tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6)."
    ),
)
_ACOSH = (
    "its argument is below 1 there: clip it, tf.maximum(x, 1.0).",
    (
        "its derivative is infinite at 1: clip its argument a little further inside, "
        "tf.maximum(x, 1 + 1e-6)."
    ),
)
_POW = (
    (
        "a negative base has no real power with a fractional exponent, 0 has none with a negative "
        "one, and large ones overflow: clip the base."
    ),
    (
        "where the base is 0 and the exponent below 1, the derivative is infinite: add an epsilon "
        "to the base, or mask the result with tf.where, which passes no gradient to what it hides."
    ),
)

_one = unary("one", "ones_like", lambda g: zeros_like(g), plain=False)
power = binary(
    "pow",
    operator.pow,
    _pow_dx,
    power_by_exponent,
    kinds="iufcV",
    plain=_is_number_but_0,
    jet=_pow_jet,
    when_not_finite=_POW,
)

exp = unary("exp", "exp", lambda g, out: g * out, jet=_exp_jet, when_not_finite=_EXP)
expm1 = unary("expm1", float32.expm1, lambda g, out: g * out + g, plain=True, when_not_finite=_EXP)
log = unary("log", "log", lambda g, x: g / x, jet=_log_jet, when_not_finite=_LOG)
log1p = unary(
    "log1p",
    float32.log1p,
    lambda g, x: g / (x + 1),
    plain=True,
    when_not_finite=_LOG1P,
)
sqrt = unary("sqrt", "sqrt", lambda g, out: g / (out + out), jet=_sqrt_jet, when_not_finite=_SQRT)
rsqrt = unary(
    "rsqrt",
    lambda xp, x: 1 / xp.sqrt(x),
    lambda g, x, out: g * out / (x * -2),
    plain=True,
    when_not_finite=_RSQRT,
)
reciprocal = unary(
    "reciprocal",
    lambda xp, x: 1 / x,
    lambda g, out: -g * out * out,
    plain=True,
    jet=lambda step: _partials_of_reciprocal(step.input(0), step.output),
    when_not_finite=BY_ZERO,
)

sin = unary("sin", "sin", lambda g, x: g * cos(x), jet=lambda step: _sine_and_cosine(step)[0])
cos = unary("cos", "cos", lambda g, x: -g * sin(x), jet=lambda step: _sine_and_cosine(step)[1])
tan = unary("tan", "tan", lambda g, out: g + g * out * out)
tanh = unary("tanh", "tanh", lambda g, out: g - g * out * out, jet=_tanh_jet)
asin = unary(
    "asin",
    float32.elementary("arcsin"),
    lambda g, x: g / _sqrt_one_minus_square(x),
    plain=True,
    when_not_finite=_ARC,
)
acos = unary(
    "acos",
    float32.elementary("arccos"),
    lambda g, x: -g / _sqrt_one_minus_square(x),
    plain=True,
    when_not_finite=_ARC,
)
atan = unary("atan", float32.elementary("arctan"), lambda g, x: g / (x * x + 1), plain=True)
# The angle of the point (y, x): the argument that mathematics, and the public function, call `y`
# comes first.
atan2 = binary(
    "atan2",
    "arctan2",
    lambda g, x, y: g * (y / (x * x + y * y)),
    lambda g, x, y: -g * (x / (x * x + y * y)),
    when_not_finite=_ANGLE,
)

sinh = unary("sinh", "sinh", lambda g, x: g * cosh(x), when_not_finite=_EXP)
cosh = unary("cosh", "cosh", lambda g, x: g * sinh(x), when_not_finite=_EXP)
asinh = unary("asinh", "arcsinh", lambda g, out: g / cosh(out))
acosh = unary(
    "acosh",
    "arccosh",
    lambda g, out: g / sinh(out),
    when_not_finite=_ACOSH,
)
atanh = unary(
    "atanh",
    float32.elementary("arctanh"),
    lambda g, x: g / (1 - x * x),
    plain=True,
    when_not_finite=_ATANH,
)

# Both are 0 where x is 0, whatever y is, and so are their derivatives.
xlogy = binary(
    "xlogy",
    lambda xp, x, y: keep_array(
        xp, x * xp.log(xp.asarray(y, dtype=xp.result_type(x, y))), xp.not_equal(x, 0)
    )[()],
    lambda g, x, y: g * xlogy(one_unless_zero(x), y),
    lambda g, x, y: g * xdivy(x, y),
    when_not_finite=_LOG,
)
xdivy = binary(
    "xdivy",
    lambda xp, x, y: keep_array(xp, x / y, xp.not_equal(x, 0))[()],
    lambda g, x, y: g * xdivy(one_unless_zero(x), y),
    lambda g, y, out: -g * xdivy(out, y),
    when_not_finite=BY_ZERO,
)
