"""`LinearOperator`: a matrix, or a batch of them, known by what it does; the base of all operators.

Subclasses say how by hooks that begin with an underscore, as TensorFlow has them. `_shape` and
`_matmul` are needed; the other hooks have a default that is right and works on the dense matrix.
Which class a product, a quotient or an inverse of operators has is said in `derived`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, overload

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.api.tensorflow.creation import eye
from gradtape.api.tensorflow.debugging.printing import (
    assert_equal,
    assert_less,
    assert_positive,
)
from gradtape.api.tensorflow.linalg.operators.described import DescribedOperator
from gradtape.api.tensorflow.linalg.operators.hints import own
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    argument_in,
    as_column,
    as_vector,
    cholesky_solved,
    for_all_columns,
    in_dtype,
    spread,
    total,
)
from gradtape.core.late import imported_when_called
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, decompositions, determinants, elementary, matrix, solvers
from gradtape.published import published

_FOLDER = "gradtape.api.tensorflow.linalg.operators"


@published("linalg.LinearOperator")
class LinearOperator(DescribedOperator):
    """The base of all operators; subclasses define `_shape` and `_matmul`, and what else they know
    a better way for.

    >>> import gradtape as tf
    >>> class Shift(tf.linalg.LinearOperator):
    ...     def __init__(self, size):
    ...         self._size = size
    ...         super().__init__(tf.float32, is_square=True, parameters={"size": size})
    ...
    ...     def _shape(self):
    ...         return tf.TensorShape([self._size, self._size])
    ...
    ...     def _matmul(self, x, adjoint=False, adjoint_arg=False):
    ...         return tf.roll(tf.linalg.adjoint(x) if adjoint_arg else x, -1 if adjoint else 1, -2)
    >>> Shift(3).matvec([1.0, 2.0, 3.0]).numpy(), Shift(3).solvevec([1.0, 2.0, 3.0]).numpy()
    (array([3., 1., 2.], dtype=float32), array([2., 3., 1.], dtype=float32))
    """

    # Products

    @abstractmethod
    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        """The product with matrices; subclasses define it."""

    @overload
    def matmul(
        self,
        x: LinearOperator,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "matmul",
    ) -> LinearOperator: ...
    @overload
    def matmul(
        self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Tensor: ...
    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """The product with matrices, or with another operator, which is an operator."""
        if isinstance(x, LinearOperator):
            left, right = self._chained(x, adjoint, adjoint_arg, "matmul: x")
            return self._linop_matmul(left, right)
        x = self._matrix_argument(x, "matmul: x", adjoint_arg, self._columns(adjoint))
        return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    @overload
    def __matmul__(self, other: LinearOperator) -> LinearOperator: ...
    @overload
    def __matmul__(self, other: TensorLike) -> Tensor: ...
    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def __rmatmul__(self, other: Any) -> Tensor:
        found: Tensor = solvers.adjoint(self.matmul(other, adjoint=True, adjoint_arg=True))
        return found

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return as_vector(self.matmul(as_column(x), adjoint=adjoint))

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with vectors."""
        x = self._vector_argument(x, "matvec: x", self._columns(adjoint))
        found: Tensor = self._matvec(x, adjoint=adjoint)
        return found

    # Solutions

    def _dense_solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if self.is_square is False:
            raise NotImplementedError("solve: not for an operator that is not square.")
        rhs, dense = adjoint_if(adjoint_arg, rhs), self.to_dense()
        if self._can_use_cholesky():
            factor = solvers.cholesky(dense)
            return for_all_columns(lambda b: cholesky_solved(factor, b), factor.array.ndim, rhs)
        a = adjoint_if(adjoint, dense)
        return for_all_columns(lambda b: solvers.solve(a, b), a.array.ndim, rhs)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._dense_solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    @overload
    def solve(
        self,
        rhs: LinearOperator,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "solve",
    ) -> LinearOperator: ...
    @overload
    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Tensor: ...
    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """The X with A X = `rhs`; an operator if `rhs` is one."""
        self._check_solvable()
        if isinstance(rhs, LinearOperator):
            left, right = self._chained(rhs, adjoint, adjoint_arg, "solve: rhs")
            return self._linop_solve(left, right)
        rhs = self._matrix_argument(rhs, "solve: rhs", adjoint_arg, self._columns(not adjoint))
        return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return as_vector(self.solve(as_column(rhs), adjoint=adjoint))

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """The x with A x = `rhs`, for vectors."""
        rhs = self._vector_argument(rhs, "solvevec: rhs", self._columns(not adjoint))
        found: Tensor = self._solvevec(rhs, adjoint=adjoint)
        return found

    # Numbers

    def _determinant(self) -> Any:
        if self._can_use_cholesky():
            return elementary.exp(self.log_abs_determinant())
        return determinants.det(self.to_dense())

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant."""
        self._check_square("determinant")
        found: Tensor = self._determinant()
        return found

    def _log_abs_determinant(self) -> Any:
        dense = self.to_dense()
        if self._can_use_cholesky():
            return total(elementary.log(matrix.diagonal(solvers.cholesky(dense)))) * 2
        return in_dtype(determinants.slogdet(dense)[1], self.dtype)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of the determinant."""
        self._check_square("log_abs_determinant")
        found: Tensor = self._log_abs_determinant()
        return found

    def _diag_part(self) -> Any:
        return matrix.diagonal(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The entries on the diagonal."""
        found: Tensor = self._diag_part()
        return found

    def _trace(self) -> Any:
        return total(self.diag_part())

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the diagonal."""
        found: Tensor = self._trace()
        return found

    def _eigvals(self) -> Any:
        dense = self.to_dense()
        return in_dtype(decompositions.eigvalsh(solvers.hermitian_part(dense)), self.dtype)

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues of a self-adjoint operator."""
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"eigvals: {self.name} is not known to be self-adjoint: make it with "
                "is_self_adjoint=True, or use gradtape.linalg.eigvals(operator.to_dense())."
            )
        found: Tensor = self._eigvals()
        return found

    def _cond(self) -> Any:
        if self.is_self_adjoint:
            return spread(arithmetic.absolute(self._eigvals()))
        return spread(decompositions.singular_values(self.to_dense()))

    def cond(self, name: str = "cond") -> Tensor:
        """The condition number: the greatest singular value divided by the smallest."""
        found: Tensor = self._cond()
        return found

    # Dense forms

    def _to_dense(self) -> Any:
        batch = self.batch_shape.as_list()
        return self.matmul(eye(self.domain_dimension, batch_shape=batch, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrix as a tensor."""
        found: Tensor = self._to_dense()
        return found

    def _add_to_tensor(self, x: Any) -> Any:
        return self.to_dense() + x

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """The sum of the matrix and a tensor."""
        x = argument_in(x, self.dtype, "add_to_tensor: x")
        rows, columns = self.shape[-2:]
        if x.array.ndim < 2 or tuple(x.array.shape[-2:]) != (rows, columns):
            raise ValueError(
                f"add_to_tensor: x must be {rows} by {columns} matrices for an operator of shape "
                f"{self.shape}, got shape {x.shape}."
            )
        found: Tensor = self._add_to_tensor(x)
        return found

    # Other operators

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The adjoint operator."""
        found: LinearOperator = self if self.is_self_adjoint else self._linop_adjoint()
        return found

    @property
    def H(self) -> LinearOperator:  # noqa: N802 - TensorFlow's name
        """The adjoint operator."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse operator."""
        if self.is_square is False:
            raise ValueError(f"inverse: {self.name} has shape {self.shape}, which is not square.")
        if self.is_non_singular is False:
            raise ValueError(f"inverse: {self.name} has is_non_singular=False.")
        found: LinearOperator = self._linop_inverse()
        return found

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular L with L Lᴴ = A, for a self-adjoint positive definite operator."""
        if not self._can_use_cholesky():
            raise ValueError(
                f"cholesky: {self.name} is not known to be self-adjoint and positive definite: "
                "make it with is_self_adjoint=True and is_positive_definite=True."
            )
        found: LinearOperator = self._linop_cholesky()
        return found

    def _linop_adjoint(self) -> Any:
        return _adjoint_of(self, **own(self))

    def _linop_inverse(self) -> Any:
        return _inverse_of(self, **own(self))

    def _linop_cholesky(self) -> Any:
        return _cholesky_of(self)

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> Any:
        return _product_of(left_operator, right_operator)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> Any:
        return _quotient_of(left_operator, right_operator)

    # Assertions

    def _assert_non_singular(self) -> None:
        if self._can_use_cholesky():
            self.assert_positive_definite()
            return
        limit = spread(decompositions.singular_values(self.to_dense()))
        assert_less(
            limit,
            Tensor(np.asarray(self._largest_condition_number(), limit.dtype.numpy)),
            message="Singular matrix up to precision epsilon.",
        )

    def _largest_condition_number(self) -> float:
        size = max(100, self.range_dimension, self.domain_dimension)
        return 1 / (size * float(np.finfo(self.dtype.numpy).eps))

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        """Raises an InvalidArgumentError if the operator is singular, or nearly so."""
        self._assert_non_singular()

    def _assert_positive_definite(self) -> None:
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"assert_positive_definite: {self.name} is not known to be self-adjoint."
            )
        diagonal = matrix.diagonal(solvers.cholesky(self.to_dense()))
        assert_positive(
            in_dtype(diagonal, dtypes.as_dtype(self.dtype.real_dtype)),
            message="Matrix was not positive definite.",
        )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> None:
        """Raises an InvalidArgumentError if the operator is not positive definite."""
        self._assert_positive_definite()

    def _assert_self_adjoint(self) -> None:
        dense = self.to_dense()
        assert_equal(dense, solvers.adjoint(dense), message="Matrix was not equal to its adjoint.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> None:
        """Raises an InvalidArgumentError if the operator differs from its adjoint."""
        self._assert_self_adjoint()

    # Arguments

    def _chained(self, other: Any, adjoint: Any, adjoint_arg: Any, argument: str) -> Any:
        """Two operators of which the first can be applied to the second."""
        left, right = self.adjoint() if adjoint else self, other.adjoint() if adjoint_arg else other
        if right.range_dimension != left.domain_dimension:
            raise ValueError(
                f"{argument} must have {left.domain_dimension} rows for an operator of shape "
                f"{left.shape}, got an operator of shape {right.shape}."
            )
        return left, right

    @staticmethod
    def __gradtape_instead_of__(function: Any) -> Any:
        return _instead_of(function)


_adjoint_of = imported_when_called(f"{_FOLDER}.adjoint", "LinearOperatorAdjoint")
_inverse_of = imported_when_called(f"{_FOLDER}.inversion", "LinearOperatorInversion")
_cholesky_of = imported_when_called(f"{_FOLDER}.derived", "cholesky_of")
_product_of = imported_when_called(f"{_FOLDER}.derived", "product_of")
_quotient_of = imported_when_called(f"{_FOLDER}.derived", "quotient_of")
_instead_of = imported_when_called(f"{_FOLDER}.functions", "instead_of")
