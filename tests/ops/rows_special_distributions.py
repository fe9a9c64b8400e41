"""Rows of `gradtape.ops.special_distributions`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.special as reference

from gradtape.ops import special_distributions as s

from .table import Case, at, binary, real, sample, unary

INF = np.inf
DOUBLE = ("float32", "float64")
POSITIVE = {"x": (0.3, 3), "y": (0.3, 3)}
WITHOUT = {"numbers": False}


def _exprel(x, order=0):
    """Derivatives of (exp(x) - 1) / x, which is the integral of exp(xt) over t from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    t, w = (nodes + 1) / 2, weights / 2
    return (t**order * np.exp(np.asarray(x, np.float64)[..., None] * t) * w).sum(-1)


def _without_specials(case):
    """A row without NaN, infinities and zeros, at which scipy's own answers depend on the dtype."""
    return replace(case, specials=[])


BETA_SHAPES = (((2, 3), (2, 3), (2, 3)), ((2, 1), (3,), ()), ((), (), ()), ((0, 3), (3,), (1, 3)))


def _beta(op, function):
    ranges = {"low": 0.6, "high": 3}
    return Case(
        op,
        function,
        [
            sample(real(*a, **ranges), real(*b, **ranges), real(*c, low=0.15, high=0.85))
            for a, b, c in BETA_SHAPES
        ],
        dtypes=DOUBLE,
    )


exprel = unary(s.exprel, reference.exprel)

ROWS = [
    unary(s.erfcx, reference.erfcx, -1, 3, dtypes=DOUBLE),
    unary(s.erfi, reference.erfi, dtypes=DOUBLE),
    unary(s.ndtr, reference.ndtr,
        specials=[at([-INF, 0.0, INF], gives=[0, 0.5, 1], gradient=[0, 0.39894228, 0])]),
    unary(s.log_ndtr, reference.log_ndtr,
        specials=[at([-40.0, 40.0], gives=[-804.60844, 0], gradient=[40.024969, 0])]),
    unary(s.ndtri_exp, reference.ndtri_exp, -3, -0.1, dtypes=DOUBLE),
    binary(s.owens_t, reference.owens_t, dtypes=DOUBLE),
    unary(s.logit, reference.logit, 0.1, 0.9,
        specials=[at([0.0, 0.5, 1.0], gives=[-INF, 0, INF], gradient=[INF, 4, INF])]),
    unary(s.entr, reference.entr, 0.1, 3,
        specials=[at([0.0, 1.0], gives=[0, 0], gradient=[INF, -1])]),
    binary(s.rel_entr, reference.rel_entr, **POSITIVE),
    binary(s.kl_div, reference.kl_div, **POSITIVE,
        specials=[at(2.0, 2.0, gives=0.0, gradient=(0.0, 0.0))]),
    unary(s.gamma, reference.gamma, 0.3, 3),
    unary(s.rgamma, reference.rgamma, 0.3, 3),
    binary(s.beta, reference.beta, **POSITIVE, dtypes=DOUBLE),
    binary(s.betaln, reference.betaln, **POSITIVE, dtypes=DOUBLE),
    _without_specials(binary(s.binom, reference.binom, x=(2, 4), y=(0.3, 1.5), dtypes=DOUBLE)),
    _without_specials(binary(s.poch, reference.poch, **POSITIVE, dtypes=DOUBLE)),
    _without_specials(binary(s.gammaincinv, reference.gammaincinv, x=(0.4, 3), y=(0.1, 0.9),
        dtypes=DOUBLE, **WITHOUT)),
    _without_specials(binary(s.gammainccinv, reference.gammainccinv, x=(0.4, 3), y=(0.1, 0.9),
        dtypes=DOUBLE, **WITHOUT)),
    _beta(s.betaincc, reference.betaincc),
    _beta(s.betaincinv, reference.betaincinv),
    _beta(s.betainccinv, reference.betainccinv),
    replace(
        exprel,
        samples=[
            sample(real(*shape, low=-4, high=4), order=order)
            for shape,
            order in [((2, 3), 0), ((3, 4), 1), ((3, 4), 2), ((3, 4), 3), ((), 0), ((0, 3), 1)]
        ],
        reference=_exprel,
        specials=[at([0.0, -INF], order=0, gives=[1, 0], gradient=[0.5, 0])],
    ),
    unary(s.exp10, reference.exp10, dtypes=DOUBLE),
    unary(s.cosm1, reference.cosm1, specials=[at(1e-6, gives=-5e-13)]),
    binary(s.powm1, reference.powm1, x=(0.3, 2), dtypes=DOUBLE),
    unary(s.sindg, reference.sindg, -80, 80, dtypes=DOUBLE,
        specials=[at([180.0, 30.0], gives=[0, 0.5])]),
    unary(s.cosdg, reference.cosdg, -80, 80, dtypes=DOUBLE),
    unary(s.tandg, reference.tandg, -80, 80, dtypes=DOUBLE),
    unary(s.cotdg, reference.cotdg, 10, 80, dtypes=DOUBLE),
    unary(s.wrightomega, reference.wrightomega, dtypes=DOUBLE),
    unary(s.exp1, reference.exp1, 0.3, 3, dtypes=DOUBLE),
    unary(s.sine_integral, lambda x: reference.sici(x)[0],
        specials=[at(0.0, gives=0.0, gradient=1.0)]),
    unary(s.cosine_integral, lambda x: reference.sici(x)[1], 0.3, 3),
    unary(s.sinh_integral, lambda x: reference.shichi(x)[0],
        specials=[at(0.0, gives=0.0, gradient=1.0)]),
    unary(s.cosh_integral, lambda x: reference.shichi(x)[1], 0.3, 3),
    Case(
        s.expn, reference.expn,
        [
            sample(real(2, 3, low=2, high=2, differentiable=False), real(2, 3, low=0.3, high=3)),
            sample(real(low=1, high=1, differentiable=False), real(3, low=0.3, high=3)),
            sample(real(low=0, high=0, differentiable=False), real(2, low=0.3, high=3)),
            sample(real(2, low=3, high=3, differentiable=False), real(0, 2)),
        ],
        dtypes=DOUBLE,
    ),
]  # fmt: skip
