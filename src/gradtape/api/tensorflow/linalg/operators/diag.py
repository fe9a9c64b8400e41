"""Diagonal matrices."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.debugging.printing import assert_positive
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always, implied, own
from gradtape.api.tensorflow.linalg.operators.identity import added_to_diagonal
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    as_column,
    assert_nonzero,
    assert_zero_imag_part,
    conjugate,
    conjugate_if,
    dtype_of,
    in_dtype,
    log_size,
    parameter,
    product,
    read,
    shape_of,
    spread,
    total,
)
from gradtape.ops import arithmetic, broadcasting, elementary, solvers
from gradtape.published import published


@published("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """A diagonal matrix.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorDiag([1.0, 2.0])
    >>> operator.solvevec([1.0, 1.0]).numpy(), operator.determinant().numpy()
    (array([1. , 0.5], dtype=float32), np.float32(2.0))
    """

    def __init__(
        self,
        diag: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        diag = parameter(diag, "LinearOperatorDiag: diag", axes=1)
        parameters = as_given(locals())
        self._diag = diag
        super().__init__(
            dtype=dtype_of(diag),
            is_non_singular=is_non_singular,
            is_self_adjoint=implied(
                is_self_adjoint,
                "is_self_adjoint",
                not dtype_of(diag).is_complex,
                "a real diagonal operator",
            ),
            is_positive_definite=is_positive_definite,
            is_square=always(is_square, "is_square", "a diagonal operator"),
            parameters=parameters,
            name=name,
        )

    @property
    def diag(self) -> Any:
        """The diagonal."""
        return self._diag

    def _shape(self) -> tuple[int, ...]:
        shape = shape_of(self._diag)
        return (*shape, shape[-1])

    def _linop_adjoint(self) -> Any:
        return LinearOperatorDiag(conjugate(read(self.diag)), **own(self))

    def _linop_inverse(self) -> Any:
        return LinearOperatorDiag(1.0 / read(self.diag), **own(self))

    def _linop_cholesky(self) -> Any:
        return LinearOperatorDiag(elementary.sqrt(read(self.diag)), **own(self))

    def _assert_non_singular(self) -> None:
        assert_nonzero(read(self.diag), "Singular operator: Diagonal contained zero values.")

    def _assert_positive_definite(self) -> None:
        assert_positive(
            broadcasting.real(read(self.diag)),
            message="The diagonal has entries whose real part is not positive: the operator is "
            "not positive definite.",
        )

    def _assert_self_adjoint(self) -> None:
        assert_zero_imag_part(
            read(self.diag), "The diagonal has entries that are not real: not self-adjoint."
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return as_column(conjugate_if(adjoint, read(self.diag))) * adjoint_if(adjoint_arg, x)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return conjugate_if(adjoint, read(self.diag)) * x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return adjoint_if(adjoint_arg, rhs) / as_column(conjugate_if(adjoint, read(self.diag)))

    def _determinant(self) -> Any:
        return product(read(self.diag))

    def _log_abs_determinant(self) -> Any:
        return in_dtype(total(log_size(read(self.diag))), self.dtype)

    def _diag_part(self) -> Any:
        return read(self.diag)

    def _to_dense(self) -> Any:
        return solvers.diagonal_matrix(read(self.diag))

    def _add_to_tensor(self, x: Any) -> Any:
        return added_to_diagonal(read(self.diag), x)

    def _eigvals(self) -> Any:
        return read(self.diag)

    def _cond(self) -> Any:
        return spread(arithmetic.absolute(read(self.diag)))

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("diag",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"diag": 1}
