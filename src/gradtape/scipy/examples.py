"""`Example`: one example of the `vmap`s that are running; a solver runs for one after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradtape.core.batching import BatchedTensor, Level, in_all_examples
from gradtape.core.tensor import Tensor


class Example:
    """A place in each of some batches."""

    def __init__(self, places: dict[Level, int]) -> None:
        self._places = places

    def of(self, tensor: Tensor) -> Any:
        """The array of a Tensor for this example."""
        levels = levels_of(tensor)
        array = np.asarray(in_all_examples(tensor))
        return array[tuple(self._places[level] for level in levels)]


def levels_of(*tensors: Any) -> list[Level]:
    """The batches that Tensors are examples of, the outermost first, as the axes of the arrays."""
    found = set()
    left = list(tensors)
    while left:
        tensor = left.pop()
        if isinstance(tensor, BatchedTensor):
            found.add(tensor.level)
            left.append(tensor.inner)
    return sorted(found, key=lambda level: level.depth)


def examples_of(levels: Sequence[Level]) -> Iterator[Example]:
    """All of them; a single one without batches."""
    for places in itertools.product(*[range(level.size) for level in levels]):
        yield Example(dict(zip(levels, places, strict=True)))


def as_examples(arrays: Sequence[Any], levels: Sequence[Level]) -> Tensor:
    """The arrays for all examples, in their order, as one Tensor."""
    stacked = np.stack(arrays) if levels else np.asarray(arrays[0])
    shape = tuple(level.size for level in levels)
    tensor = Tensor(stacked.reshape(*shape, *stacked.shape[1:]) if levels else stacked)
    for level in levels:
        tensor = BatchedTensor(tensor, level)
    return tensor
