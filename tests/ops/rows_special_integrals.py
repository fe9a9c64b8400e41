"""Rows of `gradtape.ops.special_integrals`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.integrate
import scipy.special as reference

from gradtape.ops import special_integrals as i

from .table import Case, at, binary, fails, real, sample

INF, NAN = np.inf, np.nan


def _integral(integrand, x):
    """Over v = log(t) up to log(x), where integrands with powers and logarithms of t are smooth."""
    end = np.log(x)
    ends = [(end - 200, end - 20), (end - 20, end - 3), (end - 3, end)]
    return sum(
        scipy.integrate.quad(integrand, *pair, epsabs=2e-14, epsrel=1e-12, limit=200)[0]
        for pair in ends
    )


@np.vectorize(excluded={"order", "over_density"})
def _igamma_by_a(a, x, *, order, over_density=False):
    psi, psi1 = reference.polygamma([0, 1], a)

    def integrand(v):
        factor = (v - psi) if order == 1 else (v - psi) ** 2 - psi1
        return np.exp(a * v - np.exp(v) - reference.gammaln(a)) * factor

    return _integral(integrand, x) / (np.exp(_log_density(a, x)) if over_density else 1)


def _log_density(a, x):
    return reference.xlogy(a - 1, x) - x - reference.gammaln(a)


@np.vectorize(excluded={"orders"})
def _betainc_by(a, b, x, *, orders):
    both, both1 = reference.polygamma([0, 1], a + b)
    psi_a, psi_b = reference.digamma([a, b])

    def integrand(v):
        rest = np.log1p(-np.exp(v))
        by_a, by_b = v - psi_a + both, rest - psi_b + both
        factor = {(1, 0): by_a, (0, 1): by_b, (1, 1): by_a * by_b + both1}[orders]
        return np.exp(a * v + (b - 1) * rest - reference.betaln(a, b)) * factor

    return _integral(integrand, x)


def _sized(function):
    """np.vectorize does not take arrays without elements."""

    def sized(*args, **params):
        shape = np.broadcast_shapes(*map(np.shape, args))
        return function(*args, **params) if 0 not in shape else np.zeros(shape)

    return sized


def _where_positive(function):
    """NaN for a not above 0, where scipy takes the limit."""
    return lambda a, x: np.where(np.greater(a, 0), function(a, x), NAN)


def gamma_row(op, function, params=({},), **options):
    row = binary(op, function, x=(0.3, 4), y=(0.3, 4), numbers=False, **options)
    samples = [replace(one, params=params[n % len(params)]) for n, one in enumerate(row.samples)]
    return replace(
        row, samples=samples, failures=[replace(f, params=params[0]) for f in row.failures]
    )


def beta_row(op, function, orders=({},), **options):
    shapes = [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (3,), ()),
        ((2, 1), (1, 3), (3,)),
        ((), (), (2, 3)),
        ((), (), ()),
        ((0, 3), (1, 3), ()),
    ]
    samples = [
        sample(
            *[real(*shape, low=0.4, high=3) for shape in (a, b)],
            real(*x, low=0.1, high=0.9),
            **orders[n % len(orders)],
        )
        for n, (a, b, x) in enumerate(shapes)
    ]
    wrong = fails(np.ones(2), np.ones(3), np.ones(2), says=[op.op.name, "[2]", "[3]"], **orders[0])
    return Case(op, function, samples, failures=[wrong], **options)


density = gamma_row(
    i.gamma_density, lambda a, x: np.exp(reference.xlogy(a - 1, x) - x - reference.gammaln(a))
)
by_a = gamma_row(
    i.igamma_by_a,
    _sized(_igamma_by_a),
    [{"order": 1, "over_density": True}, {"order": 1}, {"order": 2}],
    dtypes=("float64", "float16", "bfloat16"),
)

ROWS = [
    replace(
        density,
        specials=[
            at([1.0, 2.0, 0.5, 1.0], [0.0, 0.0, 0.0, -1.0], gives=[1, 0, INF, 0]),
            at([0.0, -1.0, NAN, 1.0], [1.0, 1.0, 1.0, NAN], gives=[NAN, NAN, NAN, NAN]),
            at(np.array([1e6]), np.array([1e6 + 500]), gives=[0.000351904009615]),
        ],
    ),
    gamma_row(i.igamma, _where_positive(reference.gammainc),
        specials=[at(2.0, 0.0, gives=0, gradient=(0, 0))]),
    gamma_row(i.igammac, _where_positive(reference.gammaincc),
        specials=[at(2.0, 0.0, gives=1, gradient=(0, 0))]),
    replace(
        by_a,
        dtypes=("float32", "float64", "float16", "bfloat16"),
        specials=[
            at([0.001, 0.001, 200.0, 3000.0, 0.01], [0.5, 1e-4, 190.0, 3100.0, 3.0],
               gives=[-0.560359400136, -8.56063533044, -0.0223528283416, -0.00140310760871,
                   -0.0135471875616], order=1),
            at([0.001, 0.001, 200.0, 0.01], [0.5, 1e-4, 190.0, 3.0],
               gives=[-0.584851239779, 72.2917434696, 0.00114707482786, -0.0502698824519], order=2),
            at([0.001, 200.0], [150.0, 1.0], gives=[-998.983005506, -0.0266367184926], order=1,
                over_density=True),
            at([1.0, 1.0, INF, 0.0, 1.0, NAN], [0.0, INF, 1.0, 1.0, -1.0, 1.0],
                gives=[0, 0, 0, NAN, NAN, NAN], order=1),
        ],
    ),
    beta_row(
        i.beta_density,
        lambda a, b, x: np.exp(
            reference.xlogy(a - 1, x) + reference.xlog1py(b - 1, -x) - reference.betaln(a, b)),
        specials=[at([1.0, 2.0, 2.0], [2.0, 1.0, 2.0], [0.0, 1.0, 2.0], gives=[2, 2, 0])],
    ),
    beta_row(
        i.betainc, reference.betainc,
        specials=[at(2.0, 3.0, 0.0, gives=0, gradient=(0, 0, 0)),
            at(2.0, 3.0, 1.0, gives=1, gradient=(0, 0, 0))],
    ),
    beta_row(
        i.betainc_by, _sized(_betainc_by),
        [{"orders": (1, 0)}, {"orders": (0, 1)}, {"orders": (1, 1)}],
        specials=[
            at([0.01, 40.0, 1000.0], [0.02, 60.0, 2000.0], [0.5, 0.35, 0.34],
                gives=[-22.2240480919, -0.0306013862812, -0.00757175801354], orders=(1, 0)),
            at([0.01, 40.0, 1000.0], [0.02, 60.0, 2000.0], [0.5, 0.35, 0.34],
                gives=[11.1172048859, 0.0183212367113, 0.00384253594748], orders=(0, 1)),
            at([1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.5, 2.0],
                gives=[0, 0, NAN, NAN], orders=(1, 0)),
        ],
    ),
]  # fmt: skip
