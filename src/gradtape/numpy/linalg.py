"""`gradtape.numpy.linalg`: NumPy's linear algebra on Tensors."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

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
from gradtape.api.numpy.linalg_decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from gradtape.api.numpy.linalg_norms import cond, matrix_norm, matrix_rank, norm, vector_norm

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip
