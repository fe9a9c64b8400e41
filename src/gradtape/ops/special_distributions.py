"""More of scipy's special functions, with the rules by which they are each other's derivatives:
error functions, entropies, the gamma and beta functions, the inverses of their incomplete forms,
exponentials and integrals of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.ops import batching
from gradtape.ops.arithmetic import times
from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import binary, op, unary
from gradtape.ops.elementary import cos, exp, log, power_by_exponent, sin, xdivy
from gradtape.ops.op import ON_HOST
from gradtape.ops.special import erf, scipy_kernel, scipy_special
from gradtape.ops.special_gamma import digamma
from gradtape.ops.special_integrals import beta_density, betainc_by, gamma_density, igamma_by_a
from gradtape.ops.ufuncs import sinc

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
_ONE_OVER_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)
_SQRT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_SQRT_HALF = math.sqrt(0.5)
_DEGREE = math.pi / 180

# Error functions and the normal distribution

erfcx = unary(
    "erfcx", scipy_kernel("erfcx"), lambda g, x, out: g * ((x + x) * out - _TWO_OVER_SQRT_PI)
)
erfi = unary("erfi", scipy_kernel("erfi"), lambda g, x: g * (exp(x * x) * _TWO_OVER_SQRT_PI))
ndtr = unary(
    "ndtr", scipy_kernel("ndtr"), lambda g, x: g * (exp(x * x * -0.5) * _ONE_OVER_SQRT_TWO_PI)
)
# The density over the distribution function, by erfcx: both vanish far to the left, where their
# quotient does not.
log_ndtr = unary(
    "log_ndtr",
    scipy_kernel("log_ndtr"),
    lambda g, x: g * (_SQRT_TWO_OVER_PI / erfcx(x * -_SQRT_HALF)),
)
ndtri_exp = unary(
    "ndtri_exp",
    scipy_kernel("ndtri_exp"),
    lambda g, out: g * (erfcx(out * -_SQRT_HALF) / _SQRT_TWO_OVER_PI),
)
owens_t = binary(
    "owens_t",
    scipy_kernel("owens_t"),
    lambda g, x, y: (
        g * (erf(x * y * _SQRT_HALF) * exp(x * x * -0.5) * (-0.5 * _ONE_OVER_SQRT_TWO_PI))
    ),
    lambda g, x, y: g * (exp(x * x * (y * y + 1) * -0.5) / ((y * y + 1) * (2 * math.pi))),
)

# Logistic functions and entropies

logit = unary("logit", scipy_kernel("logit"), lambda g, x: g / (x - x * x))
entr = unary("entr", scipy_kernel("entr"), lambda g, x: -g * (log(x) + 1))
rel_entr = binary(
    "rel_entr",
    scipy_kernel("rel_entr"),
    lambda g, x, y: g * (log(x / y) + 1),
    lambda g, x, y: -g * (x / y),
)
kl_div = binary(
    "kl_div",
    scipy_kernel("kl_div"),
    lambda g, x, y: g * log(x / y),
    lambda g, x, y: g - g * (x / y),
)

# Gamma and beta functions

gamma = unary("gamma", scipy_kernel("gamma"), lambda g, x, out: g * out * digamma(x))
rgamma = unary("rgamma", scipy_kernel("rgamma"), lambda g, x, out: -g * out * digamma(x))
beta = binary(
    "beta",
    scipy_kernel("beta"),
    lambda g, x, y, out: g * out * (digamma(x) - digamma(x + y)),
    lambda g, x, y, out: g * out * (digamma(y) - digamma(x + y)),
)
betaln = binary(
    "betaln",
    scipy_kernel("betaln"),
    lambda g, x, y: g * (digamma(x) - digamma(x + y)),
    lambda g, x, y: g * (digamma(y) - digamma(x + y)),
)
binom = binary(
    "binom",
    scipy_kernel("binom"),
    lambda g, x, y, out: g * out * (digamma(x + 1) - digamma(x - y + 1)),
    lambda g, x, y, out: g * out * (digamma(x - y + 1) - digamma(y + 1)),
)
poch = binary(
    "poch",
    scipy_kernel("poch"),
    lambda g, x, y, out: g * out * (digamma(x + y) - digamma(x)),
    lambda g, x, y, out: g * out * digamma(x + y),
)

# Inverses of the incomplete gamma function: `out` is where the probability is y, so that its
# derivatives are those of a quantile.

gammaincinv = op(
    "gammaincinv",
    scipy_kernel("gammaincinv"),
    [
        lambda g, a, out: -g * igamma_by_a(a, out, order=1, over_density=True),
        lambda g, a, out: g / gamma_density(a, out),
    ],
    arguments=["a", "y"],
    elementwise=True,
)
gammainccinv = op(
    "gammainccinv",
    scipy_kernel("gammainccinv"),
    [
        lambda g, a, out: -g * igamma_by_a(a, out, order=1, over_density=True),
        lambda g, a, out: -g / gamma_density(a, out),
    ],
    arguments=["a", "y"],
    elementwise=True,
)


def _to(shape: tuple[int, ...], pulled: Any) -> Any:
    return sum_to_shape(pulled, shape=shape)


def _beta_inverse(name: str, sign: int) -> Callable[..., Any]:
    """The inverse of the incomplete beta function, or of what it leaves to 1 (`sign` is -1)."""
    return op(
        name,
        scipy_kernel(name, in_double=True),
        [
            lambda g, a, b, out, a_shape: _to(
                a_shape, -times(g, betainc_by(a, b, out, orders=(1, 0)) / beta_density(a, b, out))
            ),
            lambda g, a, b, out, b_shape: _to(
                b_shape, -times(g, betainc_by(a, b, out, orders=(0, 1)) / beta_density(a, b, out))
            ),
            lambda g, a, b, out, y_shape: _to(y_shape, times(g, sign / beta_density(a, b, out))),
        ],
        arguments=["a", "b", "y"],
        batch=batching.elementwise,
    )


betaincc = op(
    "betaincc",
    scipy_kernel("betaincc"),
    [
        lambda g, a, b, x, a_shape: _to(a_shape, -times(g, betainc_by(a, b, x, orders=(1, 0)))),
        lambda g, a, b, x, b_shape: _to(b_shape, -times(g, betainc_by(a, b, x, orders=(0, 1)))),
        lambda g, a, b, x, x_shape: _to(x_shape, -times(g, beta_density(a, b, x))),
    ],
    arguments=["a", "b", "x"],
    batch=batching.elementwise,
)
betaincinv = _beta_inverse("betaincinv", 1)
betainccinv = _beta_inverse("betainccinv", -1)

# Exponentials, angles in degrees, and integrals

_SERIES_RADIUS = 1.0
_SERIES_TERMS = 20


def _exprel(xp: Any, x: Any, *, order: int) -> Any:
    """The derivative of some order of (exp(x) - 1) / x:
    near the removable singularity at 0 by its power series.
    """
    if not order:
        return scipy_special().exprel(x)
    wide = xp.asarray(x).astype(np.float64)
    near = xp.abs(wide) < _SERIES_RADIUS + order
    far = xp.where(near, np.nan, wide)
    value = scipy_special().exprel(far)
    for n in range(1, order + 1):  # Leibniz' rule for exp(x) - 1 = x * ratio
        value = (xp.exp(far) - n * value) / far
    series, small = xp.zeros_like(wide), xp.where(near, wide, 0)
    for k in range(_SERIES_TERMS + 8 * order, -1, -1):
        series = series * small + 1 / (math.factorial(k) * (k + order + 1))
    return xp.where(near, series, value).astype(x.dtype)[()]


def _half(name: str, which: int) -> Callable[..., Any]:
    """The kernel of one of the two results of a function of scipy's."""
    return lambda xp, x: getattr(scipy_special(), name)(x)[which]


