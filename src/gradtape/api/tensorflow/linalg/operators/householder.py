"""Reflections."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always
from gradtape.api.tensorflow.linalg.operators.identity import added_to_diagonal
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    as_column,
    conjugate,
    dtype_of,
    filled,
    parameter,
    read,
    shape_of,
)
from gradtape.api.tensorflow.nn.normalization import l2_normalize
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import matrix, shaping, solvers
from gradtape.published import published


@published("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """The reflection I - 2 v vᴴ, where v is `reflection_axis` with length 1.

    >>> import gradtape as tf
    >>> tf.linalg.LinearOperatorHouseholder([0.0, 2.0]).matvec([3.0, 4.0]).numpy()
    array([ 3., -4.], dtype=float32)
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        reflection_axis = parameter(
            reflection_axis, "LinearOperatorHouseholder: reflection_axis", axes=1
        )
        parameters = as_given(locals())
        self._reflection_axis = reflection_axis
        what = "a reflection"
        super().__init__(
            dtype=dtype_of(reflection_axis),
            is_non_singular=is_non_singular,
            is_self_adjoint=always(is_self_adjoint, "is_self_adjoint", what),
            is_positive_definite=always(
                is_positive_definite, "is_positive_definite", what, value=False
            ),
            is_square=always(is_square, "is_square", what),
            parameters=parameters,
            name=name,
        )

    @property
    def reflection_axis(self) -> Any:
        """The vector that is turned around."""
        return self._reflection_axis

    def _shape(self) -> tuple[int, ...]:
        shape = shape_of(self._reflection_axis)
        return (*shape, shape[-1])

    def _batch(self) -> tuple[int, ...]:
        return shape_of(self._reflection_axis)[:-1]

    def _unit(self) -> Tensor:
        return l2_normalize(read(self.reflection_axis), axis=-1)

    def _linop_inverse(self) -> Any:
        return self

    def _assert_non_singular(self) -> None:
        """It never is singular."""

    def _assert_positive_definite(self) -> None:
        raise invalid_argument("Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> None:
        """It always is."""

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x, column = adjoint_if(adjoint_arg, x), as_column(self._unit())
        return x - column * matrix.matmul(solvers.adjoint(column), x) * 2

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _trace(self) -> Any:
        return filled(shape_of(self._reflection_axis)[-1] - 2, self._batch(), self.dtype)

    def _determinant(self) -> Any:
        return filled(-1, self._batch(), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return filled(0, self._batch(), self.dtype)

    def _diag_part(self) -> Any:
        unit = self._unit()
        return 1 - unit * conjugate(unit) * 2

    def _to_dense(self) -> Any:
        column = as_column(self._unit())
        product = matrix.matmul(column, solvers.adjoint(column)) * -2
        return added_to_diagonal(filled(1, product.array.shape[-1:], self.dtype), product)

    def _eigvals(self) -> Any:
        size = shape_of(self._reflection_axis)[-1]
        return shaping.concat(
            filled(-1, (*self._batch(), 1), self.dtype),
            filled(1, (*self._batch(), size - 1), self.dtype),
            axis=-1,
        )

    def _cond(self) -> Any:
        return filled(1, self._batch(), self.dtype)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("reflection_axis",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"reflection_axis": 1}
