"""Kronecker products."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import (
    as_given,
    as_operators,
    dtype_in_common,
)
from gradtape.api.tensorflow.linalg.operators.hints import Hint, all_have, implied, own
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    broadcast_shapes,
    in_shape,
    reshaped,
)
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import shaping
from gradtape.published import published


@published("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators: each entry of the first one times the others.

    >>> import gradtape as tf
    >>> a = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> operator = tf.linalg.LinearOperatorKronecker([tf.linalg.LinearOperatorIdentity(2), a])
    >>> operator.to_dense().numpy()
    array([[1., 2., 0., 0.],
           [3., 4., 0., 0.],
           [0., 0., 1., 2.],
           [0., 0., 3., 4.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
    ) -> None:
        operators = as_operators(operators, "LinearOperatorKronecker")
        parameters = as_given(locals())
        self._operators: list[LinearOperator] = list(operators)

        def of_all(given: Hint, hint: str) -> Hint:
            what = f"a Kronecker product of operators with {hint}=True"
            return implied(given, hint, all_have(operators, hint), what)

        super().__init__(
            dtype=dtype_in_common(operators, "LinearOperatorKronecker"),
            is_non_singular=of_all(is_non_singular, "is_non_singular"),
            is_self_adjoint=of_all(is_self_adjoint, "is_self_adjoint"),
            is_positive_definite=of_all(is_positive_definite, "is_positive_definite"),
            is_square=is_square,
            parameters=parameters,
            name=name or "_x_".join(factor.name for factor in operators),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> tuple[int, ...]:
        batch = broadcast_shapes(
            [tuple(factor.batch_shape) for factor in self.operators],
            "LinearOperatorKronecker: the batch axes of the operators",
        )
        rows = math.prod(factor.range_dimension for factor in self.operators)
        return (*batch, rows, math.prod(factor.domain_dimension for factor in self.operators))

    def _of_each(self, name: str, **hints: Any) -> LinearOperatorKronecker:
        """The Kronecker product of what a method gives for each factor."""
        return LinearOperatorKronecker(
            [getattr(factor, name)() for factor in self.operators], **hints
        )

    def _linop_adjoint(self) -> Any:
        return self._of_each("adjoint", **own(self))

    def _linop_inverse(self) -> Any:
        if not self._are_square():
            return super()._linop_inverse()
        return self._of_each("inverse", **own(self))

    def _linop_cholesky(self) -> Any:
        if not all(factor._can_use_cholesky() for factor in self.operators):
            return super()._linop_cholesky()
        return self._of_each("cholesky", is_non_singular=True, is_square=True)

    def _are_square(self) -> bool:
        return all_have(self.operators, "is_square")

    def _applied(self, method: str, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        """What products with the factors, or solutions, give: each works on the first of the axes
        that the rows fall into, which then becomes the last one.
        """
        x = adjoint_if(adjoint_arg, x)
        columns = x.array.shape[-1]
        from_columns = (method == "matmul") != bool(adjoint)
        for factor in self.operators:
            rows = factor.domain_dimension if from_columns else factor.range_dimension
            batch, left = x.array.shape[:-2], math.prod(x.array.shape[-2:])
            x = reshaped(x, *batch, rows, left // max(rows, 1))
            x = shaping.matrix_transpose(getattr(factor, method)(x, adjoint=adjoint))
        batch, found = x.array.shape[:-2], math.prod(x.array.shape[-2:])
        return shaping.matrix_transpose(reshaped(x, *batch, columns, found // max(columns, 1)))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._applied("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if not self._are_square():
            return super()._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return self._applied("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Any:
        if not self._are_square():
            return super()._determinant()
        size, result = self._columns(adjoint=False), 1.0
        for factor in self.operators:
            result = factor.determinant() ** (size // max(factor.domain_dimension, 1)) * result
        return result

    def _log_abs_determinant(self) -> Any:
        if not self._are_square():
            return super()._log_abs_determinant()
        size, result = self._columns(adjoint=False), 0.0
        for factor in self.operators:
            times = size // max(factor.domain_dimension, 1)
            result = factor.log_abs_determinant() * times + result
        return result

    def _trace(self) -> Any:
        if not self._are_square():
            return super()._trace()
        return reduce(operator.mul, [factor.trace() for factor in self.operators])

    def _of_vectors(self, vectors: Sequence[Tensor]) -> Tensor:
        """The Kronecker product of a vector of each factor."""
        result = vectors[0]
        for vector in vectors[1:]:
            pairs = result[..., :, None] * vector[..., None, :]
            result = reshaped(pairs, *pairs.array.shape[:-2], math.prod(pairs.array.shape[-2:]))
        return result

    def _diag_part(self) -> Any:
        if not self._are_square():
            return super()._diag_part()
        return self._of_vectors([factor.diag_part() for factor in self.operators])

    def _eigvals(self) -> Any:
        if not all_have(self.operators, "is_self_adjoint"):
            return super()._eigvals()
        return self._of_vectors([factor.eigvals() for factor in self.operators])

    def _to_dense(self) -> Any:
        result = self.operators[0].to_dense()
        for factor in self.operators[1:]:
            right = factor.to_dense()
            blocks = result[..., :, None, :, None] * right[..., None, :, None, :]
            *batch, rows, height, columns, width = blocks.array.shape
            result = reshaped(blocks, *batch, rows * height, columns * width)
        return in_shape(result, tuple(self.shape))

    def _assert_each(self, assertion: str) -> None:
        if not self._are_square():
            raise invalid_argument(
                f"{assertion}: all factors of a Kronecker product must be square, got shapes "
                f"{', '.join(str(factor.shape) for factor in self.operators)}."
            )
        for factor in self.operators:
            getattr(factor, assertion)()

    def _assert_non_singular(self) -> None:
        self._assert_each("assert_non_singular")

    def _assert_self_adjoint(self) -> None:
        self._assert_each("assert_self_adjoint")

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"operators": [0] * len(self.operators)}
