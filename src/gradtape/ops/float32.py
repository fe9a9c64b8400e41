"""Functions of large float32 arrays on NumPy, which SciPy and, on many processors, NumPy compute
one element at a time in double precision.

Here they are made of the functions that NumPy has in vectors for float32 (arithmetic, exp, log,
tanh, sqrt), and of polynomials, whose coefficients are in `fits`. An array is taken in blocks that
stay in the processor's cache. Where a formula does not hold, at the far ends and where something is
not finite, SciPy computes the elements as before. Results are a few units in the last place from
the exact ones; tests/ops/test_float32.py says how many for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from gradtape.engines.numpy import threads
from gradtape.ops import fits

Function = Callable[[Any], Any]

MANY = 2**11
"""From so many elements on it is faster than one element at a time."""

_BLOCK = 2**16  # elements, of which half a dozen arrays stay in the cache
_FLOAT32 = np.dtype(np.float32)


def serves(x: Any) -> bool:
    """Whether an argument is an array for the functions here."""
    return type(x) is np.ndarray and x.dtype is _FLOAT32 and x.size >= MANY


def in_blocks(function: Function, x: Any) -> Any:
    """`function(x)` for one that works element by element."""
    return threads.in_blocks(function, x, size=_BLOCK)


@cache
def numpy_is_slow(name: str) -> bool:
    """Whether NumPy computes a function of float32 one element at a time on this processor,
    but exponentials in vectors.
    """
    # Loading it takes a while, and few programs ask.
    from numpy.lib.introspect import opt_func_info  # noqa: PLC0415

    chosen = opt_func_info(func_name=f"^({name}|exp)$", signature="float32")
    own, exp = (chosen.get(each, {}).get("ff", {}).get("current", "") for each in (name, "exp"))
    return own.startswith("baseline") and not exp.startswith("baseline")


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """By Horner's rule, the highest coefficient first."""
    first, second, *others = coefficients
    out = x * first
    out += second
    for coefficient in others:
        out *= x
        out += coefficient
    return out


def quotient(x: Any, fit: tuple[Sequence[float], Sequence[float]]) -> Any:
    above, below = fit
    out = polynomial(x, above)
    out /= polynomial(x, below)
    return out


def patched(out: Any, x: Any, wrong: Any, function: Function) -> Any:
    """`out` with the values of another function, such as SciPy's, where it is wrong."""
    places = np.flatnonzero(wrong)
    if places.size:
        out[places] = function(x[places])
    return out


@cache
def scipy_special() -> Any:
    import scipy.special  # noqa: PLC0415 - loading it takes longer than loading gradtape

    return scipy.special


def beyond(x: Any, end: float) -> Any:
    """Where a number is not below `end`, or is NaN."""
    found = x < end
    return np.logical_not(found, out=found)


def _erf(x: Any) -> Any:
    """The hyperbolic tangent of a polynomial: where the result is close to 1, errors of the
    polynomial do not show.
    """
    x = np.clip(x, -3.95, 3.95)
    out = polynomial(x * x, fits.ERF)
    out *= x
    return np.tanh(out, out=out)


_SIGN = np.uint32(0x80000000)
_ONE = np.uint32(0x3F800000)
_UPPER_HALF = np.uint32(0xFFFFF000)


def signs_of(x: Any) -> Any:
    """1 or -1, with the sign of each number."""
    bits = x.view(np.uint32) & _SIGN
    bits |= _ONE
    return bits.view(np.float32)


def _bell(x: Any, factor: float) -> Any:
    """exp(-factor * x**2) for a power of 2, from a square without rounding error: of the upper half
    of a number's digits, and what the lower half adds.
    """
    upper = (x.view(np.uint32) & _UPPER_HALF).view(np.float32)
    rest = upper - x
    rest *= upper + x
    rest *= factor
    out = polynomial(rest, (1 / 24, 1 / 6, 1 / 2, 1, 1))  # its exponential: it is below 0.1
    upper *= upper
    upper *= -factor
    out *= np.exp(upper, out=upper)
    return out


def _erfc(x: Any) -> Any:
    size = np.clip(np.abs(x), 0, 10.3)
    out = _bell(size, 1.0)
    out *= quotient(size, fits.ERFCX)
    signs = signs_of(x)
    out *= signs
    out += np.subtract(1, signs, out=signs)
    return out


_SQRT_HALF = math.sqrt(0.5)
_SQRT_TWO = math.sqrt(2)
_FAR = 12.4  # what the fit of the inverse error function is good for


