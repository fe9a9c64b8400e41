"""`tf.ragged`: RaggedTensors of nested lists and of ranges, and functions of their flat values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.api.tensorflow.arguments import known
from gradtape.api.tensorflow.creation import constant as constant_of_tensors
from gradtape.convert import TENSORFLOW, as_tensor
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.ragged import partitions, structure
from gradtape.ragged.elementwise import lined_up
from gradtape.ragged.tensor import RaggedTensor


@published("ragged.constant")
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """A RaggedTensor of nested lists; the last `inner_shape` axes are uniform.

    >>> import gradtape as tf
    >>> tf.ragged.constant([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    >>> tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1).shape
    TensorShape([2, None, 2])
    """
    splits = partitions.index_dtype(row_splits_dtype, "ragged.constant: row_splits_dtype")
    plain = _plain(pylist)
    depth, scalars = _depth(plain), not isinstance(plain, list)
    if scalars:
        if ragged_rank:
            raise ValueError("ragged.constant: a scalar has no ragged axes: ragged_rank must be 0.")
        return constant_of_tensors(plain, dtype)
    _check_depths(plain, depth)
    inner = None if inner_shape is None else tuple(np.atleast_1d(inner_shape).tolist())
    if ragged_rank is None:
        rank = max(0, depth - 1 - len(inner)) if inner is not None else max(0, depth - 1)
        if rank and not _has_scalars(plain):
            rank = depth - 1
    else:
        rank = ragged_rank
        if rank < 0 or (rank >= depth and _has_scalars(plain)):
            raise ValueError(
                f"ragged.constant: ragged_rank must be at least 0 and less than the depth of "
                f"pylist, {depth}; got {ragged_rank}."
            )
    nested: list[np.ndarray[Any, Any]] = []
    values = plain
    for _ in range(rank):
        nested.append(np.cumsum([0, *map(len, values)]).astype(splits.numpy))
        values = [entry for row in values for entry in row]
    found: Any = _flat(values, dtype, inner, depth - 1 - rank)
    for each in reversed(nested):
        found = RaggedTensor(found, Tensor(each))
    return found


def _plain(value: Any) -> Any:
    """Nested lists of what may hold tuples and arrays."""
    if isinstance(value, RaggedTensor):
        return value.to_list()
    if isinstance(value, Tensor):
        return value.numpy().tolist()
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value] if value.ndim else value.item()
    if isinstance(value, (list, tuple, range)):
        return [_plain(entry) for entry in value]
    return value


def _depth(value: Any) -> int:
    """How many lists stand in one another, at the deepest place."""
    if not isinstance(value, list):
        return 0
    return 1 + max(map(_depth, value), default=0)


def _has_scalars(value: Any) -> bool:
    """Whether nested lists hold anything; empty ones may stand for lists of any depth."""
    return not isinstance(value, list) or any(map(_has_scalars, value))


def _check_depths(value: Any, depth: int) -> None:
    """Refuses scalars that stand at different depths."""
    if not isinstance(value, list):
        if depth:
            raise ValueError(
                f"ragged.constant: all scalar values must have the same nesting depth; {value!r} "
                "stands higher than others."
            )
        return
    for entry in value:
        _check_depths(entry, depth - 1)


def _flat(values: list[Any], dtype: Any, inner: tuple[int, ...] | None, axes: int) -> Tensor:
    """The flat values, which are uniform."""
    if not values:
        shape = (0, *(inner if inner is not None else (0,) * max(axes, 0)))
        wanted = dtypes.as_dtype(dtypes.float32 if dtype is None else dtype).numpy
        return Tensor(np.zeros(shape, wanted))
    try:
        found = constant_of_tensors(values, dtype)
    except ValueError as error:
        raise ValueError(f"ragged.constant: the inner values are not uniform: {error}") from error
    if inner is not None and found.array.shape[1:] != inner:
        raise ValueError(
            f"ragged.constant: inner_shape={inner} does not fit values of shape "
            f"{found.array.shape[1:]}."
        )
    return found


@published("ragged.range")
def range_(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> RaggedTensor:
    """Rows of numbers, row i from `starts[i]` to before `limits[i]` in steps of `deltas[i]`.

    >>> import gradtape as tf
    >>> tf.ragged.range([3, 5, 2]).to_list()
    [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1]]
    """
    splits = partitions.index_dtype(row_splits_dtype, "ragged.range: row_splits_dtype")
    if limits is None:
        starts, limits = 0, starts
    names = ["ragged.range: starts", "ragged.range: limits", "ragged.range: deltas"]
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    parts = (
        TENSORFLOW.tensors([starts, limits, deltas], names)
        if wanted is None
        else [
            as_tensor(v, wanted, argument=n)
            for v, n in zip((starts, limits, deltas), names, strict=True)
        ]
    )
    arrays = [known(part, n, "use constants") for part, n in zip(parts, names, strict=True)]
    common = np.result_type(*arrays)
    try:
        begin, end, step = np.broadcast_arrays(*arrays)
    except ValueError as error:
        raise invalid_argument(f"ragged.range: {error}") from error
    if begin.ndim > 1:
        raise invalid_argument(
            "ragged.range: starts, limits and deltas must be scalars or vectors."
        )
    begin, end, step = (np.atleast_1d(part).astype(common) for part in (begin, end, step))
    if (step == 0).any():
        raise invalid_argument("ragged.range: deltas must not be 0.")
    rows = [np.arange(a, b, s, dtype=common) for a, b, s in zip(begin, end, step, strict=True)]
    lengths = np.array([row.size for row in rows], splits.numpy)
    flat = np.concatenate(rows) if rows else np.zeros(0, common)
    return RaggedTensor(Tensor(flat), partitions.splits_of_lengths(Tensor(lengths)))


@published("ragged.stack")
def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Tensors of one rank side by side along a new axis, in rows of their own lengths.

    >>> import gradtape as tf
    >>> tf.ragged.stack([tf.constant([1, 2]), tf.constant([3])]).to_list()
    [[1, 2], [3]]
    """
    return structure.stack(values, axis)


