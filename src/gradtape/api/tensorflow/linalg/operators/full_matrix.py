"""Any matrix, as it stands."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.accepted import INEXACT
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    dtype_of,
    parameter,
    read,
    shape_of,
)
from gradtape.ops import matrix as matrix_ops
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """A matrix without structure.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 2.0]])
    >>> operator.solvevec([3.0, 3.0]).numpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        matrix: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        matrix = parameter(matrix, "LinearOperatorFullMatrix: matrix", axes=2)
        parameters = as_given(locals())
        dtype = dtype_of(matrix)
        if dtype.numpy not in INEXACT.dtypes:
            raise TypeError(
                "LinearOperatorFullMatrix: matrix must be floating-point or complex, got dtype "
                f"{dtype.name}."
            )
        self._matrix = matrix
        rows, columns = shape_of(matrix)[-2:]
        if rows != columns and (
            is_square or is_self_adjoint or is_non_singular or is_positive_definite
        ):
            raise ValueError(
                "LinearOperatorFullMatrix: the hints say that the operator is square, but matrix "
                f"has shape {TensorShape(shape_of(matrix))}."
            )
        super().__init__(
            dtype=dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            parameters=parameters,
            name=name,
        )

    @property
    def matrix(self) -> Any:
        """The matrix."""
        return self._matrix

    def _shape(self) -> tuple[int, ...]:
        return shape_of(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matrix_ops.matmul(adjoint_if(adjoint, read(self.matrix)), adjoint_if(adjoint_arg, x))

    def _to_dense(self) -> Any:
        return read(self.matrix)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("matrix",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"matrix": 2}
