"""Inverses, determinants and the solutions of linear systems: `tf.linalg`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradtape.api.tensorflow.accepted import INEXACT, of_kind, tensors_of_kind
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.api.tensorflow.linalg.diagonals import matrix_from_bands
from gradtape.api.tensorflow.linalg.matrices import (
    checked_matrices,
    checked_square,
    in_dtype,
    square,
)
from gradtape.convert import TENSORFLOW, to_array
from gradtape.core.composite import own_function
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.functions.control_flow import while_loop
from gradtape.ops import (
    arithmetic,
    broadcasting,
    determinants,
    elementary,
    matrix,
    reductions,
    shaping,
    solvers,
)
from gradtape.ops.decompositions import rounding
from gradtape.ops.solvers import adjoint as adjoint_of
from gradtape.published import published


@published("linalg.inv")
def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of a square matrix, or of its adjoint.

    >>> import gradtape as tf
    >>> tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    own = own_function(inv, input)
    if own is not None:
        return own(input, adjoint)
    x = square(input, "inv", "input")
    return solvers.inverse(adjoint_of(x) if adjoint else x)


@published("linalg.det")
def det(input: TensorLike, name: str | None = None) -> Tensor:
    """The determinant of a square matrix.

    Its gradient are the cofactors, also where the matrix is singular.

    >>> import gradtape as tf
    >>> tf.linalg.det([[2.0, 1.0], [0.0, 4.0]]).numpy()
    np.float32(8.0)
    """
    own = own_function(det, input)
    return determinants.det(square(input, "det", "input")) if own is None else own(input)


class LogMatrixDeterminant(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    log_abs_determinant: Tensor


@published("linalg.slogdet")
def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """The sign of the determinant and the logarithm of its absolute value;
    for complex matrices both are complex.

    >>> import gradtape as tf
    >>> sign, log = tf.linalg.slogdet([[-1.0, 0.0], [0.0, 1.0]])
    >>> sign.numpy(), log.numpy()
    (np.float32(-1.0), np.float32(0.0))
    """
    x = square(input, "slogdet", "input")
    sign, log = determinants.slogdet(x)
    return LogMatrixDeterminant(sign, in_dtype(log, x))


@published("linalg.logdet")
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of a Hermitian positive definite matrix,
    from its Cholesky factor.

    >>> import gradtape as tf
    >>> tf.linalg.logdet([[1.0, 0.0], [0.0, 1.0]]).numpy()
    np.float32(0.0)
    """
    own = own_function(logdet, matrix)
    if own is not None:
        return own(matrix)
    factor = solvers.cholesky(square(matrix, "logdet", "matrix"))
    logs = elementary.log(broadcasting.real(_diagonal(factor)))
    return reductions.reduce_sum(logs, axis=(logs.array.ndim - 1,)) * 2.0


def _diagonal(x: Tensor) -> Tensor:
    return matrix.diagonal(x)


@published("linalg.cholesky")
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """The lower triangular factor L with L Lᴴ = `input`, which must be Hermitian and positive
    definite; NaN if it is not.

    Only the lower triangle is read, and the gradient is Hermitian.

    >>> import gradtape as tf
    >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]).numpy()
    array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    own = own_function(cholesky, input)
    return solvers.cholesky(square(input, "cholesky", "input")) if own is None else own(input)


@published("linalg.cholesky_solve")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """The solution of A x = `rhs`, from the Cholesky factor `chol` of A.

    >>> import gradtape as tf
    >>> tf.linalg.cholesky_solve([[2.0, 0.0], [0.0, 1.0]], [[4.0], [3.0]]).numpy()
    array([[1.],
           [3.]], dtype=float32)
    """
    factor, b = _system(chol, rhs, "cholesky_solve", ("chol", "rhs"))
    return _cholesky_solved(factor, b)


def _cholesky_solved(factor: Tensor, b: Tensor) -> Tensor:
    return solvers.triangular_solve(
        adjoint_of(factor), solvers.triangular_solve(factor, b, lower=True), lower=False
    )


def _system(a: Any, b: Any, function: str, arguments: tuple[str, str]) -> tuple[Tensor, Tensor]:
    """A square matrix and a right-hand side with as many rows."""
    x, y = tensors_of_kind(a, b, INEXACT, function, arguments)
    checked_square(x, function, arguments[0])
    checked_matrices(y, function, arguments[1])
    if x.array.shape[-1] != y.array.shape[-2]:
        raise invalid_argument(
            f"{function}: {arguments[1]} must have as many rows as {arguments[0]}, got shapes "
            f"{y.shape} and {x.shape}."
        )
    return x, y


@published("linalg.solve")
def solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The solution of `matrix` x = `rhs`, or of the adjoint matrix; both have the same batch axes.

    >>> import gradtape as tf
    >>> tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]).numpy()
    array([[1. ],
           [0.5]], dtype=float32)
    """
    own = own_function(solve, matrix, rhs)
    if own is not None:
        return own(matrix, rhs, adjoint)
    a, b = _system(matrix, rhs, "solve", ("matrix", "rhs"))
    if a.array.shape[:-2] != b.array.shape[:-2]:
        raise invalid_argument(
            f"solve: matrix and rhs must have the same batch axes, got shapes {a.shape} and "
            f"{b.shape}."
        )
    return solvers.solve(adjoint_of(a) if adjoint else a, b)


