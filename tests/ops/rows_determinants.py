"""Rows of `gradtape.ops.determinants`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import determinants as d

from .matrices import matrix
from .table import COMPLEX, Case, at, fails, real, sample

FLOATS = ("float32", "float64")

ROWS = [
    Case(
        d.det, np.linalg.det,
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(2, 0, 0)),
            sample(real(0, 2, 2))],
        dtypes=FLOATS + COMPLEX,
        specials=[
            at(np.diag([2.0, 3.0, 0.0]), gives=0, gradient=np.diag([0.0, 0.0, 6.0])),
            at(np.array([[1.0, 2.0], [2.0, 4.0]]), gives=0,
                gradient=np.array([[4.0, -2.0], [-2.0, 1.0]])),
            at(np.zeros((1, 1)), gives=0, gradient=[[1.0]]),
            at(np.zeros((2, 2)), gives=0, gradient=np.zeros((2, 2))),
            at(np.stack([np.eye(2), np.diag([0.0, 3.0])]), gives=[1, 0],
                gradient=[np.eye(2), np.diag([3.0, 0.0])]),
            at(np.full((1, 1), np.nan), gives=np.nan, gradient=[[np.nan]]),
        ],
        failures=[fails(np.ones((2, 3), np.float32)), fails(np.ones(2, np.float32))],
    ),
    Case(
        d.slogdet, lambda x: list(np.linalg.slogdet(x)),
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(0, 2, 2))],
        dtypes=FLOATS + COMPLEX,
        failures=[fails(np.ones((2, 3), np.float32)), fails(np.ones(2, np.float32))],
    ),
]  # fmt: skip
