"""Datasets whose elements are divided among replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import nest
from gradtape.core.tensor import Tensor
from gradtape.core.thread import init_scope
from gradtape.data.dataset import Dataset
from gradtape.data.iterators import refuse_in_a_program
from gradtape.data.optional import Optional
from gradtape.distribute.values import PerReplica, divided_among, of_this_process
from gradtape.engines.xla.processes import all_have
from gradtape.errors import OutOfRangeError
from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.distribute.strategy import Strategy

Elements = Callable[[], Iterator[Any]]


@published("distribute.InputContext")
class InputContext:
    """What a function knows that makes the dataset of a process: how many there are, and how many
    replicas they have together.

    >>> import gradtape as tf
    >>> context = tf.distribute.InputContext(num_replicas_in_sync=4)
    >>> context.get_per_replica_batch_size(32)
    8
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """How many rows of a batch each replica gets."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"get_per_replica_batch_size: global_batch_size {global_batch_size} is not a "
                f"multiple of the {self.num_replicas_in_sync} replicas."
            )
        return global_batch_size // self.num_replicas_in_sync

    def __repr__(self) -> str:
        return (
            f"InputContext(input_pipeline_id={self.input_pipeline_id}, num_input_pipelines="
            f"{self.num_input_pipelines}, num_replicas_in_sync={self.num_replicas_in_sync})"
        )


@published("distribute.DistributedIterator")
class DistributedIterator:
    """The elements of a distributed dataset one by one: what `iter(dataset)` gives.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> elements = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(2)))
    >>> int(next(elements)), int(elements.get_next())
    (0, 1)
    """

    def __init__(self, elements: Iterator[Any], element_spec: Any) -> None:
        self._elements = elements
        self._spec = element_spec

    @property
    def element_spec(self) -> Any:
        """The specs of the tensors of an element, of all replicas together."""
        return self._spec

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        refuse_in_a_program("next(iterator)")
        with init_scope():
            return next(self._elements)

    def get_next(self) -> Any:
        """The next element; an OutOfRangeError after the last one."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError(None, None, "get_next: the dataset has ended.") from None

    def get_next_as_optional(self) -> Optional:
        """The next element as an Optional, which is empty after the last one."""
        try:
            return Optional((next(self),), self._spec)
        except StopIteration:
            return Optional((), self._spec)


@published("distribute.DistributedDataset")
class DistributedDataset:
    """A dataset of which each replica gets a part of every batch.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    >>> [batch.numpy().tolist() for batch in dataset]
    [[0, 1], [2, 3]]
    """

    def __init__(self, elements: Elements, element_spec: Any, length: Callable[[], int]) -> None:
        self._elements = elements
        self._spec = element_spec
        self._length = length

    @property
    def element_spec(self) -> Any:
        """The specs of the tensors of an element, of all replicas together."""
        return self._spec

    def __iter__(self) -> DistributedIterator:
        refuse_in_a_program("iter(dataset)")
        return DistributedIterator(self._elements(), self._spec)

    def __len__(self) -> int:
        return self._length()


def _dataset(value: Any, what: str) -> Dataset:
    if not isinstance(value, Dataset):
        raise TypeError(f"{what} must be a tf.data.Dataset, got {value!r}.")
    return value


def distributed(strategy: Strategy, dataset: Any) -> DistributedDataset:
    """A dataset of batches, whose rows the replicas share."""
    found = _dataset(dataset, "experimental_distribute_dataset: dataset")
    count = strategy.num_replicas_in_sync

    def elements() -> Iterator[Any]:
        for element in found:
            yield element if count == 1 else nest.map_structure(share, element)

    def share(tensor: Any) -> PerReplica:
        """A part of the rows for each replica; the first ones get one more if that does not
        divide.
        """
        if not isinstance(tensor, Tensor) or not tensor.outline.ndim:
            raise ValueError(
                "experimental_distribute_dataset: the elements must be batches, whose rows the "
                f"{count} replicas share, got {tensor!r}: call batch(...) on the dataset."
            )
        parts = np.array_split(tensor.array, count)
        return _one_each(strategy, [Tensor(part) for part in parts])

    return DistributedDataset(elements, found.element_spec, lambda: len(found))


def from_function(strategy: Strategy, dataset_fn: Callable[[InputContext], Any]) -> Any:
    """A dataset whose elements are batches of replicas already: each gets one."""
    count = len(strategy.own_replicas)
    processes, number = strategy.processes
    dataset = _dataset(
        dataset_fn(InputContext(processes, number, strategy.num_replicas_in_sync)),
        "distribute_datasets_from_function: the result of dataset_fn",
    )

    def elements() -> Iterator[Any]:
        parts = iter(dataset)
        while all_have(group := [part for _, part in zip(range(count), parts, strict=False)]):
            # A replica that has none is given one without rows.
            group += [nest.map_structure(lambda leaf: leaf[:0], group[0])] * (count - len(group))
            yield (
                group[0]
                if strategy.num_replicas_in_sync == 1
                else nest.map_structure(lambda *leaves: _one_each(strategy, leaves), *group)
            )

    return DistributedDataset(elements, dataset.element_spec, lambda: -(-len(dataset) // count))


def _one_each(strategy: Strategy, tensors: Sequence[Tensor]) -> PerReplica:
    """Tensors of the replicas of this process, or of all."""
    if len(tensors) < strategy.num_replicas_in_sync:
        return of_this_process(tensors, strategy.layout)
    shapes = {tuple(tensor.outline.shape) for tensor in tensors}
    if len(shapes) > 1 or tensors[0].outline.dtype.kind == "O":
        return PerReplica(None, tensors)
    return divided_among([tensor.array for tensor in tensors], strategy.layout)
