"""The functions of `scipy.special` on XLA, by scipy's names: JAX's where they are accurate, our own
where they are not.

A function that is missing here runs on the host: see `special.scipy_kernel`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_SQRT_HALF = math.sqrt(0.5)
_LOWEST = -1e5  # below it, a sum from there up to 0 is not begun


def _of_jax(name: str) -> Callable[..., Any]:
    return lambda xp, *args: getattr(xp.special, name)(*args)


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """As scipy does it: in float32 XLA's own series lose most of their digits."""

    def called(xp: Any, *args: Any) -> Any:
        return function(xp, *[arg.astype(np.float64) for arg in args]).astype(args[0].dtype)

    return called


def _erfcinv(xp: Any, x: Any) -> Any:
    return xp.special.ndtri(x / 2) * -_SQRT_HALF


def _erfinv(xp: Any, x: Any) -> Any:
    """JAX's own has ten digits beside 1."""
    far = xp.sign(x) * _erfcinv(xp, 1 - xp.abs(x))
    return xp.where(xp.abs(x) > 0.5, far, xp.special.erfinv(x))


def zeta(xp: Any, x: Any, y: Any) -> Any:
    """The sum of all (y + k)**-x.

    JAX's own is wrong for y below 0, from where it is summed here until y is above.
    """
    x, y = xp.broadcast_arrays(x, y)
    known = y > _LOWEST

    def step(state: Any) -> Any:
        total, y = state
        below = y <= 0
        return xp.where(below, total + y**-x, total), xp.where(below, y + 1, y)

    start = xp.where(known, y, 1)
    total, rest = xp.lax.while_loop(
        lambda state: (state[1] <= 0).any(), step, (xp.zeros_like(y), start)
    )
    found = total + xp.where(rest == math.inf, 0, xp.special.zeta(x, rest))
    whole = xp.floor(y) == y
    defined = (x > 1) & known & ((y > 0) | whole | (xp.floor(x) == x))
    return xp.where(
        defined, xp.where((y <= 0) & whole, math.inf, found), xp.where(x == 1, math.inf, math.nan)
    )


def _betaln(xp: Any, a: Any, b: Any) -> Any:
    """JAX's own has six digits."""
    return xp.special.gammaln(a) + xp.special.gammaln(b) - xp.special.gammaln(a + b)


_SAME = (
    "erf",
    "erfc",
    "ndtr",
    "ndtri",
    "dawsn",
    "spence",
    "i0",
    "i1",
    "i0e",
    "i1e",
    "gammaln",
    "digamma",
)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_jax(name) for name in _SAME},
    **{name: _in_double(_of_jax(name)) for name in ("gamma", "gammainc", "gammaincc", "betainc")},
    "erfinv": _erfinv,
    "erfcinv": _erfcinv,
    "zeta": _in_double(zeta),
    "betaln": _in_double(_betaln),
}
