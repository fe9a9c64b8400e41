"""Batches from a `tf.data.Dataset` and from any iterable, in addition to the kinds of data that
Keras knows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from types import GeneratorType
from typing import Any

from keras.src import tree
from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import array_data_adapter, data_adapter_utils
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDataset


def is_dataset(x: Any) -> bool:
    """Whether data are a `tf.data.Dataset` of gradtape's."""
    data = sys.modules.get("gradtape.data")
    return data is not None and isinstance(x, data.Dataset)


def batches_of_dataset(x: Any, y: Any, sample_weight: Any, class_weight: Any) -> DatasetBatches:
    """A dataset as Keras takes it; refused beside what should be in it."""
    for name, what, value in (
        ("y", "the targets", y),
        ("sample_weight", "the sample weights", sample_weight),
    ):
        if value is not None:
            data_adapters.raise_unsupported_arg(name, what, "tf.data.Dataset")
    return DatasetBatches(x, class_weight)


def known_to_keras(x: Any) -> Any:
    """Data as Keras takes it: an iterator becomes a generator,
    and an iterable begins anew with each epoch.
    """
    if isinstance(x, (GeneratorType, PyDataset, DataAdapter)) or not isinstance(x, Iterable):
        return x
    asked = (
        data_adapters.is_tf_dataset,
        data_adapters.is_torch_dataloader,
        data_adapters.is_grain_dataset,
    )
    if array_data_adapter.can_convert_arrays(x) or any(is_known(x) for is_known in asked):
        return x
    return (batch for batch in x) if isinstance(x, Iterator) else Batches(x)


class DatasetBatches(DataAdapter):
    """The batches of a `tf.data.Dataset`, as tensors."""

    def __init__(self, dataset: Any, class_weight: Any) -> None:
        self._dataset = dataset
        self._class_weight = class_weight

    def get_numpy_iterator(self) -> Any:
        return iter(self._dataset) if self._class_weight is None else self._weighted()

    def _weighted(self) -> Iterator[Any]:
        """Batches with the weights of their samples' classes."""
        for batch in self._dataset:
            x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
            if sample_weight is not None:
                raise ValueError(
                    "class_weight cannot be given together with a dataset that has sample weights."
                )
            if tree.is_nested(y):
                raise ValueError("class_weight is only supported for models with a single output.")
            weights = data_adapter_utils.class_weight_to_sample_weights(
                y.numpy(), self._class_weight
            )
            yield x, y, weights

    @property
    def num_batches(self) -> int | None:
        count = int(self._dataset.cardinality())
        return None if count < 0 else count

    @property
    def batch_size(self) -> int | None:
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        return None

    @property
    def partial_batch_size(self) -> int | None:
        return None


class Batches(DataAdapter):
    """Batches of an iterable: each a tuple of inputs, targets and weights of samples,
    or a part of it.
    """

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = batches

    def get_numpy_iterator(self) -> Any:
        return data_adapter_utils.get_numpy_iterator(
            tuple(batch) if isinstance(batch, list) else batch for batch in self._batches
        )

    @property
    def num_batches(self) -> int | None:
        return len(self._batches) if isinstance(self._batches, Sized) else None

    @property
    def batch_size(self) -> int | None:
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        return None

    @property
    def partial_batch_size(self) -> int | None:
        return None
