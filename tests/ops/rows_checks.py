"""Rows of `gradtape.ops.checks`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import checks

from .table import COMPLEX, FLOATS, Case, fails, real, sample

ROWS = [
    Case(
        checks.check_numerics,
        lambda x, message: x,
        [
            sample(real(2, 3), message="weights"),
            sample(real(), message="weights"),
            sample(real(0), message="weights"),
        ],
        dtypes=FLOATS + COMPLEX,
        failures=[
            fails(np.array([1, np.nan], np.float32), message="weights", says=["weights", "NaN"]),
            fails(np.array([1, np.inf], np.float32), message="weights", says=["weights", "Inf"]),
        ],
    ),
]
