"""Rows of `gradtape.ops.ordering`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import ordering

from .table import FLOATS, INTS, Case, at, real, sample


def reference(x, descending):
    return np.argsort(-x.astype(np.float64) if descending else x, axis=-1, kind="stable")


ROWS = [
    Case(
        ordering.argsort,
        reference,
        [
            sample(real(2, 5), descending=False),
            sample(real(4), descending=True),
            sample(real(0, 3), descending=True),
        ],
        dtypes=FLOATS + INTS,
        orders=0,
        specials=[
            at([1.0, 2.0, 1.0], descending=True, gives=[1, 0, 2]),
            at([1.0, 2.0, 1.0], descending=False, gives=[0, 2, 1]),
        ],
    ),
]
