"""Functions of `tf` that change the rows of RaggedTensors: `concat`, `stack`, `expand_dims`, `tile`
and so on. They have the arguments of the functions for tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow import creation, joining, shaping
from gradtape.api.tensorflow.accepted import boolean
from gradtape.api.tensorflow.arguments import as_int, integers, known
from gradtape.api.tensorflow.buckets import bucket_of
from gradtape.api.tensorflow.counting import sequence_mask
from gradtape.api.tensorflow.elementwise import maximum, minimum
from gradtape.api.tensorflow.indexing import boolean_mask as boolean_mask_of_tensors
from gradtape.api.tensorflow.indexing import where as where_of_tensors
from gradtape.api.tensorflow.nn.dropout import dropout as dropout_of_tensors
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.dtypes import string
from gradtape.errors import invalid_argument
from gradtape.ragged import partitions
from gradtape.ragged.conversion import from_tensor
from gradtape.ragged.elementwise import coordinates, lined_up
from gradtape.ragged.tensor import RaggedTensor


def axis_of(axis: Any, rank: int, argument: str) -> int:
    place = as_int(axis, argument)
    if not -rank <= place < rank:
        raise ValueError(f"{argument}={place} is not an axis of a RaggedTensor of rank {rank}.")
    return place % rank


def rank_of(x: Any) -> int:
    rank = x.shape.rank
    assert rank is not None
    return rank


def ragged_or_tensor(value: Any, argument: str) -> Any:
    return value if isinstance(value, RaggedTensor) else as_tensor(value, argument=argument)


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """`tf.expand_dims`."""
    if not isinstance(input, RaggedTensor):
        return shaping.expand_dims(input, axis)
    place = axis_of(axis, rank_of(input) + 1, "expand_dims: axis")
    if place == 0:
        return RaggedTensor.from_uniform_row_length(input, input.rows, nrows=1)
    if place == 1:
        return RaggedTensor.from_uniform_row_length(input, 1, nrows=input.rows)
    return RaggedTensor(
        expand_dims(input.values, place - 1), input.row_splits, input._uniform_row_length
    )


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """`tf.squeeze`: of a RaggedTensor, `axis` must say which axes."""
    if axis is None:
        raise ValueError("squeeze: of a RaggedTensor, axis must be given.")
    rank = rank_of(input)
    places = sorted({axis_of(a, rank, "squeeze: axis") for a in integers(axis, "squeeze: axis")})
    for place in reversed(places):
        input = _without_axis(input, place)
    return input


def _without_axis(x: Any, place: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return shaping.squeeze(x, place)
    if place == 0:
        if x.rows != 1:
            raise invalid_argument(f"squeeze: axis 0 has size {x.rows}, not 1.")
        return x[0]
    if place == 1:
        lengths = partitions.known_values(x.row_lengths())
        if lengths is not None and (lengths != 1).any():
            raise invalid_argument("squeeze: the rows in axis 1 do not all have length 1.")
        return x.values
    return RaggedTensor(_without_axis(x.values, place - 1), x.row_splits, x._uniform_row_length)


def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """`tf.concat`."""
    if isinstance(values, RaggedTensor):
        return values
    given = [ragged_or_tensor(v, f"concat: values[{i}]") for i, v in enumerate(values)]
    rank = rank_of(given[0])
    if any(rank_of(v) != rank for v in given):
        raise ValueError(f"concat: all values must have the same rank, got {_ranks(given)}.")
    return _joined(given, axis_of(axis, rank, "concat: axis"))


def _ranks(values: Sequence[Any]) -> str:
    return ", ".join(str(rank_of(v)) for v in values)


def one_after_another(values: Sequence[Any]) -> Any:
    """`concat` along the first axis, of RaggedTensors or tensors of one rank."""
    return _joined(values, 0)


def _joined(values: Sequence[Any], place: int) -> Any:
    if len(values) == 1:
        return values[0]
    if not any(isinstance(v, RaggedTensor) for v in values):
        return joining.concat(list(values), place)
    depth = max(v.ragged_rank for v in values if isinstance(v, RaggedTensor))
    rows = _alike([with_ragged_rank(v, depth) for v in values])
    if place == 0:
        return _one_after_another(rows)
    if any(row.rows != rows[0].rows for row in rows):
        raise invalid_argument(
            "concat: all values must have the same number of rows, got "
            f"{', '.join(str(row.rows) for row in rows)}."
        )
    if place == 1:
        return _side_by_side(rows)
    first = rows[0]
    if not all(partitions.same_values(first.row_splits, row.row_splits) for row in rows):
        raise invalid_argument(f"concat: with axis={place}, the outer rows must be the same.")
    inner = _joined([row.values for row in rows], place - 1)
    return RaggedTensor(inner, first.row_splits, first._uniform_row_length)


def with_ragged_rank(x: Any, depth: int) -> Any:
    """`x` with its first `depth` axes behind the rows partitioned."""
    if not depth:
        return x
    if not isinstance(x, RaggedTensor):
        return from_tensor(x, ragged_rank=min(depth, x.ndim - 1)) if x.ndim > 1 else x
    inner = with_ragged_rank(x.values, depth - 1) if depth > 1 else x.values
    return RaggedTensor(inner, x.row_splits, x._uniform_row_length)


def _alike(rows: Sequence[RaggedTensor]) -> list[RaggedTensor]:
    """With one dtype of splits."""
    if len({row.row_splits.dtype for row in rows}) == 1:
        return list(rows)
    return [row.with_row_splits_dtype(dtypes.int64) for row in rows]


def _one_after_another(rows: Sequence[RaggedTensor]) -> RaggedTensor:
    parts, offset = [rows[0].row_splits], rows[0].row_splits[-1]
    for row in rows[1:]:
        parts.append(row.row_splits[1:] + offset)
        offset = offset + row.row_splits[-1]
    lengths = {row._uniform_row_length for row in rows}
    values = _joined([row.values for row in rows], 0)
    return RaggedTensor(
        values, joining.concat(parts, 0), lengths.pop() if len(lengths) == 1 else None
    )


def _side_by_side(rows: Sequence[RaggedTensor]) -> RaggedTensor:
    """The rows with the same number, one after another in one row."""
    from gradtape.ragged.indexing import rows_at  # noqa: PLC0415 - it imports this module

    below = _one_after_another(rows)
    count = rows[0].rows
    order = np.arange(count * len(rows)).reshape(len(rows), count).T.reshape(-1)
    mixed = rows_at(below, order)
    lengths = [row._uniform_row_length for row in rows]
    uniform = None if None in lengths else sum(n for n in lengths if n is not None)
    return RaggedTensor(mixed.values, mixed.row_splits[:: len(rows)], uniform)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """`tf.stack`; tensors of different sizes become rows, as in `tf.ragged.stack`."""
    if isinstance(values, RaggedTensor):
        return values
    given = [ragged_or_tensor(v, f"stack: values[{i}]") for i, v in enumerate(values)]
    if not given:
        raise ValueError("stack: values is empty; give at least one tensor.")
    rank = rank_of(given[0])
    if any(rank_of(v) != rank for v in given):
        raise ValueError(f"stack: all values must have the same rank, got {_ranks(given)}.")
    place = axis_of(axis, rank + 1, "stack: axis")
    if rank == 0:
        return joining.stack(given)
    if place == 0:
        rows = given
        if not any(isinstance(v, RaggedTensor) for v in rows) and rank > 1:
            rows = [from_tensor(v, ragged_rank=rank - 1) for v in rows]
        lengths = [v.rows if isinstance(v, RaggedTensor) else v.array.shape[0] for v in rows]
        dtype = np.int32 if rank == 1 else np.int64  # TensorFlow's choice
        return RaggedTensor.from_row_lengths(_joined(rows, 0), np.array(lengths, dtype))
    return _joined([expand_dims(v, place) for v in given], place)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """`tf.tile`."""
    counts = integers(multiples, "tile: multiples")
    if len(counts) != rank_of(input):
        raise invalid_argument(
            f"tile: multiples={list(counts)} must have {rank_of(input)} entries, one for each axis."
        )
    return _tiled(input, list(counts))


def _tiled(x: Any, counts: list[int]) -> Any:
    if not isinstance(x, RaggedTensor):
        return joining.tile(x, counts)
    inner = x.values
    if any(n != 1 for n in counts[2:]):
        inner = _tiled(inner, [1, *counts[2:]])
    found = RaggedTensor(inner, x.row_splits, x._uniform_row_length)
    if counts[1] != 1:
        found = found[:, :0] if counts[1] == 0 else _joined([found] * counts[1], 1)
    if counts[0] != 1:
        found = found[:0] if counts[0] == 0 else _joined([found] * counts[0], 0)
    return found


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """`tf.reverse`."""
    rank = rank_of(tensor)
    places = {axis_of(a, rank, "reverse: axis") for a in integers(axis, "reverse: axis")}
    backwards = slice(None, None, -1)
    return tensor[tuple(backwards if i in places else slice(None) for i in range(rank))]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`tf.where`: element by element, or the coordinates where the condition is true."""
    if x is None and y is None:
        chosen = boolean_mask_of_tensors(
            joining.stack([creation.cast(c, dtypes.int64) for c in coordinates(condition)], 1),
            condition.flat_values,
        )
        if condition.flat_values.ndim > 1:
            raise ValueError("where: the condition must have no axes behind its ragged ones.")
        return chosen
    if x is None or y is None:
        raise ValueError("where: give both x and y, or neither.")
    if not isinstance(condition, RaggedTensor):
        mask = as_tensor(condition, dtypes.bool_, argument="where: condition")
        if mask.ndim == 1:
            return _rows_of_either(mask, x, y)
        condition = mask
    strong = next(v.dtype for v in (x, y) if isinstance(v, (RaggedTensor, Tensor)))
    given = [v if isinstance(v, RaggedTensor) else as_tensor(v, strong) for v in (x, y)]
    like, flat = lined_up([condition, *given], "where")
    return like.with_flat_values(where_of_tensors(*flat))


