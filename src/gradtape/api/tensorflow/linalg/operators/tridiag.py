"""Tridiagonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.tensorflow.debugging.printing import assert_equal
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    as_column,
    assert_zero_imag_part,
    broadcast_shapes,
    conjugate,
    dtype_of,
    in_batch,
    in_shape,
    parameter,
    read,
    shape_of,
)
from gradtape.core.tensor import Tensor
from gradtape.ops import matrix, shaping, solvers
from gradtape.published import published
from gradtape.shapes import TensorShape

_COMPACT, _SEQUENCE, _MATRIX = _FORMATS = ("compact", "sequence", "matrix")


@published("linalg.LinearOperatorTridiag")
class LinearOperatorTridiag(LinearOperator):
    """A tridiagonal matrix.

    `diagonals` are the upper diagonal (its last entry is not read), the main one, and the lower one
    (its first entry is not read): as rows of one tensor for the format 'compact', as a list for
    'sequence', or as they stand in a matrix for 'matrix'.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorTridiag([[1.0, 0.0], [2.0, 3.0], [0.0, 4.0]])
    >>> operator.to_dense().numpy()
    array([[2., 1.],
           [4., 3.]], dtype=float32)
    """

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = _COMPACT,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        argument = "LinearOperatorTridiag: diagonals"
        if diagonals_format not in _FORMATS:
            raise ValueError(
                "LinearOperatorTridiag: diagonals_format must be 'compact', 'sequence' or "
                f"'matrix', got {diagonals_format!r}."
            )
        if diagonals_format == _SEQUENCE:
            diagonals = [
                parameter(each, f"{argument}[{i}]", axes=1) for i, each in enumerate(diagonals)
            ]
        else:
            diagonals = parameter(diagonals, argument, axes=2)
        parameters = {k: v for k, v in as_given(locals()).items() if k not in ("argument", "i")}
        self._diagonals, self._diagonals_format = diagonals, diagonals_format
        self._check(argument)
        super().__init__(
            dtype=dtype_of(diagonals[0] if diagonals_format == _SEQUENCE else diagonals),
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            parameters=parameters,
            name=name,
        )

    def _check(self, argument: str) -> None:
        given, form = self._diagonals, self._diagonals_format
        if form == _SEQUENCE:
            sizes = [shape_of(each)[-1] for each in given]
            if len(given) != 3 or len(set(sizes)) != 1:
                raise ValueError(
                    f"{argument} must be three vectors of the same size: the upper, the main and "
                    f"the lower diagonal, got sizes {sizes}."
                )
            return
        rows, columns = shape_of(given)[-2:]
        if rows != (3 if form == _COMPACT else columns):
            wanted = "have three rows" if form == _COMPACT else "be square matrices"
            raise ValueError(
                f"{argument} must {wanted} for the format {form!r}, got shape "
                f"{TensorShape(shape_of(given))}."
            )

    @property
    def diagonals(self) -> Any:
        """The diagonals, as they were given."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """How they were given."""
        return self._diagonals_format

    def _vectors(self) -> tuple[int, ...]:
        """The batch axes and the size."""
        if self._diagonals_format != _SEQUENCE:
            shape = shape_of(self._diagonals)
            return (*shape[:-2], shape[-1])
        return broadcast_shapes(
            [shape_of(each) for each in self._diagonals],
            "LinearOperatorTridiag: the batch axes of the diagonals",
        )

    def _shape(self) -> tuple[int, ...]:
        shape = self._vectors()
        return (*shape, shape[-1])

    def _three(self) -> list[Tensor]:
        """The upper, the main and the lower diagonal, with zeros for what is not read."""
        given, shape = self._diagonals, self._vectors()
        ends = ((0, 1), (0, 0), (1, 0))
        if self._diagonals_format == _MATRIX:
            dense = read(given)
            found = [matrix.diagonal(dense, offset=offset) for offset in (1, 0, -1)]
        elif self._diagonals_format == _COMPACT:
            rows = read(given)
            found = [rows[..., 0, :-1], rows[..., 1, :], rows[..., 2, 1:]]
        else:
            upper, main, lower = (in_shape(read(each), shape) for each in given)
            found = [upper[..., :-1], main, lower[..., 1:]]
        batch = ((0, 0),) * (len(shape) - 1)
        return [
            shaping.pad(each, paddings=(*batch, end)) if any(end) else each
            for each, end in zip(found, ends, strict=True)
        ]

    def _rows(self, adjoint: bool) -> Tensor:
        """The same as the rows of one tensor, of the operator or of its adjoint."""
        rows = shaping.stack(*self._three(), axis=len(self._vectors()) - 1)
        return conjugate(solvers.transposed_diagonals(rows)) if adjoint else rows

    def _assert_self_adjoint(self) -> None:
        upper, main, lower = self._three()
        assert_zero_imag_part(main, "The main diagonal has entries that are not real.")
        assert_equal(
            conjugate(lower[..., 1:]),
            upper[..., :-1],
            message="The lower diagonal is not the conjugate of the upper one.",
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rows, x = self._rows(adjoint), adjoint_if(adjoint_arg, x)
        upper, main, lower = (as_column(rows[..., i, :]) for i in range(3))
        above, below = solvers.shifted_rows(x, 1), solvers.shifted_rows(x, -1)
        return upper * above + main * x + lower * below

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rows, rhs = self._rows(adjoint), adjoint_if(adjoint_arg, rhs)
        batch = np.broadcast_shapes(tuple(rows.array.shape[:-2]), tuple(rhs.array.shape[:-2]))
        return solvers.tridiagonal_solve(in_batch(rows, batch), in_batch(rhs, batch))

    def _diag_part(self) -> Any:
        return self._three()[1]

    def _to_dense(self) -> Any:
        if self._diagonals_format == _MATRIX:
            return read(self._diagonals)
        upper, main, lower = self._three()
        size = main.array.shape[-1]
        above = matrix.on_diagonal(upper[..., :-1], shape=(size, size), offset=1)
        below = matrix.on_diagonal(lower[..., 1:], shape=(size, size), offset=-1)
        return solvers.diagonal_matrix(main) + above + below

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("diagonals", "diagonals_format")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"diagonals": [1, 1, 1] if self._diagonals_format == _SEQUENCE else 2}
