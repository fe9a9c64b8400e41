"""How `parse_example` and its kin are told what a feature becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gradtape import dtypes
from gradtape.published import published


@published("io.FixedLenFeature")
class FixedLenFeature(NamedTuple):
    """A feature with as many values as `shape` has elements: a tensor.

    >>> import gradtape as tf
    >>> tf.io.FixedLenFeature([], tf.int64, default_value=0)
    FixedLenFeature(shape=[], dtype=tf.int64, default_value=0)
    """

    shape: Any
    dtype: Any
    default_value: Any = None


@published("io.VarLenFeature")
class VarLenFeature(NamedTuple):
    """A feature with any number of values: a SparseTensor.

    >>> import gradtape as tf
    >>> tf.io.VarLenFeature(tf.string)
    VarLenFeature(dtype=tf.string)
    """

    dtype: Any


@published("io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of entries of a `shape`: a tensor, in which shorter ones are padded
    with `default_value`.

    >>> import gradtape as tf
    >>> tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True).allow_missing
    True
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


@published("io.SparseFeature")
class SparseFeature(NamedTuple):
    """Two or more features that are one SparseTensor: `index_key` names those with the coordinates,
    `value_key` that with the values.

    >>> import gradtape as tf
    >>> tf.io.SparseFeature("index", "value", tf.float32, size=10).size
    10
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class _RowSplits(NamedTuple):
    key: str


class _RowLengths(NamedTuple):
    key: str


class _RowStarts(NamedTuple):
    key: str


class _RowLimits(NamedTuple):
    key: str


class _ValueRowIds(NamedTuple):
    key: str


class _UniformRowLength(NamedTuple):
    length: int


class _RaggedFeature(NamedTuple):
    dtype: Any
    value_key: str | None = None
    partitions: Sequence[Any] = ()
    row_splits_dtype: Any = dtypes.int32
    validate: bool = False


@published("io.RaggedFeature")
class RaggedFeature(_RaggedFeature):
    """A feature with any number of values: a RaggedTensor; of a single example, and without
    `partitions`, a tensor. `partitions` name features that divide the values into rows.

    >>> import gradtape as tf
    >>> tf.io.RaggedFeature(tf.int64).partitions
    ()
    """

    RowSplits = _RowSplits
    RowLengths = _RowLengths
    RowStarts = _RowStarts
    RowLimits = _RowLimits
    ValueRowIds = _ValueRowIds
    UniformRowLength = _UniformRowLength
