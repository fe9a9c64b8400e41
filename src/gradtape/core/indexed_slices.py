"""`IndexedSlices`: the sparse gradient of a gather, as rows and where they belong."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.dtypes import DType
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("IndexedSlices")
class IndexedSlices:
    """Rows `values` at the `indices` of a larger tensor of shape `dense_shape`; repeated indices
    add up.

    >>> import gradtape as tf
    >>> table = tf.Variable([[1.0], [2.0], [3.0]])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.reduce_sum(tf.gather(table, [0, 2]))
    >>> g = tape.gradient(y, table)
    >>> g.indices.numpy(), tf.convert_to_tensor(g).numpy().tolist()
    (array([0, 2], dtype=int32), [[1.0], [0.0], [1.0]])
    """

    __slots__ = ("__weakref__", "dense_shape", "indices", "values")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values = _as_tensor(values, "values")
        self.indices = _as_tensor(indices, "indices")
        self.dense_shape = None if dense_shape is None else _as_tensor(dense_shape, "dense_shape")

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        return (
            TensorShape(None)
            if self.dense_shape is None
            else TensorShape(self.dense_shape.array.tolist())
        )

    @property
    def device(self) -> str:
        return self.values.device

    @property
    def name(self) -> str:
        return self.values.name  # type: ignore[attr-defined]

    @property
    def op(self) -> Any:
        return self.values.op  # type: ignore[attr-defined]

    @property
    def graph(self) -> Any:
        return self.values.graph  # type: ignore[attr-defined]

    def with_values(self, values: Any) -> IndexedSlices:
        """The same rows with other values."""
        return IndexedSlices(values, self.indices, self.dense_shape)

    @property
    def _type_spec(self) -> Any:
        return self.__gradtape_spec__()

    def __gradtape_spec__(self) -> Any:
        return import_module("gradtape.api.tensorflow.type_specs").spec_of_slices(self)

    def __gradtape_tensor__(self) -> Tensor:
        """The dense tensor, for ops that are given these slices."""
        if self.dense_shape is None:
            raise ValueError(
                "An IndexedSlices without dense_shape cannot be converted to a tensor: give it a "
                "dense_shape."
            )
        return RawSlices(self.values, self.indices, tuple(self.dense_shape.array.tolist())).dense()

    def __neg__(self) -> IndexedSlices:
        return self.with_values(-self.values)

    def __repr__(self) -> str:
        return (
            f"IndexedSlices(indices={self.indices!r}, values={self.values!r}, "
            f"dense_shape={self.dense_shape!r})"
        )


def _as_tensor(value: Any, argument: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Variable):
        return value.tensor()
    return Tensor(to_array(value, argument=f"IndexedSlices: {argument}"))


class RawSlices:
    """An `IndexedSlices` during the backward walk, made of arrays or Tensors, depending on the
    walk.
    """

    __slots__ = ("indices", "shape", "values")

    def __init__(self, values: Any, indices: Any, shape: tuple[int, ...]) -> None:
        self.values = values
        self.indices = indices
        self.shape = shape

    def dense(self) -> Any:
        return needed.scatter_rows(self.values, self.indices, shape=self.shape)

    def finished(self) -> IndexedSlices:
        """What the user receives."""
        values = self.values if isinstance(self.values, Tensor) else Tensor(self.values)
        indices = self.indices if isinstance(self.indices, Tensor) else Tensor(self.indices)
        return IndexedSlices(values, indices, Tensor(np.array(self.shape, dtype=np.int32)))

    def plus(self, other: RawSlices) -> RawSlices:
        """The sum of two sparse gradients: their rows concatenated."""
        values = needed.concatenate_rows(self.values, other.values)
        return RawSlices(values, needed.concatenate_rows(self.indices, other.indices), self.shape)
