"""`gradtape.numpy.linalg`: NumPy's linear algebra on Tensors."""

# ruff: noqa: F401 - everything that is imported here is public; a test pins the names

from numpy.linalg import LinAlgError

from gradtape.api.numpy.linalg import (
    cross,
    det,
    diagonal,
    inv,
    lstsq,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    pinv,
    slogdet,
    solve,
    tensordot,
    tensorinv,
    tensorsolve,
    trace,
    vecdot,
)
from gradtape.api.numpy.linalg_decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from gradtape.api.numpy.linalg_norms import cond, matrix_norm, matrix_rank, norm, vector_norm

__all__ = [name for name in sorted(globals()) if not name.startswith("_")]
