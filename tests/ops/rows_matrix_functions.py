"""Rows of `gradtape.ops.matrix_functions`."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from gradtape.ops import matrix_functions as f

from .matrices import matrix
from .table import COMPLEX, Case, at, fails, real, sample

FLOATS = ("float32", "float64")
WIDE = np.ones((2, 3), np.float32)


def each(function):
    def of_batch(*arrays):
        if not arrays[0].size:
            return arrays[-1]
        found = [function(*[a[i] for a in arrays]) for i in np.ndindex(arrays[0].shape[:-2])]
        return np.reshape(found, arrays[-1].shape)

    return of_batch


ROWS = [
    Case(
        f.expm, each(scipy.linalg.expm),
        [sample(real(3, 3, low=-1, high=1)), sample(real(2, 2, 2, low=-1, high=1)),
            sample(real(0, 2, 2)), sample(real(0, 0))],
        dtypes=FLOATS + COMPLEX, failures=[fails(WIDE)],
    ),
    Case(
        f.logm, each(scipy.linalg.logm),
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(0, 2, 2)), sample(real(0, 0))],
        dtypes=FLOATS + COMPLEX, failures=[fails(WIDE)],
        specials=[at(-np.eye(2), gives=np.full((2, 2), np.nan)),
            at(np.eye(2) * np.e, gives=np.eye(2))],
    ),
    Case(
        f.sqrtm, each(scipy.linalg.sqrtm),
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(0, 2, 2)), sample(real(0, 0))],
        dtypes=FLOATS + COMPLEX, failures=[fails(WIDE)],
        specials=[
            at(-np.eye(2), gives=np.full((2, 2), np.nan)),
            at(np.diag([4.0, 0.0, 0.0]), gives=np.diag([2.0, 0.0, 0.0])),
            at(np.array([[0.0, -4.0], [4.0, 0.0]]),
                gives=np.sqrt(2) * np.array([[1.0, -1.0], [1.0, 1.0]])),
            at(np.full((1, 1), np.inf), gives=[[np.nan]]),
        ],
    ),
    Case(
        f.sylvester, each(scipy.linalg.solve_sylvester),
        [sample(matrix(3, 3), matrix(2, 2), real(3, 2)),
            sample(matrix(2, 2, 2), matrix(2, 1, 1), real(2, 2, 1)),
            sample(matrix(2, 2), matrix(2, 2), real(2, 2))],
        dtypes=FLOATS + COMPLEX,
    ),
]  # fmt: skip
