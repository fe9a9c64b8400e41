"""Rows of `gradtape.ops.special_orders`."""

from __future__ import annotations

import numpy as np
import scipy.special as reference

from gradtape.ops import special_orders as s

from .table import Case, at, binary, fixed, only, real, sample, unary

DOUBLE = ("float32", "float64")


def of_parameters(op, name, *choices, low=0.3, high=3.0, orders=2, **options):
    """A row for a function of parameters and a number:
    each choice of the parameters with a matrix, a scalar and nothing.
    """
    function = getattr(reference, name)
    first = [fixed(np.full((2, 3), float(parameter))) for parameter in choices[0]]
    samples = [only(("float64",), sample(real(2, 3, low=low, high=high), *first))]
    samples += [
        sample(real(*shape, low=low, high=high), *map(fixed, choice))
        for choice in choices
        for shape in ((2, 3), (), (0, 3))
    ]
    whole = name.startswith("eval_hermite")  # scipy takes no other degree than an integer

    def value(x, *parameters):
        return function(*[np.asarray(p).astype(int) if whole else p for p in parameters], x)

    return Case(op, value, samples, dtypes=DOUBLE, orders=orders, **options)


ROWS = [
    of_parameters(s.jv, "jv", (1.5,), (0,), (2,)),
    of_parameters(s.yv, "yv", (1.5,), (0,)),
    of_parameters(s.iv, "iv", (1.5,), (0,)),
    of_parameters(s.kv, "kv", (1.5,), (0,)),
    of_parameters(s.ive, "ive", (1.5,), (1,)),
    of_parameters(s.kve, "kve", (1.5,), (1,)),
    of_parameters(s.struve, "struve", (1.5,), (2,)),
    of_parameters(s.modstruve, "modstruve", (1.5,), (2,)),
    unary(
        s.elliptic_d, lambda x: reference.elliprd(np.zeros_like(x), 1 - x, np.ones_like(x)) / 3,
        0.1, 0.9, dtypes=DOUBLE, specials=[at(0.0, gives=np.pi / 4)],
    ),
    unary(s.ellipk, reference.ellipk, 0.1, 0.9, dtypes=DOUBLE,
        specials=[at(0.0, gives=np.pi / 2, gradient=np.pi / 8)]),
    unary(s.ellipe, reference.ellipe, 0.1, 0.9, dtypes=DOUBLE,
        specials=[at(0.0, gives=np.pi / 2, gradient=-np.pi / 8)]),
    binary(s.ellipkinc, reference.ellipkinc, x=(0.2, 1.3), y=(0.1, 0.8), dtypes=DOUBLE,
        numbers=False),
    binary(s.ellipeinc, reference.ellipeinc, x=(0.2, 1.3), y=(0.1, 0.8), dtypes=DOUBLE,
        numbers=False),
    Case(s.airy, reference.airy, [sample(real(2, 3)), sample(real()), sample(real(0, 3))],
        dtypes=DOUBLE),
    of_parameters(s.hyp0f1, "hyp0f1", (1.5,), high=2),
    of_parameters(s.hyp1f1, "hyp1f1", (0.5, 1.5), high=2),
    of_parameters(s.hyp2f1, "hyp2f1", (0.5, 0.7, 1.5), low=-0.6, high=0.6),
    of_parameters(s.hyperu, "hyperu", (0.5, 1.5)),
    of_parameters(s.eval_jacobi, "eval_jacobi", (3, 0.5, 1.5), (0, 0.5, 1.5), low=-0.9, high=0.9),
    of_parameters(s.eval_gegenbauer, "eval_gegenbauer", (3, 1.5), (1, 1.5), low=-0.9, high=0.9),
    of_parameters(s.eval_genlaguerre, "eval_genlaguerre", (3, 0.5), (0, 0.5)),
    of_parameters(s.eval_laguerre, "eval_laguerre", (3,), (1,)),
    of_parameters(s.eval_legendre, "eval_legendre", (3,), (0,), low=-0.9, high=0.9),
    of_parameters(s.eval_chebyt, "eval_chebyt", (4,), (1,), low=-0.9, high=0.9),
    of_parameters(s.eval_chebyu, "eval_chebyu", (3,), (0,), low=-0.9, high=0.9),
    of_parameters(s.eval_hermite, "eval_hermite", (3,), (0,), (1,)),
    of_parameters(s.eval_hermitenorm, "eval_hermitenorm", (3,), (0,), (1,)),
]  # fmt: skip
