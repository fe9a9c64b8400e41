"""Factorisations, eigenvalues and singular values: `numpy.linalg`.

Factors are unique up to signs, phases and, where values repeat, rotations; gradients are correct
for every function that does not depend on that choice.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from gradtape.api.numpy.checks import known
from gradtape.api.numpy.linalg import checked_square, matrices, not_nan
from gradtape.api.numpy.values import on_values
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.api.tensorflow.indexing import gather
from gradtape.api.tensorflow.linalg import decompositions as spelled_for_tensorflow
from gradtape.core.tensor import Tensor
from gradtape.ops import (
    arithmetic,
    broadcasting,
    decompositions,
    ordering,
    selection,
    shaping,
    solvers,
)
from gradtape.ops.solvers import adjoint
from gradtape.published import published

_NO_CONVERGENCE = "the iteration did not converge; NaN or infinity in the matrix is one cause"


@published("numpy.linalg.cholesky", "array_api.linalg.cholesky")
def cholesky(a: TensorLike, /, *, upper: bool = False) -> Tensor:
    """The lower triangular factor L of a Hermitian positive definite matrix, with L Lᴴ = `a`;
    or Lᴴ from the upper triangle.

    Only one triangle is read, and the gradient is Hermitian.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]).numpy()
    array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    x = checked_square(matrices(a, "cholesky"), "cholesky")
    factor = solvers.cholesky(adjoint(x) if upper else x)
    not_nan(factor, "cholesky", "the matrix is not positive definite")
    return adjoint(factor) if upper else factor


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


@published("numpy.linalg.qr", "array_api.linalg.qr")
def qr(a: TensorLike, mode: str = "reduced") -> QRResult | Any:
    """A matrix with orthonormal columns and an upper triangular one, whose product is `a`.

    With 'complete', the columns are completed to a basis; with 'r' there is the triangular factor
    alone. 'raw' gives the values that LAPACK works with, without a gradient.

    >>> import gradtape as tf
    >>> q, r = tf.numpy.linalg.qr([[1.0, 2.0], [0.0, 3.0]])
    >>> tf.abs(r).numpy()
    array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    x = matrices(a, "qr")
    if mode == "raw":
        return on_values(np.linalg.qr, [x], {"mode": "raw"})
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}.")
    q, r = spelled_for_tensorflow.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


# Singular values


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@overload
def svd(
    a: TensorLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
) -> SVDResult: ...
@overload
def svd(
    a: TensorLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
) -> Tensor: ...
@overload
def svd(
    a: TensorLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Any: ...
@published("numpy.linalg.svd", "scipy.linalg.svd", "array_api.linalg.svd")
def svd(
    a: TensorLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """The matrices u and vᴴ and the falling singular values s with `a` = u diag(s) vᴴ;
    or the values alone.

    With `full_matrices`, the columns of u and v are completed to bases. Of a Hermitian matrix only
    the lower triangle is read.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.svd([[0.0, 2.0], [3.0, 0.0]], compute_uv=False).numpy()
    array([3., 2.], dtype=float32)
    """
    x = matrices(a, "svd")
    if hermitian:
        return _svd_of_hermitian(checked_square(x, "svd"), compute_uv)
    if not compute_uv:
        return not_nan(decompositions.singular_values(x), "svd", _NO_CONVERGENCE)
    values, u, v = decompositions.svd(x, full=bool(full_matrices))
    return SVDResult(u, not_nan(values, "svd", _NO_CONVERGENCE), adjoint(v))


def _svd_of_hermitian(x: Tensor, compute_uv: bool) -> Any:
    """Eigenvalues without their sign, from the largest down; the signs go into vᴴ."""
    eigenvalues, vectors = eigh(x)
    sizes = arithmetic.absolute(eigenvalues)
    order = ordering.argsort(sizes, descending=True)
    batch = sizes.array.ndim - 1
    values = gather(sizes, order, axis=-1, batch_dims=batch)
    if not compute_uv:
        return values
    columns = shaping.matrix_transpose(
        gather(shaping.matrix_transpose(vectors), order, axis=batch, batch_dims=batch)
    )
    signs = gather(
        selection.where(arithmetic.less(eigenvalues, 0), -1, selection.ones_like(eigenvalues)),
        order,
        axis=-1,
        batch_dims=batch,
    )
    turned = columns * broadcasting.cast(signs, dtype=columns.array.dtype)[..., None, :]
    return SVDResult(columns, values, adjoint(turned))


@published("numpy.linalg.svdvals", "scipy.linalg.svdvals", "array_api.linalg.svdvals")
def svdvals(x: TensorLike, /) -> Tensor:
    """The singular values of a matrix, falling.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.svdvals([[0.0, 2.0], [3.0, 0.0]]).numpy()
    array([3., 2.], dtype=float32)
    """
    return not_nan(
        decompositions.singular_values(matrices(x, "svdvals", "x")), "svdvals", _NO_CONVERGENCE
    )


# Eigenvalues


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@published("numpy.linalg.eigh", "array_api.linalg.eigh")
def eigh(a: TensorLike, UPLO: str = "L") -> EighResult:
    """The eigenvalues of a Hermitian matrix, rising, and its eigenvectors, in columns.

    Only the lower triangle is read, or the upper one with 'U', so gradients arrive there alone.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.eigh([[3.0, 0.0], [0.0, 1.0]]).eigenvalues.numpy()
    array([1., 3.], dtype=float32)
    """
    values, vectors = decompositions.eigh(_triangle(a, UPLO, "eigh"))
    return EighResult(not_nan(values, "eigh", _NO_CONVERGENCE), vectors)


@published("numpy.linalg.eigvalsh", "array_api.linalg.eigvalsh")
def eigvalsh(a: TensorLike, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix, rising; see `eigh`.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.eigvalsh([[3.0, 0.0], [0.0, 1.0]]).numpy()
    array([1., 3.], dtype=float32)
    """
    return not_nan(
        decompositions.eigvalsh(_triangle(a, UPLO, "eigvalsh")), "eigvalsh", _NO_CONVERGENCE
    )