@published("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The entries of `data` where `mask` is true, in rows as long as there are such entries.

    >>> import gradtape as tf
    >>> tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]).to_list()
    [[1], [3, 4]]
    """
    return structure.boolean_mask(data, mask)


@published("ragged.map_flat_values")
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`op` of the flat values of RaggedTensors, in the same rows.

    >>> import gradtape as tf
    >>> x = tf.ragged.constant([[1.0], [2.0, 3.0]])
    >>> tf.ragged.map_flat_values(lambda x: x * 10, x).to_list()
    [[10.0], [20.0, 30.0]]
    """
    leaves = nest.flatten((args, kwargs))
    ragged = [leaf for leaf in leaves if isinstance(leaf, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    like, _ = lined_up(ragged, "map_flat_values")
    flat_args, flat_kwargs = nest.pack_sequence_as(
        (args, kwargs),
        [leaf.flat_values if isinstance(leaf, RaggedTensor) else leaf for leaf in leaves],
    )
    found = as_tensor(op(*flat_args, **flat_kwargs), argument="map_flat_values: the result of op")
    count = like.flat_values.array.shape[0]
    if not found.ndim or found.array.shape[0] != count:
        raise ValueError(
            f"map_flat_values: op gave a tensor of shape {found.shape}, but its first axis must "
            f"have the size {count} of the flat values."
        )
    return like.with_flat_values(found)


@published("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """For each value, the number of its row.

    >>> import gradtape as tf
    >>> tf.ragged.row_splits_to_segment_ids([0, 1, 1, 3]).numpy()
    array([0, 2, 2])
    """
    bounds = partitions.partition(splits, "row_splits_to_segment_ids: splits")
    found = known(bounds, "row_splits_to_segment_ids: splits", "use constants")
    count = int(found[-1]) if found.size else 0
    partitions.check_splits(bounds, count, "row_splits_to_segment_ids")
    ids = partitions.rowids_of_splits(bounds, count)
    return (
        ids
        if out_type is None
        else partitions.in_dtype(
            ids, partitions.index_dtype(out_type, "row_splits_to_segment_ids: out_type")
        )
    )


@published("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Where the rows begin whose numbers stand in rising order.

    >>> import gradtape as tf
    >>> tf.ragged.segment_ids_to_row_splits([0, 2, 2]).numpy()
    array([0, 1, 1, 3])
    """
    found = RaggedTensor.from_value_rowids(
        segment_ids, partitions.partition(segment_ids, "segment_ids"), num_segments
    ).row_splits
    return (
        found
        if out_type is None
        else partitions.in_dtype(
            found, partitions.index_dtype(out_type, "segment_ids_to_row_splits: out_type")
        )
    )


@published("ragged.cross", "ragged.cross_hashed")
def cross(*args: Any, **kwargs: Any) -> Any:
    """Not available: raises an error.

    >>> import gradtape as tf
    >>> tf.ragged.cross([])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: gradtape has no tf.ragged.cross: join the features with ...
    """
    raise NotImplementedError(
        "gradtape has no tf.ragged.cross: join the features with tf.strings.join, or use "
        "tf.keras.layers.HashedCrossing for dense ones."
    )
