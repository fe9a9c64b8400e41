"""Rows of `gradtape.ops.vector_convolution`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import vector_convolution

from .table import COMPLEX, FLOATS, Case, fails, real, sample

ONES = np.ones(2, np.float32)

ROWS = [
    Case(
        vector_convolution.convolve,
        lambda a, v, full: np.convolve(a, v, "full" if full else "valid"),
        [
            sample(real(4), real(3), full=True), sample(real(2), real(5), full=True),
            sample(real(1), real(1), full=True), sample(real(5), real(3), full=False),
            sample(real(3), real(3), full=False), sample(real(4), real(1), full=False),
        ],
        dtypes=FLOATS + COMPLEX + ("int32",),
        failures=[
            fails(ONES, np.ones(3, np.float32), full=False, says=["convolve", "longer"]),
            fails(ONES, np.ones((2, 2), np.float32), full=True, says=["convolve", "vectors"]),
            fails(ONES, np.ones(0, np.float32), full=True, says=["convolve", "one element"]),
        ],
    ),
]  # fmt: skip
