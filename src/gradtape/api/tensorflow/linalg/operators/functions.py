"""What functions of `tf.linalg` do with operators in the place of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.api.tensorflow.linalg import diagonals, products, solvers
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator

_Function = Callable[..., Any]


def _adjoint(matrix: Any, name: Any = None) -> Any:
    return matrix.adjoint()


def _cholesky(input: Any, name: Any = None) -> Any:
    return input.cholesky()


def _det(input: Any, name: Any = None) -> Any:
    return input.determinant()


def _diag_part(
    input: Any, name: Any = None, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    if k not in (0, (0, 0)):
        return diagonals.diag_part(input.to_dense(), name, k, padding_value, align)
    return input.diag_part()


def _inv(input: Any, adjoint: bool = False, name: Any = None) -> Any:
    inverse = input.inverse()
    return inverse.adjoint() if adjoint else inverse


def _logdet(matrix: Any, name: Any = None) -> Any:
    if not matrix._can_use_cholesky():
        raise ValueError(
            f"logdet: {matrix.name} is not known to be self-adjoint and positive definite: make it "
            "with is_self_adjoint=True and is_positive_definite=True."
        )
    return matrix.log_abs_determinant()


def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: Any = None,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError("matmul: an operator can be adjoint (adjoint_a), not transposed.")
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b)
    found = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a)
    return products.adjoint(found)


def _matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: Any = None,
) -> Any:
    if transpose_a or not isinstance(a, LinearOperator):
        raise ValueError("matvec: a can be an operator or its adjoint (adjoint_a=True).")
    return a.matvec(b, adjoint=adjoint_a)


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: Any = None) -> Any:
    if not isinstance(matrix, LinearOperator):
        raise ValueError("solve: rhs is an operator, so matrix must be one: use to_dense().")
    return matrix.solve(rhs, adjoint=adjoint)


def _trace(x: Any, name: Any = None) -> Any:
    return x.trace()


_FUNCTIONS: dict[_Function, _Function] = {
    products.adjoint: _adjoint,
    products.matmul: _matmul,
    products.matvec: _matvec,
    products.trace: _trace,
    solvers.cholesky: _cholesky,
    solvers.det: _det,
    solvers.inv: _inv,
    solvers.logdet: _logdet,
    solvers.solve: _solve,
    diagonals.diag_part: _diag_part,
}


def instead_of(function: Any) -> _Function | None:
    """What stands in for a function of matrices if an argument is an operator."""
    return _FUNCTIONS.get(function)
