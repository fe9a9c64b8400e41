"""Batches from any iterable, in addition to the kinds of data that Keras knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from types import GeneratorType
from typing import Any

from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import array_data_adapter, data_adapter_utils
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDataset


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