exprel = op(
    "exprel",
    _exprel,
    [lambda g, x, order: g * exprel(x, order=order + 1)],
    elementwise=True,
    xla=ON_HOST,
)
exp10 = unary("exp10", scipy_kernel("exp10"), lambda g, out: g * out * math.log(10))
cosm1 = unary("cosm1", scipy_kernel("cosm1"), lambda g, x: -g * sin(x))
powm1 = binary(
    "powm1",
    scipy_kernel("powm1"),
    lambda g, x, y: g * (y * x ** (y - 1)),
    lambda g, x, out: power_by_exponent(g, x, out + 1),
)
sindg = unary("sindg", scipy_kernel("sindg"), lambda g, x: g * cosdg(x) * _DEGREE)
cosdg = unary("cosdg", scipy_kernel("cosdg"), lambda g, x: g * sindg(x) * -_DEGREE)
tandg = unary("tandg", scipy_kernel("tandg"), lambda g, out: g * (out * out + 1) * _DEGREE)
cotdg = unary("cotdg", scipy_kernel("cotdg"), lambda g, out: g * (out * out + 1) * -_DEGREE)
wrightomega = unary(
    "wrightomega", scipy_kernel("wrightomega"), lambda g, out: g * (out / (out + 1))
)

exp1 = unary("exp1", scipy_kernel("exp1"), lambda g, x: -g * exp(-x) / x)
sine_integral = unary(
    "sine_integral",
    _half("sici", 0),
    lambda g, x: g * sinc(x * (1 / math.pi), order=0),
    xla=ON_HOST,
)
cosine_integral = unary(
    "cosine_integral", _half("sici", 1), lambda g, x: g * (cos(x) / x), xla=ON_HOST
)
sinh_integral = unary(
    "sinh_integral",
    _half("shichi", 0),
    lambda g, x: g * (exprel(x, order=0) + exprel(-x, order=0)) * 0.5,
    xla=ON_HOST,
)
cosh_integral = unary(
    "cosh_integral", _half("shichi", 1), lambda g, x: g * (exp(x) + exp(-x)) / (x + x), xla=ON_HOST
)
# By n there is no derivative: it is an integer.
expn = binary(
    "expn", scipy_kernel("expn"), None, lambda g, x, y, out: g * (xdivy((x - 1) * out - exp(-y), y))
)
