"""Elementwise functions that NumPy has and TensorFlow does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.ops import batching
from gradtape.ops.activations import sigmoid
from gradtape.ops.arithmetic import (
    divide_no_nan,
    equal,
    greater_equal,
    is_inf,
    is_nan,
    less_equal,
    logical_and,
    logical_or,
)
from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import binary, op, unary
from gradtape.ops.selection import drop, keep, where

_LOG_2 = math.log(2)
_LOG_10 = math.log(10)
_SERIES_TERMS = 24


def _share(x: Any, y: Any, base_logarithm: float = 1.0) -> Any:
    """The part of `x` in a sum of exponentials of x and y;
    half of it where both are the same infinity.
    """
    difference = where(logical_and(is_inf(x), equal(x, y)), 0, x - y)
    return sigmoid(difference if base_logarithm == 1 else difference * base_logarithm)


def _takes_x(compare: Any, x: Any, y: Any) -> Any:
    """Where a maximum or minimum that passes over NaN is its first argument."""
    return logical_or(compare(x, y), is_nan(y))


def _sinc(xp: Any, x: Any, *, order: int) -> Any:
    """The derivative of some order of sin(πx) / (πx):
    near the removable singularity at 0 by its power series.
    """
    if not order:
        return xp.sinc(x)
    u = xp.asarray(x).astype(np.complex128 if x.dtype.kind == "c" else np.float64) * math.pi
    near = xp.abs(u) < 1 + order
    far = xp.where(near, np.nan, u)
    value = xp.sin(far) / far
    for n in range(1, order + 1):  # Leibniz' rule for sin(u) = u * ratio
        value = (xp.sin(far + n * (math.pi / 2)) - n * value) / far
    series, small = xp.zeros_like(u), xp.where(near, u, 0)
    first = (order + 1) // 2
    for k in range(first + _SERIES_TERMS, first - 1, -1):
        series = series * small * small + (-1) ** k * math.perm(2 * k, order) / math.factorial(
            2 * k + 1
        )
    if order % 2:
        series = series * small
    return (xp.where(near, series, value) * math.pi**order).astype(x.dtype)[()]


cbrt = unary("cbrt", "cbrt", lambda g, out: g / (out * out * 3))
exp2 = unary("exp2", "exp2", lambda g, out: g * out * _LOG_2)
log2 = unary("log2", "log2", lambda g, x: g / (x * _LOG_2))
log10 = unary("log10", "log10", lambda g, x: g / (x * _LOG_10))
sinc = op("sinc", _sinc, [lambda g, x, order: g * sinc(x, order=order + 1)], elementwise=True)
fraction = unary("fraction", lambda xp, x: xp.modf(x)[0], lambda g: g)
exponent = unary("exponent", lambda xp, x: xp.frexp(x)[1])

hypot = binary(
    "hypot",
    "hypot",
    lambda g, x, out: g * divide_no_nan(x, out),
    lambda g, y, out: g * divide_no_nan(y, out),
    plain=False,
)
logaddexp = binary(
    "logaddexp", "logaddexp", lambda g, x, y: g * _share(x, y), lambda g, x, y: g * _share(y, x)
)
logaddexp2 = binary(
    "logaddexp2",
    "logaddexp2",
    lambda g, x, y: g * _share(x, y, _LOG_2),
    lambda g, x, y: g * _share(y, x, _LOG_2),
)
# They pass over a NaN if the other number is none; the gradient of a tie goes to x, as that of
# `maximum`.
fmax = binary(
    "fmax",
    "fmax",
    lambda g, x, y: keep(g, _takes_x(greater_equal, x, y)),
    lambda g, x, y: drop(g, _takes_x(greater_equal, x, y)),
    plain=False,
    selects=True,
)
fmin = binary(
    "fmin",
    "fmin",
    lambda g, x, y: keep(g, _takes_x(less_equal, x, y)),
    lambda g, x, y: drop(g, _takes_x(less_equal, x, y)),
    plain=False,
    selects=True,
)
ldexp = op(
    "ldexp",
    lambda xp, x, exponent: xp.ldexp(x, exponent),
    [lambda g, exponent, x_shape: sum_to_shape(ldexp(g, exponent), shape=x_shape), None],
    apart=["exponent"],
    linear=True,
    batch=batching.elementwise,
)
unwrap = op(
    "unwrap",
    lambda xp, x, *, discont, axis, period: xp.unwrap(x, discont=discont, axis=axis, period=period),
    [lambda g: g],
    batch=batching.shifted("axis"),
)
elementwise_value = op(
    "elementwise_value",
    lambda xp, *args, function, **options: getattr(xp, function)(*args, **options),
    arguments=(),
    batch=batching.elementwise,
)
"""The elementwise function of this name in the array namespace, of any number of arguments;
it has no derivative.
"""
