"""The adjoint of an operator."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, same_as
from gradtape.api.tensorflow.linalg.operators.values import adjoint_if, conjugate_if
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator, which `operator.adjoint()` and `operator.H` give.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.linalg.LinearOperatorAdjoint(operator).to_dense().numpy()
    array([[1., 3.],
           [2., 4.]], dtype=float32)
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        parameters = as_given(locals())
        what = "an adjoint"
        self._operator = operator
        super().__init__(
            dtype=operator.dtype,
            is_non_singular=same_as(operator, "is_non_singular", is_non_singular, what),
            is_self_adjoint=same_as(operator, "is_self_adjoint", is_self_adjoint, what),
            is_positive_definite=same_as(
                operator, "is_positive_definite", is_positive_definite, what
            ),
            is_square=same_as(operator, "is_square", is_square, what),
            parameters=parameters,
            name=name or f"{operator.name}_adjoint",
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator whose adjoint this is."""
        return self._operator

    def _shape(self) -> TensorShape:
        shape = self.operator.shape
        return shape[:-2].concatenate([shape[-1], shape[-2]])

    def _linop_adjoint(self) -> Any:
        return self.operator

    def _assert_non_singular(self) -> None:
        self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> None:
        self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> None:
        self.operator.assert_self_adjoint()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self.operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self.operator.solvevec(rhs, adjoint=not adjoint)

    def _determinant(self) -> Any:
        return conjugate_if(not self.is_self_adjoint, self.operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Any:
        return conjugate_if(not self.is_self_adjoint, self.operator.trace())

    def _diag_part(self) -> Any:
        return conjugate_if(not self.is_self_adjoint, self.operator.diag_part())

    def _to_dense(self) -> Any:
        return adjoint_if(not self.is_self_adjoint, self.operator.to_dense())

    def _eigvals(self) -> Any:
        return self.operator.eigvals()

    def _cond(self) -> Any:
        return self.operator.cond()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operator",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"operator": 0}
