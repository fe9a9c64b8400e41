"""Operators in the lower triangle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.blocks import BlockOperator
from gradtape.api.tensorflow.linalg.operators.described import (
    as_given,
    as_operators,
    dtype_in_common,
)
from gradtape.api.tensorflow.linalg.operators.full_matrix import LinearOperatorFullMatrix
from gradtape.api.tensorflow.linalg.operators.hints import Hint, all_have, always, implied, own
from gradtape.api.tensorflow.linalg.operators.identity import (
    LinearOperatorScaledIdentity,
)
from gradtape.api.tensorflow.linalg.operators.sums import can_be_added, sum_of
from gradtape.api.tensorflow.linalg.operators.values import adjoint_if, broadcast_shapes, filled
from gradtape.ops import elementary
from gradtape.published import published


@published("linalg.LinearOperatorBlockLowerTriangular")
class LinearOperatorBlockLowerTriangular(BlockOperator):
    """Rows of operators in the lower triangle, and zeros above.

    Where it takes a matrix, it also takes a list with one for each block, and then gives a list.

    >>> import gradtape as tf
    >>> one = tf.linalg.LinearOperatorIdentity(1)
    >>> three = tf.linalg.LinearOperatorFullMatrix([[3.0]])
    >>> tf.linalg.LinearOperatorBlockLowerTriangular([[one], [three, one]]).solvevec(
    ...     [1.0, 4.0]
    ... ).numpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        function = "LinearOperatorBlockLowerTriangular"
        if not hasattr(operators, "__iter__"):
            raise TypeError(f"{function}: operators must be a list of rows, got {operators!r}.")
        operators = [as_operators(row, function) for row in operators]
        if not operators:
            raise ValueError(f"{function}: operators must have at least one row.")
        parameters = {k: v for k, v in as_given(locals()).items() if k != "function"}
        self._operators: list[list[LinearOperator]] = [list(row) for row in operators]
        dtype = dtype_in_common([operator for row in operators for operator in row], function)
        _check(self._operators, function)
        diagonal = self._diagonal_blocks()
        singular = any(operator.is_non_singular is False for operator in diagonal)
        is_non_singular = implied(
            is_non_singular,
            "is_non_singular",
            all_have(diagonal, "is_non_singular"),
            "a block lower triangular operator with non-singular blocks on its diagonal",
        )
        if singular:
            is_non_singular = always(
                is_non_singular,
                "is_non_singular",
                "a block lower triangular operator with a singular block on its diagonal",
                value=False,
            )
        super().__init__(
            dtype=dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=always(is_square, "is_square", "a block lower triangular operator"),
            parameters=parameters,
            name=name,
        )

    @property
    def operators(self) -> list[list[LinearOperator]]:
        """The rows of blocks."""
        return self._operators

    def _diagonal_blocks(self) -> Sequence[LinearOperator]:
        return [row[-1] for row in self._operators]

    def _shape(self) -> tuple[int, ...]:
        batch = broadcast_shapes(
            [tuple(operator.batch_shape) for row in self.operators for operator in row],
            "LinearOperatorBlockLowerTriangular: the batch axes of the operators",
        )
        size = sum(operator.domain_dimension for operator in self._diagonal_blocks())
        return (*batch, size, size)

    def _linop_inverse(self) -> Any:
        """Row by row: the last block is the inverse of that on the diagonal, and the others are
        minus its product with what the row gives for the columns of the inverse above.
        """
        minus = filled(-1, (), self.dtype)
        inverse: list[list[LinearOperator]] = []
        for i, row in enumerate(self.operators):
            last = row[-1].inverse()
            found = []
            for j in range(i):
                products = [row[k].matmul(inverse[k][j]) for k in range(j, i)]
                product = last.matmul(sum_of([_to_be_added(operator) for operator in products]))
                negative = LinearOperatorScaledIdentity(last.domain_dimension, minus)
                found.append(negative.matmul(product))
            inverse.append([*found, last])
        return LinearOperatorBlockLowerTriangular(inverse, **own(self))

    def _apply(self, blocks: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        count = len(self.operators)
        found = []
        for i in range(count):
            others = range(i + 1, count) if adjoint else range(i)
            result = self.operators[i][i].matmul(
                blocks[i], adjoint=adjoint, adjoint_arg=adjoint_arg
            )
            for j in others:
                operator = self.operators[j][i] if adjoint else self.operators[i][j]
                result = result + operator.matmul(
                    blocks[j], adjoint=adjoint, adjoint_arg=adjoint_arg
                )
            found.append(result)
        return found

    def _undo(self, blocks: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        """By substitution, from the first block on, or from the last for the adjoint."""
        count = len(self.operators)
        found: dict[int, Any] = {}
        for i in reversed(range(count)) if adjoint else range(count):
            rest = adjoint_if(adjoint_arg, blocks[i])
            for j, known in found.items():
                operator = self.operators[j][i] if adjoint else self.operators[i][j]
                rest = rest - operator.matmul(known, adjoint=adjoint)
            found[i] = self.operators[i][i].solve(rest, adjoint=adjoint)
        return [found[i] for i in range(count)]

    def _determinant(self) -> Any:
        if all_have(self._diagonal_blocks(), "is_positive_definite"):
            return elementary.exp(self._log_abs_determinant())
        return super()._determinant()

    def _to_dense(self) -> Any:
        rows = [[operator.to_dense() for operator in row] for row in self.operators]
        return self._rows_with_zeros(rows, [0] * len(rows))

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"operators": [[0] * len(row) for row in self.operators]}


def _to_be_added(operator: LinearOperator) -> LinearOperator:
    if can_be_added(operator):
        return operator
    return LinearOperatorFullMatrix(operator.to_dense())


def _check(operators: list[list[LinearOperator]], function: str) -> None:
    """Refuses rows of wrong lengths, and blocks that do not meet."""
    for i, row in enumerate(operators):
        if len(row) != i + 1:
            raise ValueError(
                f"{function}: operators[{i}] must have {i + 1} blocks, got {len(row)}."
            )
        if row[-1].is_square is False:
            raise ValueError(
                f"{function}: operators[{i}][{i}] must be square, got shape {row[-1].shape}."
            )
        for j, operator in enumerate(row):
            rows, columns = row[-1].range_dimension, operators[j][j].domain_dimension
            if tuple(operator.shape[-2:]) != (rows, columns):
                raise ValueError(
                    f"{function}: operators[{i}][{j}] must be {rows} by {columns}, as the blocks "
                    f"on the diagonal say, got shape {operator.shape}."
                )
