"""Lower triangular matrices."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    assert_nonzero,
    dtype_of,
    for_all_columns,
    log_size,
    parameter,
    product,
    read,
    shape_of,
    total,
)
from gradtape.core.tensor import Tensor
from gradtape.ops import matrix, solvers
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """A lower triangular matrix; what stands above the diagonal of `tril` is not read.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorLowerTriangular([[1.0, 9.0], [2.0, 4.0]])
    >>> operator.to_dense().numpy(), operator.determinant().numpy()
    (array([[1., 0.],
           [2., 4.]], dtype=float32), np.float32(4.0))
    """

    def __init__(
        self,
        tril: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        tril = parameter(tril, "LinearOperatorLowerTriangular: tril", axes=2)
        parameters = as_given(locals())
        rows, columns = shape_of(tril)[-2:]
        if rows != columns:
            raise ValueError(
                "LinearOperatorLowerTriangular: tril must be square matrices, got shape "
                f"{TensorShape(shape_of(tril))}."
            )
        self._tril = tril
        super().__init__(
            dtype=dtype_of(tril),
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=always(is_square, "is_square", "a lower triangular operator"),
            parameters=parameters,
            name=name,
        )

    @property
    def tril(self) -> Any:
        """The matrix, as it was given."""
        return self._tril

    def _shape(self) -> tuple[int, ...]:
        return shape_of(self._tril)

    def _get_diag(self) -> Tensor:
        return matrix.diagonal(read(self.tril))

    def _get_tril(self) -> Tensor:
        part: Tensor = solvers.lower_part(read(self.tril))
        return part

    def _assert_non_singular(self) -> None:
        assert_nonzero(self._get_diag(), "Singular operator: Diagonal contained zero values.")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matrix.matmul(adjoint_if(adjoint, self._get_tril()), adjoint_if(adjoint_arg, x))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        a = adjoint_if(adjoint, read(self.tril))
        return for_all_columns(
            lambda b: solvers.triangular_solve(a, b, lower=not adjoint),
            a.array.ndim,
            adjoint_if(adjoint_arg, rhs),
        )

    def _determinant(self) -> Any:
        return product(self._get_diag())

    def _log_abs_determinant(self) -> Any:
        return total(log_size(self._get_diag()))

    def _diag_part(self) -> Any:
        return self._get_diag()

    def _to_dense(self) -> Any:
        return self._get_tril()

    def _eigvals(self) -> Any:
        return self._get_diag()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("tril",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"tril": 2}
