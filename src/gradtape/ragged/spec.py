"""`RaggedTensorSpec`: what is known of a RaggedTensor without its values."""

from __future__ import annotations

from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike
from gradtape.core.type_spec import TypeSpec
from gradtape.published import published
from gradtape.ragged import partitions
from gradtape.ragged.tensor import RaggedTensor
from gradtape.shapes import TensorShape, TensorSpec


@published("RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """The shape, dtype and partitioned axes of a RaggedTensor, for the `input_signature` of a
    function.

    >>> import gradtape as tf
    >>> x = tf.ragged.constant([[1.0], [2.0, 3.0]])
    >>> spec = tf.RaggedTensorSpec([None, None], tf.float32)
    >>> tf.function(lambda x: tf.reduce_sum(x, axis=1), input_signature=[spec])(x).numpy()
    array([1., 5.], dtype=float32)
    """

    value_type = RaggedTensor
    # What a function does that is told that its results are ragged.
    __gradtape_instead_of__ = staticmethod(RaggedTensor.__gradtape_instead_of__)

    def __init__(
        self,
        shape: Any = None,
        dtype: DTypeLike = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
        flat_values_spec: Any = None,
    ) -> None:
        self._shape = TensorShape(shape)
        given = dtype if flat_values_spec is None else flat_values_spec.dtype
        self._dtype = dtypes.as_dtype(given)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError(
                    "RaggedTensorSpec: give ragged_rank, or a shape whose rank is known."
                )
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(
                f"RaggedTensorSpec: ragged_rank must be an integer, got {ragged_rank!r}."
            )
        if rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"RaggedTensorSpec: ragged_rank={ragged_rank} must be less than the rank of shape, "
                f"{rank}."
            )
        self._ragged_rank = ragged_rank
        self._row_splits_dtype = partitions.index_dtype(
            row_splits_dtype, "RaggedTensorSpec: row_splits_dtype"
        )

    @property
    def shape(self) -> TensorShape:
        """The shape, of which sizes may be open."""
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """How many axes are partitioned."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> dtypes.DType:
        """The dtype of `row_splits`."""
        return self._row_splits_dtype

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """The spec of a RaggedTensor."""
        if not isinstance(value, RaggedTensor):
            raise TypeError(
                "RaggedTensorSpec.from_value: value must be a RaggedTensor, got "
                f"{type(value).__name__}."
            )
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        rank = self._shape.rank
        inner = TensorShape(None) if rank is None else self._shape[self._ragged_rank + 1 :]
        flat = TensorSpec(TensorShape([None]).concatenate(inner), self._dtype)
        splits = TensorSpec([None], self._row_splits_dtype)
        return [flat, *[splits] * self._ragged_rank]

    def _to_components(self, value: RaggedTensor) -> list[Any]:
        return value.__gradtape_flatten__()

    def _from_components(self, components: Any) -> Any:
        flat, *splits = components
        return RaggedTensor.from_nested_row_splits(flat, splits) if splits else flat

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        shape = TensorShape([batch_size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1, self._row_splits_dtype)

    def _unbatch(self) -> RaggedTensorSpec | TensorSpec:
        rank = self._shape.rank
        rest = TensorShape(None) if rank is None else self._shape[1:]
        if not self._ragged_rank:
            return TensorSpec(rest, self._dtype)
        return RaggedTensorSpec(rest, self._dtype, self._ragged_rank - 1, self._row_splits_dtype)


def spec_of(ragged: RaggedTensor) -> RaggedTensorSpec:
    """The spec of a RaggedTensor."""
    return RaggedTensorSpec.from_value(ragged)
