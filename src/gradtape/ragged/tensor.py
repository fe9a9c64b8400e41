"""`RaggedTensor`: rows of different lengths, held as the values of all rows and where each row
begins.

A tape follows its `flat_values`. Its other functions are in the modules beside this one, which are
imported when they are first used.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, known
from gradtape.api.tensorflow.creation import cast
from gradtape.api.tensorflow.joining import concat
from gradtape.api.tensorflow.reductions import reduce_max
from gradtape.convert import as_tensor
from gradtape.core.late import imported_when_called
from gradtape.core.reference import Reference
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.ragged import partitions
from gradtape.ragged.operators import RaggedOperators
from gradtape.shapes import TensorShape


@published("RaggedTensor")
class RaggedTensor(RaggedOperators):
    """A tensor with rows of different lengths: row i is
    `values[row_splits[i]:row_splits[i + 1]]`.

    Made by `tf.ragged.constant`, `tf.strings.split` and the methods whose names begin with `from_`.

    >>> import gradtape as tf
    >>> x = tf.RaggedTensor.from_row_splits([3.0, 1.0, 4.0, 1.0], row_splits=[0, 3, 3, 4])
    >>> x
    <tf.RaggedTensor [[3.0, 1.0, 4.0], [], [1.0]]>
    >>> tf.reduce_sum(x, axis=1).numpy()
    array([8., 0., 1.], dtype=float32)
    """

    __array_priority__ = 100
    __array_ufunc__ = None  # so that `ndarray + ragged` asks the RaggedTensor

    def __init__(
        self, values: Any, row_splits: Tensor, uniform_row_length: int | None = None
    ) -> None:
        self._values = values
        self._row_splits = row_splits
        self._uniform_row_length = uniform_row_length

    # Made of values and a partition

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin and end at `row_splits`.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 1, 3]).to_list()
        [[1], [], [2, 3]]
        """
        rows = _values(values, "from_row_splits")
        splits = partitions.partition(row_splits, "from_row_splits: row_splits")
        if validate or not splits.shape[0]:
            partitions.check_splits(splits, _count(rows), "from_row_splits")
        return _made(rows, splits)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows of these lengths.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [1, 0, 2]).to_list()
        [[1], [], [2, 3]]
        """
        rows = _values(values, "from_row_lengths")
        lengths = partitions.partition(row_lengths, "from_row_lengths: row_lengths")
        splits = partitions.splits_of_lengths(lengths)
        if validate:
            partitions.check_lengths(lengths, "from_row_lengths")
            partitions.check_splits(splits, _count(rows), "from_row_lengths")
        return _made(rows, splits)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that end at `row_limits`.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_row_limits([1, 2, 3], [1, 1, 3]).to_list()
        [[1], [], [2, 3]]
        """
        limits = partitions.partition(row_limits, "from_row_limits: row_limits")
        splits = concat([np.zeros(1, limits.array.dtype), limits], 0)
        rows = _values(values, "from_row_limits")
        if validate:
            partitions.check_splits(splits, _count(rows), "from_row_limits")
        return _made(rows, splits)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin at `row_starts`.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 1, 1]).to_list()
        [[1], [], [2, 3]]
        """
        rows = _values(values, "from_row_starts")
        starts = partitions.partition(row_starts, "from_row_starts: row_starts")
        splits = concat([starts, np.array([_count(rows)], starts.array.dtype)], 0)
        if validate:
            partitions.check_splits(splits, _count(rows), "from_row_starts")
        return _made(rows, splits)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows whose numbers, in rising order, stand beside the values.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 2, 2], nrows=4).to_list()
        [[1], [], [2, 3], []]
        """
        rows = _values(values, "from_value_rowids")
        rowids = partitions.partition(value_rowids, "from_value_rowids: value_rowids")
        found = partitions.known_values(rowids)
        if nrows is None:
            ids = known(rowids, "from_value_rowids: value_rowids", "give nrows")
            count = int(ids[-1]) + 1 if ids.size else 0
        else:
            count = as_int(nrows, "from_value_rowids: nrows")
            if count < 0:
                raise ValueError(f"from_value_rowids: nrows must not be negative, got {count}.")
        if validate:
            if rowids.shape[0] != _count(rows):
                raise invalid_argument(
                    f"from_value_rowids: there are {_count(rows)} values, but value_rowids has "
                    f"{rowids.shape[0]} entries."
                )
            falls = found is not None and (found[1:] < found[:-1]).any()
            if falls or (found is not None and ((found < 0) | (found >= count)).any()):
                raise invalid_argument(
                    "from_value_rowids: value_rowids must not fall and lie between 0 and "
                    f"nrows - 1 = {count - 1}, got {found}."
                )
        return _made(rows, partitions.splits_of_rowids(rowids, count))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """Rows that all have one length.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2).shape
        TensorShape([2, 2])
        """
        rows = _values(values, "from_uniform_row_length")
        length = as_int(uniform_row_length, "from_uniform_row_length: uniform_row_length")
        if length < 0:
            raise invalid_argument(
                f"from_uniform_row_length: uniform_row_length must not be negative, got {length}."
            )
        count = _count(rows)
        if nrows is None:
            nrows = count // length if length else 0
        nrows = as_int(nrows, "from_uniform_row_length: nrows")
        if nrows * length != count:
            raise invalid_argument(
                f"from_uniform_row_length: {count} values do not fill {nrows} rows of length "
                f"{length}."
            )
        ragged = isinstance(rows, RaggedTensor)
        dtype = rows.row_splits.array.dtype if ragged else np.dtype(np.int64)
        splits = Tensor(np.arange(nrows + 1, dtype=dtype) * dtype.type(length))
        return RaggedTensor(rows, splits, length)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows: the outermost splits first.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 1, 3]]).to_list()
        [[[1]], [[2, 3]]]
        """
        return _nested(
            cls.from_row_splits, flat_values, nested_row_splits, "nested_row_splits", validate
        )

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows: the outermost lengths first.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[1, 1], [1, 2]]).to_list()
        [[[1]], [[2, 3]]]
        """
        return _nested(
            cls.from_row_lengths, flat_values, nested_row_lengths, "nested_row_lengths", validate
        )

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows: the outermost numbers of rows first.

        >>> import gradtape as tf
        >>> tf.RaggedTensor.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 1, 1]]).to_list()
        [[[1]], [[2, 3]]]
        """
        _check_list(nested_value_rowids, "from_nested_value_rowids: nested_value_rowids")
        counts = [None] * len(nested_value_rowids) if nested_nrows is None else list(nested_nrows)
        if len(counts) != len(nested_value_rowids):
            raise ValueError(
                f"from_nested_value_rowids: nested_nrows has {len(counts)} entries, but "
                f"nested_value_rowids has {len(nested_value_rowids)}."
            )
        found = flat_values
        for rowids, nrows in zip(reversed(nested_value_rowids), reversed(counts), strict=True):
            found = cls.from_value_rowids(found, rowids, nrows, validate=validate)
        return found

    from_tensor = staticmethod(imported_when_called("gradtape.ragged.conversion", "from_tensor"))
    from_sparse = staticmethod(imported_when_called("gradtape.ragged.conversion", "from_sparse"))

    # Its parts

    @property
    def values(self) -> Any:
        """The rows one after another: a Tensor, or a RaggedTensor if these are ragged, too."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, a Tensor."""
        found = self._values
        while isinstance(found, RaggedTensor):
            found = found._values
        return found

    @property
    def row_splits(self) -> Tensor:
        """Where the rows begin, and at the end the number of values."""
        return self._row_splits

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The `row_splits` of all ragged axes, the outermost first."""
        return tuple(level._row_splits for level in self.levels())

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of the rows if they were made with one length, else None."""
        length = self._uniform_row_length
        return None if length is None else Tensor(self._row_splits.array.dtype.type(length))

    @property
    def ragged_rank(self) -> int:
        """How many axes are partitioned."""
        return len(self.levels())

    @property
    def dtype(self) -> dtypes.DType:
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape; None for the lengths of rows that differ."""
        inner = self._values.shape.as_list()[1:]
        return TensorShape([self.rows, self._uniform_row_length, *inner])

    @property
    def rows(self) -> int:
        """The number of rows as a Python integer."""
        return int(self._row_splits.array.shape[0]) - 1

    def get_shape(self) -> TensorShape:
        return self.shape

    def levels(self) -> list[RaggedTensor]:
        """This RaggedTensor, its values if they are ragged, theirs, and so on."""
        found: list[RaggedTensor] = []
        level: Any = self
        while isinstance(level, RaggedTensor):
            found.append(level)
            level = level._values
        return found

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """The number of rows.

        >>> import gradtape as tf
        >>> tf.ragged.constant([[1], [2, 3]]).nrows().numpy()
        np.int64(2)
        """
        return Tensor(self._index_type(out_type).type(self.rows))

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows, or of the rows in `axis`.

        >>> import gradtape as tf
        >>> tf.ragged.constant([[1], [2, 3]]).row_lengths().numpy()
        array([1, 2])
        """
        place = _axis(axis, self.shape.rank, "row_lengths: axis")
        if place == 0:
            return self.nrows()
        if place == 1:
            return partitions.lengths_of_splits(self._row_splits)
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(place - 1))
        sizes = self._values.array.shape
        each = np.full(sizes[: place - 1], sizes[place - 1], self._row_splits.array.dtype)
        return self.with_values(each)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The lengths of the rows of all ragged axes, the outermost first."""
        return tuple(level.row_lengths() for level in self.levels())

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins."""
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends."""
        return self._row_splits[1:]

    def value_rowids(self, name: str | None = None) -> Tensor:
        """For each of `values`, the number of its row.

        >>> import gradtape as tf
        >>> tf.ragged.constant([[1], [], [2, 3]]).value_rowids().numpy()
        array([0, 2, 2])
        """
        return partitions.rowids_of_splits(self._row_splits, _count(self._values))

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """`value_rowids` of all ragged axes, the outermost first."""
        return tuple(level.value_rowids() for level in self.levels())

    def bounding_shape(
        self, axis: int | None = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """The shape of the smallest tensor that holds all rows, or its size along `axis`.

        >>> import gradtape as tf
        >>> tf.ragged.constant([[1], [2, 3]]).bounding_shape().numpy()
        array([2, 2])
        """
        dtype = self._index_type(out_type)
        sizes: list[Any] = [self.rows]
        level: Any = self
        while isinstance(level, RaggedTensor):
            sizes.append(reduce_max(level.row_lengths()) if level.rows else 0)
            level = level._values
        sizes += level.array.shape[1:]
        found = cast(as_tensor(sizes), dtype)
        return found if axis is None else found[_axis(axis, len(sizes), "bounding_shape: axis")]

    def _index_type(self, out_type: Any) -> Any:
        return (
            self._row_splits.array.dtype
            if out_type is None
            else partitions.index_dtype(out_type, "out_type").numpy
        )

    # Another one like it

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows with other values.

        >>> import gradtape as tf
        >>> tf.ragged.constant([[1], [2, 3]]).with_values(["a", "b", "c"]).to_list()
        [[b'a'], [b'b', b'c']]
        """
        values = _values(new_values, "with_values")
        if _count(values) != _count(self._values):
            raise invalid_argument(
                f"with_values: {_count(self._values)} values are needed, got {_count(values)}."
            )
        return _made(values, self._row_splits, self._uniform_row_length)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows on all levels with other innermost values."""
        inner = self._values
        return self.with_values(
            inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values
        )

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same rows with `row_splits` of int32 or int64."""
        wanted = partitions.index_dtype(dtype, "with_row_splits_dtype: dtype")
        inner = self._values
        return RaggedTensor(
            inner.with_row_splits_dtype(wanted) if isinstance(inner, RaggedTensor) else inner,
            partitions.in_dtype(self._row_splits, wanted),
            self._uniform_row_length,
        )

    merge_dims = imported_when_called("gradtape.ragged.conversion", "merge_dims")
    to_tensor = imported_when_called("gradtape.ragged.conversion", "to_tensor")
    to_sparse = imported_when_called("gradtape.ragged.conversion", "to_sparse")
    __getitem__ = imported_when_called("gradtape.ragged.indexing", "item")

    def consumers(self) -> list[Any]:
        """TensorFlow's graphs have them; there are none here."""
        return []

    # As plain values

    def to_list(self) -> list[Any]:
        """The rows as nested lists.

        >>> import gradtape as tf
        >>> tf.ragged.constant([[1], [2, 3]]).to_list()
        [[1], [2, 3]]
        """
        splits = known(self._row_splits, "to_list: row_splits", "return the RaggedTensor")
        inner = self._values
        flat = inner.to_list() if isinstance(inner, RaggedTensor) else inner.numpy().tolist()
        bounds = splits.tolist()
        return [flat[a:b] for a, b in pairwise(bounds)]

    def numpy(self) -> np.ndarray[Any, Any]:
        """The rows as an array of arrays; one array if they are all equally long.

        >>> import gradtape as tf
        >>> tf.ragged.constant([[1, 2], [3, 4]]).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
        """
        splits = known(self._row_splits, "numpy: row_splits", "return the RaggedTensor").tolist()
        inner = self._values.numpy()
        rows = [inner[a:b] for a, b in pairwise(splits)]
        if not rows:
            return inner[:0].reshape(-1)
        if len({row.shape for row in rows}) == 1 and not isinstance(self._values, RaggedTensor):
            return np.stack(rows)
        found = np.empty(len(rows), object)
        for i, row in enumerate(rows):
            found[i] = row
        return found

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.rows))

    def __len__(self) -> int:
        return self.rows

    def __bool__(self) -> bool:
        raise TypeError(
            "A RaggedTensor has no single truth value: use gradtape.reduce_any or reduce_all."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.numpy(), dtype)

    def ref(self) -> Reference:
        """A hashable reference, for sets and dict keys."""
        return Reference(self)

    def __repr__(self) -> str:
        if partitions.known_values(self._row_splits) is None:
            return f"<tf.RaggedTensor shape={self.shape} dtype={self.dtype.name}>"
        return f"<tf.RaggedTensor {_shown(self.to_list(), self.dtype)}>"

    # For ops, tapes and functions

    @property
    def array(self) -> Any:
        """What a function finds that goes on with a RaggedTensor as if it were a Tensor: it has a
        dtype, and refuses the rest.
        """
        return _ragged_operand(self).array

    def __gradtape_tensor__(self) -> Tensor:
        """What an op is given: the op works on the flat values, if it works by element."""
        return _ragged_operand(self)

    __gradtape_spec__ = imported_when_called("gradtape.ragged.spec", "spec_of")

    @property
    def _type_spec(self) -> Any:
        return self.__gradtape_spec__()

    @staticmethod
    def __gradtape_instead_of__(function: Any) -> Any:
        return _instead_of(function)

    def __gradtape_watched__(self) -> list[Any]:
        return [self.flat_values]

    def __gradtape_with_gradients__(self, gradients: Iterator[Any]) -> RaggedTensor | None:
        gradient = next(gradients)
        return None if gradient is None else self.with_flat_values(as_tensor(gradient))

    def __gradtape_flatten__(self) -> list[Any]:
        return [self.flat_values, *self.nested_row_splits]

    def __gradtape_unflatten__(self, tensors: Iterator[Any]) -> RaggedTensor:
        flat = next(tensors)
        splits = [next(tensors) for _ in self.levels()]
        found: Any = flat
        for level, split in zip(reversed(self.levels()), reversed(splits), strict=True):
            found = RaggedTensor(found, split, level._uniform_row_length)
        return found


