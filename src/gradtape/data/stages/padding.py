"""Batches of elements of different sizes: padded_batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.stage import Run, Stage, StageIterator
from gradtape.data.stages.batching import Batch, Batches
from gradtape.data.structure import array_of, leaves_of, map_leaves, packer
from gradtape.errors import DataLossError, invalid_argument
from gradtape.shapes import TensorShape, TensorSpec


class PaddedBatch(Batch):
    """Batches whose elements are padded to one shape.

    `shapes` and `values` are structures like an element; a size of None is the largest in a batch,
    shapes that are None are those of the elements.
    """

    name = "padded_batch"

    def __init__(
        self, source: Stage, size: int, shapes: Any, values: Any, *, drop_remainder: bool
    ) -> None:
        super().__init__(source, size, drop_remainder=drop_remainder)
        self._given = shapes
        self._values = values

    @cached_property
    def shapes(self) -> list[TensorShape]:
        """What each leaf is padded to."""
        specs = nest.flatten(self.input.spec)
        if self._given is None:
            found = [spec.shape for spec in specs]
        else:
            found = [TensorShape(_sizes(shape)) for shape in _like(self._given, self.input.spec)]
        for shape, spec in zip(found, specs, strict=True):
            if shape.rank is None:
                raise ValueError(
                    "padded_batch: the rank of each component must be known: give padded_shapes."
                )
            if spec.shape.rank is not None and spec.shape.rank != shape.rank:
                raise ValueError(
                    f"padded_batch: a padded shape has rank {shape.rank}, but the component has "
                    f"shape {spec.shape}."
                )
        return found

    @cached_property
    def limits(self) -> list[TensorShape]:
        """What each leaf may be padded to. What the spec knows may be only what the first elements
        were like, so it is no limit.
        """
        if self._given is not None:
            return self.shapes
        return [TensorShape([None] * len(shape)) for shape in self.shapes]

    @cached_property
    def values(self) -> list[Any]:
        """What each leaf is padded with."""
        specs = nest.flatten(self.input.spec)
        given = (
            [None] * len(specs) if self._values is None else _like(self._values, self.input.spec)
        )
        return [_value(value, spec) for value, spec in zip(given, specs, strict=True)]

    @cached_property
    def spec(self) -> Any:
        size = self.size if self.drop_remainder else None
        shapes = iter(self.shapes)
        return map_leaves(
            lambda leaf: TensorSpec(TensorShape([size]).concatenate(next(shapes)), leaf.dtype),
            self.input.spec,
        )

    def iterator(self, run: Run) -> StageIterator:
        return _PaddedBatches(self, self.input.iterator(run))


def _like(given: Any, spec: Any) -> list[Any]:
    """The entries of an argument that has the structure of an element, or one for all of them."""
    if not nest.is_nested(spec):
        return [given]
    if isinstance(spec, dict):
        if isinstance(given, dict):
            return [leaf for key in sorted(spec) for leaf in _like(given[key], spec[key])]
    elif isinstance(given, (tuple, list)) and len(given) == len(spec):
        parts = zip(given, spec, strict=True)
        return [leaf for one, two in parts for leaf in _like(one, two)]
    elif not isinstance(given, (tuple, list, dict)):
        return [given] * len(nest.flatten(spec))
    raise ValueError(
        f"padded_batch: padded_shapes and padding_values must have the structure {spec}, got "
        f"{given}."
    )


def _sizes(shape: Any) -> Any:
    """A padded shape, in which -1 stands for a size that is not given."""
    if isinstance(shape, TensorShape) or shape is None:
        return shape
    sizes = shape.array.tolist() if isinstance(shape, Tensor) else list(np.atleast_1d(shape))
    return [None if size is None or size == -1 else int(size) for size in sizes]


def _value(value: Any, spec: Any) -> Any:
    if value is None:
        if spec.dtype == dtypes.string:
            return b""
        return np.zeros((), spec.dtype.numpy)
    found = as_tensor(value, argument="padded_batch: padding_values")
    if found.ndim:
        raise ValueError(f"padded_batch: padding_values must be scalars, got shape {found.shape}.")
    if found.dtype != spec.dtype and not (
        isinstance(value, (int, float)) and spec.dtype != dtypes.string
    ):
        raise TypeError(
            f"padded_batch: a padding value has dtype {found.dtype.name}, but the component "
            f"{spec.dtype.name}."
        )
    return found.array[()] if spec.dtype == dtypes.string else found.array.astype(spec.dtype.numpy)


class _PaddedBatches(Batches):
    def __init__(self, stage: PaddedBatch, source: StageIterator) -> None:
        super().__init__(source, stage.size, drop_remainder=stage.drop_remainder)
        self._stage = stage

    def together(self, elements: Sequence[Any]) -> Any:
        columns = zip(*(leaves_of(element) for element in elements), strict=True)
        ways = zip(columns, self._stage.limits, self._stage.values, strict=True)
        leaves = [
            Tensor(_padded([array_of(leaf, "padded_batch: a component") for leaf in column], *way))
            for column, *way in ways
        ]
        return packer(elements[0])(leaves)


def _padded(arrays: Sequence[Any], shape: TensorShape, value: Any) -> Any:
    """Arrays in a new one of a shape, whose unknown sizes are the largest."""
    for number, array in enumerate(arrays):
        if array.ndim != shape.rank:
            raise invalid_argument(
                f"padded_batch: element {number} of the batch has shape {list(array.shape)}, but "
                f"the padded shape is {shape}."
            )
    found = []
    for axis, size in enumerate(shape):
        largest = max(array.shape[axis] for array in arrays)
        if size is not None and largest > size:
            raise DataLossError(
                None,
                None,
                f"padded_batch: a component has size {largest} in axis {axis}, which is more than "
                f"the padded shape {shape} allows.",
            )
        found.append(largest if size is None else size)
    out = np.full((len(arrays), *found), value, arrays[0].dtype)
    for number, array in enumerate(arrays):
        place: Any = (number, *(slice(size) for size in array.shape), ...)
        out[place] = array
    return out
