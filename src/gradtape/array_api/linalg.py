"""`gradtape.array_api.linalg`: the linear algebra of the Array API standard on Tensors."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.numpy.linalg import (
    cross,
    det,
    diagonal,
    inv,
    matmul,
    matrix_power,
    matrix_transpose,
    outer,
    pinv,
    slogdet,
    solve,
    tensordot,
    trace,
    vecdot,
)
from gradtape.api.numpy.linalg_decompositions import cholesky, eigh, eigvalsh, qr, svd, svdvals
from gradtape.api.numpy.linalg_norms import matrix_norm, matrix_rank, vector_norm

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
