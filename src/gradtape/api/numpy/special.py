"""The ufuncs of `scipy.special` on Tensors: those with a known derivative are recorded, all others
run on values.

They are called through NumPy's protocol, as `scipy.special.erf(tensor)`; gradtape has no names of
its own for them. Their table is built when one is first called: by then the user has imported
scipy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from gradtape.api.numpy.operands import inexact, promoted, tensors_of
from gradtape.api.numpy.ufunc import with_keywords
from gradtape.api.numpy.values import on_values
from gradtape.core.array_methods import COUNTERPARTS
from gradtape.ops import (
    activations,
    special,
    special_bessel,
    special_gamma,
    special_integrals,
    ufuncs,
)
from gradtape.ops import arithmetic as a
from gradtape.ops import elementary as e
from gradtape.ops import special_distributions as d
from gradtape.ops import special_orders as o
from gradtape.ops.selection import where

Function = Callable[..., Any]


def _bessel(op: Function, order: int) -> Function:
    return lambda x: op(x, order=order)


def _number_last(op: Function) -> Function:
    """scipy has the parameters before the number, gradtape's op has them behind it."""
    return lambda *args: op(args[-1], *args[:-1])


def _loggamma(x: Any) -> Any:
    """The real branch: there is none below 0."""
    return where(a.less(x, 0), math.nan, special_gamma.lgamma(x))


def _huber(delta: Any, r: Any) -> Any:
    size = a.absolute(r)
    near = a.less_equal(size, delta)
    found = where(near, a.square(r) * 0.5, delta * (size - delta * 0.5))
    return where(a.less(delta, 0), math.inf, found)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    """delta**2 * (sqrt(1 + (r / delta)**2) - 1), written so that nothing cancels;
    0 where delta is.
    """
    ratio = a.divide_no_nan(r, delta)
    found = a.square(r) / (e.sqrt(a.square(ratio) + 1) + 1)
    return where(a.less(delta, 0), math.inf, where(a.equal(delta, 0), 0, found))


def _boxcox(x: Any, lmbda: Any) -> Any:
    return _power_over(e.log(x), lmbda)


def _boxcox1p(x: Any, lmbda: Any) -> Any:
    return _power_over(e.log1p(x), lmbda)


def _power_over(log_x: Any, lmbda: Any) -> Any:
    """(exp(lmbda * log_x) - 1) / lmbda, which is log_x where lmbda is 0."""
    return log_x * d.exprel(lmbda * log_x, order=0)


def _log_root(y: Any, lmbda: Any) -> Any:
    """log(1 + lmbda * y) / lmbda, which is y where lmbda is 0."""
    return y * special.log_ratio(lmbda * y + 1, order=0)


def _student(df: Any, t: Any) -> Any:
    """Student's distribution function, by the tail beyond the absolute value of t."""
    tail = special_integrals.betainc(df * 0.5, 0.5, df / (df + t * t)) * 0.5
    return where(a.greater(t, 0), 1 - tail, tail)


