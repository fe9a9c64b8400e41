"""Rows of `gradtape.ops.truncation`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import truncation as t

from .table import FLOATS, Case, at, fails, real, sample

WHOLE = [
    sample(real(2, 3, low=-9, high=9), real(3, low=1, high=4)),
    sample(real(4, low=1, high=9), real(4, low=-4, high=-1)),
]  # fmt: skip


def truncatediv(x, y):
    quotient = np.trunc(np.true_divide(x, y))
    return quotient.astype(x.dtype) if x.dtype.kind in "iu" else quotient


ZERO = fails(np.array([1, 2]), np.array([1, 0]), says=["division by zero"])

ROWS = [
    Case(
        t.truncatediv, truncatediv, WHOLE, dtypes=(*FLOATS, "int32", "int64", "int8"), orders=0,
        specials=[at([-7.0, 7.0, 1.0], [2.0, -2.0, 0.0], gives=[-3, -3, np.inf])], failures=[ZERO],
    ),
    Case(
        t.truncatemod, np.fmod, WHOLE, dtypes=("float32", "float64", "int32", "int64", "int8"),
        specials=[at([-7.0, 7.5], [2.0, -2.0], gives=[-1, 1.5], gradient=([1, 1], [3, 3]))],
        failures=[ZERO],
    ),
]  # fmt: skip
