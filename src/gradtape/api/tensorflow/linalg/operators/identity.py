"""Multiples of the identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, integers
from gradtape.api.tensorflow.debugging.printing import assert_positive
from gradtape.api.tensorflow.linalg.operators import parts
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always, implied, own
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    assert_zero_imag_part,
    broadcast_shapes,
    conjugate,
    conjugate_if,
    dtype_of,
    filled,
    in_batch,
    is_kept,
    log_size,
    parameter,
    read,
    shape_of,
)
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.ops import arithmetic, broadcasting, elementary, matrix, selection
from gradtape.published import published
from gradtape.shapes import TensorShape

Shape = tuple[int, ...]


def size_from(value: Any, argument: str) -> int:
    """The size of an axis, from an integer or a scalar tensor that has its value."""
    if is_kept(value):
        raise TypeError(f"{argument} must not be a Variable: a shape does not change.")
    found = getattr(value, "array", value)
    if not (is_traced(value) or np.asarray(found).dtype.kind in "iu"):
        raise TypeError(f"{argument} must be an integer, got {value!r}.")
    if np.ndim(found):
        raise ValueError(f"{argument} must be one integer, got {value!r}.")
    size = as_int(value, argument)
    if size < 0:
        raise ValueError(f"{argument} must be at least 0, got {size}.")
    return size


def batch_from(value: Any, argument: str) -> Shape:
    """A batch shape: a list of sizes, or a vector of them."""
    if value is None:
        return ()
    if is_kept(value):
        raise TypeError(f"{argument} must not be a Variable: a shape does not change.")
    if not isinstance(value, TensorShape) and np.ndim(getattr(value, "array", value)) != 1:
        raise ValueError(f"{argument} must be a list of sizes, got {value!r}.")
    sizes = integers(value, argument)
    if any(size < 0 for size in sizes):
        raise ValueError(f"{argument} must hold sizes of at least 0, got {list(sizes)}.")
    return sizes


@published("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(LinearOperator):
    """The identity.

    >>> import gradtape as tf
    >>> tf.linalg.LinearOperatorIdentity(2).matvec([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: Hint = True,
        is_self_adjoint: Hint = True,
        is_positive_definite: Hint = True,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        parameters = as_given(locals())
        self._rows = size_from(num_rows, "LinearOperatorIdentity: num_rows")
        self._batch = batch_from(batch_shape, "LinearOperatorIdentity: batch_shape")
        what = "an identity"
        super().__init__(
            dtype=dtype or dtypes.float32,
            is_non_singular=always(bool(is_non_singular), "is_non_singular", what),
            is_self_adjoint=always(bool(is_self_adjoint), "is_self_adjoint", what),
            is_positive_definite=always(bool(is_positive_definite), "is_positive_definite", what),
            is_square=always(bool(is_square), "is_square", what),
            parameters=parameters,
            name=name,
        )

    def _shape(self) -> Shape:
        return (*self._batch, self._rows, self._rows)

    def _linop_cholesky(self) -> Any:
        return self

    def _linop_inverse(self) -> Any:
        return self

    def _assert_non_singular(self) -> None:
        """It never is singular."""

    def _assert_positive_definite(self) -> None:
        """It always is."""

    def _assert_self_adjoint(self) -> None:
        """It always is."""

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return _in_batch_of(self, adjoint_if(adjoint_arg, x), "matmul: x")

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return _in_batch_of(self, adjoint_if(adjoint_arg, rhs), "solve: rhs")

    def _determinant(self) -> Any:
        return filled(1, self._batch, self.dtype)

    def _log_abs_determinant(self) -> Any:
        return filled(0, self._batch, self.dtype)

    def _trace(self) -> Any:
        return filled(self._rows, self._batch, self.dtype)

    def _diag_part(self) -> Any:
        return filled(1, (*self._batch, self._rows), self.dtype)

    def _add_to_tensor(self, x: Any) -> Any:
        return added_to_diagonal(self.diag_part(), x)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        return filled(1, self._batch, self.dtype)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("num_rows", "batch_shape", "dtype", "assert_proper_shapes")

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        return ("num_rows", "batch_shape")

    def __getitem__(self, slices: Any) -> LinearOperatorIdentity:
        left = parts.sliced_shape(slices, self._batch)
        return LinearOperatorIdentity(**{**self.parameters, "batch_shape": left})


@published("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(LinearOperator):
    """A multiple of the identity, or a batch of them.

    >>> import gradtape as tf
    >>> tf.linalg.LinearOperatorScaledIdentity(2, multiplier=3.0).to_dense().numpy()
    array([[3., 0.],
           [0., 3.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        multiplier = parameter(multiplier, "LinearOperatorScaledIdentity: multiplier")
        parameters = as_given(locals())
        self._rows = size_from(num_rows, "LinearOperatorScaledIdentity: num_rows")
        self._multiplier = multiplier
        what = "a multiple of the identity"
        super().__init__(
            dtype=dtype_of(multiplier),
            is_non_singular=is_non_singular,
            is_self_adjoint=implied(
                is_self_adjoint,
                "is_self_adjoint",
                not dtype_of(multiplier).is_complex,
                "a real multiple of the identity",
            ),
            is_positive_definite=is_positive_definite,
            is_square=always(bool(is_square), "is_square", what),
            parameters=parameters,
            name=name,
        )

    @property
    def multiplier(self) -> Any:
        """What the identity is multiplied by."""
        return self._multiplier

    def _shape(self) -> Shape:
        return (*shape_of(self._multiplier), self._rows, self._rows)

    def _with(self, multiplier: Tensor, **hints: Any) -> LinearOperatorScaledIdentity:
        return LinearOperatorScaledIdentity(self._rows, multiplier, **{**own(self), **hints})

    def _linop_adjoint(self) -> Any:
        return self._with(conjugate(read(self.multiplier)))

    def _linop_cholesky(self) -> Any:
        return self._with(elementary.sqrt(read(self.multiplier)))

    def _linop_inverse(self) -> Any:
        return self._with(1.0 / read(self.multiplier))

    def _assert_non_singular(self) -> None:
        assert_positive(
            arithmetic.absolute(read(self.multiplier)), message="LinearOperator was singular"
        )

    def _assert_positive_definite(self) -> None:
        assert_positive(
            broadcasting.real(read(self.multiplier)),
            message="LinearOperator was not positive definite.",
        )

    def _assert_self_adjoint(self) -> None:
        assert_zero_imag_part(read(self.multiplier), "LinearOperator was not self-adjoint")

    def _matrix(self, adjoint: bool) -> Tensor:
        return conjugate_if(adjoint, read(self.multiplier))[..., None, None]

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return adjoint_if(adjoint_arg, x) * self._matrix(adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return adjoint_if(adjoint_arg, rhs) / self._matrix(adjoint)

    def _determinant(self) -> Any:
        return read(self.multiplier) ** self._rows

    def _log_abs_determinant(self) -> Any:
        return log_size(read(self.multiplier)) * self._rows

    def _trace(self) -> Any:
        return read(self.multiplier) * self._rows

    def _diag_part(self) -> Any:
        return read(self.multiplier)[..., None] * filled(1, (self._rows,), self.dtype)

    def _add_to_tensor(self, x: Any) -> Any:
        return added_to_diagonal(self.diag_part(), x)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        multiplier = read(self.multiplier)
        shape, nothing = shape_of(multiplier), arithmetic.equal(multiplier, 0)
        one, nan = (filled(value, shape, self.dtype) for value in (1, np.nan))
        return selection.where(nothing, nan, one)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("num_rows", "multiplier", "assert_proper_shapes")

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        return ("num_rows",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"multiplier": 0}


def _in_batch_of(operator: LinearOperator, x: Tensor, argument: str) -> Tensor:
    batch = tuple(operator.batch_shape)
    what = f"the batch axes of the operator and of {argument}"
    return in_batch(x, broadcast_shapes([batch, tuple(x.array.shape[:-2])], what))


def added_to_diagonal(diagonal: Tensor, x: Tensor) -> Tensor:
    """The sum of diagonal matrices and matrices."""
    batch = np.broadcast_shapes(tuple(diagonal.array.shape[:-1]), tuple(x.array.shape[:-2]))
    x = in_batch(x, batch)
    return matrix.set_diagonal(x, matrix.diagonal(x) + diagonal, offset=0)
