"""The specs of IndexedSlices and SparseTensors; `TypeSpec` is in `gradtape.core.type_spec`,
`TensorSpec` in `gradtape.shapes`.
"""

from __future__ import annotations

from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike
from gradtape.convert import as_tensor
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.type_spec import TypeSpec, spec_of
from gradtape.published import published
from gradtape.shapes import TensorShape, TensorSpec


@published("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """The shapes and dtypes of an IndexedSlices.

    >>> import gradtape as tf
    >>> tf.IndexedSlicesSpec([3, 2], tf.float32).is_compatible_with(
    ...     tf.IndexedSlices([[1.0, 2.0]], [0], [3, 2])
    ... )
    False
    >>> tf.IndexedSlicesSpec(
    ...     [3, 2], indices_dtype=tf.int32, dense_shape_dtype=tf.int32
    ... ).is_compatible_with(tf.IndexedSlices([[1.0, 2.0]], [0], [3, 2]))
    True
    """

    value_type = IndexedSlices

    def __init__(
        self,
        shape: Any = None,
        dtype: DTypeLike = dtypes.float32,
        indices_dtype: DTypeLike = dtypes.int64,
        dense_shape_dtype: DTypeLike = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._values_dtype = dtypes.as_dtype(dtype)
        self._indices_dtype = dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = (
            None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)
        )
        self._indices_shape = TensorShape([None] if indices_shape is None else indices_shape)

    def _serialize(self) -> tuple[Any, ...]:
        return (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        count, rest = self._indices_shape, self._shape[1:]
        values = TensorSpec(count.concatenate(rest), self._values_dtype)
        indices = TensorSpec(count, self._indices_dtype)
        if self._dense_shape_dtype is None:
            return values, indices
        return values, indices, TensorSpec([self._shape.rank], self._dense_shape_dtype)

    def _to_components(self, value: IndexedSlices) -> tuple[Tensor, ...]:
        shape = () if value.dense_shape is None else (value.dense_shape,)
        return (value.values, value.indices, *shape)

    def _from_components(self, components: Any) -> IndexedSlices:
        return IndexedSlices(*components)


@published("SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """The shape and dtype of a SparseTensor, for the `input_signature` of a function:
    how many elements it has is open.

    >>> import gradtape as tf
    >>> x = tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    >>> spec = tf.type_spec_from_value(x)
    >>> spec
    SparseTensorSpec(TensorShape([2, 3]), tf.float32)
    >>> tf.function(lambda x: tf.sparse.reduce_sum(x), input_signature=[spec])(x).numpy()
    np.float32(3.0)
    """

    value_type = SparseTensor

    def __init__(self, shape: Any = None, dtype: DTypeLike = dtypes.float32) -> None:
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape, of which sizes may be open."""
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of the values."""
        return self._dtype

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The spec of a SparseTensor."""
        if not isinstance(value, SparseTensor):
            raise TypeError(
                "SparseTensorSpec.from_value: value must be a SparseTensor, got "
                f"{type(value).__name__}."
            )
        return cls(value.shape, value.dtype)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def _to_components(self, value: SparseTensor) -> list[Tensor]:
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: Any) -> SparseTensor:
        return SparseTensor(*components)

    def _batch(self, batch_size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> SparseTensorSpec:
        shape = self._shape
        return SparseTensorSpec(None if shape.rank is None else shape[1:], self._dtype)


@published("type_spec_from_value")
def type_spec_from_value(
    value: Any,
) -> TensorSpec | TypeSpec:
    """The spec that describes a tensor, a Variable, a value made of tensors, such as a
    SparseTensor or an ExtensionType, or what can be made a tensor.

    >>> import gradtape as tf
    >>> tf.type_spec_from_value(tf.constant([1.0, 2.0]))
    TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """
    found = spec_of(value)
    if isinstance(found, TypeSpec):
        return found
    try:
        tensor = as_tensor(value, argument="type_spec_from_value: value")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"type_spec_from_value: there is no spec for {value!r} of type {type(value).__name__}."
        ) from error
    return TensorSpec(tensor.shape, tensor.dtype)


def spec_of_slices(slices: IndexedSlices) -> IndexedSlicesSpec:
    """The spec of an IndexedSlices."""
    shape = [None, *slices.values.shape[1:]] if slices.dense_shape is None else slices.shape
    dense = None if slices.dense_shape is None else slices.dense_shape.dtype
    return IndexedSlicesSpec(shape, slices.dtype, slices.indices.dtype, dense, slices.indices.shape)
