"""`BatchableExtensionType`: ExtensionTypes whose values `tf.data` puts together in batches, and
takes apart again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradtape import nest
from gradtape.api.tensorflow.extension_types.extension_type import ExtensionType, ExtensionTypeSpec
from gradtape.core.type_spec import BatchableTypeSpec, TypeSpec
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("experimental.ExtensionTypeBatchEncoder")
class ExtensionTypeBatchEncoder:
    """How values of a BatchableExtensionType are batched: here, each tensor by itself.

    A subclass, which a class has as `__batch_encoder__`, may do it in another way.

    >>> import gradtape as tf
    >>> class Point(tf.experimental.BatchableExtensionType):
    ...     x: tf.Tensor
    >>> encoder = tf.experimental.ExtensionTypeBatchEncoder()
    >>> encoder.batch(Point.Spec(tf.TensorSpec([3])), 2).x.shape
    TensorShape([2, 3])
    """

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        """The spec of `batch_size` values with this spec; None leaves open how many."""

        def batched(value: Any) -> Any:
            if isinstance(value, TensorShape):
                return TensorShape([batch_size]).concatenate(value)
            return value._batch(batch_size)

        return _with_specs(spec, batched)

    def unbatch(self, spec: Any) -> Any:
        """The spec of one of the values of a batch with this spec."""

        def unbatched(value: Any) -> Any:
            return value[1:] if isinstance(value, TensorShape) else value._unbatch()

        return _with_specs(spec, unbatched)

    def encoding_specs(self, spec: Any) -> Any:
        """The specs of what `encode` gives."""
        return spec._component_specs

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        """A structure of tensors from which `decode` makes the value, and which are stacked in a
        batch.
        """
        return spec._to_components(value)

    def decode(self, spec: Any, encoded_value: Any) -> Any:
        """The value with this spec, from what `encode` gives."""
        return spec._from_components(encoded_value)


def _with_specs(spec: Any, change: Any) -> Any:
    """A spec with what it says of tensors, composites and shapes changed."""

    def changed(value: Any) -> Any:
        if isinstance(value, (TypeSpec, TensorShape)):
            return change(value)
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        if isinstance(value, dict):
            return type(value)((key, changed(entry)) for key, entry in value.items())
        return value

    return spec._deserialize([(name, changed(value)) for name, value in spec._serialize()])


class BatchableExtensionTypeSpec(ExtensionTypeSpec, BatchableTypeSpec):
    """The TypeSpec of a BatchableExtensionType, with what its encoder does."""

    @property
    def _encoder(self) -> ExtensionTypeBatchEncoder:
        found: ExtensionTypeBatchEncoder = self.value_type.__batch_encoder__
        return found

    def _batch(self, batch_size: int | None) -> Any:
        return self._encoder.batch(self, batch_size)

    def _unbatch(self) -> Any:
        return self._encoder.unbatch(self)

    def _to_rows(self, value: Any) -> list[Any]:
        return nest.flatten(self._encoder.encode(self, value, minimum_rank=1))

    def _from_rows(self, rows: Iterator[Any]) -> Any:
        encoded = self._encoder.encoding_specs(self)
        leaves = [next(rows) for _ in nest.flatten(encoded)]
        return self._encoder.decode(self, nest.pack_sequence_as(encoded, leaves))


@published("experimental.BatchableExtensionType")
class BatchableExtensionType(ExtensionType):
    """An ExtensionType whose values `batch`, `unbatch` and `from_tensor_slices` of `tf.data` put
    together and take apart.

    >>> import gradtape as tf
    >>> class Point(tf.experimental.BatchableExtensionType):
    ...     x: tf.Tensor
    >>> points = tf.data.Dataset.from_tensor_slices(Point([1.0, 2.0, 3.0]))
    >>> [point.x.numpy().tolist() for point in points.batch(2)]
    [[1.0, 2.0], [3.0]]
    """

    Spec = BatchableExtensionTypeSpec
    __batch_encoder__ = ExtensionTypeBatchEncoder()
