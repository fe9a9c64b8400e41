"""Products of operators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import (
    as_given,
    as_operators,
    dtype_in_common,
)
from gradtape.api.tensorflow.linalg.operators.hints import Hint, all_have, implied
from gradtape.api.tensorflow.linalg.operators.lower_triangular import (
    LinearOperatorLowerTriangular,
)
from gradtape.api.tensorflow.linalg.operators.values import broadcast_shapes, read
from gradtape.ops import arithmetic
from gradtape.published import published


@published("linalg.LinearOperatorComposition")
class LinearOperatorComposition(LinearOperator):
    """The product of operators, the last of which is applied first.

    >>> import gradtape as tf
    >>> double = tf.linalg.LinearOperatorScaledIdentity(2, multiplier=2.0)
    >>> swap = tf.linalg.LinearOperatorPermutation([1, 0])
    >>> tf.linalg.LinearOperatorComposition([double, swap]).matvec([1.0, 3.0]).numpy()
    array([6., 2.], dtype=float32)
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
        operators = as_operators(operators, "LinearOperatorComposition")
        parameters = as_given(locals())
        self._operators: list[LinearOperator] = list(operators)
        for i, (left, right) in enumerate(pairwise(operators)):
            if left.domain_dimension != right.range_dimension:
                raise ValueError(
                    f"LinearOperatorComposition: operators[{i}] has {left.domain_dimension} "
                    f"columns, but operators[{i + 1}] has {right.range_dimension} rows."
                )
        symmetric = is_with_adjoint(operators)
        is_non_singular = implied(
            is_non_singular,
            "is_non_singular",
            all_have(operators, "is_non_singular"),
            "a product of non-singular operators",
        )
        super().__init__(
            dtype=dtype_in_common(operators, "LinearOperatorComposition"),
            is_non_singular=is_non_singular,
            is_self_adjoint=implied(
                is_self_adjoint,
                "is_self_adjoint",
                symmetric or (len(operators) == 1 and operators[0].is_self_adjoint),
                "a product of operators with their adjoints",
            ),
            is_positive_definite=implied(
                is_positive_definite,
                "is_positive_definite",
                symmetric and is_non_singular,
                "a product of non-singular operators with their adjoints",
            ),
            is_square=implied(
                is_square, "is_square", symmetric, "a product of operators with their adjoints"
            ),
            parameters=parameters,
            name=name or "_o_".join(operator.name for operator in operators),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> tuple[int, ...]:
        first, last = self.operators[0], self.operators[-1]
        batch = broadcast_shapes(
            [tuple(operator.batch_shape) for operator in self.operators],
            "LinearOperatorComposition: the batch axes of the operators",
        )
        return (*batch, first.range_dimension, last.domain_dimension)

    def _linop_cholesky(self) -> Any:
        left = self.operators[0]
        if (
            len(self.operators) != 2
            or not is_with_adjoint(self.operators)
            or not isinstance(left, LinearOperatorLowerTriangular)
        ):
            return super()._linop_cholesky()
        if left.is_positive_definite:
            return left
        signs = arithmetic.sign(left.diag_part())[..., None, :]
        return LinearOperatorLowerTriangular(
            read(left.tril) / signs,
            is_non_singular=left.is_non_singular,
            is_self_adjoint=left.is_self_adjoint,
            is_square=True,
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *others = self.operators if adjoint else self.operators[::-1]
        result = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            result = operator.matmul(result, adjoint=adjoint)
        return result

    def _are_square(self) -> bool:
        return all_have(self.operators, "is_square")

    def _determinant(self) -> Any:
        if not self._are_square():
            return super()._determinant()
        result = self.operators[0].determinant()
        for operator in self.operators[1:]:
            result = result * operator.determinant()
        return result

    def _log_abs_determinant(self) -> Any:
        if not self._are_square():
            return super()._log_abs_determinant()
        result = self.operators[0].log_abs_determinant()
        for operator in self.operators[1:]:
            result = result + operator.log_abs_determinant()
        return result

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if not self._are_square():
            return super()._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        first, *others = self.operators[::-1] if adjoint else self.operators
        result = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            result = operator.solve(result, adjoint=adjoint)
        return result

    def _assert_non_singular(self) -> None:
        if not self._are_square():
            super()._assert_non_singular()
            return
        for operator in self.operators:
            operator.assert_non_singular()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"operators": [0] * len(self.operators)}


def is_with_adjoint(operators: Sequence[LinearOperator]) -> bool:
    """Whether the operators are A, B, ... and then the adjoints of ... B and A."""
    count = len(operators)
    return count % 2 == 0 and all(
        _are_adjoint(operators[i], operators[count - 1 - i]) for i in range(count // 2)
    )


def _are_adjoint(x: LinearOperator, y: LinearOperator) -> bool:
    if x is y and x.is_self_adjoint is not None:
        return bool(x.is_self_adjoint)
    return x.adjoint() is y or y.adjoint() is x