def _rows_of_either(mask: Tensor, x: Any, y: Any) -> Any:
    """Whole rows of `x` or of `y`."""
    from gradtape.ragged.indexing import rows_at  # noqa: PLC0415 - it imports this module

    both = [v if isinstance(v, RaggedTensor) else from_tensor(v) for v in (x, y)]
    chosen = known(mask, "where: condition")
    if any(v.rows != chosen.shape[0] for v in both):
        raise invalid_argument(
            f"where: a condition of shape {mask.shape} must have one entry for each row of x and y."
        )
    places = np.where(chosen, np.arange(chosen.size), np.arange(chosen.size) + chosen.size)
    return rows_at(_joined(both, 0), places)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The entries of `data` where `mask` is true, row by row."""
    from gradtape.ragged.indexing import rows_where  # noqa: PLC0415 - it imports this module

    if not isinstance(mask, RaggedTensor):
        mask = boolean(mask, "boolean_mask", "mask")
    if not mask.dtype.is_bool:
        raise ValueError(f"boolean_mask: mask must be bool, got {mask.dtype.name}.")
    data = ragged_or_tensor(data, "boolean_mask: data")
    if not isinstance(mask, RaggedTensor) and mask.ndim == 0:
        raise ValueError("boolean_mask: mask must not be a scalar.")
    if rank_of(mask) == 1:
        return rows_where(data, mask)
    depth = rank_of(mask) - 1
    if rank_of(data) <= depth:
        raise ValueError(
            f"boolean_mask: mask has rank {depth + 1}, which is more than that of data, "
            f"{rank_of(data)}."
        )
    chosen, rows = with_ragged_rank(mask, depth), with_ragged_rank(data, depth)
    return _masked(rows, chosen)


def _masked(rows: Any, mask: Any) -> Any:
    from gradtape.ragged.indexing import rows_where  # noqa: PLC0415 - it imports this module
    from gradtape.ragged.reductions import reduce_sum  # noqa: PLC0415 - as above

    if not isinstance(mask, RaggedTensor):
        return rows_where(rows, mask)
    if not partitions.same_values(rows.row_splits, mask.row_splits):
        raise invalid_argument("boolean_mask: mask and data must have rows of the same lengths.")
    values = _masked(rows.values, mask.values)
    if isinstance(mask.values, RaggedTensor):
        return RaggedTensor(values, rows.row_splits, rows._uniform_row_length)
    counts = reduce_sum(mask.with_values(creation.cast(mask.values, mask.row_splits.dtype)), 1)
    return RaggedTensor(values, partitions.splits_of_lengths(counts))


def size(input: RaggedTensor, out_type: Any = None, name: str | None = None) -> Tensor:
    """`tf.size`: how many elements all rows have together."""
    return creation.size(input.flat_values, out_type)


def rank(input: RaggedTensor, name: str | None = None) -> Tensor:
    """`tf.rank`."""
    return Tensor(np.int32(rank_of(input)))


def zeros_like(
    input: RaggedTensor, dtype: Any = None, name: str | None = None, layout: Any = None
) -> RaggedTensor:
    """`tf.zeros_like`."""
    return input.with_flat_values(creation.zeros_like(input.flat_values, dtype))


def ones_like(
    input: RaggedTensor, dtype: Any = None, name: str | None = None, layout: Any = None
) -> RaggedTensor:
    """`tf.ones_like`."""
    return input.with_flat_values(creation.ones_like(input.flat_values, dtype))


def stop_gradient(input: RaggedTensor, name: str | None = None) -> RaggedTensor:
    """`tf.stop_gradient`."""
    return input.with_flat_values(creation.stop_gradient(input.flat_values))


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """`tf.clip_by_value`."""
    return minimum(maximum(t, clip_value_min), clip_value_max)


def dropout(x: RaggedTensor, *args: Any, **keywords: Any) -> RaggedTensor:
    """`tf.nn.dropout`: each of the flat values by itself."""
    return x.with_flat_values(dropout_of_tensors(x.flat_values, *args, **keywords))


def one_hot(indices: RaggedTensor, *args: Any, **keywords: Any) -> RaggedTensor:
    """`tf.one_hot`, of which the new axis is the last."""
    if keywords.get("axis", -1) not in (None, -1) or (len(args) > 3 and args[3] not in (None, -1)):
        raise ValueError("one_hot: of a RaggedTensor, axis must be -1.")
    return indices.with_flat_values(creation.one_hot(indices.flat_values, *args, **keywords))


def pad_to_bucket(
    tensor: Any,
    buckets: Sequence[int] | None = None,
    axis: Any = 1,
    constant_values: Any = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`tf.pad_to_bucket`: all rows as long as the bucket that holds the longest."""
    if axis_of(axis, rank_of(tensor), "pad_to_bucket: axis") != 1:
        raise ValueError("pad_to_bucket: of a RaggedTensor, axis must be 1.")
    lengths = tensor.row_lengths()
    longest = known(lengths, "pad_to_bucket: tensor")
    size = bucket_of(int(longest.max(initial=0)), buckets)
    rest = [None] * (rank_of(tensor) - 2)
    if tensor.dtype == string and type(constant_values) is int:  # the default
        constant_values = ""
    padded = tensor.to_tensor(default_value=constant_values, shape=[None, size, *rest])
    return padded, sequence_mask(lengths, size)
