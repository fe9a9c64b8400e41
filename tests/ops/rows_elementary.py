"""Rows of `gradtape.ops.elementary`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradtape.ops import elementary as e

from .table import COMPLEX, FLOATS, at, binary, fixed, real, sample, unary

INEXACT = FLOATS + COMPLEX

power = binary(
    e.power, np.power, x=(0.3, 2), y=(-2, 2), dtypes=INEXACT,
    specials=[
        at(0.0, 2.0, gives=0.0, gradient=(0.0, 0.0)),
        at(0.0, 0.0, gives=1.0, gradient=(np.nan, 0.0)),
        at(-1.5, 2.0, gives=2.25, gradient=(-3.0, 0.0)),
        at(np.array([2, 3], np.int32), np.array([3, 2], np.int32), gives=[8, 9]),
    ],
)  # fmt: skip

ROWS = [
    replace(power,
        samples=[*power.samples,
            *[sample(real(2, 3), fixed(exponent)) for exponent in (0, 1, 3, 1.0, -2.0)]]),
    unary(e._one, np.ones_like, dtypes=INEXACT),
    unary(e.exp, np.exp, dtypes=INEXACT),
    unary(e.expm1, np.expm1, dtypes=INEXACT, specials=[at(1e-6, gives=1e-6)]),
    unary(e.log, np.log, 0.1, 3, dtypes=INEXACT,
        specials=[at(0.0, gives=-np.inf, gradient=np.inf)]),
    unary(e.log1p, np.log1p, -0.7, 3, dtypes=INEXACT, specials=[at(1e-6, gives=1e-6)]),
    unary(e.sqrt, np.sqrt, 0.1, 3, dtypes=INEXACT, specials=[at(0.0, gives=0.0, gradient=np.inf)]),
    unary(e.rsqrt, lambda x: 1 / np.sqrt(x), 0.1, 3, dtypes=INEXACT,
        specials=[at(0.0, gives=np.inf, gradient=-np.inf)]),
    unary(e.reciprocal, lambda x: 1 / x, 0.3, 3, dtypes=INEXACT),
    unary(e.sin, np.sin, dtypes=INEXACT),
    unary(e.cos, np.cos, dtypes=INEXACT),
    unary(e.tan, np.tan, -1.2, 1.2, dtypes=INEXACT),
    unary(e.tanh, np.tanh, dtypes=INEXACT),
    unary(e.asin, np.arcsin, -0.9, 0.9, dtypes=INEXACT,
        specials=[at([-1.0, 1.0], gradient=[np.inf, np.inf])]),
    unary(e.acos, np.arccos, -0.9, 0.9, dtypes=INEXACT,
        specials=[at([-1.0, 1.0], gradient=[-np.inf, -np.inf])]),
    unary(e.atan, np.arctan, dtypes=INEXACT),
    binary(e.atan2, np.arctan2, specials=[at(0.0, 0.0, gives=0.0, gradient=(np.nan, np.nan))]),
    unary(e.sinh, np.sinh, dtypes=INEXACT),
    unary(e.cosh, np.cosh, dtypes=INEXACT),
    unary(e.asinh, np.arcsinh, dtypes=INEXACT),
    unary(e.acosh, np.arccosh, 1.1, 3, dtypes=INEXACT),
    unary(e.atanh, np.arctanh, -0.9, 0.9, dtypes=INEXACT),
    binary(
        e.xlogy, lambda x, y: np.where(np.equal(x, 0), 0, x * np.log(y)), y=(0.3, 2),
        dtypes=INEXACT,
        specials=[at(0.0, 0.0, gives=0.0, gradient=(0.0, 0.0)),
            at(0.0, 2.0, gives=0.0, gradient=(0.0, 0.0))],
    ),
    binary(
        e.xdivy, lambda x, y: np.where(np.equal(x, 0), 0, x / y), y=(0.3, 2), dtypes=INEXACT,
        specials=[at(0.0, 0.0, gives=0.0, gradient=(0.0, 0.0)),
            at(0.0, 2.0, gives=0.0, gradient=(0.0, 0.0))],
    ),
]  # fmt: skip
