"""`tf.io.parse_example` and its kin: serialized examples become tensors.

An example of a batch, or a single one, is a row. Each kind of feature has a function that makes a
batch's tensor of the values that the rows have; a single example is a batch of one, whose first
axis is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes, errors
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.convert import on_host, to_array
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.io.byte_strings import strings
from gradtape.io.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from gradtape.io.messages import decode_error, message_class
from gradtape.io.ragged_features import ragged
from gradtape.published import published
from gradtape.shapes import TensorShape

_LISTS = {dtypes.string: "bytes_list", dtypes.float32: "float_list", dtypes.int64: "int64_list"}
_INT64 = np.dtype(np.int64)
_FEW = 32


@published("io.parse_example")
def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Tensors of serialized `tf.train.Example`s, by name, as `features` says for each; a feature of
    no fixed length is a SparseTensor or a RaggedTensor.

    >>> import gradtape as tf
    >>> def example(*values):
    ...     x = tf.train.Feature(float_list=tf.train.FloatList(value=values))
    ...     features = tf.train.Features(feature={"x": x})
    ...     return tf.train.Example(features=features).SerializeToString()
    >>> features = {"x": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)}
    >>> tf.io.parse_example([example(1.0, 2.0), example(3.0)], features)["x"].numpy()
    array([[1., 2.],
           [3., 0.]], dtype=float32)
    """
    if not features:
        raise ValueError(f"parse_example: features must name at least one, got {features!r}.")
    rows = _rows(serialized, example_names, "parse_example", "Example")
    return _examples(rows, features, [message.features for message in rows.messages])


@published("io.parse_single_example")
def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """The same for one serialized `tf.train.Example`.

    >>> import gradtape as tf
    >>> label = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"label": label}))
    >>> features = {"label": tf.io.FixedLenFeature([], tf.int64)}
    >>> tf.io.parse_single_example(example.SerializeToString(), features)["label"].numpy()
    np.int64(3)
    """
    if not features:
        raise ValueError(
            f"parse_single_example: features must name at least one, got {features!r}."
        )
    rows = _rows(serialized, example_names, "parse_single_example", "Example", single=True)
    return _examples(rows, features, [message.features for message in rows.messages])


@published("io.parse_sequence_example")
def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """Tensors of serialized `tf.train.SequenceExample`s: those of the context, those of the lists,
    and how long the padded ones of the lists were.

    >>> import gradtape as tf
    >>> def example(*values):
    ...     steps = [
    ...         tf.train.Feature(float_list=tf.train.FloatList(value=[value])) for value in values
    ...     ]
    ...     lists = tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=steps)})
    ...     return tf.train.SequenceExample(feature_lists=lists).SerializeToString()
    >>> _, lists, lengths = tf.io.parse_sequence_example(
    ...     [example(1.0, 2.0), example(3.0)],
    ...     sequence_features={"x": tf.io.FixedLenSequenceFeature([], tf.float32)},
    ... )
    >>> lists["x"].numpy().tolist(), lengths["x"].numpy().tolist()
    ([[1.0, 2.0], [3.0, 0.0]], [2, 1])
    """
    rows = _rows(serialized, example_names, "parse_sequence_example", "SequenceExample")
    return _sequence_examples(rows, context_features, sequence_features)