def _inverse_error(x: Any, rest: Any) -> tuple[Any, Any]:
    """The inverse error function of `x` where 1 - x**2 is `rest`; and where that is too close to
    0.
    """
    w = np.log(rest)
    np.negative(w, out=w)
    far = beyond(w, _FAR)
    out = quotient(w, fits.ERFINV)
    out *= x
    return out, far


def _erfinv(x: Any) -> Any:
    rest = 1 - x
    rest *= x + 1
    out, far = _inverse_error(x, rest)
    return patched(out, x, far, scipy_special().erfinv)


def _erfcinv(x: Any) -> Any:
    rest = 2 - x
    rest *= x
    out, far = _inverse_error(1 - x, rest)
    return patched(out, x, far, scipy_special().erfcinv)


def _ndtri(x: Any) -> Any:
    rest = 1 - x
    rest *= x
    rest *= 4
    twice = x + x
    twice -= 1
    out, far = _inverse_error(twice, rest)
    out *= _SQRT_TWO
    return patched(out, x, far, scipy_special().ndtri)


def _normal_cdf(x: Any) -> Any:
    """The error function's complement, with the square root of a half kept out of the square."""
    size = np.clip(np.abs(x), 0, 14.5)
    out = _bell(size, 0.5)
    size *= _SQRT_HALF
    out *= quotient(size, fits.ERFCX)
    signs = signs_of(x)
    out *= signs
    signs += 1
    np.subtract(signs, out, out=out)
    out *= 0.5
    return out


def normal_cdf(x: Any) -> Any:
    """The distribution function of the standard normal distribution, for `serves`."""
    return in_blocks(_normal_cdf, x)


_BESSEL_FITS = (
    (fits.I0E, fits.I0E_FAR),
    (fits.I1E, fits.I1E_FAR),
    (fits.I2E, fits.I2E_FAR),
)


def _modified_bessel(order: int, *, scaled: bool) -> Function:
    """The modified Bessel function of the first kind, times exp(-abs(x)) if it is `scaled`."""
    near, far = _BESSEL_FITS[order]

    def function(x: Any) -> Any:
        size = np.abs(x)
        out = quotient(np.clip(size, 0, 8), near)
        for _ in range(order):
            out *= x
        places = np.flatnonzero(beyond(size, 8))
        if places.size:
            large = size[places]
            inverse = 1 / large
            found = polynomial(inverse, far)
            found *= np.sqrt(inverse, out=inverse)
            out[places] = found * signs_of(x[places]) if order == 1 else found
        if scaled:
            return out
        wrong = beyond(size, 88)  # where an exponential overflows, but not yet its product
        out *= np.exp(size, out=size)
        return patched(out, x, wrong, partial(scipy_special().iv, order))

    return function


# The root of the digamma function in two parts, of which the first is a number of float32.
_ROOT = float(np.float32(1.4616321449683623413))
_REST_OF_ROOT = 1.4616321449683623413 - _ROOT


def _digamma(x: Any) -> Any:
    out = quotient(x, fits.DIGAMMA)
    distance = x - _ROOT
    distance -= _REST_OF_ROOT
    out *= distance
    out /= x
    places = np.flatnonzero(beyond(x, 12))
    if places.size:
        large = x[places]
        inverse = 1 / large
        square = inverse * inverse
        found = np.log(large)
        found -= inverse * 0.5
        # The asymptotic series, with Bernoulli's numbers.
        found -= polynomial(square, (1 / 252, -1 / 120, 1 / 12)) * square
        out[places] = found
    places = np.flatnonzero(x < 1e-30)
    if places.size:
        small = x[places]
        found = scipy_special().digamma(small)
        found[(small <= 0) & (np.floor(small) == small)] = np.nan
        out[places] = found
    return out


def digamma(x: Any) -> Any:
    """The logarithmic derivative of the gamma function, NaN at its poles, for `serves`."""
    return in_blocks(_digamma, x)


def trigamma(x: Any) -> Any:
    """The derivative of the digamma function, for `serves`."""
    return in_blocks(_trigamma, x)


def _trigamma(x: Any) -> Any:
    out = quotient(x, fits.TRIGAMMA)
    out /= x
    out /= x
    places = np.flatnonzero(beyond(x, 20))
    if places.size:
        inverse = 1 / x[places]
        square = inverse * inverse
        found = polynomial(square, (-1 / 30, 1 / 6))
        found *= square
        found += 0.5 * inverse
        found += 1
        out[places] = found * inverse
    wrong = np.flatnonzero(x < 1e-15)
    if wrong.size:
        out[wrong] = scipy_special().zeta(np.float32(2), x[wrong])
    return out


