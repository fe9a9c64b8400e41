"""Rows of `gradtape.ops.resampling`: the reference is a product with the matrix of the weights."""

from __future__ import annotations

import numpy as np

from gradtape.ops.resampling import Taps, resample

from .table import COMPLEX, FLOATS, Case, at, real, sample


def resampled(x, taps, axis):
    matrix = np.zeros((len(taps.places), taps.size))
    for row, (sources, weights) in enumerate(zip(taps.places, taps.weights, strict=True)):
        for place, weight in zip(sources, weights, strict=True):
            matrix[row, place] += weight
    return np.moveaxis(np.einsum("ij,...j->...i", matrix, np.moveaxis(x, axis, -1)), -1, axis)


FEW = Taps(
    np.array([[0, 1], [3, 3], [1, 2], [8, 0]]),
    np.array([[0.5, 0.5], [2.0, -1.0], [0.25, 0.5], [1.0, 0.0]]),
    9,
)
MANY = Taps(np.array([[0, 1, 2], [2, 1, 0]]), np.array([[0.5, 0.25, 0.25], [1.0, 2.0, 0.0]]), 3)
SPREAD = Taps(np.array([[0], [0], [1], [4]]), np.array([[1.0], [2.0], [3.0], [1.0]]), 5)

ROWS = [
    Case(
        resample, resampled,
        [
            sample(real(2, 9, 2), taps=FEW, axis=1),
            sample(real(9), taps=FEW, axis=0),
            sample(real(2, 3), taps=MANY, axis=1),
            sample(real(5, 2), taps=SPREAD, axis=0),
            sample(real(0, 3), taps=MANY, axis=1),
        ],
        dtypes=FLOATS + COMPLEX,
        specials=[at(np.arange(5, dtype=np.float32), taps=SPREAD, axis=0, gives=[0, 0, 3, 4],
            gradient=[3, 3, 0, 0, 1])],
    ),
]  # fmt: skip
