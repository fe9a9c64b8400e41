"""`gradtape.scipy.linalg`: functions of matrices, solves and factors with SciPy's arguments."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.numpy.linalg import det, inv, solve
from gradtape.api.numpy.linalg_decompositions import eigvals, svd, svdvals
from gradtape.api.numpy.linalg_norms import norm
from gradtape.api.tensorflow.linalg.matrices import expm, sqrtm
from gradtape.scipy.linalg.logarithms import logm
from gradtape.scipy.linalg.solves import (
    cho_factor,
    cho_solve,
    cholesky,
    lu_factor,
    lu_solve,
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_sylvester,
    solve_triangular,
)
from gradtape.scipy.linalg.solves import solve_continuous_lyapunov as solve_lyapunov

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "eigvals", "expm", "inv", "logm", "lu_factor",
    "lu_solve", "norm", "solve", "solve_continuous_lyapunov", "solve_discrete_lyapunov",
    "solve_lyapunov", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "svdvals",
]  # fmt: skip
