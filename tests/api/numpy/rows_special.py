"""Rows of `special`: the ufuncs of `scipy.special`, which are called as they are,
whatever the namespace.
"""

from __future__ import annotations

import numpy as np
import scipy.special

from .table import Row

SHAPES = [[(2, 3)], [()], [(0, 3)]]
PAIRS = [[(2, 3), (3,)], [(), (2,)]]


def between(low, high):
    return lambda rng, shape: rng.uniform(low, high, shape)


def whole(low, high):
    return lambda rng, shape: rng.integers(low, high, shape, endpoint=True).astype(np.float64)


def rows(names, *domains, **options):
    """Rows for functions of as many arguments as there are domains."""
    found = []
    for name in names:
        function = getattr(scipy.special, name)
        shapes = (
            SHAPES
            if len(domains) == 1
            else [[*s, *[(3,)] * (len(domains) - 2)] for s in ([(2, 3), (3,)], [(), (3,)])]
        )
        found += [
            Row(
                f"special.{name}",
                lambda xp, *args, function=function: function(*args),
                list(s),
                domain=list(domains),
                **options,
            )
            for s in shapes
        ]
    return found


def with_order(names, order, domain):
    """Rows for functions of a fixed order, which stands before the number."""

    def call(function):
        return lambda xp, x: function(order, x)

    return [
        Row(
            f"special.{name}",
            call(getattr(scipy.special, name)),
            [(2, 3)],
            domain=domain,
            label=f"order {order}",
        )
        for name in names
    ]


REAL = ("erf", "erfc", "erfi", "ndtr", "log_ndtr", "expit", "log_expit", "exprel", "exp2", "exp10",
    "expm1", "cosm1", "wrightomega", "sici",
        "shichi", "fresnel", "dawsn", "j0", "j1", "i0", "i0e", "i1", "i1e", "airy")  # fmt: skip
POSITIVE = ("erfcx", "gamma", "rgamma", "gammaln", "loggamma", "psi", "digamma", "entr", "log1p",
    "cbrt", "exp1", "expi", "spence", "y0",
            "y1", "k0", "k0e", "k1", "k1e")  # fmt: skip

ROWS = [
    *rows([name for name in REAL if name not in ("sici", "shichi")], between(-2, 2)),
    *rows(("sici", "shichi"), between(0.3, 3)),
    *rows(POSITIVE, between(0.4, 3)),
    *rows(("erfinv",), between(-0.9, 0.9)),
    *rows(("erfcinv",), between(0.2, 1.8)),
    *rows(("ndtri", "logit"), between(0.1, 0.9)),
    *rows(("ndtri_exp",), between(-3, -0.2)),
    *rows(("ellipk", "ellipe"), between(0.1, 0.8)),
    *rows(("sindg", "cosdg", "tandg"), between(-80, 80)),
    *rows(("cotdg",), between(10, 80)),
    *rows(("xlogy", "xlog1py", "rel_entr", "kl_div", "beta", "betaln", "poch", "gammainc",
        "gammaincc", "powm1", "boxcox", "boxcox1p",
           "inv_boxcox", "inv_boxcox1p", "chdtr", "chdtrc"), between(0.5, 2), between(0.5, 2)),
    *rows(("binom",), between(2, 4), between(0.4, 1.5)),
    *rows(("owens_t",), between(-2, 2), between(-2, 2)),
    *rows(("gammaincinv", "gammainccinv", "chdtri"), between(0.5, 3), between(0.1, 0.9)),
    *rows(("ellipkinc", "ellipeinc"), between(0.2, 1.3), between(0.1, 0.8)),
    *rows(("stdtr",), between(1, 5), between(-3, 3)),
    *rows(("huber", "pseudo_huber"), between(0.5, 1), between(-3, 3)),
    *rows(("betainc", "betaincc", "betaincinv", "betainccinv"), between(0.6, 3), between(0.6, 3),
        between(0.2, 0.8)),
    *rows(("gdtr", "gdtrc", "fdtr", "fdtrc"), between(0.5, 3), between(0.5, 3), between(0.5, 3)),
    *with_order(("jv", "jn", "yv", "iv", "ive", "kv", "kve", "struve", "modstruve"), 1.5,
        between(0.5, 3)),
    *with_order(("jv", "iv", "yn", "kn", "expn"), 2, between(0.5, 3)),
    *rows(("jv", "kv"), between(0.5, 2), between(0.5, 3), wanted=[1], label="orders"),
    *rows(("expn",), whole(1, 4), between(0.5, 3), wanted=[1], label="orders"),
    *with_order(("eval_legendre", "eval_chebyt", "eval_chebyu", "eval_laguerre", "eval_hermite",
        "eval_hermitenorm"), 3, between(-0.9, 0.9)),
    *with_order(("hyp0f1",), 1.5, between(0.3, 2)),
    Row("special.hyp1f1", lambda xp, x: scipy.special.hyp1f1(0.5, 1.5, x), [(2, 3)]),
    Row("special.hyp2f1", lambda xp, x: scipy.special.hyp2f1(0.5, 0.7, 1.5, x), [(2, 3)],
        domain=between(-0.6, 0.6)),
    Row("special.hyperu", lambda xp, x: scipy.special.hyperu(0.5, 1.5, x), [(2, 3)],
        domain="positive"),
    Row("special.eval_jacobi", lambda xp, x: scipy.special.eval_jacobi(3, 0.5, 1.5, x), [(2, 3)],
        domain="unit"),
    Row("special.eval_gegenbauer", lambda xp, x: scipy.special.eval_gegenbauer(3, 1.5, x), [(2, 3)],
        domain="unit"),
    Row("special.eval_genlaguerre", lambda xp, x: scipy.special.eval_genlaguerre(3, 1.5, x),
        [(2, 3)], domain="positive"),
    Row("special.zeta", lambda xp, x, q: scipy.special.zeta(x, q), [(2, 3), (3,)],
        domain=[between(1.3, 4), between(0.4, 3)]),
    *rows(("ber", "kei", "zetac"), between(1.5, 2), differentiable=False, label="on values"),
]  # fmt: skip
