"""`tf.linalg`: products, norms, diagonals, linear systems,
decompositions and functions of matrices.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.clipping import global_norm
from gradtape.api.tensorflow.creation import eye
from gradtape.api.tensorflow.linalg.decompositions import (
    eig,
    eigh,
    eigh_tridiagonal,
    eigvals,
    eigvalsh,
    lu,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    matrix_rank,
    qr,
    svd,
)
from gradtape.api.tensorflow.linalg.diagonals import (
    band_part,
    diag,
    diag_part,
    set_diag,
    tensor_diag,
    tensor_diag_part,
)
from gradtape.api.tensorflow.linalg.matrices import cross, expm, logm, sqrtm
from gradtape.api.tensorflow.linalg.products import (
    adjoint,
    einsum,
    matmul,
    matrix_transpose,
    matvec,
    norm,
    normalize,
    tensordot,
    trace,
)
from gradtape.api.tensorflow.linalg.solvers import (
    banded_triangular_solve,
    cholesky,
    cholesky_solve,
    det,
    inv,
    logdet,
    lstsq,
    pinv,
    slogdet,
    solve,
    triangular_solve,
    tridiagonal_matmul,
    tridiagonal_solve,
)
from gradtape.api.tensorflow.nn.normalization import l2_normalize
from gradtape.linalg import experimental

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "adjoint", "band_part", "banded_triangular_solve", "cholesky", "cholesky_solve", "cross", "det",
    "diag", "diag_part", "eig", "eigh", "eigh_tridiagonal", "eigvals", "eigvalsh", "einsum",
    "experimental", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet", "logm", "lstsq",
    "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul", "matrix_rank",
    "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve",
    "sqrtm", "svd", "tensor_diag", "tensor_diag_part", "tensordot", "trace", "triangular_solve",
    "tridiagonal_matmul", "tridiagonal_solve",
]  # fmt: skip
