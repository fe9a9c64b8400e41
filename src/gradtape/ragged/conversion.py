"""RaggedTensors made of tensors and SparseTensors, and these made of RaggedTensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, known
from gradtape.api.tensorflow.creation import cast, fill
from gradtape.api.tensorflow.indexing import gather, where
from gradtape.api.tensorflow.joining import concat, stack
from gradtape.api.tensorflow.reductions import reduce_sum
from gradtape.api.tensorflow.shaping import broadcast_to, expand_dims, reshape
from gradtape.convert import as_tensor
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ragged import partitions
from gradtape.ragged.elementwise import coordinates
from gradtape.ragged.tensor import RaggedTensor
from gradtape.shapes import TensorShape


def from_tensor(
    tensor: Any,
    lengths: Any = None,
    padding: Any = None,
    ragged_rank: int = 1,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> RaggedTensor:
    """The rows of a tensor, without what is beyond `lengths`, or without the `padding` at their
    ends.

    >>> import gradtape as tf
    >>> tf.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0], [0, 0, 0]], padding=0).to_list()
    [[5, 7], [0, 3], []]
    """
    x = as_tensor(tensor, argument="from_tensor: tensor")
    splits = partitions.index_dtype(row_splits_dtype, "from_tensor: row_splits_dtype")
    depth = as_int(ragged_rank, "from_tensor: ragged_rank")
    if depth <= 0 or x.ndim <= depth:
        raise ValueError(
            f"from_tensor: ragged_rank must be at least 1 and less than the rank of tensor, "
            f"{x.ndim}; got {depth}."
        )
    if lengths is not None and padding is not None:
        raise ValueError("from_tensor: give lengths or padding, not both.")
    if lengths is not None:
        if isinstance(lengths, (list, tuple)) and lengths and not np.isscalar(lengths[0]):
            return _of_nested_lengths(x, lengths, depth, splits)
        return _of_lengths(x, lengths, depth, splits)
    if padding is not None:
        return _without_padding(x, padding, depth, splits)
    sizes = x.array.shape
    found: Any = reshape(x, (int(np.prod(sizes[: depth + 1])), *sizes[depth + 1 :]))
    for place in range(depth, 0, -1):
        nrows = int(np.prod(sizes[:place]))
        bounds = Tensor(np.arange(nrows + 1, dtype=splits.numpy) * splits.numpy.type(sizes[place]))
        found = RaggedTensor(found, bounds, int(sizes[place]))
    return found


def _of_lengths(x: Tensor, lengths: Any, depth: int, dtype: dtypes.DType) -> RaggedTensor:
    """The first entries of each row; rows are in the axis `depth`."""
    if depth > 1:
        sizes = x.array.shape
        rows = reshape(x, (int(np.prod(sizes[:depth])), *sizes[depth:]))
        inner = _of_lengths(rows, lengths, 1, dtype)
        outer = from_tensor(
            Tensor(np.zeros(sizes[:depth], np.int8)), ragged_rank=depth - 1, row_splits_dtype=dtype
        )
        return _with_rows(outer, inner)
    given = partitions.partition(lengths, "from_tensor: lengths")
    rows, width = x.array.shape[:2]
    if given.shape[0] != rows:
        raise ValueError(
            f"from_tensor: lengths has {given.shape[0]} entries, but tensor has {rows} rows."
        )
    counts = known(given, "from_tensor: lengths", "call from_tensor outside the function")
    counts = np.clip(counts, 0, width).astype(dtype.numpy)
    mask = np.arange(width) < counts[:, None]
    flat = gather(reshape(x, (rows * width, *x.array.shape[2:])), np.flatnonzero(mask))
    return RaggedTensor(flat, partitions.splits_of_lengths(Tensor(counts)))


def _with_rows(outer: RaggedTensor, inner: RaggedTensor) -> RaggedTensor:
    """`outer` with each of its values replaced by a row of `inner`."""
    values = outer.values
    return RaggedTensor(
        _with_rows(values, inner) if isinstance(values, RaggedTensor) else inner,
        outer.row_splits,
        outer._uniform_row_length,
    )


def _of_nested_lengths(x: Tensor, lengths: Any, depth: int, dtype: dtypes.DType) -> RaggedTensor:
    """Lengths for each ragged axis, the outermost first."""
    if depth not in (1, len(lengths)):
        raise ValueError(
            f"from_tensor: lengths has {len(lengths)} vectors, but ragged_rank is {depth}."
        )
    outer = _of_lengths(x, lengths[0], 1, dtype)
    if len(lengths) == 1:
        return outer
    inner = _of_nested_lengths(outer.values, lengths[1:], len(lengths) - 1, dtype)
    return RaggedTensor(inner, outer.row_splits)


def _without_padding(x: Tensor, padding: Any, depth: int, dtype: dtypes.DType) -> RaggedTensor:
    pad = as_tensor(padding, x.dtype, argument="from_tensor: padding")
    sizes = x.array.shape
    if pad.array.shape != sizes[depth + 1 :]:
        raise ValueError(
            f"from_tensor: padding must have the shape of one entry, {sizes[depth + 1 :]}, got "
            f"{pad.shape}."
        )
    values = known(x, "from_tensor: tensor", "give lengths")
    inner = tuple(range(depth + 1, x.ndim))
    differs = (values != known(pad, "from_tensor: padding", "use a constant")).astype(bool)
    differs = differs.any(axis=inner) if inner else differs
    last = np.where(differs, np.arange(sizes[depth]) + 1, 0)
    lengths = last.max(axis=-1, initial=0).reshape(-1).astype(np.int64)
    return _of_lengths(x, lengths, depth, dtype)


def to_tensor(
    self: RaggedTensor, default_value: Any = None, name: str | None = None, shape: Any = None
) -> Tensor:
    """A tensor with `default_value`, or zero, behind rows that are shorter than the longest.

    `shape` says how large the tensor is: longer rows are cut off; None stands for the size that
    holds all.

    >>> import gradtape as tf
    >>> tf.ragged.constant([[1, 2, 3], [4]]).to_tensor(default_value=-1).numpy()
    array([[ 1,  2,  3],
           [ 4, -1, -1]], dtype=int32)
    """
    flat = self.flat_values
    if default_value is None:
        default = Tensor(np.full((), b"" if flat.dtype == dtypes.string else 0, flat.array.dtype))
    else:
        default = as_tensor(default_value, flat.dtype, argument="to_tensor: default_value")
    inner = tuple(flat.array.shape[1:])
    if default.ndim > len(inner) or inner[len(inner) - default.ndim :] != default.array.shape:
        raise invalid_argument(
            f"to_tensor: default_value must be a scalar or have the shape {inner} of one entry, "
            f"got {default.shape}."
        )
    rank = self.shape.rank
    assert rank is not None
    sizes: list[int | None] = [None] * rank if shape is None else TensorShape(shape).as_list()
    if len(sizes) != rank:
        raise ValueError(f"to_tensor: shape={shape} must have {rank} entries.")
    return _resized(_padded(self, default, sizes), default, sizes[:1], first=0)


def _padded(x: Any, default: Tensor, sizes: list[int | None]) -> Tensor:
    """Rows of entries that are padded themselves, padded to the size of the second axis."""
    if not isinstance(x, RaggedTensor):
        return _resized(x, default, sizes[1:], first=1)
    values = _padded(x.values, default, sizes[1:])
    if sizes[1] is None:
        lengths = known(
            x.row_lengths(), "to_tensor: row_splits", "give to_tensor a shape with that size"
        )
        width = int(lengths.max(initial=0))
    else:
        width = sizes[1]
    entry = tuple(values.array.shape[1:])
    if not values.array.shape[0] or not width or not x.rows:
        found = _filled((x.rows, width, *entry), default)
        if values.dtype.is_trainable:  # a gradient by no values is empty, rather than None
            nothing = gather(values, np.zeros(0, np.int64))
            found = where(np.zeros(found.shape, bool), reduce_sum(nothing, axis=0), found)
    else:
        places = x.row_starts()[:, None] + Tensor(np.arange(width, dtype=x.row_splits.array.dtype))
        inside = places < x.row_limits()[:, None]
        last = places.array.dtype.type(values.array.shape[0] - 1)
        taken = gather(values, where(inside, places, last))
        mask = reshape(inside, (x.rows, width, *(1,) * len(entry)))
        found = where(mask, taken, default)
    return found


def _resized(x: Tensor, default: Tensor, sizes: list[int | None], first: int) -> Tensor:
    """Axes from `first` on cut or padded to the sizes that are given."""
    for place, size in enumerate(sizes, first):
        now = x.array.shape[place]
        if size is None or size == now:
            continue
        if size < now:
            x = x[(*(slice(None),) * place, slice(size))]
        else:
            shape = list(x.array.shape)
            shape[place] = size - now
            x = concat([x, _filled(tuple(shape), default)], place)
    return x


def _filled(shape: tuple[int, ...], default: Tensor) -> Tensor:
    return broadcast_to(default, shape) if default.ndim else fill(shape, default)


def to_sparse(self: RaggedTensor, name: str | None = None) -> SparseTensor:
    """The entries with their coordinates.

    >>> import gradtape as tf
    >>> tf.ragged.constant([[1, 2], [], [3]]).to_sparse().indices.numpy().tolist()
    [[0, 0], [0, 1], [2, 0]]
    """
    flat = self.flat_values
    places = [cast(column, dtypes.int64) for column in coordinates(self)]
    inner = flat.array.shape[1:]
    if inner:
        count, each = flat.array.shape[0], int(np.prod(inner))
        places = [
            reshape(broadcast_to(expand_dims(p, 1), (count, each)), (count * each,)) for p in places
        ]
        grid = np.indices(inner).reshape(len(inner), each)
        places += [Tensor(np.tile(row, count).astype(np.int64)) for row in grid]
        flat = reshape(flat, (count * each,))
    shape = self.bounding_shape(out_type=dtypes.int64)
    return SparseTensor(stack(places, 1), flat, shape)


def from_sparse(
    st_input: SparseTensor, name: str | None = None, row_splits_dtype: Any = dtypes.int64
) -> RaggedTensor:
    """The rows of a SparseTensor of rank 2 whose entries begin each row without gaps.

    >>> import gradtape as tf
    >>> x = tf.sparse.from_dense([[1, 2, 0], [0, 0, 0], [3, 0, 0]])
    >>> tf.RaggedTensor.from_sparse(x).to_list()
    [[1, 2], [], [3]]
    """
    if not isinstance(st_input, SparseTensor):
        raise TypeError(
            f"from_sparse: st_input must be a SparseTensor, got {type(st_input).__name__}."
        )
    shape = known(st_input.dense_shape, "from_sparse: dense_shape", "use a constant shape")
    if len(shape) != 2:
        raise ValueError(f"from_sparse: st_input must have rank 2, got {len(shape)}.")
    indices = known(st_input.indices, "from_sparse: indices")
    dtype = partitions.index_dtype(row_splits_dtype, "from_sparse: row_splits_dtype")
    rows = indices[:, 0]
    lengths = np.bincount(rows, minlength=int(shape[0])).astype(dtype.numpy)
    expected = np.concatenate([np.arange(n) for n in lengths]) if rows.size else rows
    if (rows[1:] < rows[:-1]).any() or (indices[:, 1] != expected).any():
        raise invalid_argument(
            "from_sparse: the entries of each row must be in order and begin at column 0 without "
            "gaps."
        )
    return RaggedTensor(st_input.values, partitions.splits_of_lengths(Tensor(lengths)))


def merge_dims(self: RaggedTensor, outer_axis: int, inner_axis: int) -> Any:
    """The axes from `outer_axis` to `inner_axis` as one.

    >>> import gradtape as tf
    >>> tf.ragged.constant([[[1], [2, 3]], [[4]]]).merge_dims(1, 2).to_list()
    [[1, 2, 3], [4]]
    """
    rank = self.shape.rank
    assert rank is not None
    first, last = (_axis(axis, rank) for axis in (outer_axis, inner_axis))
    if first > last:
        raise ValueError(
            f"merge_dims: outer_axis={outer_axis} must not come after inner_axis={inner_axis}."
        )
    return _merged(self, first, last)


def _axis(axis: Any, rank: int) -> int:
    place = as_int(axis, "merge_dims: axis")
    if not -rank <= place < rank:
        raise ValueError(f"merge_dims: {place} is not an axis of a RaggedTensor of rank {rank}.")
    return place % rank


def _merged(x: Any, first: int, last: int) -> Any:
    if first == last:
        return x
    if not isinstance(x, RaggedTensor):
        sizes = x.array.shape
        size = int(np.prod(sizes[first : last + 1]))
        return reshape(x, (*sizes[:first], size, *sizes[last + 1 :]))
    if first > 1:
        return x.with_values(_merged(x.values, first - 1, last - 1))
    if first == 0:
        return _merged(x.values, 0, last - 1)
    values = x.values
    if isinstance(values, RaggedTensor):
        once = RaggedTensor(values.values, gather(values.row_splits, x.row_splits))
        return _merged(once, 1, last - 1)
    size = values.array.shape[1]
    splits = x.row_splits * x.row_splits.array.dtype.type(size)
    count = values.array.shape[0] * size
    once = RaggedTensor(reshape(values, (count, *values.array.shape[2:])), splits)
    return _merged(once, 1, last - 1)
