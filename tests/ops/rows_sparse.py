"""Rows of `gradtape.ops.sparse`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import sparse

from .table import COMPLEX, FLOATS, Case, integers, real, sample


def sparse_matmul(values, b, rows, columns, size):
    matrix = np.zeros((size, b.shape[0]), values.dtype)
    for value, row, column in zip(values, rows, columns, strict=True):
        matrix[row, column] += value
    return matrix @ b


def dots_at(x, y, rows, columns):
    return np.array(
        [np.dot(x[row], y[column]) for row, column in zip(rows, columns, strict=True)], x.dtype
    )


ROWS = [
    Case(
        sparse.sparse_matmul, sparse_matmul,
        [
            sample(real(5), real(3, 2), integers(5, high=3, dtype="int64"),
                integers(5, high=2, dtype="int64"), size=4),
            sample(real(0), real(3, 2), integers(0, dtype="int64"), integers(0, dtype="int64"),
                size=4),
            sample(real(2), real(3, 0), integers(2, dtype="int64"), integers(2, dtype="int64"),
                size=3),
        ],
        dtypes=FLOATS + COMPLEX,
    ),
    Case(
        sparse.dots_at, dots_at,
        [
            sample(real(4, 2), real(3, 2), integers(5, high=3, dtype="int64"),
                integers(5, high=2, dtype="int64")),
            sample(real(4, 2), real(3, 2), integers(0, dtype="int64"), integers(0, dtype="int64")),
            sample(real(3, 0), real(3, 0), integers(2, dtype="int64"), integers(2, dtype="int64")),
        ],
        dtypes=FLOATS + COMPLEX,
    ),
]  # fmt: skip
