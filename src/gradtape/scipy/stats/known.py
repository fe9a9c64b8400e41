"""The distributions that `gradtape.scipy.stats` has, each by its formulas."""

from __future__ import annotations

import math
from typing import Any

from gradtape.ops import arithmetic as a
from gradtape.ops import elementary as e
from gradtape.ops.activations import sigmoid, softplus
from gradtape.ops.selection import where
from gradtape.ops.special import xlog1py
from gradtape.ops.special_distributions import betaln, log_ndtr, ndtr
from gradtape.ops.special_gamma import lgamma
from gradtape.ops.special_integrals import betainc, igamma, igammac
from gradtape.scipy.stats.distributions import Continuous, Discrete

xlogy = e.xlogy


def _everywhere(x: Any, *shapes: Any) -> Any:
    return a.equal(x, x)


def _not_negative(x: Any, *shapes: Any) -> Any:
    return a.greater_equal(x, 0)


def _positive(x: Any, *shapes: Any) -> Any:
    return a.greater(x, 0)


def _in_unit(x: Any, *shapes: Any) -> Any:
    return a.logical_and(a.greater_equal(x, 0), a.less_equal(x, 1))


def _all_positive(*shapes: Any) -> Any:
    found = a.greater(shapes[0], 0)
    for shape in shapes[1:]:
        found = a.logical_and(found, a.greater(shape, 0))
    return found


def _probability(p: Any) -> Any:
    return a.logical_and(a.greater_equal(p, 0), a.less_equal(p, 1))


def _power(x: Any, exponent: Any) -> Any:
    return x**exponent


def _share(p: Any) -> Any:
    return a.logical_and(a.greater(p, 0), a.less_equal(p, 1))


def _t_cdf(t: Any, df: Any) -> Any:
    tail = betainc(df * 0.5, df * 0 + 0.5, df / (df + t * t)) * 0.5
    return where(a.greater(t, 0), 1 - tail, tail)


def _laplace_cdf(x: Any) -> Any:
    tail = e.exp(-a.absolute(x)) * 0.5
    return where(a.greater(x, 0), 1 - tail, tail)


def _binom_cdf(k: Any, n: Any, p: Any) -> Any:
    less = a.less(k, n)
    return where(less, betainc(where(less, n - k, 1.0), k + 1, 1 - p), 1.0)


