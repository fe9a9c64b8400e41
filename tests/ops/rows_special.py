"""Rows of `gradtape.ops.special`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.special as reference

from gradtape.ops import special as s

from .table import COMPLEX, FLOATS, at, binary, real, sample, unary

INF, NAN = np.inf, np.nan


def _log_ratio(x, order=0):
    """Derivatives of log(x) / (x - 1), which is the integral of 1 / (1 + t (x - 1)) over t from 0
    to 1.
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    t, w = (nodes + 1) / 2, weights / 2
    x = np.asarray(x, np.float64)[..., None]
    with np.errstate(all="ignore"):
        integrand = (
            (-t) ** order * np.prod(np.arange(1.0, order + 1)) / (1 + t * (x - 1)) ** (order + 1)
        )
        return (integrand * w).sum(-1)


log_ratio = unary(
    s.log_ratio, _log_ratio, 0.3, 3, specials=[at(1.0, gives=1.0, gradient=-0.5, order=0)]
)

ROWS = [
    unary(s.erf, reference.erf, specials=[at([INF, -INF], gives=[1, -1], gradient=[0, 0])]),
    unary(s.erfc, reference.erfc, specials=[at([INF, -INF], gives=[0, 2], gradient=[0, 0])]),
    unary(s.erfinv, reference.erfinv, -0.9, 0.9,
        specials=[at([-1.0, 1.0, 2.0], gives=[-INF, INF, NAN], gradient=[INF, INF, NAN])]),
    unary(s.erfcinv, reference.erfcinv, 0.1, 1.9,
        specials=[at([0.0, 2.0], gives=[INF, -INF], gradient=[-INF, -INF])]),
    unary(s.ndtri, reference.ndtri, 0.05, 0.95,
        specials=[at([0.0, 1.0, 1.5], gives=[-INF, INF, NAN], gradient=[INF, INF, NAN])]),
    unary(s.dawsn, reference.dawsn),
    unary(s.expint, reference.expi, 0.3, 3,
        specials=[at(-1.0, gives=-0.21938393, gradient=-0.36787945)]),
    unary(s.fresnel_sin, lambda x: reference.fresnel(x)[0]),
    unary(s.fresnel_cos, lambda x: reference.fresnel(x)[1]),
    replace(
        log_ratio,
        samples=[sample(real(*shape, low=0.3, high=3), order=order) for shape,
            order in [((2, 3), 0), ((2, 3), 2), ((), 0), ((0, 3), 1)]],
        specials=log_ratio.specials[:1],
    ),
    unary(s.spence, reference.spence, 0.3, 3,
        specials=[at([0.0, 1.0], gives=[np.pi**2 / 6, 0], gradient=[-INF, -1])]),
    binary(
        s.xlog1py, lambda x, y: np.where(np.equal(x, 0), 0, x * np.log1p(y)), y=(-0.7, 2),
        dtypes=FLOATS + COMPLEX,
        specials=[at(0.0, -1.0, gives=0.0, gradient=(0.0, 0.0)),
            at(0.0, 2.0, gives=0.0, gradient=(0.0, 0.0))],
    ),
    binary(
        s.nextafter, np.nextafter, dtypes=("float32", "float64"), orders=1,
        specials=[
            at(1.0, 2.0, gives=np.nextafter(np.float32(1), np.float32(2)), gradient=(1.0, 0.0))],
    ),
]  # fmt: skip
