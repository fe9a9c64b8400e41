"""The zero matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.linalg.operators import parts
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always
from gradtape.api.tensorflow.linalg.operators.identity import batch_from, size_from
from gradtape.api.tensorflow.linalg.operators.values import broadcast_shapes, filled, in_batch
from gradtape.errors import invalid_argument
from gradtape.published import published

Shape = tuple[int, ...]


@published("linalg.LinearOperatorZeros")
class LinearOperatorZeros(LinearOperator):
    """The zero matrix; one that is not square is made with `is_square=False` and
    `is_self_adjoint=False`.

    >>> import gradtape as tf
    >>> tf.linalg.LinearOperatorZeros(2).matvec([1.0, 2.0]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: Hint = False,
        is_self_adjoint: Hint = True,
        is_positive_definite: Hint = False,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        parameters = as_given(locals())
        what = "a zero operator"
        self._rows = size_from(num_rows, "LinearOperatorZeros: num_rows")
        self._columns_given = (
            self._rows
            if num_columns is None
            else size_from(num_columns, "LinearOperatorZeros: num_columns")
        )
        self._batch = batch_from(batch_shape, "LinearOperatorZeros: batch_shape")
        if is_square:
            always(bool(is_self_adjoint), "is_self_adjoint", "a square zero operator")
            if self._rows != self._columns_given:
                raise ValueError(
                    f"LinearOperatorZeros: num_rows={self._rows} and "
                    f"num_columns={self._columns_given} differ: give is_square=False and "
                    "is_self_adjoint=False."
                )
        super().__init__(
            dtype=dtype or dtypes.float32,
            is_non_singular=always(bool(is_non_singular), "is_non_singular", what, value=False),
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=always(
                bool(is_positive_definite), "is_positive_definite", what, value=False
            ),
            is_square=is_square,
            parameters=parameters,
            name=name,
        )

    def _shape(self) -> Shape:
        return (*self._batch, self._rows, self._columns_given)

    def _assert_non_singular(self) -> None:
        raise invalid_argument("Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> None:
        raise invalid_argument("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> None:
        if not self.is_square:
            raise invalid_argument(f"An operator of shape {self.shape} is not self-adjoint.")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        batch = broadcast_shapes(
            [self._batch, tuple(x.array.shape[:-2])],
            "the batch axes of the operator and of matmul: x",
        )
        rows = self._columns_given if adjoint else self._rows
        return filled(0, (*batch, rows, x.array.shape[-2 if adjoint_arg else -1]), self.dtype)

    def _determinant(self) -> Any:
        return filled(0, self._batch, self.dtype)

    _trace = _determinant

    def _log_abs_determinant(self) -> Any:
        return filled(-np.inf, self._batch, self.dtype)

    def _diag_part(self) -> Any:
        return filled(0, (*self._batch, min(self._rows, self._columns_given)), self.dtype)

    _eigvals = _diag_part

    def _add_to_tensor(self, x: Any) -> Any:
        return in_batch(x, np.broadcast_shapes(self._batch, tuple(x.array.shape[:-2])))

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("num_rows", "num_columns", "batch_shape", "dtype", "assert_proper_shapes")

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        return ("num_rows", "num_columns", "batch_shape")

    def __getitem__(self, slices: Any) -> LinearOperatorZeros:
        left = parts.sliced_shape(slices, self._batch)
        return LinearOperatorZeros(**{**self.parameters, "batch_shape": left})