def _with_sign(out: Any, x: Any) -> Any:
    """`out`, which has the sign of `x` but where it is 0, with that sign."""
    bits = out.view(np.uint32)
    bits |= x.view(np.uint32) & _SIGN
    return out


_E = np.exp(np.ones(64, np.float32))[0]  # as NumPy computes it in an array


def _expm1_below(x: Any) -> Any:
    """2 t / (1 - t) for the hyperbolic tangent t of x / 2: exact to the last digits for small
    numbers too, and only where x is not large, as 1 - t is then.
    """
    out = x * 0.5
    np.tanh(out, out=out)
    below = 1 - out
    out += out
    out /= below
    return out


def _expm1(x: Any) -> Any:
    """Up to 1 by the tangent, from there on by what the exponential adds."""
    out = _expm1_below(np.clip(x, -math.inf, 1))
    above = np.clip(x, 1, math.inf)
    np.exp(above, out=above)
    above -= _E
    out += above
    return _with_sign(out, x)


def _log1p(x: Any) -> Any:
    """The logarithm of 1 + x, and what its rounding has lost, to first order."""
    whole = x + 1
    lost = whole - 1
    np.subtract(x, lost, out=lost)
    lost /= whole
    out = np.log(whole, out=whole)
    out += lost
    places = np.flatnonzero(~np.isfinite(out))
    if places.size:
        out[places] = np.log1p(x[places])
    return _with_sign(out, x)


def _arctanh(x: Any) -> Any:
    size = np.abs(x)
    rest = 1 - size
    size += size
    size /= rest
    out = _log1p(size)
    out *= 0.5
    return _with_sign(out, x)


def _twice_arctan(t: Any) -> Any:
    """2 atan(t) for t from -1 to 1.

    The angle of the point (b, a) is twice that of (b + hypot(a, b), a), which is never above 45
    degrees.
    """
    out = quotient(t * t, fits.ATAN)
    out *= t
    out += out
    return out


def _arctan(x: Any) -> Any:
    x = np.clip(x, -1e9, 1e9)  # from there on it is a right angle
    below = x * x
    below += 1
    np.sqrt(below, out=below)
    below += 1
    return _twice_arctan(np.divide(x, below, out=below))


def _arcsin(x: Any) -> Any:
    below = 1 - x
    below *= x + 1
    np.sqrt(below, out=below)
    below += 1
    return _twice_arctan(np.divide(x, below, out=below))


def _arccos(x: Any) -> Any:
    below = np.sqrt(x + 1)
    below += _SQRT_TWO
    above = 1 - x
    np.sqrt(above, out=above)
    above /= below
    out = _twice_arctan(above)
    out += out
    return out


def elementary(name: str, own: Function | None = None) -> Callable[..., Any]:
    """The kernel of this name in NumPy; where that takes one element at a time, of the functions
    here (or `own`).
    """
    function = own or ELEMENTARY[name]

    def kernel(xp: Any, x: Any) -> Any:
        if xp is np and serves(x) and numpy_is_slow(name):
            return in_blocks(function, x)
        return getattr(xp, name)(x)

    return kernel


ELEMENTARY: dict[str, Function] = {
    "expm1": _expm1,
    "log1p": _log1p,
    "arctanh": _arctanh,
    "arctan": _arctan,
    "arcsin": _arcsin,
    "arccos": _arccos,
}
"""By their names in NumPy."""

expm1, log1p = elementary("expm1"), elementary("log1p")
expm1_below = elementary("expm1", _expm1_below)
"""Of numbers that are not above 1."""

FUNCTIONS: dict[str, Function] = {
    "erf": _erf,
    "erfc": _erfc,
    "erfinv": _erfinv,
    "erfcinv": _erfcinv,
    "ndtri": _ndtri,
    "i0": _modified_bessel(0, scaled=False),
    "i0e": _modified_bessel(0, scaled=True),
    "i1": _modified_bessel(1, scaled=False),
    "i1e": _modified_bessel(1, scaled=True),
    "i2": _modified_bessel(2, scaled=False),
    "i2e": _modified_bessel(2, scaled=True),
}
"""By their names in `scipy.special`, which has `i2` and `i2e` as `iv` and `ive`."""