def _triangle(a: Any, UPLO: str, function: str) -> Tensor:
    """A matrix whose lower triangle is the one to read."""
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise ValueError(f"{function}: UPLO must be 'L' or 'U', got {UPLO!r}.")
    x = checked_square(matrices(a, function), function)
    return x if UPLO.upper() == "L" else adjoint(x)


_ALWAYS_COMPLEX = np.linalg.eigvals(np.ones((1, 1))).dtype.kind == "c"
"""Whether the installed NumPy's eigenvalues are complex even if all are real: since NumPy 2.5."""


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@published("numpy.linalg.eig")
def eig(a: TensorLike) -> EigResult:
    """The eigenvalues of a square matrix, in no order, and its eigenvectors,
    in columns of length 1.

    As in the installed NumPy, both are always complex, or, before NumPy 2.5, real if the matrix
    is and all eigenvalues are; compiled or under `vmap`, they are always complex.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.eig([[0.0, 1.0], [-1.0, 0.0]]).eigenvalues.numpy()
    array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    x = checked_square(matrices(a, "eig"), "eig")
    values, vectors = decompositions.eig(x)
    not_nan(values, "eig", _NO_CONVERGENCE)
    if not _ALWAYS_COMPLEX and _are_real(values, x):
        return EigResult(broadcasting.real(values), broadcasting.real(vectors))
    return EigResult(values, vectors)


@published("numpy.linalg.eigvals", "scipy.linalg.eigvals")
def eigvals(a: TensorLike) -> Tensor:
    """The eigenvalues of a square matrix, in no order; complex or real as those of `eig`.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]]).numpy()
    array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    x = checked_square(matrices(a, "eigvals"), "eigvals")
    return _eigenvalues(x) if _ALWAYS_COMPLEX else real_eigenvalues(x)


def real_eigenvalues(x: Tensor) -> Tensor:
    """The eigenvalues of square matrices, real if the matrices are and all of them are."""
    values = _eigenvalues(x)
    return broadcasting.real(values) if _are_real(values, x) else values


def _eigenvalues(x: Tensor) -> Tensor:
    return not_nan(decompositions.eigvals(x), "eigvals", _NO_CONVERGENCE)


def _are_real(values: Tensor, x: Tensor) -> bool:
    """Whether the eigenvalues of a real matrix are known to be real."""
    return known(values) and x.array.dtype.kind != "c" and not np.any(values.array.imag)
