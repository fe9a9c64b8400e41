"""Rows of `gradtape.ops.special_bessel`."""

from __future__ import annotations

import numpy as np
import scipy.special as reference

from gradtape.ops import special_bessel as b

from .table import Case, at, real, sample


def row(op, function, low, **options):
    """An order with a kernel of its own, one with the general kernel, a scalar and nothing."""
    shapes = [((2, 3), 1), ((2, 3), 0), ((2, 3), 2), ((), 0), ((0, 3), 1)]
    samples = [sample(real(*shape, low=low, high=3), order=order) for shape, order in shapes]
    return Case(op, lambda x, order: function(order, x), samples, **options)


ROWS = [
    row(b.bessel_i, reference.iv, -3,
        specials=[at(0.0, gives=0, gradient=0.5, order=1), at(0.0, gives=1, gradient=0, order=0)]),
    row(b.bessel_ie, reference.ive, 0.2,
        specials=[at(0.0, gives=0, gradient=0.5, order=1),
            at(-1.0, gives=0.46575961, gradient=0.25784918, order=0)]),
    row(b.bessel_j, reference.jv, -3,
        specials=[at(0.0, gives=0, gradient=0.5, order=1), at(0.0, gives=1, gradient=0, order=0)]),
    row(b.bessel_y, reference.yv, 0.3,
        specials=[at([0.0, np.nan], gives=[-np.inf, np.nan], order=0)]),
    row(b.bessel_k, reference.kv, 0.3,
        specials=[at([0.0, np.inf], gives=[np.inf, 0], gradient=[-np.inf, 0], order=0),
            at([0.0, np.inf], gives=[np.inf, 0], gradient=[-np.inf, 0], order=1)]),
    row(b.bessel_ke, reference.kve, 0.3,
        specials=[at([0.0, np.inf], gives=[np.inf, 0], order=0),
            at([0.0, np.inf], gives=[np.inf, 0], gradient=[-np.inf, 0], order=1)]),
]  # fmt: skip
