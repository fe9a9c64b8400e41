"""`scipy.linalg`'s solves, with factors that are computed once, and matrix equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.api.numpy.linalg_decompositions import cholesky as upper_or_lower
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.api.tensorflow.linalg.decompositions import lu
from gradtape.api.tensorflow.linalg.decompositions import lu_solve as solve_with_factors
from gradtape.core.tensor import Tensor
from gradtape.ops import solvers
from gradtape.ops.decompositions import permutation, unit_lower
from gradtape.ops.matrix_functions import sylvester
from gradtape.ops.shaping import matrix_transpose, reshape
from gradtape.ops.solvers import adjoint
from gradtape.published import published
from gradtape.scipy.arguments import named_tensors

TRANSPOSES = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


@published("scipy.linalg.solve_triangular")
def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> Tensor:
    """The solution x of a x = b by substitution, as `scipy.linalg.solve_triangular`; `trans` says
    that `a` is to be transposed (1 or "T") or conjugated too (2 or "C").

    >>> import gradtape as tf
    >>> tf.scipy.linalg.solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True).numpy()
    array([1., 2.], dtype=float32)
    """
    matrix, right = _system("solve_triangular", a, b)
    turned = _transposed("solve_triangular", trans)
    if unit_diagonal:
        part = solvers.lower_part(matrix, -1) if lower else solvers.upper_part(matrix, 1)
        matrix = part + np.eye(matrix.array.shape[-1], dtype=matrix.array.dtype)
    if turned:
        matrix = adjoint(matrix) if turned == 2 else matrix_transpose(matrix)
    return _with_columns(
        right,
        lambda columns: solvers.triangular_solve(matrix, columns, lower=lower != bool(turned)),
    )


@published("scipy.linalg.lu_factor")
def lu_factor(a: TensorLike) -> tuple[Tensor, Tensor]:
    """The factors of a square matrix in one, and the order of its rows, for `lu_solve`.
    `scipy.linalg.lu_factor` gives exchanges of rows instead of their order.

    >>> import gradtape as tf
    >>> factors, rows = tf.scipy.linalg.lu_factor([[1.0, 2.0], [2.0, 8.0]])
    >>> factors.numpy(), rows.numpy()
    (array([[ 2. ,  8. ],
           [ 0.5, -2. ]], dtype=float32), array([1, 0], dtype=int32))
    """
    (matrix,) = named_tensors("lu_factor", a=a)
    factors, rows = lu(matrix)
    return factors, rows


@published("scipy.linalg.lu_solve")
def lu_solve(lu_and_piv: Any, b: TensorLike, trans: int = 0) -> Tensor:
    """The solution of a x = b from what `lu_factor` gives for a; `trans` as in `solve_triangular`.

    >>> import gradtape as tf
    >>> factors = tf.scipy.linalg.lu_factor([[2.0, 0.0], [1.0, 1.0]])
    >>> tf.scipy.linalg.lu_solve(factors, [2.0, 3.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    factors, rows = lu_and_piv
    both, right = _system("lu_solve", factors, b)
    turned = _transposed("lu_solve", trans)

    def solved(columns: Tensor) -> Tensor:
        if not turned:
            return solve_with_factors(both, rows, columns)
        lower, upper = unit_lower(both), solvers.upper_part(both)
        turn = adjoint if turned == 2 else matrix_transpose
        inner = solvers.triangular_solve(turn(upper), columns, lower=True)
        outer = solvers.triangular_solve(turn(lower), inner, lower=False)
        return matrix_transpose(permutation(rows, both.array.dtype)) @ outer

    return _with_columns(right, solved)


@published("scipy.linalg.cholesky")
def cholesky(a: TensorLike, lower: bool = False) -> Tensor:
    """The triangular factor of a positive definite matrix: the upper one, unless `lower`.

    >>> import gradtape as tf
    >>> tf.scipy.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy()
    array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    (matrix,) = named_tensors("cholesky", a=a)
    return upper_or_lower(matrix, upper=not lower)


@published("scipy.linalg.cho_factor")
def cho_factor(a: TensorLike, lower: bool = False) -> tuple[Tensor, bool]:
    """The Cholesky factor of a matrix for `cho_solve`, and whether it is the lower one; the other
    triangle has zeros.

    >>> import gradtape as tf
    >>> tf.scipy.linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]])[0].numpy()
    array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    return cholesky(a, lower), bool(lower)


