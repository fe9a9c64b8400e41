"""Rows of `gradtape.ops.decompositions`.

Complex factors have phases that a difference quotient would have to follow: `test_linear_algebra`
checks what does not depend on them.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from gradtape.ops import decompositions as d

from .matrices import matrix
from .table import COMPLEX, Case, at, fails, only, real, sample

FLOATS = ("float32", "float64")
VECTOR = np.ones(2, np.float32)
WIDE = np.ones((2, 3), np.float32)
NAN = np.full((2, 2), np.nan, np.float32)


def lu(x):
    factors, rows = np.empty_like(x), np.empty(x.shape[:-1], np.int32)
    for index in np.ndindex(x.shape[:-2]):
        order, lower, upper = scipy.linalg.lu(x[index], p_indices=True)
        factors[index] = np.tril(lower, -1) + upper
        rows[index] = np.argsort(order)
    return [factors, rows]


def svd(x, full=False):
    u, s, vh = np.linalg.svd(x, full_matrices=full)
    return [s, u, vh.conj().mT]


def eig(x):
    return [part.astype(np.complex128) for part in np.linalg.eig(x)]


ROWS = [
    Case(
        d.lu, lu,
        [sample(matrix(3, 3, add=np.fliplr(np.diag([3.0, 4, 5])))), sample(matrix(2, 2, 2)),
            sample(real(0, 2, 2))],
        dtypes=FLOATS + COMPLEX,
        failures=[fails(WIDE), fails(np.ones((2, 2), np.float32), says=["lu", "not invertible"])],
    ),
    Case(
        d.qr, lambda x, full=False: list(np.linalg.qr(x, "complete" if full else "reduced")),
        [
            sample(matrix(3, 3)), sample(matrix(4, 2)), sample(matrix(2, 3, 2)),
            only(FLOATS, sample(matrix(3, 2), full=True)), sample(real(2, 0)),
            sample(real(0, 2, 2)),
        ],
        dtypes=FLOATS + COMPLEX,
        failures=[fails(WIDE, says=["qr", "rows"])],
    ),
    Case(
        d.svd, svd,
        [
            sample(matrix(3, 3)), sample(matrix(4, 2)), sample(matrix(2, 3)),
            sample(matrix(2, 3, 2)), sample(matrix(3, 2), full=True),
            sample(matrix(2, 3), full=True), sample(real(0, 2, 2)), sample(real(0, 2)),
        ],
        dtypes=FLOATS, failures=[fails(VECTOR)],
    ),
    Case(
        d.singular_values, lambda x: np.linalg.svd(x, compute_uv=False),
        [sample(matrix(3, 3)), sample(matrix(4, 2)), sample(matrix(2, 2, 3)), sample(real(0, 2, 2)),
            sample(real(0, 2))],
        dtypes=FLOATS + COMPLEX,
        specials=[at(NAN, gives=[np.nan] * 2),
            at(np.stack([np.eye(2), NAN]), gives=[[1, 1], [np.nan] * 2])],
        failures=[fails(VECTOR)],
    ),
    Case(
        d.eigh, lambda x: list(np.linalg.eigh(x)),
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(0, 2, 2))], dtypes=FLOATS,
        failures=[fails(WIDE), fails(VECTOR)], specials=[at(NAN, gives=([np.nan] * 2, NAN))],
    ),
    Case(
        d.eigvalsh, np.linalg.eigvalsh,
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(0, 2, 2))],
        dtypes=FLOATS + COMPLEX, failures=[fails(WIDE), fails(VECTOR)],
        specials=[at(NAN, gives=[np.nan] * 2)],
    ),
    Case(
        d.eig, eig, [sample(matrix(3, 3)), sample(matrix(2, 2, 2)), sample(real(0, 2, 2))],
        dtypes=FLOATS, failures=[fails(WIDE), fails(VECTOR)],
        specials=[at(NAN, gives=([np.nan] * 2, NAN))],
    ),
    Case(
        d.eigvals, lambda x: np.linalg.eigvals(x).astype(np.complex128),
        [sample(matrix(3, 3)), sample(matrix(2, 2, 2)),
            sample(matrix(2, 2, add=np.array([[0.0, 3.0], [-3.0, 0.0]]))),
            only(FLOATS, sample(real(0, 2, 2)))],
        dtypes=FLOATS + COMPLEX, failures=[fails(WIDE), fails(VECTOR)],
        specials=[at(NAN, gives=[np.nan] * 2)],
    ),
]  # fmt: skip
