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
    Case(
        ordering.top_indices,
        lambda x, count: reference(x, descending=True)[..., :count],
        [
            sample(real(3, 5), count=2),
            sample(real(2, 12), count=3),
            sample(real(2, 3, 64), count=1),
            sample(real(40), count=10),
            sample(real(0, 8), count=2),
            sample(real(4), count=0),
        ],
        dtypes=FLOATS + INTS,
        orders=0,
        specials=[
            at([1.0, 2.0, 1.0, 1.0, 2.0, 0.0, 0.0, 2.0], count=2, gives=[1, 4]),
            at(
                [[0.0, 3.0, 1.0, 1.0], [5.0, 6.0, 7.0, 8.0], [2.0, 2.0, 2.0, 2.0]],
                count=1,
                gives=[[1], [3], [0]],
            ),
            at([1.0, np.nan, 3.0, 2.0, np.nan, 0.0, 0.0, np.inf], count=2, gives=[1, 4]),
            at([np.nan, -np.inf, np.inf, 2.0, 1.0, 0.0, -np.inf, 4.0], count=2, gives=[0, 2]),
        ],
    ),
]
