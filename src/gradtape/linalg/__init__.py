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

if _typing.TYPE_CHECKING:
    from gradtape.api.tensorflow.linalg.operators.adjoint import LinearOperatorAdjoint
    from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
    from gradtape.api.tensorflow.linalg.operators.block_diag import LinearOperatorBlockDiag
    from gradtape.api.tensorflow.linalg.operators.block_lower_triangular import (
        LinearOperatorBlockLowerTriangular,
    )
    from gradtape.api.tensorflow.linalg.operators.circulant import (
        LinearOperatorCirculant,
        LinearOperatorCirculant2D,
        LinearOperatorCirculant3D,
    )
    from gradtape.api.tensorflow.linalg.operators.composition import LinearOperatorComposition
    from gradtape.api.tensorflow.linalg.operators.diag import LinearOperatorDiag
    from gradtape.api.tensorflow.linalg.operators.full_matrix import LinearOperatorFullMatrix
    from gradtape.api.tensorflow.linalg.operators.householder import LinearOperatorHouseholder
    from gradtape.api.tensorflow.linalg.operators.identity import (
        LinearOperatorIdentity,
        LinearOperatorScaledIdentity,
    )
    from gradtape.api.tensorflow.linalg.operators.inversion import LinearOperatorInversion
    from gradtape.api.tensorflow.linalg.operators.kronecker import LinearOperatorKronecker
    from gradtape.api.tensorflow.linalg.operators.low_rank_update import LinearOperatorLowRankUpdate
    from gradtape.api.tensorflow.linalg.operators.lower_triangular import (
        LinearOperatorLowerTriangular,
    )
    from gradtape.api.tensorflow.linalg.operators.permutation import LinearOperatorPermutation
    from gradtape.api.tensorflow.linalg.operators.toeplitz import LinearOperatorToeplitz
    from gradtape.api.tensorflow.linalg.operators.tridiag import LinearOperatorTridiag
    from gradtape.api.tensorflow.linalg.operators.zeros import LinearOperatorZeros
else:
    from gradtape.absent import found_when_used as _found_when_used

    __getattr__, __dir__ = _found_when_used(
        __name__,
        "gradtape.api.tensorflow.linalg.operators",
        {
            "LinearOperator": "base",
            "LinearOperatorAdjoint": "adjoint",
            "LinearOperatorBlockDiag": "block_diag",
            "LinearOperatorBlockLowerTriangular": "block_lower_triangular",
            "LinearOperatorCirculant": "circulant",
            "LinearOperatorCirculant2D": "circulant",
            "LinearOperatorCirculant3D": "circulant",
            "LinearOperatorComposition": "composition",
            "LinearOperatorDiag": "diag",
            "LinearOperatorFullMatrix": "full_matrix",
            "LinearOperatorHouseholder": "householder",
            "LinearOperatorIdentity": "identity",
            "LinearOperatorInversion": "inversion",
            "LinearOperatorKronecker": "kronecker",
            "LinearOperatorLowRankUpdate": "low_rank_update",
            "LinearOperatorLowerTriangular": "lower_triangular",
            "LinearOperatorPermutation": "permutation",
            "LinearOperatorScaledIdentity": "identity",
            "LinearOperatorToeplitz": "toeplitz",
            "LinearOperatorTridiag": "tridiag",
            "LinearOperatorZeros": "zeros",
        },
    )

__all__ = [
    "LinearOperator", "LinearOperatorAdjoint", "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular", "LinearOperatorCirculant", "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D", "LinearOperatorComposition", "LinearOperatorDiag",
    "LinearOperatorFullMatrix", "LinearOperatorHouseholder", "LinearOperatorIdentity",
    "LinearOperatorInversion", "LinearOperatorKronecker", "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular", "LinearOperatorPermutation", "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz", "LinearOperatorTridiag", "LinearOperatorZeros", "adjoint",
    "band_part", "banded_triangular_solve", "cholesky", "cholesky_solve", "cross", "det", "diag",
    "diag_part", "eig", "eigh", "eigh_tridiagonal", "eigvals", "eigvalsh", "einsum", "experimental",
    "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet", "logm", "lstsq", "lu",
    "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul", "matrix_rank", "matrix_transpose",
    "matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve", "sqrtm", "svd",
    "tensor_diag", "tensor_diag_part", "tensordot", "trace", "triangular_solve",
    "tridiagonal_matmul", "tridiagonal_solve",
]  # fmt: skip