@published("linalg.triangular_solve")
def triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution of `matrix` x = `rhs` by substitution: of `matrix`,
    only the lower (or upper) triangle is read.

    >>> import gradtape as tf
    >>> tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 1.0]], [[2.0], [3.0]]).numpy()
    array([[1.],
           [2.]], dtype=float32)
    """
    a, b = _system(matrix, rhs, "triangular_solve", ("matrix", "rhs"))
    return solvers.triangular_solve(
        adjoint_of(a) if adjoint else a, b, lower=bool(lower) != bool(adjoint)
    )


@published("linalg.banded_triangular_solve")
def banded_triangular_solve(
    bands: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution of a triangular system whose matrix is given by its diagonals,
    the uppermost in the first row.

    The rows below the main diagonal end at the right, those above it begin at the left.

    >>> import gradtape as tf
    >>> tf.linalg.banded_triangular_solve([[1.0, 2.0], [0.0, 1.0]], [[1.0], [5.0]]).numpy()
    array([[1.],
           [2.]], dtype=float32)
    """
    function = "banded_triangular_solve"
    rows, b = tensors_of_kind(bands, rhs, INEXACT, function, ("bands", "rhs"))
    count, size = checked_matrices(rows, function, "bands").array.shape[-2:]
    if not 1 <= count <= size:
        raise invalid_argument(
            f"{function}: bands must have at least one row, and no more rows than columns, got "
            f"shape {rows.shape}."
        )
    low, high = (1 - count, 0) if lower else (0, count - 1)
    return triangular_solve(matrix_from_bands(rows, low, high, "LEFT_RIGHT"), b, lower, adjoint)


