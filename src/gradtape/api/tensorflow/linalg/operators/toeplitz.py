"""Toeplitz matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.tensorflow.debugging.printing import assert_equal
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.circulant import as_complex
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    as_column,
    assert_zero_imag_part,
    broadcast_shapes,
    conjugate,
    conjugate_if,
    dtype_of,
    filled,
    in_dtype,
    in_shape,
    parameter,
    read,
    shape_of,
)
from gradtape.core.tensor import Tensor
from gradtape.ops import broadcasting, fourier, indexing, shaping
from gradtape.published import published


@published("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """A matrix with the same entry all along each diagonal, by its first column and first row.

    Its products are those of a circulant matrix that is twice as large, by Fourier transforms.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorToeplitz(col=[1.0, 2.0, 3.0], row=[1.0, 4.0, 5.0])
    >>> operator.to_dense().numpy()
    array([[1., 4., 5.],
           [2., 1., 4.],
           [3., 2., 1.]], dtype=float32)
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        col = parameter(col, "LinearOperatorToeplitz: col", axes=1)
        row = parameter(row, "LinearOperatorToeplitz: row", axes=1)
        parameters = as_given(locals())
        if shape_of(col)[-1] != shape_of(row)[-1]:
            raise ValueError(
                "LinearOperatorToeplitz: col and row must have the same last axis, got sizes "
                f"{shape_of(col)[-1]} and {shape_of(row)[-1]}."
            )
        if dtype_of(col) != dtype_of(row):
            raise TypeError(
                "LinearOperatorToeplitz: col and row must have the same dtype, got "
                f"{dtype_of(col).name} and {dtype_of(row).name}."
            )
        self._col, self._row = col, row
        super().__init__(
            dtype=dtype_of(row),
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=always(is_square, "is_square", "a Toeplitz operator"),
            parameters=parameters,
            name=name,
        )

    @property
    def col(self) -> Any:
        """The first column."""
        return self._col

    @property
    def row(self) -> Any:
        """The first row; its first entry is not read."""
        return self._row

    def _vectors(self) -> tuple[int, ...]:
        """The batch axes and the size."""
        return broadcast_shapes(
            [shape_of(self._col), shape_of(self._row)],
            "LinearOperatorToeplitz: the batch axes of col and row",
        )

    def _shape(self) -> tuple[int, ...]:
        shape = self._vectors()
        return (*shape, shape[-1])

    def _assert_self_adjoint(self) -> None:
        col, row = read(self.col), read(self.row)
        assert_zero_imag_part(col[..., 0], "The main diagonal is not real.")
        assert_equal(
            conjugate(row[..., 1:]),
            col[..., 1:],
            message="row and col are not conjugate: the operator is not self-adjoint.",
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        shape = self._vectors()
        size = shape[-1]
        col, row = (in_shape(read(part), shape) for part in (self.col, self.row))
        around = shaping.concat(
            col,
            filled(0, (*shape[:-1], 1), self.dtype),
            shaping.reverse(row[..., 1:], axis=(len(shape) - 1,)),
            axis=-1,
        )
        spectrum = fourier.fft(as_complex(around), axes=(len(shape) - 1,))
        x = adjoint_if(adjoint_arg, x)
        rows = x.array.ndim - 2
        twice = shaping.pad(x, paddings=(*((0, 0),) * rows, (0, size), (0, 0)))
        modes = fourier.fft(broadcasting.cast(twice, dtype=spectrum.array.dtype), axes=(rows,))
        found = as_column(conjugate_if(adjoint, spectrum)) * modes
        found = fourier.ifft(found, axes=(found.array.ndim - 2,))
        return in_dtype(found[..., :size, :], self.dtype)

    def _trace(self) -> Any:
        return self._corner() * self._vectors()[-1]

    def _corner(self) -> Tensor:
        return in_shape(read(self.col)[..., 0], self._vectors()[:-1])

    def _diag_part(self) -> Any:
        return in_shape(self._corner()[..., None], self._vectors())

    def _to_dense(self) -> Any:
        shape = self._vectors()
        size, last = shape[-1], (len(shape) - 1,)
        col, row = (in_shape(read(part), shape) for part in (self.col, self.row))
        entries = shaping.concat(shaping.reverse(col, axis=last), row[..., 1:], axis=-1)
        places = np.arange(size)[None, :] + np.arange(size - 1, -1, -1)[:, None]
        return indexing.take(entries, Tensor(places.astype(np.int32)), axis=len(shape) - 1)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("col", "row")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"col": 1, "row": 1}
