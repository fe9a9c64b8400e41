"""Rows of `gradtape.ops.bitwise`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import bitwise as b

from .table import INTS, at, binary

ROWS = [
    binary(
        b.left_shift, lambda x, y: x << np.maximum(y, 0), x=(-5, 5), y=(-1, 2), dtypes=INTS,
        orders=0, numbers=False,
        specials=[
            at(np.array([1, -1, 5, 1, 3], np.int8), np.array([7, 1, -1, 9, 40], np.int8),
                gives=[-128, -2, 5, -128, -128]),
            at(np.array([1, 3], np.uint8), np.array([9, 40], np.uint8), gives=[128, 128]),
            at(np.array([1], np.int64), np.array([40], np.int64), gives=[2**40]),
        ],
    ),
    binary(
        b.right_shift, lambda x, y: x >> np.maximum(y, 0), x=(-9, 9), y=(-1, 2), dtypes=INTS,
        orders=0, numbers=False,
        specials=[at(np.array([-5, 5, 64, -9], np.int32), np.array([100, 100, -1, 1], np.int32),
            gives=[-1, 0, 64, -5])],
    ),
]  # fmt: skip
