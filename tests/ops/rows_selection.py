"""Rows of `gradtape.ops.selection`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import selection as s

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, at, booleans, fails, fixed, only, real, sample

EVERYTHING = FLOATS + COMPLEX + INTS + BOOL
LIKE = [
    sample(real(2, 3)),
    sample(real()),
    sample(real(0, 3)),
    sample(real(2), dtype=np.dtype(np.int32)),
]
CHOSEN = [
    sample(real(2, 3), booleans(2, 3)), sample(real(3), booleans(2, 3)),
    sample(real(2, 3), booleans(3)), sample(real(), booleans()), sample(real(0, 3), booleans(3)),
]  # fmt: skip

ROWS = [
    Case(s.keep, lambda x, condition: np.where(condition, x, x.dtype.type(0)), CHOSEN,
        dtypes=EVERYTHING, specials=[
        at([np.nan, np.nan, -np.inf], np.array([True, False, False]), gives=[np.nan, 0, 0],
            gradient=([1, 0, 0], None)),
    ]),
    Case(s.drop, lambda x, condition: np.where(condition, x.dtype.type(0), x), CHOSEN,
        dtypes=EVERYTHING, specials=[
        at([np.nan, np.nan, -np.inf], np.array([True, False, False]), gives=[0, np.nan, -np.inf],
            gradient=([0, 1, 1], None)),
    ]),
    Case(
        s.where_true, np.argwhere,
        [sample(real(2, 3)), sample(real(4)), sample(real(0, 3)), sample(booleans(3, 2))],
        dtypes=EVERYTHING, orders=0, batches=False,
    ),
    Case(
        s.where, np.where,
        [
            sample(booleans(2, 3), real(2, 3), real(2, 3)),
            sample(booleans(2, 3), real(3), real(2, 1)), sample(booleans(3), real(2, 3), real()),
            sample(booleans(), real(2), real(2)), sample(booleans(), real(), real()),
            sample(booleans(2, 1), real(3), real(3)), sample(booleans(0, 3), real(3), real(0, 3)),
            only(FLOATS + COMPLEX + INTS, sample(booleans(2, 3), real(2, 3), fixed(0))),
        ],
        dtypes=EVERYTHING,
        specials=[at(np.array([True, False]), [1.0, np.nan], [np.inf, 2.0], gives=[1, 2],
            gradient=(None, [1, 0], [0, 1]))],
        failures=[fails(np.array([True, False]), np.ones(3, np.float32), np.ones(2, np.float32),
            says=["where", "[3]"])],
    ),
    Case(s.zeros_like, lambda x, dtype=None: np.zeros(x.shape, dtype or x.dtype), LIKE,
        dtypes=EVERYTHING, orders=0),
    Case(s.ones_like, lambda x, dtype=None: np.ones(x.shape, dtype or x.dtype), LIKE,
        dtypes=EVERYTHING, orders=0),
]  # fmt: skip
