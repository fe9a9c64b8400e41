"""Permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.creation import range as arange
from gradtape.api.tensorflow.indexing import gather
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    broadcast_shapes,
    dtype_of,
    filled,
    in_batch,
    in_shape,
    parameter,
    read,
    shape_of,
)
from gradtape.api.tensorflow.ordering import argsort
from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.ops import arithmetic, broadcasting
from gradtape.published import published


@published("linalg.LinearOperatorPermutation")
class LinearOperatorPermutation(LinearOperator):
    """A permutation: entry i of a product is entry `perm[i]` of the vector.

    >>> import gradtape as tf
    >>> tf.linalg.LinearOperatorPermutation([2, 0, 1]).matvec([10.0, 20.0, 30.0]).numpy()
    array([30., 10., 20.], dtype=float32)
    """

    def __init__(
        self,
        perm: Any,
        dtype: Any = dtypes.float32,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        perm = parameter(perm, "LinearOperatorPermutation: perm", axes=1)
        parameters = as_given(locals())
        _check(perm)
        self._perm = perm
        what = "a permutation"
        always(is_non_singular, "is_non_singular", what)
        super().__init__(
            dtype=dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=always(is_square, "is_square", what),
            parameters=parameters,
            name=name,
        )

    @property
    def perm(self) -> Any:
        """Which entry stands at each place."""
        return self._perm

    def _shape(self) -> tuple[int, ...]:
        shape = shape_of(self._perm)
        return (*shape, shape[-1])

    def _assert_non_singular(self) -> None:
        """It never is singular."""

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        perm = read(self.perm)
        if adjoint and not self.is_self_adjoint:
            perm = argsort(perm, axis=-1)
        x, shape = adjoint_if(adjoint_arg, x), tuple(perm.array.shape)
        if len(shape) == 1:
            return gather(x, perm, axis=-2)
        batch = broadcast_shapes(
            [shape[:-1], tuple(x.array.shape[:-2])],
            "the batch axes of the operator and of its argument",
        )
        perm = in_shape(perm, (*batch, shape[-1]))
        return gather(in_batch(x, batch), perm, axis=len(batch), batch_dims=len(batch))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _log_abs_determinant(self) -> Any:
        return filled(0, shape_of(self.perm)[:-1], self.dtype)

    def _where_equal(self, perm: Tensor) -> Tensor:
        places = arange(shape_of(self.perm)[-1], dtype=perm.dtype)
        return broadcasting.cast(arithmetic.equal(places, perm), dtype=self.dtype.numpy)

    def _to_dense(self) -> Any:
        return self._where_equal(read(self.perm)[..., None])

    def _diag_part(self) -> Any:
        return self._where_equal(read(self.perm))

    def _cond(self) -> Any:
        return filled(1, shape_of(self.perm)[:-1], self.dtype)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("perm", "dtype")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"perm": 1}


def _check(perm: Any) -> None:
    """Refuses what is no permutation, where its values are known."""
    if not dtype_of(perm).is_integer:
        raise TypeError(
            f"LinearOperatorPermutation: perm must be integers, got dtype {dtype_of(perm).name}."
        )
    if not isinstance(perm, Tensor) or is_traced(perm) or isinstance(perm, BatchedTensor):
        return
    values = np.asarray(perm.array)
    if np.any(np.sort(values, axis=-1) != np.arange(values.shape[-1])):
        raise ValueError(
            f"LinearOperatorPermutation: perm must have each integer from 0 to "
            f"{values.shape[-1] - 1} once, got {values.tolist()}."
        )
