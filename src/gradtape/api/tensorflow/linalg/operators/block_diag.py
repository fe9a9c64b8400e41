"""Operators side by side on the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.blocks import BlockOperator
from gradtape.api.tensorflow.linalg.operators.described import (
    as_given,
    as_operators,
    dtype_in_common,
)
from gradtape.api.tensorflow.linalg.operators.hints import Hint, all_have, implied, own
from gradtape.api.tensorflow.linalg.operators.values import broadcast_shapes
from gradtape.published import published


@published("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(BlockOperator):
    """Operators along the diagonal, and zeros elsewhere.

    Where it takes a matrix, it also takes a list with one for each block, and then gives a list.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorBlockDiag(
    ...     [tf.linalg.LinearOperatorDiag([1.0, 2.0]), tf.linalg.LinearOperatorIdentity(1)]
    ... )
    >>> operator.to_dense().numpy()
    array([[1., 0., 0.],
           [0., 2., 0.],
           [0., 0., 1.]], dtype=float32)
    >>> [part.numpy() for part in operator.matvec([tf.constant([1.0, 1.0]), tf.constant([5.0])])]
    [array([1., 2.], dtype=float32), array([5.], dtype=float32)]
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str | None = None,
    ) -> None:
        operators = as_operators(operators, "LinearOperatorBlockDiag")
        parameters = as_given(locals())
        self._operators: list[LinearOperator] = list(operators)
        rows, columns = tuple(self._shape())[-2:]

        def of_all(given: Hint, hint: str) -> Hint:
            what = f"a block diagonal operator whose blocks have {hint}=True"
            return implied(given, hint, all_have(operators, hint), what)

        super().__init__(
            dtype=dtype_in_common(operators, "LinearOperatorBlockDiag"),
            is_non_singular=of_all(is_non_singular, "is_non_singular"),
            is_self_adjoint=of_all(is_self_adjoint, "is_self_adjoint"),
            is_positive_definite=of_all(is_positive_definite, "is_positive_definite"),
            # True by default, which need not be so.
            is_square=is_square if rows == columns else False,
            parameters=parameters,
            name=name or "_ds_".join(operator.name for operator in operators),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks."""
        return self._operators

    def _diagonal_blocks(self) -> Sequence[LinearOperator]:
        return self._operators

    def _shape(self) -> tuple[int, ...]:
        batch = broadcast_shapes(
            [tuple(operator.batch_shape) for operator in self.operators],
            "LinearOperatorBlockDiag: the batch axes of the operators",
        )
        rows = sum(operator.range_dimension for operator in self.operators)
        return (*batch, rows, sum(operator.domain_dimension for operator in self.operators))

    def _of_each(self, name: str, **hints: Any) -> LinearOperatorBlockDiag:
        """The block diagonal operator of what a method gives for each block."""
        return LinearOperatorBlockDiag(
            [getattr(operator, name)() for operator in self.operators], **hints
        )

    def _linop_adjoint(self) -> Any:
        return self._of_each("adjoint", **own(self))

    def _linop_inverse(self) -> Any:
        if not self._are_square():
            return super()._linop_inverse()
        return self._of_each("inverse", **own(self))

    def _linop_cholesky(self) -> Any:
        if not all(operator._can_use_cholesky() for operator in self.operators):
            return super()._linop_cholesky()
        return self._of_each("cholesky", is_non_singular=True, is_square=True)

    def pairs_with(
        self, other: LinearOperatorBlockDiag, argument: str
    ) -> list[tuple[LinearOperator, LinearOperator]]:
        """The blocks beside those of another operator."""
        if len(self.operators) != len(other.operators):
            raise ValueError(
                f"{argument} must have as many blocks as the operator, {len(self.operators)}, got "
                f"{len(other.operators)}."
            )
        pairs = list(zip(self.operators, other.operators, strict=True))
        for i, (left, right) in enumerate(pairs):
            if left.domain_dimension != right.range_dimension:
                raise ValueError(
                    f"{argument}: its block {i} must have {left.domain_dimension} rows, got shape "
                    f"{right.shape}."
                )
        return pairs

    def _apply(self, blocks: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        return [
            operator.matmul(block, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for operator, block in zip(self.operators, blocks, strict=True)
        ]

    def _undo(self, blocks: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        return [
            operator.solve(block, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for operator, block in zip(self.operators, blocks, strict=True)
        ]

    def _to_dense(self) -> Any:
        columns = np.cumsum([0, *self._sizes(adjoint=False)[:-1]])
        return self._rows_with_zeros(
            [[operator.to_dense()] for operator in self.operators], [int(c) for c in columns]
        )

    def _assert_self_adjoint(self) -> None:
        for operator in self.operators:
            operator.assert_self_adjoint()

    def _assert_positive_definite(self) -> None:
        for operator in self.operators:
            operator.assert_positive_definite()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"operators": [0] * len(self.operators)}
