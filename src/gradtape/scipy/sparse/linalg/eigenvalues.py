"""`scipy.sparse.linalg.eigsh`: some eigenvalues and eigenvectors of a symmetric sparse matrix.

An eigenvector and its eigenvalue are a zero of (A v - λ v, (vᵀ v - 1) / 2), which gives their
derivatives by one sparse system each.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.batching import BatchedTensor
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.shaping import concat, reshape, transpose
from gradtape.ops.sparse import sparse_matmul
from gradtape.published import published
from gradtape.scipy.implicit import implicit
from gradtape.scipy.sparse.linalg.matrices import (
    DOUBLE,
    Coordinates,
    coordinates,
    result_dtype,
)

_ROUNDING = 1e-6


@overload
def eigsh(
    A: Any, k: int = 6, sigma: float | None = None, which: str = "LM", *, v0: Any = None,
    ncv: int | None = None, maxiter: int | None = None, tol: float = 0.0,
    return_eigenvectors: Literal[True] = True,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@overload
def eigsh(
    A: Any, k: int = 6, sigma: float | None = None, which: str = "LM", *, v0: Any = None,
    ncv: int | None = None, maxiter: int | None = None, tol: float = 0.0,
    return_eigenvectors: Literal[False],
) -> Tensor: ...  # fmt: skip
@published("scipy.sparse.linalg.eigsh")
def eigsh(
    A: Any,
    k: int = 6,
    sigma: float | None = None,
    which: str = "LM",
    *,
    v0: Any = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0.0,
    return_eigenvectors: bool = True,
) -> Any:
    """`scipy.sparse.linalg.eigsh`: `k` eigenvalues of a symmetric matrix and their eigenvectors,
    the columns of a matrix, with their derivatives by the values of the matrix.

    Where an eigenvalue is repeated, its eigenvectors are not unique, and derivatives are NaN, with
    a warning. A program that is compiled runs it as Python code.

    >>> import gradtape as tf
    >>> values = tf.Variable([2.0, 1.0, 1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     A = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1]], values, [2, 2])
    ...     largest, _ = tf.scipy.sparse.linalg.eigsh(A, k=1)
    >>> largest.numpy(), tape.gradient(largest, values).numpy()
    (array([3.], dtype=float32), array([0.5, 0.5, 0.5, 0.5], dtype=float32))
    """
    if here.state.trace is not None:
        raise BeyondXlaError("eigsh: XLA cannot find eigenvalues of a sparse matrix.")
    found = coordinates("eigsh", A)
    if isinstance(found.values, BatchedTensor):
        raise ValueError(
            "eigsh: it is not available inside vmap: call it for one matrix at a time."
        )
    matrix = _symmetric(found)
    from scipy.sparse import linalg  # noqa: PLC0415 - scipy is imported at first use

    start = None if v0 is None else as_tensor(v0, argument="eigsh: v0").numpy()
    values, vectors = linalg.eigsh(
        matrix, k, sigma=sigma, which=which, v0=start, ncv=ncv, maxiter=maxiter, tol=tol
    )
    pairs = [_pair(found, matrix, values[i], vectors[:, i]) for i in range(k)]
    together = needed.stack(*pairs, axis=0)
    kind = result_dtype(A)
    together = together if kind == DOUBLE else needed.cast(together, dtype=kind)
    eigenvalues = needed.getitem(together, key=(slice(None), -1))
    if not return_eigenvectors:
        return eigenvalues
    return eigenvalues, transpose(
        needed.getitem(together, key=(slice(None), slice(None, -1))), perm=(1, 0)
    )


def _symmetric(found: Coordinates) -> Any:
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy is imported at first use

    places = found.rows.numpy(), found.columns.numpy()
    matrix = csr_array((found.values.numpy(), places), shape=(found.size, found.size))
    off = abs(matrix - matrix.T)
    if off.nnz and off.max() > _ROUNDING * abs(matrix).max():
        raise ValueError(
            f"eigsh: A must be symmetric, but elements differ from their mirror images by "
            f"{off.max():.1e}."
        )
    return matrix


def _pair(found: Coordinates, matrix: Any, eigenvalue: float, vector: Any) -> Tensor:
    """An eigenvector, with the eigenvalue as last element, and its derivatives."""
    from scipy import sparse  # noqa: PLC0415 - scipy is imported at first use

    size = found.size

    def residual(z: Tensor) -> Tensor:
        v = needed.getitem(z, key=(slice(None, size),))
        column = reshape(v, shape=(size, 1))
        product = sparse_matmul(found.values, column, found.rows, found.columns, size=size)
        off = reshape(product, shape=(size,)) - v * needed.getitem(z, key=(size,))
        length = reshape(reduce_sum(v * v) - 1, shape=(1,)) / 2
        return concat(off, length, axis=0)

    def jacobian() -> Any:
        column = sparse.csr_array(vector[:, None])
        shifted = matrix - eigenvalue * sparse.eye_array(size)
        return sparse.block_array([[shifted, -column], [column.T, None]], format="csc")

    start = Tensor(np.append(vector, eigenvalue))
    return implicit("eigsh", start, residual, jacobian)[0]
