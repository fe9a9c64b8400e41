"""Rows of `gradtape.ops.solvers`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import solvers as s

from .matrices import HermitianCase, matrix, of_hermitian
from .table import COMPLEX, FLOATS, INTS, Case, at, fails, fixed, real, sample

DOUBLE = ("float32", "float64")
SQUARE = np.ones((2, 2), np.float32)


def band(x, low, high):
    steps = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    return np.where((low <= steps) & (steps <= high), x, np.zeros((), x.dtype))


def triangular_solve(a, b, lower):
    return np.linalg.solve(np.tril(a) if lower else np.triu(a), b)


def tridiagonal(diagonals):
    size = diagonals.shape[-1]
    out = np.zeros((*diagonals.shape[:-2], size, size), diagonals.dtype)
    for i in range(size):
        out[..., i, i] = diagonals[..., 1, i]
        if i + 1 < size:
            out[..., i, i + 1], out[..., i + 1, i] = diagonals[..., 0, i], diagonals[..., 2, i + 1]
    return out


def tridiagonal_case(*batch, size=4, columns=2, right=None):
    """Three diagonals with a main one that dominates."""
    shift = np.array([0.0, 5.0, 0.0])[:, None]
    return sample(
        matrix(*batch, 3, size, add=shift),
        real(*(batch if right is None else right), size, columns),
    )


ROWS = [
    Case(
        s.band, band,
        [
            sample(real(3, 4), low=-1, high=1), sample(real(2, 3, 3), low=-np.inf, high=0),
            sample(real(4, 2), low=1, high=np.inf), sample(real(0, 3), low=0, high=0),
        ],
        dtypes=FLOATS + COMPLEX + INTS + ("bool",),
    ),
    Case(
        s.inverse, np.linalg.inv,
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(2, 0, 0)),
            sample(real(0, 2, 2))],
        dtypes=DOUBLE + COMPLEX,
        failures=[fails(SQUARE, says=["inverse", "float32[2, 2]"]),
            fails(np.ones((2, 3), np.float32)), fails(np.ones(2, np.float32))],
    ),
    Case(
        s.solve, np.linalg.solve,
        [
            sample(matrix(3, 3), real(3, 2)), sample(matrix(2, 2, 2), real(2, 2, 1)),
            sample(matrix(2, 2), real(3, 2, 1)), sample(matrix(2, 3, 3), real(3, 1)),
            sample(matrix(2, 2), real(2, 0)), sample(real(0, 0), real(0, 2)),
        ],
        dtypes=DOUBLE + COMPLEX,
        failures=[fails(SQUARE, SQUARE, says=["solve", "float32[2, 2]"]),
            fails(SQUARE, np.ones(2, np.float32))],
    ),
    Case(
        s.pseudoinverse, np.linalg.pinv,
        [
            sample(matrix(4, 2), fixed(np.float64(1e-9))),
            sample(matrix(2, 3), fixed(np.float64(1e-9))),
            sample(matrix(2, 3, 3), fixed(np.array([1e-9, 1e-9]))),
        ],
        dtypes=DOUBLE + COMPLEX,
        specials=[
            at(np.diag([2.0, 0.0]), np.array(0.01), gives=np.diag([0.5, 0.0]),
                gradient=np.array([[-0.25, 0.25], [0.25, 0.0]])),
            at(np.eye(2), np.array(0.01), gives=np.eye(2), gradient=-np.ones((2, 2))),
        ],
    ),
    Case(
        s.triangular_solve, triangular_solve,
        [
            sample(matrix(3, 3), real(3, 2), lower=True),
            sample(matrix(3, 3), real(3, 2), lower=False),
            sample(matrix(2, 2, 2), real(2, 2, 1), lower=True),
            sample(matrix(2, 2), real(3, 2, 1), lower=False),
            sample(matrix(2, 2, 2), real(2, 1), lower=True),
            sample(matrix(2, 2), real(2, 0), lower=True),
            sample(real(0, 0), real(0, 2), lower=True),
        ],
        dtypes=DOUBLE + COMPLEX,
        specials=[at(np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32), gives=[[np.inf]],
            lower=True)],
        failures=[fails(SQUARE, np.ones((3, 1), np.float32), lower=True),
            fails(np.ones((2, 3), np.float32), SQUARE, lower=True)],
    ),
    HermitianCase(
        s.cholesky, of_hermitian(np.linalg.cholesky),
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(0, 2, 2)), sample(real(0, 0))],
        dtypes=DOUBLE + COMPLEX,
        specials=[
            at(-np.eye(2, dtype=np.float32), gives=np.tril(np.full((2, 2), np.nan))),
            at(np.stack([np.eye(1), -np.eye(1)]), gives=[[[1]], [[np.nan]]]),
            at(np.array([[4.0, np.nan], [2.0, 2.0]]), gives=[[2, 0], [1, 1]]),
        ],
        failures=[fails(np.ones((2, 3), np.float32)), fails(np.ones(2, np.float32))],
    ),
    Case(
        s.tridiagonal_solve, lambda diagonals, b: np.linalg.solve(tridiagonal(diagonals), b),
        [
            tridiagonal_case(), tridiagonal_case(2, size=3), tridiagonal_case(size=1),
            tridiagonal_case(size=2), tridiagonal_case(2, right=()), tridiagonal_case(size=0),
            tridiagonal_case(columns=0),
        ],
        dtypes=DOUBLE + COMPLEX,
        specials=[at(np.zeros((3, 3)), np.ones((3, 1)), gives=np.full((3, 1), np.nan))],
        failures=[fails(np.ones((3, 3), np.float32), np.ones((2, 1), np.float32))],
    ),
]  # fmt: skip
