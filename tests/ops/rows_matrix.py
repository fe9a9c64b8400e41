"""Rows of `gradtape.ops.matrix`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import matrix as m

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, fails, real, sample

MATRIX = np.ones((2, 3), np.float32)


def on_diagonal(x, shape, offset=0):
    out = np.zeros((*x.shape[:-1], *shape), x.dtype)
    for i in range(x.shape[-1]):
        out[..., i + max(-offset, 0), i + max(offset, 0)] = x[..., i]
    return out


def set_diagonal(x, values, offset):
    out = np.array(x)
    for i in range(values.shape[-1]):
        out[..., i + max(-offset, 0), i + max(offset, 0)] = values[..., i]
    return out


ROWS = [
    Case(
        m.matmul, np.matmul,
        [
            sample(real(2, 3), real(3, 4)), sample(real(2, 2, 3), real(2, 3, 1)),
            sample(real(2, 2, 3), real(3, 2)), sample(real(1, 2, 3), real(2, 3, 2)),
            sample(real(2, 3), real(2, 1, 3, 2)), sample(real(0, 3), real(3, 2)),
            sample(real(2, 0), real(0, 3)), sample(real(0, 2, 3), real(3, 2)),
        ],
        dtypes=FLOATS + COMPLEX + ("int32", "int64"),
        failures=[
            fails(MATRIX, MATRIX, says=["matmul", "float32[2, 3]"]),
            fails(MATRIX, np.ones(3, np.float32), says=["matmul", "two dimensions"]),
        ],
    ),
    Case(
        m.einsum,
        lambda *operands, inputs, output: np.einsum(f"{','.join(inputs)}->{output}", *operands),
        [
            sample(real(2, 3), real(3, 2), inputs=("ij", "jk"), output="ik"),
            sample(real(2, 3), inputs=("ij",), output="ji"),
            sample(real(2, 3), inputs=("ij",), output="i"),
            sample(real(2, 3), real(2, 3), inputs=("ij", "ij"), output=""),
            sample(real(2), real(2, 3), real(3, 2), inputs=("i", "ij", "jk"), output="k"),
            sample(real(2, 3), real(2), inputs=("bi", "b"), output="bi"),
            sample(real(2, 3), real(4), inputs=("ij", "k"), output="ik"),
            sample(real(0, 3), real(3, 2), inputs=("ij", "jk"), output="ik"),
        ],
        dtypes=FLOATS + COMPLEX,
        failures=[fails(MATRIX, MATRIX, inputs=("ij", "jk"), output="ik",
            says=["einsum", "float32[2, 3]"])],
    ),
    Case(
        m.diagonal, lambda x, offset=0: np.diagonal(x, offset, -2, -1),
        [
            sample(real(3, 3)), sample(real(2, 3)), sample(real(2, 3, 2)),
            sample(real(3, 4), offset=1), sample(real(3, 4), offset=-2), sample(real(0, 2, 2)),
            sample(real(0, 3)),
        ],
        dtypes=FLOATS + COMPLEX + INTS + BOOL, failures=[fails(np.ones(2, np.float32))],
    ),
    Case(
        m.on_diagonal, on_diagonal,
        [
            sample(real(3), shape=(3, 3)), sample(real(2, 3), shape=(3, 4)),
            sample(real(2), shape=(4, 4), offset=2), sample(real(2), shape=(3, 2), offset=-1),
            sample(real(0), shape=(0, 2)), sample(real(0, 2), shape=(2, 2)),
        ],
        dtypes=FLOATS + COMPLEX + INTS + BOOL,
    ),
    Case(
        m.set_diagonal, set_diagonal,
        [
            sample(real(3, 3), real(3), offset=0), sample(real(2, 3), real(2), offset=1),
            sample(real(2, 3, 4), real(2, 1), offset=-2), sample(real(0, 2), real(0), offset=0),
            sample(real(0, 2, 2), real(0, 2), offset=0),
        ],
        dtypes=FLOATS + COMPLEX + INTS + BOOL,
    ),
]  # fmt: skip
