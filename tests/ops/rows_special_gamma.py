"""Rows of `gradtape.ops.special_gamma`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.integrate
import scipy.special as reference

from gradtape.ops import special_gamma as g

from .table import at, binary, real, sample, unary

INF, NAN = np.inf, np.nan


@np.vectorize
def _zeta_by_exponent(x, y, order):
    """From zeta(x, y) gamma(x) = the integral of t**(x-1) exp(-y t) / (1 - exp(-t)),
    taken over v = log(t).
    """
    psi, psi1 = reference.polygamma([0, 1], x)

    def integrand(v):
        factor = (v - psi) if order == 1 else (v - psi) ** 2 - psi1
        return np.exp(x * v - y * np.exp(v) - reference.gammaln(x)) / -np.expm1(-np.exp(v)) * factor

    parts = [
        scipy.integrate.quad(integrand, *ends, epsabs=1e-15, epsrel=1e-13, limit=200)[0]
        for ends in ((-60, -5), (-5, 0), (0, 5))
    ]
    return sum(parts)


def _polygamma(n, x):
    """scipy has values between the orders; here they are NaN."""
    n, x = np.broadcast_arrays(n, np.asarray(x, np.float64))
    whole = (n >= 0) & (np.floor(n) == n)
    return np.where(
        whole, np.where(n == 0, digamma(x), reference.polygamma(np.where(whole, n, 1), x)), NAN
    )


def digamma(x):
    return np.where((x <= 0) & (np.floor(x) == x), NAN, reference.digamma(x))


zeta = binary(
    g.zeta,
    reference.zeta,
    x=(1.3, 4),
    y=(0.4, 3),
    specials=[
        at(1.0, 1.0, gives=INF),
        at(2.0, 1.0, gives=np.pi**2 / 6, gradient=(-0.9375482543, -2.4041138063)),
    ],
)
by_exponent = binary(
    g.zeta_by_exponent,
    lambda x, y, order: (
        _zeta_by_exponent(x, y, order) if np.size(x) and np.size(y) else np.add(x, y)
    ),
    x=(1.6, 4),
    y=(0.4, 3),
    numbers=False,
    dtypes=("float64", "float16", "bfloat16"),
)
polygamma = binary(
    g.polygamma, _polygamma, y=(0.4, 3), numbers=False, dtypes=("float64", "float16", "bfloat16")
)

ROWS = [
    unary(
        g.lgamma, lambda x: np.where(np.equal(x, -INF), INF, reference.gammaln(x)), 0.3, 4,
        specials=[
            at([-INF, -1.0, -2.5], gives=[INF, INF, -0.05624372], gradient=[NAN, NAN, 1.1031566])],
    ),
    unary(g.digamma, digamma, 0.3, 4,
        specials=[at([0.0, -1.0, INF], gives=[NAN, NAN, INF], gradient=[INF, INF, 0])]),
    replace(
        polygamma,
        samples=[
            sample(real(2, 3, low=1, high=1, differentiable=False), real(2, 3, low=0.4, high=3)),
            sample(real(low=2, high=2, differentiable=False), real(2, 3, low=0.4, high=3)),
            sample(real(2, 1, low=3, high=3, differentiable=False), real(1, 3, low=0.4, high=3)),
            sample(real(low=1, high=1, differentiable=False), real(low=0.4, high=3)),
            sample(real(0, 3, low=1, high=1, differentiable=False), real(1, 3, low=0.4, high=3)),
        ],
        dtypes=("float32", "float64", "float16", "bfloat16"),
        specials=[
            at([0.0, 1.0, 0.5, -1.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0, 0.0, -0.5],
                gives=[0.42278434, 1.644934, NAN, NAN, INF, 8.934802]),
            at(1.0, 1.0, gives=1.644934, gradient=(None, -2.4041138)),
        ],
    ),
    zeta,
    replace(
        by_exponent,
        samples=[replace(one, params={"order": order}) for one,
            order in zip(by_exponent.samples, [1, 2, 1, 1, 2, 1, 1], strict=True)],
        failures=[replace(f, params={"order": 1}) for f in by_exponent.failures],
        dtypes=("float32", "float64", "float16", "bfloat16"),
        specials=[
            at([1.0, 0.5, 2.0, NAN], [1.0, 1.0, -0.5, 1.0], gives=[NAN, NAN, NAN, NAN], order=1),
            at([1.01, 30.0], [1.0, 0.5], gives=[-9999.94635467, 744261117.955], order=1),
        ],
    ),
]  # fmt: skip
