"""The logarithm of the gamma function with all its derivatives, and the zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.ops import float32, float32_integrals
from gradtape.ops.declare import binary, op, unary
from gradtape.ops.special import same_dtype, scipy_kernel, scipy_special

_gamma, _log_gamma = scipy_kernel("gamma"), scipy_kernel("gammaln")
_digamma_of_scipy, _zeta_of_scipy = scipy_kernel("digamma"), scipy_kernel("zeta")
_AT_ONCE: dict[float, float32.Function] = {1: float32.trigamma, 2: float32_integrals.tetragamma}


def _lgamma(xp: Any, x: Any) -> Any:
    return xp.where(xp.equal(x, -np.inf), np.inf, _log_gamma(xp, x))[()]


def _digamma(xp: Any, x: Any) -> Any:
    """NaN at the poles, which have no sign of their own."""
    if xp is np and float32.serves(x):
        return float32.digamma(x)
    return xp.where((x <= 0) & (xp.floor(x) == x), np.nan, _digamma_of_scipy(xp, x))[()]


def _zeta(xp: Any, x: Any, y: Any) -> Any:
    """The sum of all (y + k)**-x."""
    if xp is np:
        x, y = same_dtype((x, y))
        if float32.serves(y) and x.shape in ((), y.shape):
            return float32_integrals.zeta(x, y)
    return _zeta_of_scipy(xp, x, y)


def psi(xp: Any, order: int, x: Any) -> Any:
    """The derivative of some order of the digamma function, for kernels."""
    if not order:
        return _digamma(xp, x)
    return _zeta(xp, xp.asarray(order + 1.0, dtype=x.dtype), x) * (
        (-1) ** (order + 1) * math.factorial(order)
    )


def _polygamma(xp: Any, x: Any, y: Any) -> Any:
    """The derivative of order x of the digamma function at y; NaN where x is no order."""
    order, at = same_dtype((x, y))
    if xp is np and float32.serves(at) and order.shape in ((), at.shape):
        function = _AT_ONCE.get(float(order.flat[0]))
        if function is not None and (order == order.flat[0]).all():
            return function(at)
    wide = order.astype(np.float64)
    factor = xp.where(wide % 2 == 0, -1.0, 1.0) * _gamma(xp, wide + 1)
    higher = xp.where(
        (wide > 0) & (xp.floor(wide) == wide),
        factor * _zeta(xp, wide + 1, at.astype(np.float64)),
        np.nan,
    )
    if xp is not np or (wide == 0).any():
        higher = xp.where(wide == 0, _digamma(xp, at), higher)
    return higher.astype(order.dtype)[()]


_POLES = (
    "it has poles at 0 and the negative integers: keep its argument positive, tf.maximum(x, 1e-6)."
)

lgamma = unary(
    "lgamma",
    _lgamma,
    lambda g, x: g * digamma(x),
    when_not_finite=_POLES,
)
digamma = unary(
    "digamma",
    _digamma,
    lambda g, x: g * polygamma(1, x),
    when_not_finite=_POLES,
)
# Orders are integers, so that there is no derivative by the order.
polygamma = binary("polygamma", _polygamma, None, lambda g, x, y: g * polygamma(x + 1, y))

_DIRECT_TERMS = 12
_CORRECTIONS = 11  # with 12 terms summed before, the rest is below the rounding of float64


def _zeta_by_exponent(xp: Any, x: Any, y: Any, *, order: int) -> Any:
    """The sum over k of (-log(y + k))**order * (y + k)**-x, by Euler and Maclaurin's formula."""
    x, y = same_dtype((x, y))
    exponent, start = xp.broadcast_arrays(x.astype(np.float64), y.astype(np.float64))
    total = xp.zeros(exponent.shape)
    for k in range(_DIRECT_TERMS):
        total = total + (-xp.log(start + k)) ** order * (start + k) ** -exponent
    rest = start + _DIRECT_TERMS
    log = xp.log(rest)
    integral = sum(
        math.perm(order, j) * (-log) ** (order - j) * (-1) ** j / (exponent - 1) ** (j + 1)
        for j in range(order + 1)
    )
    total = total + rest ** (1 - exponent) * integral + (-log) ** order * rest**-exponent / 2
    # A derivative of the summand is rest**(-exponent - n) times a polynomial in the logarithm,
    # whose coefficients these are.
    polynomial = [xp.zeros_like(log) for _ in range(order)] + [xp.full_like(log, (-1.0) ** order)]
    for n in range(2 * _CORRECTIONS - 1):
        falling = [*[i * c for i, c in enumerate(polynomial)][1:], xp.zeros_like(log)]
        polynomial = [f - (exponent + n) * c for f, c in zip(falling, polynomial, strict=True)]
        if n % 2 == 0:
            derivative = rest ** (-exponent - n - 1) * sum(
                c * log**i for i, c in enumerate(polynomial)
            )
            total = total - _bernoulli(n + 2) * derivative
    return xp.where((exponent > 1) & (start > 0), total, np.nan).astype(x.dtype)[()]


def _bernoulli(n: int) -> Any:
    """The Bernoulli number of even index n over n!."""
    return (-1) ** (n // 2 + 1) * 2 * scipy_special().zeta(float(n)) / (2 * math.pi) ** n


def _zeta_by_exponent_dy(g: Any, x: Any, y: Any, order: int) -> Any:
    lower = zeta(x + 1, y) if order == 1 else zeta_by_exponent(x + 1, y, order=order - 1)
    return -g * (lower * order + x * zeta_by_exponent(x + 1, y, order=order))


zeta = binary(
    "zeta",
    _zeta,
    lambda g, x, y: g * zeta_by_exponent(x, y, order=1),
    lambda g, x, y: -g * (x * zeta(x + 1, y)),
)
zeta_by_exponent = op(
    "zeta_by_exponent",
    _zeta_by_exponent,
    [lambda g, x, y, order: g * zeta_by_exponent(x, y, order=order + 1), _zeta_by_exponent_dy],
    elementwise=True,
)
