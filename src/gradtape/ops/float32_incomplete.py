"""The incomplete gamma function of large float32 arrays, its derivative by the shape and the
density, and the incomplete beta function with parameters that are the same for all elements, in the
manner of `float32`, but in double precision: what is computed here are differences.

Up to a shape of 40 the lower tail is a power series where it is the shorter one, the upper tail a
continued fraction where it is; both bring their derivatives with them. Elsewhere, and where an
argument is zero or not finite, the slower functions that each is given compute the elements.

The series ends when no further term changes a bit, and the fraction has a fixed depth, so that an
element does not depend on those beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from gradtape.engines.numpy.threads import in_blocks
from gradtape.ops import float32
from gradtape.ops.float32 import patched, polynomial, scipy_special

_BLOCK = 2**15  # elements: for threads that share them, NumPy's calls must not be too short

_LEAST, _MOST = 0.01, 40.0  # of the shapes that the formulas below are for
_END = 1e4  # of the points
_SHORT = 4.0  # up to it the series is short for every shape
_DEPTH, _FAR, _DEPTH_FAR = 16, 20.0, 24  # of the fraction; from `_FAR` on shapes may be large
_TERMS = 8  # between two looks at whether the series has ended

_SHIFT = 8
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_STIRLING = (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_ITS_SLOPE = (691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12)

Function = Callable[[Any, Any], Any]


class _Gamma(NamedTuple):
    """The gamma function at a shape and 1: its logarithm, and the derivative of that."""

    logarithm: Any
    slope: Any


def _gamma(shape: Any, *, with_slope: bool) -> _Gamma:
    """By Stirling's series at the shape and 8, and the factors in between."""
    factor = shape + 1
    product, by_shape = factor.copy(), np.ones_like(shape)
    for _ in range(_SHIFT - 2):
        factor += 1
        if with_slope:
            by_shape *= factor
            by_shape += product
        product *= factor
    factor += 1
    log, inverse = np.log(factor), 1 / factor
    square = inverse * inverse
    slope = None
    if with_slope:
        by_shape /= product
        slope = polynomial(square, _ITS_SLOPE)
        slope *= square
        slope -= 0.5 * inverse
        slope += log
        slope -= by_shape
    logarithm = polynomial(square, _STIRLING)
    logarithm *= inverse
    logarithm += _HALF_LOG_TWO_PI
    log *= factor - 0.5
    logarithm += log
    logarithm -= factor
    logarithm -= np.log(product, out=product)
    return _Gamma(logarithm, slope)


def _lead(shape: Any, point: Any, log: Any, gamma: _Gamma) -> Any:
    """point**shape * exp(-point) / gamma(shape + 1)."""
    out = shape * log
    out -= point
    out -= gamma.logarithm
    return np.exp(out, out=out)


def _series(shape: Any, point: Any) -> Any:
    """The lower tail over `_lead`: the sum of point**n / ((shape + 1) ... (shape + n))."""
    factor, term, out = shape.copy(), np.ones_like(shape), np.ones_like(shape)
    before = np.empty_like(shape)
    while True:
        for _ in range(_TERMS):
            factor += 1
            term *= point
            term /= factor
            out += term
        np.subtract(out, term, out=before)
        if np.array_equal(before, out):  # then no term that follows changes it
            return out


def _series_with_slope(shape: Any, point: Any) -> tuple[Any, Any]:
    """The same, and its derivative by the shape, with the other sign."""
    factor, term, out = shape.copy(), np.ones_like(shape), np.ones_like(shape)
    reciprocals, slope, inverse = np.zeros_like(shape), np.zeros_like(shape), np.empty_like(shape)
    while True:
        for _ in range(_TERMS):
            factor += 1
            np.divide(1, factor, out=inverse)
            reciprocals += inverse
            inverse *= point
            term *= inverse
            out += term
            np.multiply(term, reciprocals, out=inverse)
            slope += inverse
        np.subtract(slope, inverse, out=inverse)
        if np.array_equal(inverse, slope):
            return out, slope


def _fraction(shape: Any, point: Any, depth: int) -> Any:
    """`_lead` times the shape over the upper tail, by Legendre's continued fraction."""
    base = point - shape
    out = base + (2 * depth + 1)
    for n in range(depth, 0, -1):
        step = shape - n
        step *= n
        np.divide(step, out, out=out)
        out += base
        out += 2 * n - 1
    return out


