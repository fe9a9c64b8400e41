"""Rows of `gradtape.ops.isotonic`: the reference levels neighbours until nothing rises."""

from __future__ import annotations

import numpy as np

from gradtape.ops.isotonic import isotonic_segments

from .table import FLOATS, Case, at, real, sample


def segments(x):
    out = np.zeros(x.shape, np.int64)
    for place in np.ndindex(*x.shape[:-1]):
        parts = [[value] for value in x[place]]
        while rising := [
            i for i in range(len(parts) - 1) if np.mean(parts[i]) < np.mean(parts[i + 1])
        ]:
            parts[rising[0] : rising[0] + 2] = [parts[rising[0]] + parts[rising[0] + 1]]
        out[place] = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return out


ROWS = [
    Case(
        isotonic_segments, segments,
        [sample(real(3, 6)), sample(real(5)), sample(real(2, 2, 4)), sample(real(0, 3))],
        dtypes=FLOATS, orders=0,
        specials=[at([3, 1, 2, 0, 1], gives=[0, 1, 1, 2, 2]), at([1, 2, 3], gives=[0, 0, 0])],
    ),
]  # fmt: skip
