"""LU, QR, singular values and eigenvalues: `tf.linalg`."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from gradtape.api.tensorflow.accepted import INEXACT, of_kind, tensors_of_kind
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, integers, known, numpy_dtype
from gradtape.api.tensorflow.linalg.matrices import checked_square, in_dtype, matrices, square
from gradtape.convert import TENSORFLOW, as_indices
from gradtape.core.tensor import Tensor
from gradtape.engines.engine import NUMPY, engine_of
from gradtape.errors import invalid_argument
from gradtape.ops import (
    arithmetic,
    broadcasting,
    decompositions,
    matrix,
    reductions,
    shaping,
    solvers,
)
from gradtape.ops.decompositions import permutation, rounding, unit_lower
from gradtape.ops.solvers import adjoint
from gradtape.published import published


class Lu(NamedTuple):
    """What `lu` gives."""

    lu: Tensor
    p: Tensor


@published("linalg.lu")
def lu(input: TensorLike, output_idx_type: DTypeLike = "int32", name: str | None = None) -> Lu:
    """The triangular factors of a square matrix in one, and the order of its rows: row i of their
    product is row p[i] of `input`.

    >>> import gradtape as tf
    >>> factors, rows = tf.linalg.lu([[1.0, 2.0], [2.0, 8.0]])
    >>> factors.numpy(), rows.numpy()
    (array([[ 2. ,  8. ],
           [ 0.5, -2. ]], dtype=float32), array([1, 0], dtype=int32))
    """
    factors, rows = decompositions.lu(square(input, "lu", "input"))
    dtype = numpy_dtype(output_idx_type)
    return Lu(factors, rows if rows.array.dtype == dtype else broadcasting.cast(rows, dtype=dtype))


def _factors(lower_upper: Any, perm: Any, function: str) -> tuple[Tensor, Tensor, Tensor]:
    """The lower factor, the upper factor, and the matrix that orders the rows."""
    both = checked_square(
        of_kind(lower_upper, INEXACT, function, "lower_upper"), function, "lower_upper"
    )
    rows = as_indices(perm, f"{function}: perm")
    if rows.array.shape != both.array.shape[:-1]:
        raise ValueError(
            f"{function}: perm must have shape {both.shape[:-1]} for these factors, got "
            f"{rows.shape}."
        )
    return unit_lower(both), solvers.upper_part(both), permutation(rows, both.array.dtype)


@published("linalg.lu_reconstruct")
def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrix whose `lu` this is.

    >>> import gradtape as tf
    >>> tf.linalg.lu_reconstruct(*tf.linalg.lu([[1.0, 2.0], [2.0, 8.0]])).numpy()
    array([[1., 2.],
           [2., 8.]], dtype=float32)
    """
    lower, upper, order = _factors(lower_upper, perm, "lu_reconstruct")
    return order.mT @ (lower @ upper)


@published("linalg.lu_solve")
def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution of A x = `rhs`, from the `lu` of A.

    >>> import gradtape as tf
    >>> tf.linalg.lu_solve(*tf.linalg.lu([[0.0, 2.0], [1.0, 0.0]]), [[4.0], [3.0]]).numpy()
    array([[3.],
           [2.]], dtype=float32)
    """
    both, b = tensors_of_kind(lower_upper, rhs, INEXACT, "lu_solve", ("lower_upper", "rhs"))
    if b.array.ndim < 2 or b.array.shape[-2] != both.array.shape[-1]:
        raise ValueError(
            f"lu_solve: rhs must be a matrix with {both.array.shape[-1]} rows for these factors, "
            f"got shape {b.shape}."
        )
    lower, upper, order = _factors(both, perm, "lu_solve")
    return solvers.triangular_solve(
        upper, solvers.triangular_solve(lower, order @ b, lower=True), lower=False
    )


@published("linalg.lu_matrix_inverse")
def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverse of A, from the `lu` of A.

    >>> import gradtape as tf
    >>> tf.linalg.lu_matrix_inverse(*tf.linalg.lu([[0.0, 2.0], [1.0, 0.0]])).numpy()
    array([[0. , 1. ],
           [0.5, 0. ]], dtype=float32)
    """
    lower, upper, order = _factors(lower_upper, perm, "lu_matrix_inverse")
    return solvers.triangular_solve(
        upper, solvers.triangular_solve(lower, order, lower=True), lower=False
    )


