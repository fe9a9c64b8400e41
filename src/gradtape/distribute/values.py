"""Values of which every replica has its own: `PerReplica`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.tensor import Tensor
from gradtape.core.xla.layouts import Layout, own_parts, part_for_each, part_of_this_process
from gradtape.ops.shaping import stack
from gradtape.published import published


@published("distribute.DistributedValues")
class DistributedValues:
    """The base of values that replicas have.

    >>> import gradtape as tf
    >>> isinstance(tf.constant(1.0), tf.distribute.DistributedValues)
    False
    """


@published("types.experimental.distributed.PerReplica")
class PerReplica(DistributedValues):
    """A tensor for each replica: what `Strategy.run` returns, and what the elements of a
    distributed dataset consist of. `Strategy.experimental_local_results` gives them as a tuple.

    If they are all of one shape they are kept along the first axis of one tensor, each part of
    which may be on the device of its replica.
    """

    _stacked: Tensor | None
    _apart: tuple[Any, ...] | None

    def __init__(self, stacked: Tensor | None, apart: Sequence[Any] | None = None) -> None:
        self._stacked = stacked
        self._apart = None if apart is None else tuple(apart)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of the replicas of this process, in their order."""
        own = None if self._stacked is None else own_parts(self._stacked)
        return self.everywhere if own is None else tuple(own)

    @property
    def everywhere(self) -> tuple[Any, ...]:
        """The values of all replicas: every process must ask for them, if there are several."""
        if self._stacked is None:
            return self._apart or ()
        return tuple(self._stacked[i] for i in range(self._stacked.shape[0]))

    @property
    def stacked(self) -> Tensor | None:
        """All values along the first axis of one tensor; None if their shapes differ."""
        return self._stacked

    def __gradtape_flatten__(self) -> list[Any]:
        return list(self._apart or ()) if self._stacked is None else [self._stacked]

    def __gradtape_unflatten__(self, tensors: Iterator[Any]) -> PerReplica:
        if self._stacked is None:
            return PerReplica(None, [next(tensors) for _ in self._apart or ()])
        return PerReplica(next(tensors))

    def __repr__(self) -> str:
        lines = [f"  {i}: {value!r}" for i, value in enumerate(self.values)]
        return "PerReplica:{\n" + ",\n".join(lines) + "\n}"


def per_replica(values: Sequence[Any]) -> Any:
    """The values of all replicas as a PerReplica; that of the only one as it is."""
    if len(values) == 1:
        return values[0]
    tensors = [value for value in values if isinstance(value, Tensor)]
    kinds = {(tuple(t.outline.shape), t.outline.dtype) for t in tensors}
    if len(tensors) < len(values) or len(kinds) > 1 or tensors[0].outline.dtype.kind == "O":
        return PerReplica(None, values)
    return PerReplica(stack(*tensors, axis=0))


def divided_among(arrays: Sequence[Any], layout: Layout) -> PerReplica:
    """NumPy arrays of one shape, each on the device of its replica."""
    return PerReplica(part_for_each(np.stack(arrays), layout))


def of_this_process(tensors: Sequence[Tensor], layout: Layout) -> PerReplica:
    """The values of the replicas of this process; other processes have given theirs."""
    if len({(tuple(t.outline.shape), t.outline.dtype) for t in tensors}) > 1:
        return PerReplica(None, tensors)
    return PerReplica(part_of_this_process(np.stack([t.array for t in tensors]), layout))


def of_replica(structure: Any, number: int) -> Any:
    """A structure with the values of one replica."""
    return nest.map_structure(
        lambda leaf: leaf.values[number] if isinstance(leaf, PerReplica) else leaf, structure
    )
