"""Rows of `gradtape.ops.running`."""

from __future__ import annotations

import numpy as np
import scipy.special

from gradtape.ops import running

from .table import Case, at, real, sample


def reference(x, axis):
    x = np.moveaxis(x, axis, 0)
    sums = [scipy.special.logsumexp(x[: i + 1], axis=0) for i in range(len(x))]
    return np.moveaxis(np.array(sums).reshape(x.shape), 0, axis)


ROWS = [
    Case(
        running.cumulative_logsumexp,
        reference,
        [
            sample(real(2, 3), axis=1), sample(real(5, 2), axis=0), sample(real(1), axis=0),
            sample(real(8), axis=0), sample(real(0, 3), axis=0), sample(real(2, 0), axis=0),
        ],
        specials=[
            at([1000.0, 1000.0], axis=0, gives=[1000, 1000 + np.log(2)], gradient=[1.5, 0.5]),
            at([-np.inf, -np.inf, 3.0, 3.0], axis=0, gives=[-np.inf, -np.inf, 3, 3 + np.log(2)],
                gradient=[0, 0, 1.5, 0.5]),
            at([3.0, -np.inf, -1000.0], axis=0, gives=[3, 3, 3], gradient=[3, 0, 0]),
        ],
    ),
]  # fmt: skip