norm = Continuous(
    "norm",
    "",
    lambda x: x * x * -0.5 - 0.5 * math.log(2 * math.pi),
    _everywhere,
    cdf=ndtr,
    sf=lambda x: ndtr(-x),
    logcdf=log_ndtr,
)
t = Continuous(
    "t",
    "df",
    lambda x, df: (
        lgamma((df + 1) * 0.5)
        - lgamma(df * 0.5)
        - e.log(df * math.pi) * 0.5
        - (df + 1) * 0.5 * e.log1p(x * x / df)
    ),
    _everywhere,
    cdf=_t_cdf,
    sf=lambda x, df: _t_cdf(-x, df),
    valid=_all_positive,
)
gamma = Continuous(
    "gamma",
    "a",
    lambda x, a: xlogy(a - 1, x) - x - lgamma(a),
    _not_negative,
    cdf=lambda x, a: igamma(a, x),
    sf=lambda x, a: igammac(a, x),
    valid=_all_positive,
)
beta = Continuous(
    "beta",
    "a b",
    lambda x, a, b: xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b),
    _in_unit,
    cdf=lambda x, a, b: betainc(a, b, x),
    sf=lambda x, a, b: betainc(b, a, 1 - x),
    valid=_all_positive,
)
expon = Continuous(
    "expon", "", lambda x: -x, _not_negative, cdf=lambda x: -e.expm1(-x), sf=lambda x: e.exp(-x)
)
uniform = Continuous("uniform", "", lambda x: x * 0, _in_unit, cdf=lambda x: x, sf=lambda x: 1 - x)
laplace = Continuous(
    "laplace",
    "",
    lambda x: -a.absolute(x) - math.log(2),
    _everywhere,
    cdf=_laplace_cdf,
    sf=lambda x: _laplace_cdf(-x),
)
logistic = Continuous(
    "logistic",
    "",
    lambda x: -softplus(x) - softplus(-x),
    _everywhere,
    cdf=sigmoid,
    sf=lambda x: sigmoid(-x),
    logcdf=lambda x: -softplus(-x),
)
cauchy = Continuous(
    "cauchy",
    "",
    lambda x: -e.log1p(x * x) - math.log(math.pi),
    _everywhere,
    cdf=lambda x: e.atan(x) / math.pi + 0.5,
    sf=lambda x: 0.5 - e.atan(x) / math.pi,
)
lognorm = Continuous(
    "lognorm",
    "s",
    lambda x, s: a.square(e.log(x) / s) * -0.5 - e.log(s * x) - 0.5 * math.log(2 * math.pi),
    _positive,
    cdf=lambda x, s: ndtr(e.log(x) / s),
    sf=lambda x, s: ndtr(-e.log(x) / s),
    logcdf=lambda x, s: log_ndtr(e.log(x) / s),
    valid=_all_positive,
)
chi2 = Continuous(
    "chi2",
    "df",
    lambda x, df: xlogy(df * 0.5 - 1, x) - x * 0.5 - lgamma(df * 0.5) - df * (0.5 * math.log(2)),
    _not_negative,
    cdf=lambda x, df: igamma(df * 0.5, x * 0.5),
    sf=lambda x, df: igammac(df * 0.5, x * 0.5),
    valid=_all_positive,
)
invgamma = Continuous(
    "invgamma",
    "a",
    lambda x, a: -(a + 1) * e.log(x) - lgamma(a) - 1 / x,
    _positive,
    cdf=lambda x, a: igammac(a, 1 / x),
    sf=lambda x, a: igamma(a, 1 / x),
    valid=_all_positive,
)
weibull_min = Continuous(
    "weibull_min",
    "c",
    lambda x, c: e.log(c) + xlogy(c - 1, x) - _power(x, c),
    _not_negative,
    cdf=lambda x, c: -e.expm1(-_power(x, c)),
    sf=lambda x, c: e.exp(-_power(x, c)),
    valid=_all_positive,
)
pareto = Continuous(
    "pareto",
    "b",
    lambda x, b: e.log(b) - (b + 1) * e.log(x),
    lambda x, b: a.greater_equal(x, 1),
    cdf=lambda x, b: 1 - _power(x, -b),
    sf=lambda x, b: _power(x, -b),
    valid=_all_positive,
)
halfnorm = Continuous(
    "halfnorm",
    "",
    lambda x: x * x * -0.5 + 0.5 * math.log(2 / math.pi),
    _not_negative,
    cdf=lambda x: ndtr(x) * 2 - 1,
    sf=lambda x: ndtr(-x) * 2,
)
poisson = Discrete(
    "poisson",
    "mu",
    lambda k, mu: xlogy(k, mu) - mu - lgamma(k + 1),
    _not_negative,
    cdf=lambda k, mu: igammac(k + 1, mu),
    valid=lambda mu: a.greater_equal(mu, 0),
)
binom = Discrete(
    "binom",
    "n p",
    lambda k, n, p: (
        lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
    ),
    lambda k, n, p: a.logical_and(a.greater_equal(k, 0), a.less_equal(k, n)),
    cdf=_binom_cdf,
    valid=lambda n, p: a.logical_and(a.greater_equal(n, 0), _probability(p)),
)
bernoulli = Discrete(
    "bernoulli",
    "p",
    lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
    _in_unit,
    cdf=lambda k, p: 1 - p * (1 - k),
    valid=_probability,
)
geom = Discrete(
    "geom",
    "p",
    lambda k, p: xlog1py(k - 1, -p) + e.log(p),
    lambda k, p: a.greater_equal(k, 1),
    cdf=lambda k, p: -e.expm1(xlog1py(k, -p)),
    valid=_share,
)
nbinom = Discrete(
    "nbinom",
    "n p",
    lambda k, n, p: lgamma(n + k) - lgamma(n) - lgamma(k + 1) + n * e.log(p) + xlog1py(k, -p),
    _not_negative,
    cdf=lambda k, n, p: betainc(n, k + 1, p),
    valid=lambda n, p: a.logical_and(a.greater(n, 0), _share(p)),
)

PUBLISHED = {
    "scipy.stats.bernoulli": bernoulli,
    "scipy.stats.beta": beta,
    "scipy.stats.binom": binom,
    "scipy.stats.cauchy": cauchy,
    "scipy.stats.chi2": chi2,
    "scipy.stats.expon": expon,
    "scipy.stats.gamma": gamma,
    "scipy.stats.geom": geom,
    "scipy.stats.halfnorm": halfnorm,
    "scipy.stats.invgamma": invgamma,
    "scipy.stats.laplace": laplace,
    "scipy.stats.logistic": logistic,
    "scipy.stats.lognorm": lognorm,
    "scipy.stats.nbinom": nbinom,
    "scipy.stats.norm": norm,
    "scipy.stats.pareto": pareto,
    "scipy.stats.poisson": poisson,
    "scipy.stats.t": t,
    "scipy.stats.uniform": uniform,
    "scipy.stats.weibull_min": weibull_min,
}