@published("linalg.pinv")
def pinv(
    a: TensorLike, rcond: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The pseudo-inverse; singular values up to `rcond` times the greatest count as zero.

    The gradient holds at constant rank.

    >>> import gradtape as tf
    >>> tf.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy()
    array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    x = of_kind(a, INEXACT, "pinv", "a", refusal=TypeError)
    if x.array.ndim < 2:
        raise ValueError(f"pinv: a must have at least two axes, got shape {x.shape}.")
    shape = x.array.shape
    cutoff: Any = 10.0 * max(shape[-2:]) * rounding(x) if rcond is None else rcond
    real = np.finfo(np.float64 if x.array.dtype.itemsize < 4 else x.array.dtype).dtype
    plain = isinstance(cutoff, (int, float, list, tuple))
    limit = (
        Tensor(to_array(cutoff, real, argument="pinv: rcond"))
        if plain
        else TENSORFLOW.tensor(cutoff, "pinv: rcond")
    )
    return solvers.pseudoinverse(x, broadcasting.broadcast_to(limit, shape=shape[:-2]))


@published("linalg.lstsq")
def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: Any = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The x for which `matrix` x is nearest to `rhs` (the shortest one if there are many).

    `fast` solves the normal equations, with `l2_regularizer` on their diagonal; without it, the
    pseudo-inverse serves matrices of any rank, and there is no regularizer.

    >>> import gradtape as tf
    >>> tf.linalg.lstsq([[2.0], [0.0]], [[4.0], [3.0]]).numpy()
    array([[2.]], dtype=float32)
    """
    a, b = tensors_of_kind(matrix, rhs, INEXACT, "lstsq", ("matrix", "rhs"))
    rows, columns = checked_matrices(a, "lstsq", "matrix").array.shape[-2:]
    if b.array.ndim != a.array.ndim or b.array.shape[-2] != rows:
        raise invalid_argument(
            "lstsq: rhs must have the same number of axes and rows as matrix, got shapes "
            f"{b.shape} and {a.shape}."
        )
    if not fast:
        return pinv(a, max(rows, columns) * rounding(a)) @ b
    ah = adjoint_of(a)
    gram = ah @ a if rows >= columns else a @ ah
    if not (isinstance(l2_regularizer, (int, float)) and l2_regularizer == 0):
        weight = in_dtype(of_kind(l2_regularizer, INEXACT, "lstsq", "l2_regularizer"), a)
        gram = gram + weight * np.eye(min(rows, columns), dtype=a.array.dtype)
    factor = solvers.cholesky(gram)
    return _cholesky_solved(factor, ah @ b) if rows >= columns else ah @ _cholesky_solved(factor, b)


# Tridiagonal matrices


def _diagonals(diagonals: Any, form: str, function: str) -> Tensor:
    """The three diagonals in the rows of one tensor; the ends that are not read are filled up."""
    if form not in ("compact", "sequence", "matrix"):
        raise ValueError(
            f"{function}: diagonals_format must be 'compact', 'sequence' or 'matrix', got {form!r}."
        )
    if form == "compact":
        found = of_kind(diagonals, INEXACT, function, "diagonals")
        if found.array.ndim < 2 or found.array.shape[-2] != 3:
            raise ValueError(
                f"{function}: compact diagonals must have shape [..., 3, M], got {found.shape}."
            )
        return found
    if form == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError(
                f"{function}: diagonals must be a sequence of three: the upper, the main and the "
                "lower diagonal."
            )
        upper, main, lower = TENSORFLOW.tensors(diagonals, f"{function}: diagonals")
    else:
        full = of_kind(diagonals, INEXACT, function, "diagonals")
        if full.array.ndim < 2 or full.array.shape[-1] != full.array.shape[-2]:
            raise ValueError(f"{function}: a matrix must be square, got shape {full.shape}.")
        upper, main, lower = (matrix.diagonal(full, offset=offset) for offset in (1, 0, -1))
    size = main.array.shape[-1]
    return shaping.stack(_filled(upper, size, (0, 1)), main, _filled(lower, size, (1, 0)), axis=-2)


def _filled(x: Tensor, size: int, ends: tuple[int, int]) -> Tensor:
    if x.array.shape[-1] != size - 1:
        return x
    return shaping.pad(x, paddings=(*((0, 0),) * (x.array.ndim - 1), ends))


@published("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """The solution of a tridiagonal system; NaN if its matrix is singular.

    The diagonals are three rows: the upper one (its last entry is not read), the main one, the
    lower one (its first entry is not read). They may also come as a sequence of three tensors, or
    as a full matrix. `rhs` is a vector or a matrix for each system.

    >>> import gradtape as tf
    >>> tf.linalg.tridiagonal_solve(
    ...     tf.constant([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]]), tf.constant([3.0, 2.0])
    ... ).numpy()
    array([1., 1.], dtype=float32)
    """
    function = "tridiagonal_solve"
    if perturb_singular and not partial_pivoting:
        raise ValueError(f"{function}: partial_pivoting must be True if perturb_singular is.")
    rows = _diagonals(diagonals, diagonals_format, function)
    rows, b = tensors_of_kind(rows, rhs, INEXACT, function, ("diagonals", "rhs"))
    rank = rows.array.ndim
    if b.array.ndim not in (rank - 1, rank):
        raise ValueError(
            f"{function}: rhs must have rank {rank - 1} or {rank} for diagonals of shape "
            f"{rows.shape}, got {b.shape}."
        )
    is_vector = b.array.ndim == rank - 1
    if conjugate_rhs:
        b = broadcasting.conj(b)
    if is_vector:
        b = shaping.reshape(b, shape=(*b.array.shape, 1))
    elif transpose_rhs:
        b = shaping.matrix_transpose(b)
    if b.array.shape[:-1] != (*rows.array.shape[:-2], rows.array.shape[-1]):
        raise ValueError(
            f"{function}: rhs must have the same batch axes and size as diagonals, got shapes "
            f"{b.shape} and {rows.shape}."
        )
    found = solvers.tridiagonal_solve(rows, b)
    return shaping.reshape(found, shape=found.array.shape[:-1]) if is_vector else found


@published("linalg.tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of a tridiagonal matrix, given as in `tridiagonal_solve`, and a matrix.

    >>> import gradtape as tf
    >>> tf.linalg.tridiagonal_matmul([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]], [[1.0], [1.0]]).numpy()
    array([[3.],
           [2.]], dtype=float32)
    """
    function = "tridiagonal_matmul"
    rows = _diagonals(diagonals, diagonals_format, function)
    rows, x = tensors_of_kind(rows, rhs, INEXACT, function, ("diagonals", "rhs"))
    if x.array.shape[:-1] != (*rows.array.shape[:-2], rows.array.shape[-1]):
        raise invalid_argument(
            f"{function}: rhs must have the same batch axes and size as diagonals, got shapes "
            f"{x.shape} and {rows.shape}."
        )
    upper, main, lower = (rows[..., i, :, None] for i in range(3))
    paddings = ((0, 0),) * (x.array.ndim - 2)
    above = shaping.pad(upper[..., :-1, :] * x[..., 1:, :], paddings=(*paddings, (0, 1), (0, 0)))
    below = shaping.pad(lower[..., 1:, :] * x[..., :-1, :], paddings=(*paddings, (1, 0), (0, 0)))
    return main * x + above + below