_ragged_operand = imported_when_called("gradtape.ragged.elementwise", "operand_of")
_instead_of = imported_when_called("gradtape.ragged.elementwise", "instead_of")


def _made(values: Any, splits: Tensor, uniform_row_length: int | None = None) -> RaggedTensor:
    """With one dtype for the splits of all levels."""
    if isinstance(values, RaggedTensor) and values.row_splits.dtype != splits.dtype:
        splits = partitions.in_dtype(splits, dtypes.int64)
        values = values.with_row_splits_dtype(dtypes.int64)
    return RaggedTensor(values, splits, uniform_row_length)


def _values(values: Any, function: str) -> Any:
    """The values of rows: a RaggedTensor as it is, anything else as a tensor that has rows."""
    if isinstance(values, RaggedTensor):
        return values
    found = as_tensor(
        values.tensor() if isinstance(values, Variable) else values, argument=f"{function}: values"
    )
    if not found.ndim:
        raise ValueError(f"{function}: values must have at least one axis, got a scalar.")
    return found


def _count(values: Any) -> int:
    """How many entries the first axis has."""
    return values.rows if isinstance(values, RaggedTensor) else int(values.array.shape[0])


def _nested(make: Any, flat_values: Any, nested: Any, argument: str, validate: bool) -> Any:
    _check_list(nested, f"{make.__name__.replace('from', 'from_nested')}: {argument}")
    found = flat_values
    for each in reversed(nested):
        found = make(found, each, validate=validate)
    return found


def _check_list(nested: Any, argument: str) -> None:
    if not isinstance(nested, (list, tuple)):
        raise TypeError(f"{argument} must be a list of vectors, got {type(nested).__name__}.")


def _axis(axis: Any, rank: int | None, argument: str) -> int:
    """An axis of a RaggedTensor as a number from 0 on."""
    place = operator.index(axis)
    assert rank is not None
    if not -rank <= place < rank:
        raise ValueError(f"{argument}={place} is not an axis of a RaggedTensor of rank {rank}.")
    return place % rank


def _shown(rows: Any, dtype: Any) -> str:
    """Nested lists as they are printed: a float with the digits that its dtype has."""
    if isinstance(rows, list):
        return f"[{', '.join([_shown(row, dtype) for row in rows])}]"
    return str(dtype.numpy.type(rows)) if isinstance(rows, float) else repr(rows)
