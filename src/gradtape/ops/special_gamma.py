"""The logarithm of the gamma function with all its derivatives, and the zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.ops.declare import binary, op, unary
from gradtape.ops.special import same_dtype, scipy_kernel, scipy_special


def _lgamma(xp: Any, x: Any) -> Any:
    return xp.where(xp.equal(x, -np.inf), np.inf, scipy_special().gammaln(x))[()]


def _digamma(xp: Any, x: Any) -> Any:
    """NaN at the poles, which have no sign of their own."""
    return xp.where((x <= 0) & (xp.floor(x) == x), np.nan, scipy_special().digamma(x))[()]


def _polygamma(xp: Any, x: Any, y: Any) -> Any:
    """The derivative of order x of the digamma function at y; NaN where x is no order."""
    order, at = same_dtype((x, y))
    wide, special = order.astype(np.float64), scipy_special()
    factor = xp.where(wide % 2 == 0, -1.0, 1.0) * special.gamma(wide + 1)
    higher = xp.where((wide > 0) & (xp.floor(wide) == wide), factor * special.zeta(wide + 1, at), np.nan)
    if (wide == 0).any():
        higher = xp.where(wide == 0, _digamma(xp, at), higher)
    return higher.astype(order.dtype)[()]


lgamma = unary("lgamma", _lgamma, lambda g, x: g * digamma(x))
digamma = unary("digamma", _digamma, lambda g, x: g * polygamma(1, x))
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
    integral = sum(math.perm(order, j) * (-log) ** (order - j) * (-1) ** j / (exponent - 1) ** (j + 1) for j in range(order + 1))
    total = total + rest ** (1 - exponent) * integral + (-log) ** order * rest**-exponent / 2
    # A derivative of the summand is rest**(-exponent - n) times a polynomial in the logarithm, whose coefficients these are.
    polynomial = [xp.zeros_like(log) for _ in range(order)] + [xp.full_like(log, (-1.0) ** order)]
    for n in range(2 * _CORRECTIONS - 1):
        falling = [*[i * c for i, c in enumerate(polynomial)][1:], xp.zeros_like(log)]
        polynomial = [f - (exponent + n) * c for f, c in zip(falling, polynomial, strict=True)]
        if n % 2 == 0:
            derivative = rest ** (-exponent - n - 1) * sum(c * log**i for i, c in enumerate(polynomial))
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
    scipy_kernel("zeta"),
    lambda g, x, y: g * zeta_by_exponent(x, y, order=1),
    lambda g, x, y: -g * (x * zeta(x + 1, y)),
)
zeta_by_exponent = op(
    "zeta_by_exponent",
    _zeta_by_exponent,
    [lambda g, x, y, order: g * zeta_by_exponent(x, y, order=order + 1), _zeta_by_exponent_dy],
    elementwise=True,
)