def _fraction_with_slope(shape: Any, point: Any, depth: int) -> tuple[Any, Any]:
    """The same, and its derivative by the shape."""
    base = point - shape
    out, slope, inverse = base + (2 * depth + 1), np.full_like(shape, -1), np.empty_like(shape)
    for n in range(depth, 0, -1):
        np.divide(1, out, out=inverse)
        np.subtract(shape, n, out=out)
        out *= n
        out *= inverse  # what is added to the level above
        slope *= out
        np.subtract(n, slope, out=slope)
        slope *= inverse
        slope -= 1
        out += base
        out += 2 * n - 1
    return out, slope


def _lower_near(shape: Any, point: Any) -> Any:
    out = _lead(shape, point, np.log(point), _gamma(shape, with_slope=False))
    out *= _series(shape, point)
    return out


def _upper_far(shape: Any, point: Any, depth: int) -> Any:
    out = _lead(shape, point, np.log(point), _gamma(shape, with_slope=False))
    out *= shape
    out /= _fraction(shape, point, depth)
    return out


def _from_one(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: np.subtract(1, function(*args))


def _slope_near(shape: Any, point: Any, log: Any, gamma: _Gamma) -> Any:
    """The derivative of the lower tail by the shape over the density."""
    out, slope = _series_with_slope(shape, point)
    out *= log - gamma.slope
    out -= slope
    out *= point
    out /= shape
    return out


def _slope_far(shape: Any, point: Any, log: Any, gamma: _Gamma, depth: int) -> Any:
    out, slope = _fraction_with_slope(shape, point, depth)
    slope /= out
    slope += gamma.slope
    slope -= log
    slope -= 1 / shape
    slope *= point
    slope /= out
    return slope


def _by_shape(function: Callable[..., Any], *, over_density: bool) -> Callable[..., Any]:
    def slope(shape: Any, point: Any, *depth: int) -> Any:
        log, gamma = np.log(point), _gamma(shape, with_slope=True)
        out = function(shape, point, log, gamma, *depth)
        if not over_density:
            out *= _lead(shape, point, log, gamma)
            out *= shape
            out /= point
        return out

    return slope


def _density(shape: Any, point: Any) -> Any:
    out = _lead(shape, point, np.log(point), _gamma(shape, with_slope=False))
    out *= shape
    out /= point
    return out


def _in_regions(near: Function, far: Callable[..., Any]) -> Function:
    """A function of shapes and points for which the formulas are good."""

    def function(shape: Any, point: Any) -> Any:
        series = point <= np.maximum(shape + 1, _SHORT)
        if series.all():
            return near(shape, point)
        out = np.empty_like(point)
        distant = point >= _FAR
        for chosen, part, depth in (
            (series, near, ()),
            (~series & ~distant, far, (_DEPTH,)),
            (~series & distant, far, (_DEPTH_FAR,)),
        ):
            places = np.flatnonzero(chosen)
            if places.size:
                out[places] = part(shape[places], point[places], *depth)
        return out

    return function


_FUNCTIONS: dict[str, Function] = {
    "gammainc": _in_regions(_lower_near, _from_one(_upper_far)),
    "gammaincc": _in_regions(_from_one(_lower_near), _upper_far),
    "by_shape": _in_regions(
        _by_shape(_slope_near, over_density=False), _by_shape(_slope_far, over_density=False)
    ),
    "by_shape_over_density": _in_regions(
        _by_shape(_slope_near, over_density=True), _by_shape(_slope_far, over_density=True)
    ),
    "density": _density,
}


def serves(shape: Any, point: Any) -> bool:
    """Whether the arguments, of one dtype, are for the functions here."""
    return any(
        float32.serves(many) and other.shape in ((), many.shape)
        for many, other in ((shape, point), (point, shape))
    )


def of_gamma(name: str, shape: Any, point: Any, slow: Function) -> Any:
    """One of the functions above for `serves`; `slow` is the same for all arguments."""
    function = _FUNCTIONS[name]

    def block(shape: Any, point: Any) -> Any:
        inside = (shape >= _LEAST) & (shape <= _MOST) & (point > 0) & (point < _END)
        if inside.all():
            return function(shape.astype(np.float64), point.astype(np.float64))
        out = np.empty_like(point)
        within, without = np.flatnonzero(inside), np.flatnonzero(~inside)
        if within.size:
            out[within] = function(
                shape[within].astype(np.float64), point[within].astype(np.float64)
            )
        out[without] = slow(shape[without], point[without])
        return out

    return in_blocks(block, *np.broadcast_arrays(shape, point), size=_BLOCK)


# The beta distribution, whose parameters are often the same for all elements: then the steps of its
# continued fraction are numbers.


class _Beta(NamedTuple):
    """The continued fraction of the lower tail up to a point, and that of the upper one from there
    on.
    """

    steps: list[float]
    steps_above: list[float]
    turn: float
    log_beta: float


_MOST_OF_BETA = 100.0
_DEEPEST = 200
_CONVERGED = 1e-11


@lru_cache(64)
def _beta(a: float, b: float) -> _Beta | None:
    """None where the fraction is too deep, or the parameters are none."""
    if not (_LEAST <= a <= _MOST_OF_BETA and _LEAST <= b <= _MOST_OF_BETA):
        return None
    turn = (a + 1) / (a + b + 2)
    steps = (_steps(a, b, turn), _steps(b, a, 1 - turn))
    return _Beta(*steps, turn, float(scipy_special().betaln(a, b)))


def _steps(a: float, b: float, end: float) -> list[float]:
    """As many as are needed up to a point, the last one first."""
    depth, before = 8, math.nan
    while True:
        steps = [
            n * (b - n) / ((a + 2 * n - 1) * (a + 2 * n))
            if k % 2
            else -(a + n) * (a + b + n) / ((a + 2 * n) * (a + 2 * n + 1))
            for k in range(depth)
            for n in [(k + 1) // 2]
        ][::-1]
        found = float(_beta_fraction(steps, np.array([end]))[0])
        if abs(found - before) < _CONVERGED * abs(found) or depth > _DEEPEST:
            return steps
        depth, before = depth + 4, found


def _beta_fraction(steps: list[float], x: Any) -> Any:
    out = np.ones_like(x)
    for step in steps:
        np.divide(x, out, out=out)
        out *= step
        out += 1
    return out


def _beta_tail(steps: list[float], a: float, b: float, log_beta: float, x: Any, rest: Any) -> Any:
    out = np.log(x)
    out *= a
    power = np.log(rest)
    power *= b
    out += power
    out -= log_beta + math.log(a)
    np.exp(out, out=out)
    out /= _beta_fraction(steps, x)
    return out


def _betainc(a: float, b: float, beta: _Beta, x: Any, rest: Any) -> Any:
    below = x <= beta.turn
    out = np.empty_like(x)
    places = np.flatnonzero(below)
    out[places] = _beta_tail(beta.steps, a, b, beta.log_beta, x[places], rest[places])
    places = np.flatnonzero(~below)
    upper = _beta_tail(beta.steps_above, b, a, beta.log_beta, rest[places], x[places])
    out[places] = np.subtract(1, upper, out=upper)
    return out


def _beta_density(a: float, b: float, beta: _Beta, x: Any, rest: Any) -> Any:
    out = np.log(x)
    out *= a - 1
    power = np.log(rest)
    power *= b - 1
    out += power
    out -= beta.log_beta
    return np.exp(out, out=out)


_OF_BETA = {"betainc": _betainc, "beta_density": _beta_density}


def of_beta(name: str, a: Any, b: Any, x: Any, slow: Callable[..., Any]) -> Any:
    """One of the functions above of arguments of one dtype; `slow` is the same for all of them."""
    if not float32.serves(x) or not (_is_number(a, x.shape) and _is_number(b, x.shape)):
        return slow(a, b, x)
    first, second = a.flat[0], b.flat[0]
    beta = _beta(float(first), float(second))
    if beta is None:
        return slow(a, b, x)
    found = partial(_OF_BETA[name], float(first), float(second), beta)

    def block(x: Any) -> Any:
        inside = (x > 0) & (x < 1)
        wide = np.where(inside, x, np.float32(0.5)).astype(np.float64)
        out = found(wide, 1 - wide)
        return patched(out, x, ~inside, lambda x: slow(first, second, x))

    return in_blocks(block, x, size=_BLOCK)


def _is_number(parameter: Any, shape: tuple[int, ...]) -> bool:
    return parameter.shape == () or (
        parameter.shape == shape and bool((parameter == parameter.flat[0]).all())
    )
