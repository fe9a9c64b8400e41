"""Rows of `gradtape.ops.ufuncs`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradtape.ops import ufuncs as u

from .table import COMPLEX, FLOATS, Case, at, binary, booleans, fixed, integers, real, sample, unary

INF, NAN = np.inf, np.nan
DOUBLE = ("float32", "float64")


def _sinc(x, order=0):
    """Derivatives of sin(πx) / (πx), which is the integral of cos(πxt) over t from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    t, w = np.pi * (nodes + 1) / 2, weights / 2
    x = np.asarray(x, np.float64)[..., None]
    return (t**order * np.cos(x * t + order * np.pi / 2) * w).sum(-1)


sinc = unary(u.sinc, np.sinc)

ROWS = [
    unary(u.cbrt, np.cbrt, 0.2, 3,
        specials=[at([-8.0, 0.0], gives=[-2, 0], gradient=[1 / 12, INF])]),
    unary(u.exp2, np.exp2, dtypes=FLOATS + COMPLEX),
    unary(u.log2, np.log2, 0.1, 3, dtypes=FLOATS + COMPLEX,
        specials=[at(8.0, gives=3.0), at(0.0, gives=-INF, gradient=INF)]),
    unary(u.log10, np.log10, 0.1, 3, dtypes=FLOATS + COMPLEX, specials=[at(1000.0, gives=3.0)]),
    replace(
        sinc,
        samples=[
            sample(real(*shape, low=-3, high=3), order=order)
            for shape,
            order in [((2, 3), 0), ((3, 4), 1), ((3, 4), 2), ((3, 4), 3), ((), 0), ((0, 3), 1)]
        ],
        reference=_sinc,
        specials=[
            at([0.0, 1.0, -2.0], order=0, gives=[1, 0, 0], gradient=[0, -1, -0.5]),
            at([0.0, 1e-4], order=1, gradient=[-(np.pi**2) / 3, -(np.pi**2) / 3]),
            at([INF, NAN], order=0, gives=[NAN, NAN]),
        ],
    ),
    unary(u.fraction, lambda x: np.modf(x)[0],
        specials=[at([1.75, -1.75, INF], gives=[0.75, -0.75, 0], gradient=[1, 1, 1])]),
    unary(u.exponent, lambda x: np.frexp(x)[1], dtypes=DOUBLE, orders=0),
    binary(u.hypot, np.hypot,
        specials=[at(0.0, 0.0, gives=0.0, gradient=(0.0, 0.0)),
            at(3.0, 4.0, gives=5.0, gradient=(0.6, 0.8))]),
    binary(
        u.logaddexp, np.logaddexp,
        specials=[
            at(-INF, -INF, gives=-INF, gradient=(0.5, 0.5)),
            at(-INF, 1.0, gives=1.0, gradient=(0.0, 1.0)),
            at(1000.0, 1000.0, gives=1000 + np.log(2), gradient=(0.5, 0.5)),
        ],
    ),
    binary(u.logaddexp2, np.logaddexp2,
        specials=[at(-INF, -INF, gives=-INF, gradient=(0.5, 0.5)),
            at(3.0, 3.0, gives=4.0, gradient=(0.5, 0.5))]),
    binary(
        u.fmax, np.fmax, dtypes=DOUBLE,
        specials=[
            at([NAN, 1.0, 2.0], [1.0, NAN, 2.0], gives=[1, 1, 2], gradient=([0, 1, 1], [1, 0, 0]))],
    ),
    binary(
        u.fmin, np.fmin, dtypes=DOUBLE,
        specials=[
            at([NAN, 1.0, 2.0], [1.0, NAN, 2.0], gives=[1, 1, 2], gradient=([0, 1, 1], [1, 0, 0]))],
    ),
    Case(
        u.ldexp, np.ldexp,
        [sample(real(2, 3), integers(2, 3, low=-3, high=3)), sample(real(3), integers(2, 1)),
            sample(real(), integers()), sample(real(0, 3), integers(3))],
        dtypes=DOUBLE,
    ),
    Case(
        u.unwrap, np.unwrap,
        [sample(real(2, 6, low=-9, high=9), discont=None, axis=1, period=2 * np.pi),
            sample(real(5, 2, low=-9, high=9), discont=4.0, axis=0, period=6.5)],
        dtypes=DOUBLE,
    ),
    Case(
        u.elementwise_value,
        lambda *args, function, **options: getattr(np, function)(*args, **options),
        [sample(real(2, 3), real(3), function="floor_divide"),
            sample(real(2, 3), function="signbit"),
            sample(booleans(2), booleans(2), function="add"),
            sample(real(2), fixed(2), function="greater"),
            sample(real(2, 3), function="round", decimals=1)],
        dtypes=DOUBLE, orders=0,
    ),
]  # fmt: skip
