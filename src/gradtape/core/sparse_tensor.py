"""`SparseTensor`: the nonzero elements of a tensor, and their coordinates.

Its functions are in `gradtape.api.tensorflow.sparse`, which few programs use: `*` and `/` import
it. A tape follows its `values`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.dtypes import DType, int64
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("SparseTensor", "sparse.SparseTensor")
class SparseTensor:
    """A tensor of shape `dense_shape` with `values[i]` at the coordinates `indices[i]` and zeros
    elsewhere.

    >>> import gradtape as tf
    >>> x = tf.sparse.SparseTensor(indices=[[0, 0], [1, 2]], values=[1.0, 2.0], dense_shape=[2, 3])
    >>> tf.sparse.to_dense(x).numpy()
    array([[1., 0., 0.],
           [0., 0., 2.]], dtype=float32)
    """

    __slots__ = ("__weakref__", "dense_shape", "indices", "values")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self.indices = _of_int64(indices, "indices")
        self.values = _as_tensor(values)
        self.dense_shape = _of_int64(dense_shape, "dense_shape")
        found = self.indices.array.shape, self.values.array.shape, self.dense_shape.array.shape
        if [len(shape) for shape in found] != [2, 1, 1] or found[0] != found[1] + found[2]:
            raise ValueError(
                "SparseTensor: indices, values and dense_shape must have the shapes [count, rank], "
                "[count] and [rank], got "
                f"{found[0]}, {found[1]} and {found[2]}."
            )

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Another SparseTensor of the same parts."""
        if not isinstance(sparse_tensor_value, SparseTensor):
            raise TypeError(
                "SparseTensor.from_value: sparse_tensor_value must be a SparseTensor, got "
                f"{type(sparse_tensor_value).__name__}."
            )
        given = sparse_tensor_value
        return SparseTensor(given.indices, given.values, given.dense_shape)

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.dense_shape.array.tolist())

    @property
    def device(self) -> str:
        return self.values.device

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Checks that `shape` fits: the shape is known already."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"set_shape: this SparseTensor has shape {self.shape}, which does not fit "
                f"{TensorShape(shape)}."
            )

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same indices with other values."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def __mul__(self, other: Any) -> SparseTensor:
        return import_module("gradtape.api.tensorflow.sparse.mathematics").times(self, other)

    def __truediv__(self, other: Any) -> SparseTensor:
        return import_module("gradtape.api.tensorflow.sparse.mathematics").divided(self, other)

    @property
    def _type_spec(self) -> Any:
        return self.__gradtape_spec__()

    def __gradtape_spec__(self) -> Any:
        return import_module("gradtape.api.tensorflow.type_specs").SparseTensorSpec.from_value(self)

    def __gradtape_tensor__(self) -> Tensor:
        """Raises an error: the dense tensor may not fit into memory."""
        raise ValueError(
            "A SparseTensor cannot be used as a tensor: use the functions of gradtape.sparse, such "
            "as sparse.to_dense."
        )

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self.indices!s}, values={self.values!s}, "
            f"dense_shape={self.dense_shape!s})"
        )


def _of_int64(value: Any, argument: str) -> Tensor:
    if isinstance(value, Variable):
        value = value.tensor()
    if not isinstance(value, Tensor):
        return Tensor(to_array(value, np.dtype(np.int64), argument=f"SparseTensor: {argument}"))
    if value.dtype != int64:
        raise ValueError(
            f"SparseTensor: {argument} must have dtype int64, got a tensor of {value.dtype.name}: "
            "cast it first."
        )
    return value


def _as_tensor(values: Any) -> Tensor:
    if isinstance(values, Variable):
        return values.tensor()
    return (
        values
        if isinstance(values, Tensor)
        else Tensor(to_array(values, argument="SparseTensor: values"))
    )
