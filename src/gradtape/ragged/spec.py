"""`RaggedTensorSpec`: what is known of a RaggedTensor without its values."""

from __future__ import annotations

from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike
from gradtape.api.tensorflow.type_specs import TypeSpec
from gradtape.published import published
from gradtape.ragged import partitions
from gradtape.ragged.tensor import RaggedTensor
from gradtape.shapes import TensorShape


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

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or a RaggedTensor has these dtypes, as many partitioned axes, and a shape
        that fits.
        """
        other = spec_or_value
        if isinstance(other, RaggedTensor):
            other = RaggedTensorSpec.from_value(other)
        return (
            isinstance(other, RaggedTensorSpec)
            and self._parts() == other._parts()
            and self._shape.is_compatible_with(other._shape)
        )

    def _parts(self) -> tuple[Any, ...]:
        return self._dtype, self._ragged_rank, self._row_splits_dtype

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaggedTensorSpec):
            return NotImplemented
        return (self._shape, *self._parts()) == (other._shape, *other._parts())

    def __hash__(self) -> int:
        return hash((self._shape, *self._parts()))

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._ragged_rank}, "
            f"{self._row_splits_dtype!r})"
        )


def spec_of(ragged: RaggedTensor) -> RaggedTensorSpec:
    """The spec of a RaggedTensor."""
    return RaggedTensorSpec.from_value(ragged)
