"""Indexing a RaggedTensor, and gathering its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, known
from gradtape.api.tensorflow.creation import cast
from gradtape.api.tensorflow.indexing import boolean_mask as boolean_mask_of_tensors
from gradtape.api.tensorflow.indexing import gather as gather_of_tensors
from gradtape.api.tensorflow.shaping import reshape
from gradtape.convert import as_indices, as_tensor, operand
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.errors import invalid_argument
from gradtape.ragged import partitions
from gradtape.ragged.conversion import from_tensor
from gradtape.ragged.structure import expand_dims
from gradtape.ragged.tensor import RaggedTensor


def item(self: RaggedTensor, key: Any) -> Any:
    """`x[key]`: integers and slices for the rows, slices within rows, `...` and new axes."""
    if isinstance(key, RaggedTensor):
        from gradtape.ragged.structure import boolean_mask  # noqa: PLC0415 - it imports this one

        return boolean_mask(self, key)
    keys = list(key) if isinstance(key, (tuple, list)) else [key]
    dots = [i for i, part in enumerate(keys) if part is Ellipsis]
    if len(dots) > 1:
        raise ValueError("A RaggedTensor may be indexed with one `...` only.")
    if dots:
        used = sum(part is not None for part in keys) - 1
        rank = self.shape.rank
        assert rank is not None
        keys[dots[0] : dots[0] + 1] = [slice(None)] * max(rank - used, 0)
    return _rows(self, keys)


def _rows(x: Any, keys: list[Any]) -> Any:
    """What the first key says of the rows, and the others of what is in them."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(keys)]
    key, *rest = keys
    if key is None:
        return expand_dims(_rows(x, rest), 0)
    if isinstance(key, slice):
        return _inside(_slice_of_rows(x, key), rest)
    place = _place(key)
    if not -x.rows <= place < x.rows:
        raise invalid_argument(f"Row {place} does not exist: this RaggedTensor has {x.rows} rows.")
    splits = known(x.row_splits, "row_splits")
    start, stop = (int(n) for n in splits[place % x.rows : place % x.rows + 2])
    values = x.values
    row = _slice_of_rows(values, slice(start, stop))
    return _rows(row, rest)


def _place(key: Any) -> int:
    found = operand(key)
    if isinstance(found, Tensor) and found.ndim == 0 and found.dtype.is_integer:
        return int(known(found, "index"))
    try:
        return as_int(key, "index")
    except TypeError:
        raise TypeError(
            f"A RaggedTensor is indexed with integers, slices, `...` and None, got {key!r}."
        ) from None


def _slice_of_rows(x: Any, key: slice) -> Any:
    if key == slice(None):
        return x
    if not isinstance(x, RaggedTensor):
        return x[key]
    start, stop, step = _bounds(key, x.rows)
    if step == 1:
        stop = max(start, stop)
        splits = known(x.row_splits, "row_splits")[start : stop + 1]
        values = _slice_of_rows(x.values, slice(int(splits[0]), int(splits[-1])))
        return RaggedTensor(values, Tensor(splits - splits[0]), x._uniform_row_length)
    return rows_at(x, np.arange(start, stop, step))


def _bounds(key: slice, size: int) -> tuple[int, int, int]:
    parts = (None if p is None else _place(p) for p in (key.start, key.stop, key.step))
    if key.step is not None and _place(key.step) == 0:
        raise ValueError("The step of a slice must not be 0.")
    return slice(*parts).indices(size)