class Qr(NamedTuple):
    """What `qr` gives."""

    q: Tensor
    r: Tensor


@published("linalg.qr")
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """A matrix with orthonormal columns and an upper triangular one, whose product is `input`.

    With `full_matrices` the columns are completed to a basis; gradients then hold for what depends
    on the space of the added ones alone.

    >>> import gradtape as tf
    >>> q, r = tf.linalg.qr([[1.0, 2.0], [0.0, 3.0]])
    >>> tf.abs(r).numpy()
    array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    x = matrices(input, "qr", "input")
    rows, columns = x.array.shape[-2:]
    if rows >= columns:
        return Qr(*decompositions.qr(x, full=bool(full_matrices)))
    q, first = decompositions.qr(x[..., :rows])
    return Qr(q, shaping.concat(first, adjoint(q) @ x[..., rows:], axis=-1))


@overload
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: Literal[True] = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    *,
    compute_uv: Literal[False],
    name: str | None = None,
) -> Tensor: ...
@overload
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any: ...
@published("linalg.svd")
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """The singular values s, falling, and the matrices u and v with `tensor` = u diag(s) vᴴ;
    or the values alone.

    >>> import gradtape as tf
    >>> tf.linalg.svd([[0.0, 2.0], [3.0, 0.0]], compute_uv=False).numpy()
    array([3., 2.], dtype=float32)
    """
    x = matrices(tensor, "svd", "tensor")
    return (
        tuple(decompositions.svd(x, full=bool(full_matrices)))
        if compute_uv
        else decompositions.singular_values(x)
    )


@published("linalg.matrix_rank")
def matrix_rank(
    a: TensorLike, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """How many singular values are greater than `tol`.

    >>> import gradtape as tf
    >>> tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
    np.int32(1)
    """
    x = TENSORFLOW.tensor(a, "matrix_rank: a")
    if x.array.ndim < 2:
        raise ValueError(f"matrix_rank: a must have at least two axes, got shape {x.shape}.")
    if x.array.dtype.kind in "biu":
        x = broadcasting.cast(x, dtype=np.dtype(np.float64))
    values = decompositions.singular_values(broadcasting.stop_gradient(x))
    last = (values.array.ndim - 1,)
    if tol is None:
        limit = reductions.reduce_max(values, axis=last, keepdims=True) * (
            max(x.array.shape[-2:]) * rounding(x)
        )
    else:
        limit = TENSORFLOW.tensor(
            np.asarray(tol, values.array.dtype) if isinstance(tol, (int, float)) else tol,
            "matrix_rank: tol",
        )[..., None]
    above = broadcasting.cast(arithmetic.greater(values, limit), dtype=np.dtype(np.int32))
    return reductions.reduce_sum(above, axis=last)


def _hermitian(x: Tensor, symmetric_gradient: bool) -> Tensor:
    """Half the sum with the adjoint has the same lower triangle for a Hermitian matrix, and sends
    gradients to both triangles.
    """
    return solvers.hermitian_part(x) if symmetric_gradient else x


def _found(values: Tensor, function: str) -> Tensor:
    """Eigenvalues, refused where none were found."""
    if engine_of(values.array) is NUMPY and np.isnan(values.array).any():
        raise invalid_argument(
            f"{function}: the decomposition failed: the matrix contains NaN or infinity, or the "
            "iteration did not converge."
        )
    return values


@published("linalg.eigh")
def eigh(
    tensor: TensorLike, name: str | None = None, *, symmetric_gradient: bool = False
) -> tuple[Tensor, Tensor]:
    """The eigenvalues of a Hermitian matrix, rising, and its eigenvectors, in columns.

    Only the lower triangle is read, so gradients arrive there alone; with `symmetric_gradient` they
    are Hermitian.

    >>> import gradtape as tf
    >>> values, vectors = tf.linalg.eigh([[3.0, 0.0], [0.0, 1.0]])
    >>> values.numpy()
    array([1., 3.], dtype=float32)
    """
    x = square(tensor, "eigh", "tensor")
    values, vectors = decompositions.eigh(_hermitian(x, symmetric_gradient))
    return in_dtype(_found(values, "eigh"), x), vectors


@published("linalg.eigvalsh")
def eigvalsh(
    tensor: TensorLike, name: str | None = None, *, symmetric_gradient: bool = False
) -> Tensor:
    """The eigenvalues of a Hermitian matrix, rising; see `eigh`.

    >>> import gradtape as tf
    >>> tf.linalg.eigvalsh([[3.0, 0.0], [0.0, 1.0]]).numpy()
    array([1., 3.], dtype=float32)
    """
    x = square(tensor, "eigvalsh", "tensor")
    return in_dtype(
        _found(decompositions.eigvalsh(_hermitian(x, symmetric_gradient)), "eigvalsh"), x
    )


@published("eig", "linalg.eig")
def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues of a square matrix, in no order, and its eigenvectors,
    in columns of length 1; both are complex.

    >>> import gradtape as tf
    >>> values, vectors = tf.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])
    >>> values.numpy()
    array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    values, vectors = decompositions.eig(square(tensor, "eig", "tensor"))
    return _found(values, "eig"), vectors


@published("eigvals", "linalg.eigvals")
def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of a square matrix, in no order; they are complex.

    >>> import gradtape as tf
    >>> tf.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]]).numpy()
    array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return _found(decompositions.eigvals(square(tensor, "eigvals", "tensor")), "eigvals")


@published("linalg.eigh_tridiagonal")
def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Tensor | Any:
    """The eigenvalues of a Hermitian tridiagonal matrix,
    and its eigenvectors unless `eigvals_only`.

    `alpha` is the main diagonal and `beta` the one above it. `select` takes all ('a'), those with
    numbers from the first to the second of `select_range` ('i'), or those greater than its first
    and no greater than its second ('v').

    >>> import gradtape as tf
    >>> tf.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]).numpy()
    array([1., 3.], dtype=float32)
    """
    function = "eigh_tridiagonal"
    main, beside = tensors_of_kind(alpha, beta, INEXACT, function, ("alpha", "beta"))
    size = main.array.shape[-1] if main.array.ndim else 0
    if main.array.ndim != 1 or beside.array.shape != (max(size - 1, 0),):
        raise invalid_argument(
            f"{function}: alpha must be a vector, and beta a vector with one element fewer, got "
            f"shapes {main.shape} and {beside.shape}."
        )
    if select not in ("a", "i", "v"):
        raise ValueError(f"{function}: select must be 'a', 'i' or 'v', got {select!r}.")
    below = broadcasting.conj(beside) if beside.array.dtype.kind == "c" else beside
    dense = matrix.on_diagonal(main, shape=(size, size)) + matrix.on_diagonal(
        below, shape=(size, size), offset=-1
    )
    if eigvals_only:
        values = _found(decompositions.eigvalsh(dense), function)
        return values[_selected(values, select, select_range)]
    values, vectors = decompositions.eigh(dense)
    chosen = _selected(_found(values, function), select, select_range)
    return values[chosen], vectors[:, chosen]


def _selected(values: Tensor, select: str, select_range: Any) -> slice:
    """Which of the rising eigenvalues `select` takes."""
    if select == "a":
        return slice(None)
    if select_range is None:
        raise TypeError(f"eigh_tridiagonal: select={select!r} needs a select_range of two numbers.")
    if select == "i":
        first, last = integers(select_range, "eigh_tridiagonal: select_range")
        if first > last:
            raise invalid_argument(f"eigh_tridiagonal: select_range={select_range!r} is empty.")
        return slice(first, last + 1)
    low, high = (float(bound) for bound in select_range)
    if not low < high:
        raise invalid_argument(f"eigh_tridiagonal: select_range={select_range!r} is empty.")
    first, last = np.searchsorted(
        known(values, "eigh_tridiagonal: select='v'", "select by index"), [low, high], side="right"
    )
    return slice(int(first), int(last))