@published("scipy.linalg.cho_solve")
def cho_solve(c_and_lower: Any, b: TensorLike) -> Tensor:
    """The solution of a x = b from what `cho_factor` gives for a.

    >>> import gradtape as tf
    >>> factor = tf.scipy.linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]])
    >>> tf.scipy.linalg.cho_solve(factor, [8.0, 8.0]).numpy()
    array([1.5, 1. ], dtype=float32)
    """
    factor, lower = c_and_lower
    triangle, right = _system("cho_solve", factor, b)
    first = triangle if lower else adjoint(triangle)

    def solved(columns: Tensor) -> Tensor:
        inner = solvers.triangular_solve(first, columns, lower=True)
        return solvers.triangular_solve(adjoint(first), inner, lower=False)

    return _with_columns(right, solved)


@published("scipy.linalg.solve_sylvester")
def solve_sylvester(a: TensorLike, b: TensorLike, q: TensorLike) -> Tensor:
    """The solution x of a x + x b = q, as `scipy.linalg.solve_sylvester`.

    >>> import gradtape as tf
    >>> tf.scipy.linalg.solve_sylvester([[1.0]], [[3.0]], [[8.0]]).numpy()
    array([[2.]], dtype=float32)
    """
    return sylvester(*_squares("solve_sylvester", a=a, b=b), *named_tensors("solve_sylvester", q=q))


@published("scipy.linalg.solve_continuous_lyapunov", "scipy.linalg.solve_lyapunov")
def solve_continuous_lyapunov(a: TensorLike, q: TensorLike) -> Tensor:
    """The solution x of a x + x aᴴ = q, as `scipy.linalg.solve_continuous_lyapunov`.

    >>> import gradtape as tf
    >>> tf.scipy.linalg.solve_continuous_lyapunov([[2.0]], [[8.0]]).numpy()
    array([[2.]], dtype=float32)
    """
    matrix, right = _squares("solve_continuous_lyapunov", a=a, q=q)
    return sylvester(matrix, adjoint(matrix), right)


@published("scipy.linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: TensorLike, q: TensorLike) -> Tensor:
    """The solution x of a x aᴴ - x + q = 0, as `scipy.linalg.solve_discrete_lyapunov`.

    >>> import gradtape as tf
    >>> tf.scipy.linalg.solve_discrete_lyapunov([[0.5]], [[3.0]]).numpy()
    array([[4.]], dtype=float32)
    """
    matrix, right = _squares("solve_discrete_lyapunov", a=a, q=q)
    one = np.eye(matrix.array.shape[-1], dtype=matrix.array.dtype)
    inverse = solvers.inverse(adjoint(matrix) + one)
    turned = (adjoint(matrix) - one) @ inverse
    change = solvers.inverse(matrix + one) @ right @ inverse * -2
    return sylvester(adjoint(turned), turned, change)


def _squares(who: str, **named: Any) -> list[Tensor]:
    found = named_tensors(who, **named)
    for name, x in zip(named, found, strict=True):
        if x.array.ndim < 2 or x.array.shape[-1] != x.array.shape[-2]:
            raise ValueError(f"{who}: {name} must be a square matrix, got shape {x.shape}.")
    return found


def _system(who: str, a: Any, b: Any) -> tuple[Tensor, Tensor]:
    matrix, right = named_tensors(who, a=a, b=b)
    shape = tuple(matrix.array.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{who}: the matrix must be square, got shape {shape}.")
    if right.array.ndim not in (1, 2) or right.array.shape[0] != shape[0]:
        raise ValueError(
            f"{who}: b must be a vector or a matrix with {shape[0]} rows, got shape {right.shape}."
        )
    return matrix, right


def _with_columns(right: Tensor, solved: Callable[[Tensor], Tensor]) -> Tensor:
    shape = tuple(right.array.shape)
    return reshape(
        solved(reshape(right, shape=(shape[0], -1 if right.array.size else 0))), shape=shape
    )


def _transposed(who: str, trans: Any) -> int:
    if trans not in TRANSPOSES:
        raise ValueError(f"{who}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}.")
    return TRANSPOSES[trans]
