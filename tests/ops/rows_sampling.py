"""Rows of `gradtape.ops.sampling`."""

from __future__ import annotations

import numpy as np
import scipy.special

from gradtape.ops import sampling

from .table import Arg, Case, real, sample


def class_of(logits, uniform):
    upto = np.cumsum(scipy.special.softmax(logits, axis=-1), axis=-1)
    return np.array(
        [[np.searchsorted(row, u, side="right") for u in us] for row, us in zip(upto, uniform, strict=True)], np.int64
    )


def drawn(*shape):
    return Arg(shape, 0, 1, "float64", differentiable=False)


ROWS = [
    Case(
        sampling.gamma_sample,
        lambda alpha, drawn: drawn,
        [
            sample(real(3, low=0.5), real(2, 3, low=0, differentiable=False)),
            sample(real(low=0.5), real(low=0, differentiable=False)),
        ],
        orders=0,
        refuses=LookupError,
    ),
    Case(sampling.class_of, class_of, [sample(real(2, 3), drawn(2, 5)), sample(real(1, 4), drawn(1, 3))], orders=0),
]