@published("io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors of one serialized `tf.train.SequenceExample`: those of the context, and those of the
    lists.

    >>> import gradtape as tf
    >>> step = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    >>> lists = tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=[step] * 3)})
    >>> _, found = tf.io.parse_single_sequence_example(
    ...     tf.train.SequenceExample(feature_lists=lists).SerializeToString(),
    ...     sequence_features={"x": tf.io.FixedLenSequenceFeature([2], tf.int64)},
    ... )
    >>> found["x"].shape
    TensorShape([3, 2])
    """
    rows = _rows(
        serialized, example_name, "parse_single_sequence_example", "SequenceExample", single=True
    )
    return _sequence_examples(rows, context_features, sequence_features)[:2]


# Rows


class _Rows(NamedTuple):
    """Messages, and what an error needs to name one."""

    function: str
    messages: list[Any]
    names: list[bytes] | None
    is_batch: bool

    def error(self, row: int, message: str) -> errors.InvalidArgumentError:
        """The error for one example."""
        which = f" {row}" if self.is_batch else ""
        called = f" ({self.names[row].decode(errors='replace')})" if self.names else ""
        return errors.invalid_argument(f"{self.function}: in example{which}{called} {message}")


def _rows(
    serialized: Any, names: Any, function: str, message: str, *, single: bool = False
) -> _Rows:
    given = strings(serialized, f"{function}: serialized")
    if single and given.ndim:
        raise ValueError(
            f"{function}: serialized must be a scalar, got shape {given.shape}: use "
            f"{function.replace('_single', '')} for a batch."
        )
    if given.ndim > 1:
        raise errors.invalid_argument(
            f"{function}: serialized must be a scalar or a vector, got shape {given.shape}."
        )
    named = None if names is None else strings(names, f"{function}: example_names").reshape(-1)
    if named is not None and len(named) not in {0, given.size}:
        raise errors.invalid_argument(
            f"{function}: there are {len(named)} example_names for {given.size} examples."
        )
    called = named.tolist() if named is not None and len(named) else None
    rows = _Rows(function, [], called, is_batch=given.ndim == 1)
    parse, wrong = message_class(message).FromString, decode_error()
    for row, data in enumerate(given.reshape(-1).tolist()):
        try:
            rows.messages.append(parse(data))
        except wrong as error:
            raise rows.error(
                row, f"the {len(data)} bytes are no serialized tf.train.{message}."
            ) from error
    return rows


# Columns


class _Spec(NamedTuple):
    """A feature that is asked for, its arguments checked."""

    key: str
    dtype: dtypes.DType
    shape: tuple[int, ...] = ()
    default: Any = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def _examples(rows: _Rows, features: Mapping[str, Any], found: Sequence[Any]) -> dict[str, Any]:
    """The tensors of features, of which each row has some."""
    maps = [features.feature for features in found]
    results = {}
    for key, feature in features.items():
        match feature:
            case FixedLenFeature():
                spec = _fixed(key, feature)
                result: Any = _dense(rows, spec, _column(rows, maps, key, spec.dtype))
            case FixedLenSequenceFeature():
                if not feature.allow_missing:
                    raise ValueError(
                        f"{rows.function}: the FixedLenSequenceFeature '{key}' must have "
                        "allow_missing=True."
                    )
                spec = _sequence(key, feature)
                result = _padded(rows, spec, _column(rows, maps, key, spec.dtype))
            case VarLenFeature():
                dtype = _dtype(key, feature.dtype)
                result = _sparse(rows, dtype, _column(rows, maps, key, dtype))
            case SparseFeature():
                result = _by_index(rows, maps, key, feature)
            case RaggedFeature():
                column = partial(_column, rows, maps)
                dtype = _dtype(key, feature.dtype)
                result = ragged(key, feature, dtype, column, rows.error, batch=rows.is_batch)
            case _:
                raise ValueError(
                    f"{rows.function}: '{key}' must be a FixedLenFeature, a VarLenFeature or "
                    f"another such class of tf.io, got {feature!r}."
                )
        results[key] = result
    return results


def _dtype(key: str, dtype: Any) -> dtypes.DType:
    if dtype is None:
        raise ValueError(f"The feature '{key}' has no dtype.")
    found = dtypes.as_dtype(dtype)
    if found not in _LISTS:
        raise errors.invalid_argument(
            f"The feature '{key}' has dtype {found.name}, but an Example holds only float32, int64 "
            "and string: parse it as one of them, and cast it."
        )
    return found


def _fixed(key: str, feature: FixedLenFeature) -> _Spec:
    sizes = TensorShape(feature.shape).as_list()
    if sizes and sizes[0] is None:
        raise ValueError(
            f"The first size of the feature '{key}' is unknown: use a FixedLenSequenceFeature."
        )
    spec = _Spec(key, _dtype(key, feature.dtype), _known(key, sizes))
    if feature.default_value is None:
        return spec
    default = _default(spec, feature.default_value)
    if default.size != spec.size:
        raise errors.invalid_argument(
            f"The default_value of the feature '{key}' has {default.size} values, but its shape "
            f"{list(spec.shape)} has {spec.size}."
        )
    return spec._replace(default=default.reshape(-1))


def _sequence(key: str, feature: FixedLenSequenceFeature) -> _Spec:
    sizes = TensorShape(feature.shape).as_list()
    spec = _Spec(key, _dtype(key, feature.dtype), _known(key, sizes))
    nothing = b"" if spec.dtype is dtypes.string else 0
    default = _default(spec, nothing if feature.default_value is None else feature.default_value)
    if default.size != 1:
        raise errors.invalid_argument(
            f"The default_value of the FixedLenSequenceFeature '{key}' must be a scalar, got shape "
            f"{default.shape}."
        )
    return spec._replace(default=default.reshape(()))


def _default(spec: _Spec, value: Any) -> Any:
    return np.asarray(
        on_host(to_array(value, spec.dtype.numpy, argument=f"default_value of '{spec.key}'"))
    )


def _known(key: str, sizes: Sequence[int | None]) -> tuple[int, ...]:
    known = tuple(size for size in sizes if size is not None)
    if len(known) < len(sizes):
        raise ValueError(f"All sizes of the feature '{key}' must be known, got {list(sizes)}.")
    return known


def _column(rows: _Rows, maps: Sequence[Any], key: str, dtype: dtypes.DType) -> list[Any]:
    """The values that each row has of a feature, as an array; None where it has none."""
    wanted, numpy_dtype, found = _LISTS[dtype], dtype.numpy, []
    for row, features in enumerate(maps):
        feature = features[key] if key in features else None  # noqa: SIM401 - a map has no get
        found.append(_values(rows, row, key, feature, wanted, numpy_dtype))
    return found


def _values(rows: _Rows, row: int, key: str, feature: Any, wanted: str, dtype: Any) -> Any:
    """The values of one Feature; None if it has no kind."""
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != wanted:
        names = {kind: dtype.name for dtype, kind in _LISTS.items()}
        raise rows.error(row, f"the feature '{key}' holds {names[kind]}, not {names[wanted]}.")
    values = getattr(feature, kind).value
    # protobuf lends its memory, which takes longer to ask for than few values take to copy.
    return (
        np.array(values, dtype) if len(values) > _FEW else np.fromiter(values, dtype, len(values))
    )


# Kinds of features


def _dense(rows: _Rows, spec: _Spec, column: list[Any]) -> Tensor:
    for row, values in enumerate(column):
        if values is None:
            if spec.default is None:
                raise rows.error(
                    row, f"there is no feature '{spec.key}' ({spec.dtype.name}), and no default."
                )
            column[row] = spec.default
        elif values.size != spec.size:
            raise rows.error(
                row,
                f"the feature '{spec.key}' has {values.size} values, but its shape "
                f"{list(spec.shape)} has {spec.size}.",
            )
    return _tensor(rows, _joined(column, spec.dtype).reshape(len(column), *spec.shape))


def _padded(rows: _Rows, spec: _Spec, column: list[Any]) -> Tensor:
    """Entries of one shape, as many as the row with the most has."""
    lengths = []
    for row, values in enumerate(column):
        size = 0 if values is None else values.size
        if size % spec.size if spec.size else size:
            raise rows.error(
                row,
                f"the feature '{spec.key}' has {size} values, which are no whole number of entries "
                f"of shape {list(spec.shape)}.",
            )
        lengths.append(size // spec.size if spec.size else 0)
    result = np.full(
        (len(column), max(lengths, default=0), *spec.shape), spec.default, spec.dtype.numpy
    )
    for row, values in enumerate(column):
        if lengths[row]:
            result[row, : lengths[row]] = values.reshape(lengths[row], *spec.shape)
    return _tensor(rows, result)


def _sparse(rows: _Rows, dtype: dtypes.DType, column: list[Any]) -> SparseTensor:
    lengths = _lengths(column)
    indices = np.stack([np.repeat(np.arange(len(column)), lengths), _counted(lengths)], axis=1)
    shape = [len(column), max(lengths, default=0)]
    return _sparse_tensor(rows, indices, _joined(column, dtype), shape)


def _by_index(rows: _Rows, maps: Sequence[Any], key: str, feature: SparseFeature) -> SparseTensor:
    keys = [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)
    sizes = [feature.size] if np.ndim(feature.size) == 0 else list(feature.size)
    if len(keys) != len(sizes):
        raise ValueError(
            f"{rows.function}: the SparseFeature '{key}' has {len(keys)} names in index_key, but "
            f"{len(sizes)} numbers in size."
        )
    dtype = _dtype(key, feature.dtype)
    values = _column(rows, maps, feature.value_key, dtype)
    lengths = _lengths(values)
    parts = [np.repeat(np.arange(len(values)), lengths)]
    for name, size in zip(keys, sizes, strict=True):
        column = _column(rows, maps, name, dtypes.int64)
        for row, (indices, length) in enumerate(zip(column, lengths, strict=True)):
            if (0 if indices is None else indices.size) != length:
                raise rows.error(
                    row,
                    f"'{name}' has {0 if indices is None else indices.size} indices for {length} "
                    f"values of '{feature.value_key}'.",
                )
            outside = indices[(indices < 0) | (indices >= size)] if length else np.empty(0)
            if outside.size:
                raise rows.error(
                    row, f"'{name}' has the index {outside[0]}, which is outside of size {size}."
                )
        parts.append(_joined(column, dtypes.int64))
    indices, joined = np.stack(parts, axis=1), _joined(values, dtype)
    if not feature.already_sorted:
        order = np.lexsort(indices.T[::-1])
        indices, joined = indices[order], joined[order]
    return _sparse_tensor(rows, indices, joined, [len(values), *sizes])


# Lists of features


def _sequence_examples(
    rows: _Rows, context: Mapping[str, Any] | None, sequences: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    if not (context or sequences):
        raise ValueError(f"{rows.function}: give context_features or sequence_features, or both.")
    for key, feature in (context or {}).items():
        if isinstance(feature, (FixedLenSequenceFeature, SparseFeature)):
            raise ValueError(
                f"{rows.function}: the feature '{key}' of the context must be a FixedLenFeature or "
                f"a VarLenFeature, got {feature!r}."
            )
    found = _examples(rows, context or {}, [message.context for message in rows.messages])
    maps = [message.feature_lists.feature_list for message in rows.messages]
    lists: dict[str, Any] = {}
    lengths: dict[str, Tensor] = {}
    for key, feature in (sequences or {}).items():
        match feature:
            case FixedLenSequenceFeature():
                lists[key], lengths[key] = _padded_lists(rows, maps, key, feature)
            case VarLenFeature():
                lists[key] = _sparse_lists(rows, maps, key, feature)
            case RaggedFeature():
                raise NotImplementedError(
                    f"{rows.function}: the feature list '{key}' cannot be a RaggedFeature: use a "
                    "VarLenFeature, and tf.RaggedTensor.from_sparse on what it gives."
                )
            case _:
                raise ValueError(
                    f"{rows.function}: the feature list '{key}' must be a FixedLenSequenceFeature "
                    f"or a VarLenFeature, got {feature!r}."
                )
    return found, lists, lengths


def _steps(rows: _Rows, maps: Sequence[Any], key: str, dtype: dtypes.DType) -> list[Any]:
    """By row, the values of each entry of a list of features; None for a row without the list."""
    wanted, found = _LISTS[dtype], []
    for row, lists in enumerate(maps):
        steps = None
        if key in lists:
            steps = [
                _values(rows, row, f"{key}[{step}]", feature, wanted, dtype.numpy)
                for step, feature in enumerate(lists[key].feature)
            ]
        found.append(steps)
    return found


def _padded_lists(
    rows: _Rows, maps: Sequence[Any], key: str, feature: FixedLenSequenceFeature
) -> tuple[Tensor, Tensor]:
    if feature.default_value is not None:
        raise ValueError(
            f"{rows.function}: the feature list '{key}' takes no default_value: its end is padded "
            "with zeros or empty strings."
        )
    spec = _sequence(key, feature)
    column = _steps(rows, maps, key, spec.dtype)
    for row, steps in enumerate(column):
        if steps is None and not feature.allow_missing:
            raise rows.error(
                row, f"there is no feature list '{key}': give allow_missing=True if it may be so."
            )
        for step, values in enumerate(steps or ()):
            size = 0 if values is None else values.size
            if size != spec.size:
                raise rows.error(
                    row,
                    f"'{key}[{step}]' has {size} values, but its shape {list(spec.shape)} has "
                    f"{spec.size}.",
                )
    flat = [_joined(steps or [], spec.dtype) for steps in column]
    lengths = np.array([len(steps or ()) for steps in column], np.int64)
    if not spec.size:  # entries without values still count
        shape = (len(column), int(lengths.max(initial=0)), *spec.shape)
        return _tensor(rows, np.empty(shape, spec.dtype.numpy)), _tensor(rows, lengths)
    return _padded(rows, spec, flat), _tensor(rows, lengths)


def _sparse_lists(
    rows: _Rows, maps: Sequence[Any], key: str, feature: VarLenFeature
) -> SparseTensor:
    dtype = _dtype(key, feature.dtype)
    column = [steps or [] for steps in _steps(rows, maps, key, dtype)]
    counts = [len(steps) for steps in column]
    entries = [values for steps in column for values in steps]
    lengths = _lengths(entries)
    place = [np.repeat(np.arange(len(column)), counts), _counted(counts)]
    indices = np.stack([*(np.repeat(part, lengths) for part in place), _counted(lengths)], axis=1)
    shape = [len(column), max(counts, default=0), max(lengths, default=0)]
    return _sparse_tensor(rows, indices, _joined(entries, dtype), shape)


# Arrays


def _joined(column: Sequence[Any], dtype: dtypes.DType) -> Any:
    """All values of a column in one array."""
    found = [values for values in column if values is not None]
    return np.concatenate(found) if found else np.empty(0, dtype.numpy)


def _lengths(column: Sequence[Any]) -> list[int]:
    return [0 if values is None else values.size for values in column]


def _counted(lengths: Sequence[int]) -> Any:
    """0, 1, 2 ... for each length, one after the other."""
    ranges: list[Any] = [np.arange(length) for length in lengths]
    return np.concatenate(ranges) if ranges else np.empty(0, np.int64)


def _tensor(rows: _Rows, array: Any) -> Tensor:
    return Tensor(array if rows.is_batch else array.reshape(array.shape[1:]))


def _sparse_tensor(rows: _Rows, indices: Any, values: Any, shape: list[int]) -> SparseTensor:
    if not rows.is_batch:
        indices, shape = indices[:, 1:], shape[1:]
    parts = np.ascontiguousarray(indices, _INT64), values, np.array(shape, np.int64)
    return SparseTensor(*(Tensor(part) for part in parts))
