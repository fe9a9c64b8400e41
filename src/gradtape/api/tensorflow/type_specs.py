"""`TypeSpec`, and the specs of IndexedSlices and SparseTensors; `TensorSpec` is in
`gradtape.shapes`.
"""

from __future__ import annotations

from abc import ABC
from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike
from gradtape.convert import as_tensor
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.published import published
from gradtape.shapes import TensorShape, TensorSpec


@published("TypeSpec")
class TypeSpec(ABC):  # noqa: B024 - nothing is abstract: it is there for isinstance
    """What is known of a value without its contents: `TensorSpec`, `SparseTensorSpec` and
    `IndexedSlicesSpec` are such specs.

    >>> import gradtape as tf
    >>> isinstance(tf.TensorSpec([2], tf.float32), tf.TypeSpec)
    True
    """


TypeSpec.register(TensorSpec)


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

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or an IndexedSlices has these dtypes and shapes that fit."""
        other = (
            _spec_of_slices(spec_or_value)
            if isinstance(spec_or_value, IndexedSlices)
            else spec_or_value
        )
        return (
            isinstance(other, IndexedSlicesSpec)
            and self._dtypes() == other._dtypes()
            and self._shape.is_compatible_with(other._shape)
            and self._indices_shape.is_compatible_with(other._indices_shape)
        )

    def _dtypes(self) -> tuple[Any, ...]:
        return self._values_dtype, self._indices_dtype, self._dense_shape_dtype

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexedSlicesSpec):
            return NotImplemented
        mine = (*self._dtypes(), self._shape, self._indices_shape)
        return mine == (*other._dtypes(), other._shape, other._indices_shape)

    def __hash__(self) -> int:
        return hash((*self._dtypes(), self._shape, self._indices_shape))

    def __repr__(self) -> str:
        parts = (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )
        return f"IndexedSlicesSpec({', '.join(map(repr, parts))})"


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

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or a SparseTensor has this dtype and a shape that fits."""
        other = spec_or_value
        return (
            isinstance(other, (SparseTensorSpec, SparseTensor))
            and self._dtype == other.dtype
            and self._shape.is_compatible_with(other.shape)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensorSpec):
            return NotImplemented
        return (self._shape, self._dtype) == (other._shape, other._dtype)

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"


@published("type_spec_from_value")
def type_spec_from_value(
    value: Any,
) -> TensorSpec | IndexedSlicesSpec | SparseTensorSpec | TypeSpec:
    """The spec that describes a tensor, a Variable, an IndexedSlices, a SparseTensor,
    a RaggedTensor, or what can be made a tensor.

    >>> import gradtape as tf
    >>> tf.type_spec_from_value(tf.constant([1.0, 2.0]))
    TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """
    if isinstance(value, IndexedSlices):
        return _spec_of_slices(value)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec.from_value(value)
    if hasattr(value, "__gradtape_spec__"):
        spec: TypeSpec = value.__gradtape_spec__()
        return spec
    if isinstance(value, (Tensor, Variable)):
        return TensorSpec(value.shape, value.dtype)
    try:
        found = as_tensor(value, argument="type_spec_from_value: value")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"type_spec_from_value: there is no spec for {value!r} of type {type(value).__name__}."
        ) from error
    return TensorSpec(found.shape, found.dtype)


def _spec_of_slices(slices: IndexedSlices) -> IndexedSlicesSpec:
    shape = [None, *slices.values.shape[1:]] if slices.dense_shape is None else slices.shape
    dense = None if slices.dense_shape is None else slices.dense_shape.dtype
    return IndexedSlicesSpec(shape, slices.dtype, slices.indices.dtype, dense, slices.indices.shape)