# Conjugate gradients


class CGState(NamedTuple):
    """What `conjugate_gradient` gives: the steps taken, the solution, its residual,
    and where the next step would go.
    """

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


@published("linalg.experimental.conjugate_gradient")
def conjugate_gradient(
    operator: Any,
    rhs: TensorLike,
    preconditioner: Any = None,
    x: TensorLike | None = None,
    tol: Any = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """The solution of `operator` x = `rhs` for a Hermitian positive definite operator,
    by conjugate gradients.

    An operator is a matrix, or any object with a method `matvec`, and so is a preconditioner. The
    steps stop when the residual is `tol` times as long as `rhs`; gradients go back through each of
    them.

    >>> import gradtape as tf
    >>> tf.linalg.experimental.conjugate_gradient(
    ...     tf.constant([[2.0, 0.0], [0.0, 2.0]]), tf.constant([2.0, 4.0])
    ... ).x.numpy()
    array([1., 2.], dtype=float32)
    """
    apply = _matvec(operator, "operator")
    precondition = (
        (lambda r: r) if preconditioner is None else _matvec(preconditioner, "preconditioner")
    )
    b = of_kind(rhs, INEXACT, "conjugate_gradient", "rhs")
    start = None if x is None else of_kind(x, INEXACT, "conjugate_gradient", "x")
    r = b if start is None else b - apply(start)
    found = Tensor(np.zeros(b.array.shape, b.array.dtype)) if start is None else start
    p = precondition(r)
    gamma = _dot(r, p)
    limit = _length(b) * float(tol)

    def goes_on(steps: Any, found: Any, r: Any, p: Any, gamma: Any) -> Any:
        return reductions.reduce_any(arithmetic.greater(_length(r), limit))

    def step(steps: Any, found: Any, r: Any, p: Any, gamma: Any) -> Any:
        z = apply(p)
        alpha = (gamma / _dot(p, z))[..., None]
        found, r = found + alpha * p, r - alpha * z
        q = precondition(r)
        following = _dot(r, q)
        return steps + 1, found, r, q + (following / gamma)[..., None] * p, following

    start_state = (Tensor(np.array(0, np.int32)), found, r, p, gamma)
    return CGState(*while_loop(goes_on, step, start_state, maximum_iterations=max_iter))


def _matvec(operator: Any, argument: str) -> Any:
    """The product with a vector, of an operator that must be Hermitian and positive definite."""
    if hasattr(operator, "matvec"):
        if not (
            getattr(operator, "is_self_adjoint", True)
            and getattr(operator, "is_positive_definite", True)
        ):
            raise ValueError(
                f"conjugate_gradient: {argument} must be self-adjoint and positive definite."
            )
        return operator.matvec
    a = square(operator, "conjugate_gradient", argument)
    return lambda v: (a @ v[..., None])[..., 0]


def _length(x: Tensor) -> Tensor:
    """The length of vectors, as a constant."""
    size = arithmetic.absolute(broadcasting.stop_gradient(x))
    return elementary.sqrt(reductions.reduce_sum(size * size, axis=(x.array.ndim - 1,)))


def _dot(x: Tensor, y: Tensor) -> Tensor:
    product = (broadcasting.conj(x) if x.array.dtype.kind == "c" else x) * y
    return reductions.reduce_sum(product, axis=(product.array.ndim - 1,))
