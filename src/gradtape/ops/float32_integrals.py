"""More functions for large float32 arrays, in the manner of `float32`: modified Bessel functions of
the second kind, and integrals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.ops import fits
from gradtape.ops.float32 import (
    Function,
    beyond,
    in_blocks,
    patched,
    polynomial,
    quotient,
    scipy_special,
)

_TINY = 1e-36  # below it, numbers of float32 have fewer digits when they are multiplied


def _decaying(order: int, *, scaled: bool) -> Function:
    """The modified Bessel function of the second kind, times exp(x) if it is `scaled`.

    Up to 1.25 it is a logarithm times the function of the first kind, and a polynomial in x**2.
    """
    near, first_kind = ((fits.K0, fits.I0), (fits.K1, fits.I1))[order]
    far = (fits.K0E_FAR, fits.K1E_FAR)[order]
    name = f"k{order}e" if scaled else f"k{order}"

    def function(x: Any) -> Any:
        small = np.clip(x, 0, 1.25)
        square = small * small
        out = polynomial(square, near)
        product = polynomial(square, first_kind)
        log = np.multiply(small, 0.5, out=square)
        product *= np.log(log, out=log)
        if order:
            product *= small
            out /= small
            out += product
        else:
            out -= product
        if scaled:
            out *= np.exp(small, out=small)
        places = np.flatnonzero(beyond(x, 1.25))
        if places.size:
            large = x[places]
            inverse = 1 / large
            found = quotient(inverse, far)
            found *= np.sqrt(inverse, out=inverse)
            if not scaled:
                found *= np.exp(np.negative(large, out=large), out=large)
            out[places] = found
        return patched(out, x, ~(x > _TINY), getattr(scipy_special(), name))

    return function


def _dawson(x: Any) -> Any:
    near = np.clip(x, -4, 4)
    out = quotient(near * near, fits.DAWSON)
    out *= near
    places = np.flatnonzero(beyond(np.abs(x), 4))
    if places.size:
        inverse = 1 / x[places]
        out[places] = quotient(inverse * inverse, fits.DAWSON_FAR) * inverse
    return out


# The root of the exponential integral in two parts, of which the first is a number of float32.
_ROOT = float(np.float32(0.37250741078136663446))
_REST_OF_ROOT = 0.37250741078136663446 - _ROOT
_OVERFLOWS = 88.0  # the exponential, but not yet its quotient by x


def _from_root(x: Any) -> Any:
    out = x - _ROOT
    out -= _REST_OF_ROOT
    return out


def _expint_beside_root(x: Any) -> Any:
    distance = _from_root(x)
    return distance * quotient(distance, fits.EI_ROOT)


def _expint_middle(x: Any) -> Any:
    return quotient(1 / x - 1 / 8, fits.EI_MIDDLE)


def _expint_above(x: Any) -> Any:
    inverse = 1 / x
    out = quotient(inverse - 3 / 64, fits.EI_FAR)
    out = patched(out, x, x < 12, _expint_middle)
    out *= inverse
    out *= np.exp(x)
    return patched(out, x, beyond(x, _OVERFLOWS), scipy_special().expi)


def _expint_below(x: Any) -> Any:
    """Of negative numbers."""
    size = np.negative(x)
    small = np.clip(size, 0, 1)
    out = np.log(small)
    out -= polynomial(small, fits.E1)
    places = np.flatnonzero(beyond(size, 1))
    if places.size:
        inverse = 1 / size[places]
        found = quotient(inverse, fits.E1_FAR)
        found *= inverse
        found *= np.exp(x[places])
        out[places] = np.negative(found, out=found)
    return out


def _expint(x: Any) -> Any:
    small = np.clip(x, 0, 6)
    out = quotient(small, fits.EI)
    out *= _from_root(small)
    small *= 1 / (_ROOT + _REST_OF_ROOT)
    out += np.log(small, out=small)
    out = patched(out, x, np.abs(x - _ROOT) < 0.12, _expint_beside_root)
    out = patched(out, x, beyond(x, 6), _expint_above)
    out = patched(out, x, x < 0, _expint_below)
    return patched(out, x, np.abs(x) < _TINY, scipy_special().expi)


def _spence_below(x: Any) -> Any:
    """Up to a half, where its slope is a logarithm."""
    out = quotient(x, fits.LOG1M)
    out *= x
    out *= np.log(np.clip(x, 1e-45, 1))  # 0 times it is 0
    out += quotient(x, fits.SPENCE_NEAR_0)
    return out


def _spence_above(x: Any) -> Any:
    """From 2 on, by its value at 1 / x."""
    log = np.log(x)
    inverse = 1 / x
    out = quotient(inverse, fits.LOG1M)
    out *= inverse
    out -= log * 0.5
    out *= log
    out -= quotient(inverse, fits.SPENCE_NEAR_0)
    return patched(out, x, beyond(x, 1e38), scipy_special().spence)


def _spence(x: Any) -> Any:
    before = 1 - np.clip(x, 0.5, 2)
    out = quotient(before, fits.SPENCE)
    out *= before
    out = patched(out, x, x < 0.5, _spence_below)
    out = patched(out, x, beyond(x, 2), _spence_above)
    return patched(out, x, x < 0, np.sqrt)  # NaN, and the note of an invalid argument


def log_ratio(x: Any) -> Any:
    """log(x) / (x - 1), which is the derivative of `spence`, but for its sign."""
    out, below = np.log(x), x - 1
    at_one = np.flatnonzero(below == 0)
    out[at_one] = below[at_one] = 1
    out /= below
    return out


_NEAR, _HUGE = 1.5, 1e3
_UPPER_HALF = np.uint32(0xFFFFF000)


def _quarter_turns(x: Any) -> Any:
    """x**2 but for a multiple of 4, without a rounding error that grows with x."""
    upper = (x.view(np.uint32) & _UPPER_HALF).view(np.float32)
    rest = x - upper
    out = upper * upper
    out -= np.rint(out * 0.25) * 4
    upper += x
    upper *= rest
    out += upper
    return out


def fresnel(which: int) -> Function:
    """The Fresnel integrals: of the sine (0) or the cosine (1)."""
    near = (fits.FRESNEL_S, fits.FRESNEL_C)[which]

    def function(x: Any) -> Any:
        small = np.clip(x, -_NEAR, _NEAR)
        square = small * small
        out = polynomial(square * square, near)
        out *= small
        if not which:
            out *= square
        size = np.abs(x)
        out = patched(out, x, beyond(size, _NEAR), far)
        return patched(out, x, beyond(size, _HUGE), lambda x: scipy_special().fresnel(x)[which])

    def far(x: Any) -> Any:
        """A half, less f times the one function and g times the other of the angle."""
        size = np.abs(x)
        angle = _quarter_turns(size)
        angle *= math.pi / 2
        inverse = 1 / size
        square = inverse * inverse
        fourth = square * square
        square *= quotient(fourth, fits.FRESNEL_G)
        f = quotient(fourth, fits.FRESNEL_F)
        if which:
            square *= np.cos(angle)
            f *= np.negative(np.sin(angle))
        else:
            square *= np.sin(angle)
            f *= np.cos(angle)
        f += square
        f *= inverse
        return np.copysign(np.subtract(0.5, f, out=f), x)

    return function


def _tetragamma(x: Any) -> Any:
    out = quotient(x, fits.TETRAGAMMA)
    for _ in range(3):
        out /= x
    places = np.flatnonzero(beyond(x, 20))
    if places.size:
        inverse = 1 / x[places]
        square = inverse * inverse
        found = polynomial(square, (-1 / 12, 1 / 4))
        found *= square
        found += 0.5 * inverse
        found += 0.5
        out[places] = found * square
    out *= -2
    wrong = np.flatnonzero(x < 1e-12)
    if wrong.size:
        out[wrong] = -2 * scipy_special().zeta(np.float32(3), x[wrong])
    return out


def tetragamma(x: Any) -> Any:
    """The second derivative of the digamma function, for `serves`."""
    return in_blocks(_tetragamma, x)


_BLOCK = 2**13  # elements in double precision
_TERMS = 5
_HIGHEST = 12
"""Up to this exponent the corrections below are enough for float32."""
_FAR = 1e20  # a square of more is too large for some exponents


def _zeta(s: Any, q: Any) -> Any:
    """The sum of (q + k)**-s over all k: the first ones, then Euler and Maclaurin's formula."""
    out = q**-s
    for k in range(1, _TERMS):
        out += (q + k) ** -s
    q = q + _TERMS
    power = q**-s
    out += power * (q / (s - 1) + 0.5)
    power *= s / q
    inverse = 1 / (q * q)
    for n, factor in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)):
        out += factor * power
        power *= (s + (2 * n + 1)) * (s + (2 * n + 2)) * inverse
    return out


def zeta(x: Any, y: Any) -> Any:
    """The Hurwitz zeta function of an exponent, or one for each element, and `y` for `serves`."""
    every, starts = np.broadcast_to(x, y.shape).reshape(-1), y.reshape(-1)
    out = np.empty(y.size, y.dtype)
    for begin in range(0, y.size, _BLOCK):
        part = slice(begin, begin + _BLOCK)
        s, q = (each[part].astype(np.float64) for each in (every, starts))
        within = (s > 1) & (s <= _HIGHEST) & (q > 0) & (q < _FAR)
        if within.all():
            out[part] = _zeta(s, q)
        else:
            out[part] = scipy_special().zeta(s, q)
            out[part][within] = _zeta(s[within], q[within])
    return out.reshape(y.shape)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "k0": _decaying(0, scaled=False),
    "k0e": _decaying(0, scaled=True),
    "k1": _decaying(1, scaled=False),
    "k1e": _decaying(1, scaled=True),
    "dawsn": _dawson,
    "expi": _expint,
    "spence": _spence,
}
"""By their names in `scipy.special`."""
