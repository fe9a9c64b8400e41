"""`tf.linalg`: matrix products, Einstein sums, norms and diagonals."""

from gradtape.api.clipping import global_norm
from gradtape.api.creation import eye
from gradtape.api.linalg import (
    adjoint,
    diag,
    diag_part,
    einsum,
    matmul,
    matrix_transpose,
    matvec,
    norm,
    normalize,
    tensordot,
    trace,
)

__all__ = [
    "adjoint",
    "diag",
    "diag_part",
    "einsum",
    "eye",
    "global_norm",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "tensordot",
    "trace",
]
