"""The inverse of an operator."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, same_as
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("linalg.LinearOperatorInversion")
class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator, as `operator.inverse()` gives it: its products are solutions.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 0.0], [1.0, 2.0]])
    >>> tf.linalg.LinearOperatorInversion(operator).matvec([1.0, 5.0]).numpy()
    array([1., 2.], dtype=float32)
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
        if False in (operator.is_non_singular, is_non_singular):
            raise ValueError(
                "LinearOperatorInversion: is_non_singular=False: a singular operator has no "
                "inverse."
            )
        if False in (operator.is_square, is_square):
            raise ValueError(
                f"LinearOperatorInversion: operator has shape {operator.shape} and "
                f"is_square={is_square}: only a square operator has an inverse."
            )
        what = "an inverse"
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
            name=name or f"{operator.name}_inv",
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator whose inverse this is."""
        return self._operator

    def _shape(self) -> TensorShape:
        return self.operator.shape

    def _linop_inverse(self) -> Any:
        return self.operator

    def _assert_non_singular(self) -> None:
        self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> None:
        self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> None:
        self.operator.assert_self_adjoint()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -self.operator.log_abs_determinant()

    def _eigvals(self) -> Any:
        return 1.0 / self.operator.eigvals()

    def _cond(self) -> Any:
        return self.operator.cond()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operator",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"operator": 0}