FUNCTIONS: dict[str, Function] = {
    # Error functions and the normal distribution
    "erf": special.erf,
    "erfc": special.erfc,
    "erfcx": d.erfcx,
    "erfi": d.erfi,
    "erfinv": special.erfinv,
    "erfcinv": special.erfcinv,
    "ndtr": d.ndtr,
    "log_ndtr": d.log_ndtr,
    "ndtri": special.ndtri,
    "ndtri_exp": d.ndtri_exp,
    "owens_t": d.owens_t,
    # Gamma and beta functions, and the distributions made of their incomplete forms
    "gamma": d.gamma,
    "rgamma": d.rgamma,
    "gammaln": special_gamma.lgamma,
    "loggamma": _loggamma,
    "psi": special_gamma.digamma,
    "beta": d.beta,
    "betaln": d.betaln,
    "binom": d.binom,
    "poch": d.poch,
    "gammainc": special_integrals.igamma,
    "gammaincc": special_integrals.igammac,
    "gammaincinv": d.gammaincinv,
    "gammainccinv": d.gammainccinv,
    "betainc": special_integrals.betainc,
    "betaincc": d.betaincc,
    "betaincinv": d.betaincinv,
    "betainccinv": d.betainccinv,
    "gdtr": lambda a, b, x: special_integrals.igamma(b, a * x),
    "gdtrc": lambda a, b, x: special_integrals.igammac(b, a * x),
    "chdtr": lambda v, x: special_integrals.igamma(v * 0.5, x * 0.5),
    "chdtrc": lambda v, x: special_integrals.igammac(v * 0.5, x * 0.5),
    "chdtri": lambda v, p: d.gammainccinv(v * 0.5, p) * 2,
    "fdtr": lambda m, n, x: special_integrals.betainc(m * 0.5, n * 0.5, m * x / (n + m * x)),
    "fdtrc": lambda m, n, x: special_integrals.betainc(n * 0.5, m * 0.5, n / (n + m * x)),
    "stdtr": _student,
    # Logistic functions, entropies, losses and transformations
    "expit": activations.sigmoid,
    "log_expit": lambda x: -activations.softplus(-x),
    "logit": d.logit,
    "entr": d.entr,
    "rel_entr": d.rel_entr,
    "kl_div": d.kl_div,
    "xlogy": e.xlogy,
    "xlog1py": special.xlog1py,
    "huber": _huber,
    "pseudo_huber": _pseudo_huber,
    "boxcox": _boxcox,
    "boxcox1p": _boxcox1p,
    "inv_boxcox": lambda y, lmbda: e.exp(_log_root(y, lmbda)),
    "inv_boxcox1p": lambda y, lmbda: e.expm1(_log_root(y, lmbda)),
    # Exponentials, powers, angles in degrees
    "exp2": ufuncs.exp2,
    "exp10": d.exp10,
    "expm1": e.expm1,
    "exprel": lambda x: d.exprel(x, order=0),
    "log1p": e.log1p,
    "cbrt": ufuncs.cbrt,
    "powm1": d.powm1,
    "cosm1": d.cosm1,
    "sindg": d.sindg,
    "cosdg": d.cosdg,
    "tandg": d.tandg,
    "cotdg": d.cotdg,
    "wrightomega": d.wrightomega,
    # Integrals
    "exp1": d.exp1,
    "expi": special.expint,
    "expn": d.expn,
    "sici": lambda x: (d.sine_integral(x), d.cosine_integral(x)),
    "shichi": lambda x: (d.sinh_integral(x), d.cosh_integral(x)),
    "fresnel": lambda x: (special.fresnel_sin(x), special.fresnel_cos(x)),
    "dawsn": special.dawsn,
    "spence": special.spence,
    "ellipk": o.ellipk,
    "ellipe": o.ellipe,
    "ellipkinc": o.ellipkinc,
    "ellipeinc": o.ellipeinc,
    "_zeta": special_gamma.zeta,  # what scipy.special.zeta(x, q) calls
    # Bessel, Struve and Airy functions
    "j0": _bessel(special_bessel.bessel_j, 0),
    "j1": _bessel(special_bessel.bessel_j, 1),
    "y0": _bessel(special_bessel.bessel_y, 0),
    "y1": _bessel(special_bessel.bessel_y, 1),
    "i0": _bessel(special_bessel.bessel_i, 0),
    "i0e": _bessel(special_bessel.bessel_ie, 0),
    "i1": _bessel(special_bessel.bessel_i, 1),
    "i1e": _bessel(special_bessel.bessel_ie, 1),
    "k0": _bessel(special_bessel.bessel_k, 0),
    "k0e": _bessel(special_bessel.bessel_ke, 0),
    "k1": _bessel(special_bessel.bessel_k, 1),
    "k1e": _bessel(special_bessel.bessel_ke, 1),
    "jv": _number_last(o.jv),
    "yv": _number_last(o.yv),
    "yn": _number_last(o.yv),
    "iv": _number_last(o.iv),
    "ive": _number_last(o.ive),
    "kv": _number_last(o.kv),
    "kn": _number_last(o.kv),
    "kve": _number_last(o.kve),
    "struve": _number_last(o.struve),
    "modstruve": _number_last(o.modstruve),
    "airy": lambda x: tuple(o.airy(x)),
    # Hypergeometric functions and orthogonal polynomials
    "hyp0f1": _number_last(o.hyp0f1),
    "hyp1f1": _number_last(o.hyp1f1),
    "hyp2f1": _number_last(o.hyp2f1),
    "hyperu": _number_last(o.hyperu),
    "eval_jacobi": _number_last(o.eval_jacobi),
    "eval_gegenbauer": _number_last(o.eval_gegenbauer),
    "eval_genlaguerre": _number_last(o.eval_genlaguerre),
    "eval_laguerre": _number_last(o.eval_laguerre),
    "eval_legendre": _number_last(o.eval_legendre),
    "eval_chebyt": _number_last(o.eval_chebyt),
    "eval_chebyu": _number_last(o.eval_chebyu),
    "eval_hermite": _number_last(o.eval_hermite),
    "eval_hermitenorm": _number_last(o.eval_hermitenorm),
}
"""The recorded functions, by scipy's names of their ufuncs, with the arguments in scipy's order."""


@cache
def fill_table(scipy_special: Any) -> None:
    """Adds the ufuncs of the module `scipy.special` to the table of NumPy's protocol, once."""
    found = {}
    for name, function in FUNCTIONS.items():
        called = getattr(scipy_special, name, None) or getattr(scipy_special._ufuncs, name)
        called = getattr(called, "__wrapped__", called)  # with SCIPY_ARRAY_API=1, most are wrapped
        found[called] = _spelled(called, function)
    COUNTERPARTS.update(found)


def _spelled(called: Any, function: Function) -> Function:
    """A function of floating-point Tensors as one of anything: complex numbers,
    which the ops do not know, go to scipy.
    """
    name = called.__name__
    arguments = [f"argument {i}" for i in range(called.nin)]

    def bare(*args: Any) -> Any:
        tensors = [inexact(x) for x in promoted(tensors_of(args, name, arguments))]
        if any(x.array.dtype.kind == "c" for x in tensors):
            return on_values(called, tensors, {}, name)
        return function(*tensors)

    def call(*args: Any, **keywords: Any) -> Any:
        return with_keywords(bare, called.nin, args, keywords)

    bare.__name__ = name
    bare.call = call  # type: ignore[attr-defined]
    return bare