def _inside(x: Any, keys: list[Any]) -> Any:
    """Keys for the axes behind the rows."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[(slice(None), *keys)]
    key, *rest = keys
    if key is None:
        return _inside(expand_dims(x, 1), [slice(None), *rest])
    if isinstance(key, slice):
        cut = x if key == slice(None) else _slice_of_each(x, key)
        return cut.with_values(_inside(cut.values, rest)) if rest else cut
    if x._uniform_row_length is None:
        raise ValueError(
            "A ragged axis cannot be indexed with an integer, since rows may be too short: use a "
            "slice."
        )
    place, length = _place(key), x._uniform_row_length
    if not -length <= place < length:
        raise invalid_argument(f"Index {place} does not exist in rows of length {length}.")
    picked = gather(x.values, np.arange(x.rows) * length + place % length)
    return _inside(picked, rest)


def _slice_of_each(x: RaggedTensor, key: slice) -> RaggedTensor:
    """The same slice of every row."""
    splits = known(x.row_splits, "row_splits")
    places, lengths = [], []
    for start, stop in zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True):
        row = range(*_bounds(key, stop - start))
        places.append(np.arange(row.start, row.stop, row.step) + start)
        lengths.append(len(row))
    taken = np.concatenate(places) if places else np.zeros(0, np.int64)
    values = gather(x.values, taken.astype(np.int64))
    uniform = x._uniform_row_length
    length = None if uniform is None else len(range(*_bounds(key, uniform)))
    counts = Tensor(np.array(lengths, splits.dtype))
    return RaggedTensor(values, partitions.splits_of_lengths(counts), length)


def rows_at(x: Any, places: Any) -> Any:
    """The rows at the numbers in a vector, in its order."""
    if not isinstance(x, RaggedTensor):
        return gather_of_tensors(x, places)
    splits = known(x.row_splits, "row_splits", "gather rows outside the function")
    wanted = np.asarray(known(as_tensor(places), "indices", "gather rows outside the function"))
    wrong = wanted[(wanted < 0) | (wanted >= x.rows)]
    if wrong.size:
        raise invalid_argument(f"gather: index {wrong[0]} is not in [0, {x.rows}).")
    starts, lengths = splits[:-1][wanted], (splits[1:] - splits[:-1])[wanted]
    found = np.concatenate([[0], np.cumsum(lengths)]).astype(splits.dtype)
    inner = np.arange(found[-1]) + np.repeat(starts - found[:-1], lengths)
    return RaggedTensor(rows_at(x.values, inner), Tensor(found), x._uniform_row_length)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """`tf.gather` of rows, or at ragged indices."""
    batch = as_int(batch_dims, "gather: batch_dims")
    if batch:
        return _batch_gather(params, indices, axis, batch)
    place = 0 if axis is None else as_int(axis, "gather: axis")
    if isinstance(indices, RaggedTensor):
        taken = gather(params, indices.flat_values, axis=place)
        if place:
            raise ValueError("gather: ragged indices need axis=0.")
        return _in_rows_of(indices, taken)
    if not isinstance(params, RaggedTensor):
        return gather_of_tensors(params, indices, axis=place)
    rank = params.shape.rank
    assert rank is not None
    place += rank if place < 0 else 0
    if place:
        if place >= 2:
            return params.with_values(gather(params.values, indices, axis=place - 1))
        raise ValueError("gather: of a RaggedTensor, rows can be gathered with axis=0, not axis=1.")
    picked = as_indices(indices, "gather: indices")
    if picked.ndim == 0:
        return params[picked]
    sizes = picked.array.shape
    found = rows_at(params, reshape(picked, (int(np.prod(sizes)),)))
    for size in reversed(sizes[1:]):
        found = RaggedTensor.from_uniform_row_length(
            found, size, nrows=None if size else int(np.prod(sizes[:-1]))
        )
    return found


def _in_rows_of(indices: RaggedTensor, taken: Any) -> RaggedTensor:
    """What was gathered at the flat values of ragged indices, in their rows."""
    inner = indices.values
    return RaggedTensor(
        _in_rows_of(inner, taken) if isinstance(inner, RaggedTensor) else taken,
        indices.row_splits,
        indices._uniform_row_length,
    )


def _batch_gather(params: Any, indices: Any, axis: Any, batch: int) -> Any:
    """Each row of `indices` picks from the same row of `params`."""
    if batch != 1 or axis not in (None, 1):
        raise ValueError(
            "gather: RaggedTensors take batch_dims=1 with axis=1 at most; got "
            f"batch_dims={batch}, axis={axis}."
        )
    rows = params if isinstance(params, RaggedTensor) else from_tensor(params)
    dense = not isinstance(indices, RaggedTensor)
    if dense and as_indices(indices, "gather: indices").ndim == 1:
        starts = rows.row_starts()
        flat = cast(as_indices(indices, "gather: indices"), starts.dtype)
        _check_inside(flat, rows.row_lengths())
        return gather(rows.values, starts + flat)
    picked = from_tensor(indices) if dense else indices
    if picked.rows != rows.rows:
        raise invalid_argument(
            f"gather: with batch_dims=1, params and indices must have the same number of rows, got "
            f"{rows.rows} and {picked.rows}."
        )
    rowids = picked.value_rowids()
    places = picked.values
    if isinstance(places, RaggedTensor) or places.ndim > 1:
        raise ValueError("gather: with batch_dims=1, ragged indices must have rank 2.")
    places = cast(places, rowids.dtype)
    _check_inside(places, gather_of_tensors(rows.row_lengths(), cast(rowids, dtypes.int64)))
    starts = cast(rows.row_starts(), rowids.dtype)
    taken = gather(rows.values, gather_of_tensors(starts, rowids) + places)
    if dense and not isinstance(taken, RaggedTensor):
        length = picked._uniform_row_length
        return reshape(taken, (picked.rows, length, *taken.array.shape[1:]))
    return picked.with_values(taken)


def _check_inside(places: Tensor, lengths: Tensor) -> None:
    found, limits = partitions.known_values(places), partitions.known_values(lengths)
    if found is None or limits is None:
        return
    if ((found < 0) | (found >= limits)).any():
        raise invalid_argument("gather: an index lies outside its row of params.")


def embedding_lookup(
    params: Any, ids: Any, max_norm: float | None = None, name: str | None = None
) -> Any:
    """`tf.nn.embedding_lookup` of ragged ids."""
    from gradtape.api.tensorflow.nn import embeddings  # noqa: PLC0415 - few need it

    if isinstance(params, RaggedTensor) or not isinstance(ids, RaggedTensor):
        raise TypeError("embedding_lookup: params must be a tensor; only ids may be ragged.")
    return ids.with_flat_values(embeddings.embedding_lookup(params, ids.flat_values, max_norm))


def rows_where(x: Any, mask: Any) -> Any:
    """The rows at which a vector of truth values is true."""
    if not isinstance(x, RaggedTensor):
        return boolean_mask_of_tensors(x, mask)
    chosen = known(
        mask.tensor() if isinstance(mask, Variable) else as_tensor(mask),
        "boolean_mask: mask",
    )
    if chosen.shape != (x.rows,):
        raise ValueError(
            f"boolean_mask: a mask of shape {chosen.shape} does not fit {x.rows} rows."
        )
    return rows_at(x, np.flatnonzero(chosen))
