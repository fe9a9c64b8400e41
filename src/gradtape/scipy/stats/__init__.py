"""`gradtape.scipy.stats`: densities and distribution functions, differentiable by what they are
evaluated at and by all parameters.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy.stats.known import (
    bernoulli,
    beta,
    binom,
    cauchy,
    chi2,
    expon,
    gamma,
    geom,
    halfnorm,
    invgamma,
    laplace,
    logistic,
    lognorm,
    nbinom,
    norm,
    pareto,
    poisson,
    t,
    uniform,
    weibull_min,
)
from gradtape.scipy.stats.multivariate import multivariate_normal

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "bernoulli", "beta", "binom", "cauchy", "chi2", "expon", "gamma", "geom", "halfnorm",
    "invgamma", "laplace", "logistic", "lognorm", "multivariate_normal", "nbinom", "norm", "pareto",
    "poisson", "t", "uniform", "weibull_min",
]  # fmt: skip
