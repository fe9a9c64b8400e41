"""`DynamicRaggedShape`: what `tf.shape` gives for a RaggedTensor."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.ragged import partitions
from gradtape.ragged.tensor import RaggedTensor

_INSTEAD = (
    "row_lengths() of the RaggedTensor has the lengths of its rows, and bounding_shape() the shape "
    "of the tensor that holds them."
)


class DynamicRaggedShape:
    """The sizes of a RaggedTensor: a number for each axis in which all rows are as long.

    >>> import gradtape as tf
    >>> shape = tf.shape(tf.ragged.constant([[1], [2, 3]]))
    >>> shape
    <DynamicRaggedShape lengths=[2, (1, 2)] num_row_partitions=1>
    >>> shape[0].numpy()
    np.int32(2)
    """

    def __init__(self, of: RaggedTensor, out_type: Any = None) -> None:
        wanted = dtypes.int32 if out_type is None else out_type
        self._dtype = partitions.index_dtype(wanted, "shape: out_type")
        levels = of.levels()
        # None where rows differ, whose lengths are those in the list beside.
        self._sizes: list[int | None] = [of.rows]
        self._lengths: list[Tensor | None] = [None]
        for level in levels:
            same = level.uniform_row_length
            self._sizes.append(None if same is None else int(same))
            self._lengths.append(level.row_lengths() if same is None else None)
        inner = [int(size) for size in of.flat_values.array.shape[1:]]
        self._sizes += inner
        self._lengths += [None] * len(inner)
        self._partitions = len(levels)

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._sizes)

    @property
    def num_row_partitions(self) -> int:
        """How many axes are partitioned: the ragged rank."""
        return self._partitions

    def is_uniform(self, axis: int) -> bool:
        """Whether all rows in an axis are known to be as long."""
        return self._sizes[self._place(axis)] is not None

    def static_lengths(self) -> list[Any]:
        """The size of each axis, or the lengths of its rows; None for what is not known while a
        function is traced.
        """
        return [
            size if lengths is None else _known(lengths)
            for size, lengths in zip(self._sizes, self._lengths, strict=True)
        ]

    def __getitem__(self, key: Any) -> Tensor:
        """The size of an axis, or of some, as a tensor."""
        if isinstance(key, slice):
            return self._number([self._size(axis) for axis in range(self.rank)[key]])
        return self._number(self._size(self._place(key)))

    def _place(self, axis: Any) -> int:
        number = as_int(axis, "shape: axis")
        if not -self.rank <= number < self.rank:
            raise IndexError(f"shape: there is no axis {number}: there are {self.rank}.")
        return number % self.rank

    def _size(self, axis: int) -> int:
        size = self._sizes[axis]
        if size is None:
            raise ValueError(f"shape: the rows of axis {axis} differ in length: {_INSTEAD}")
        return size

    def _number(self, sizes: Any) -> Tensor:
        return as_tensor(np.array(sizes, self._dtype.numpy))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(f"The shape of a RaggedTensor cannot be used as a tensor: {_INSTEAD}")

    def __repr__(self) -> str:
        lengths = ", ".join("?" if found is None else str(found) for found in self.static_lengths())
        return f"<DynamicRaggedShape lengths=[{lengths}] num_row_partitions={self._partitions}>"


def _known(lengths: Tensor) -> tuple[int, ...] | None:
    values = partitions.known_values(lengths)
    return None if values is None else tuple(values.tolist())


def shape(input: RaggedTensor, out_type: Any = None, name: str | None = None) -> DynamicRaggedShape:
    """`tf.shape` of a RaggedTensor."""
    return DynamicRaggedShape(input, out_type)
