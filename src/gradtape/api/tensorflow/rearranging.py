"""Rearranging blocks, rows and sequences: `tf.space_to_batch`, `tf.dynamic_partition`,
`tf.reverse_sequence` and related functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import REAL, of_kind, tensors_of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_int, as_list, has_axes, integers, known
from gradtape.convert import TENSORFLOW, as_indices, as_tensor
from gradtape.core.tensor import Tensor
from gradtape.errors import UnimplementedError, invalid_argument
from gradtape.ops import segments
from gradtape.ops.indexing import flat_index, reverse_rows, set_rows, take
from gradtape.ops.shaping import concat, getitem, pad, reshape, split, transpose
from gradtape.published import published

Shape = tuple[int, ...]


@published("space_to_batch", "nn.space_to_batch")
def space_to_batch(
    input: TensorLike, block_shape: Any, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """The axes after the first cut into blocks, each place in a block moved to the batch;
    `paddings` puts zeros around first.

    >>> import gradtape as tf
    >>> tf.space_to_batch([[1, 2, 3, 4]], [2], [[0, 0]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return _space_to_batch(input, block_shape, paddings, "space_to_batch")


@published("space_to_batch_nd")
def space_to_batch_nd(
    input: TensorLike, block_shape: Any, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """The same as `space_to_batch`.

    >>> import gradtape as tf
    >>> tf.space_to_batch_nd([[1, 2, 3]], [2], [[1, 0]]).numpy()
    array([[0, 2],
           [1, 3]], dtype=int32)
    """
    return _space_to_batch(input, block_shape, paddings, "space_to_batch_nd")


def _space_to_batch(value: Any, block_shape: Any, paddings: Any, function: str) -> Tensor:
    x = TENSORFLOW.tensor(value, f"{function}: input")
    if not has_axes(block_shape) or any(map(has_axes, block_shape)):
        raise invalid_argument(f"{function}: block_shape must be a vector, got {block_shape!r}.")
    block, around = _blocks(x, block_shape, paddings, "paddings", function)
    rank, depth = x.array.ndim, len(block)
    padded = pad(x, paddings=((0, 0), *around, *((0, 0),) * (rank - depth - 1)))
    batch, *sizes = padded.array.shape
    space, rest = sizes[:depth], tuple(sizes[depth:])
    if any(size % step for size, step in zip(space, block, strict=True)):
        raise invalid_argument(
            f"{function}: the padded sizes {space} are not multiples of block_shape={list(block)}."
        )
    cut = tuple(n for size, step in zip(space, block, strict=True) for n in (size // step, step))
    inside, outside = range(2, 2 * depth + 1, 2), range(1, 2 * depth + 1, 2)
    moved = transpose(
        reshape(padded, shape=(batch, *cut, *rest)),
        perm=(*inside, 0, *outside, *range(2 * depth + 1, 2 * depth + 1 + len(rest))),
    )
    return reshape(moved, shape=(batch * math.prod(block), *cut[::2], *rest))


@published("batch_to_space")
def batch_to_space(
    input: TensorLike, block_shape: Any, crops: TensorLike, name: str | None = None
) -> Tensor:
    """Undoes `space_to_batch`: entries of the batch become places in blocks,
    and `crops` are cut off at the edges.

    >>> import gradtape as tf
    >>> tf.batch_to_space([[1, 3], [2, 4]], [2], [[0, 1]]).numpy()
    array([[1, 2, 3]], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "batch_to_space: input")
    given = (
        block_shape
        if has_axes(block_shape)
        else [block_shape] * len(as_list(crops, "batch_to_space: crops"))
    )
    block, edges = _blocks(x, given, crops, "crops", "batch_to_space")
    depth, count = len(block), math.prod(block)
    batch, *sizes = x.array.shape
    space, rest = tuple(sizes[:depth]), tuple(sizes[depth:])
    if batch % count:
        raise invalid_argument(
            f"batch_to_space: the batch size {batch} is not a multiple of {count}, the number of "
            f"elements in a block {list(block)}."
        )
    apart = reshape(x, shape=(*block, batch // count, *space, *rest))
    pairs = tuple(i for axis in range(depth) for i in (depth + 1 + axis, axis))
    moved = transpose(apart, perm=(depth, *pairs, *range(2 * depth + 1, 2 * depth + 1 + len(rest))))
    whole = tuple(size * step for size, step in zip(space, block, strict=True))
    if any(low + high > size for (low, high), size in zip(edges, whole, strict=True)):
        raise invalid_argument(
            f"batch_to_space: crops={list(edges)} remove more than the sizes {list(whole)}."
        )
    kept = tuple(slice(low, size - high) for (low, high), size in zip(edges, whole, strict=True))
    return getitem(reshape(moved, shape=(batch // count, *whole, *rest)), key=(slice(None), *kept))


def _blocks(
    x: Tensor, block_shape: Any, pairs: Any, argument: str, function: str
) -> tuple[Shape, Sequence[tuple[int, int]]]:
    """The sizes of a block, and what is added or cut off before and behind each of its axes."""
    block = integers(block_shape, f"{function}: block_shape")
    given = as_indices(pairs, f"{function}: {argument}")
    around = known(given, f"{function}: {argument}", "use Python integers")
    if around.shape != (len(block), 2):
        raise invalid_argument(
            f"{function}: {argument} must have shape [{len(block)}, 2], got {list(around.shape)}."
        )
    if any(step < 1 for step in block) or (around < 0).any():
        raise invalid_argument(
            f"{function}: block_shape={list(block)} must be positive and "
            f"{argument}={around.tolist()} not negative."
        )
    if x.array.ndim < len(block) + 1:
        raise invalid_argument(
            f"{function}: input of shape {x.shape} must have a batch axis and {len(block)} more "
            "axes."
        )
    return block, [(int(low), int(high)) for low, high in around]


@published("reverse_sequence")
def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The first `seq_lengths[i]` elements along `seq_axis` in reverse,
    for each entry i of `batch_axis`.

    >>> import gradtape as tf
    >>> tf.reverse_sequence([[1, 2, 3, 4], [5, 6, 7, 8]], [3, 2], seq_axis=1, batch_axis=0).numpy()
    array([[3, 2, 1, 4],
           [6, 5, 7, 8]], dtype=int32)
    """
    x, lengths = (
        TENSORFLOW.tensor(input, "reverse_sequence: input"),
        as_indices(seq_lengths, "reverse_sequence: seq_lengths"),
    )
    rank = x.array.ndim
    along = as_int(seq_axis, "reverse_sequence: seq_axis")
    batch = as_int(0 if batch_axis is None else batch_axis, "reverse_sequence: batch_axis")
    if along == batch or not 0 <= along < rank or not 0 <= batch < rank:
        raise invalid_argument(
            f"reverse_sequence: seq_axis={along} and batch_axis={batch} must be two different "
            f"non-negative axes of an input of shape {x.shape}."
        )
    if lengths.array.shape != (x.array.shape[batch],):
        raise invalid_argument(
            f"reverse_sequence: seq_lengths must have shape [{x.array.shape[batch]}], got "
            f"{lengths.shape}."
        )
    order = (batch, along, *(i for i in range(rank) if i not in (batch, along)))
    if order == tuple(range(rank)):
        return reverse_rows(x, lengths)
    found = reverse_rows(transpose(x, perm=order), lengths)
    return transpose(found, perm=tuple(order.index(i) for i in range(rank)))


@published("dynamic_partition")
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: Any, name: str | None = None
) -> list[Tensor]:
    """The rows of `data` in `num_partitions` tensors; `partitions` says for each row in which.

    >>> import gradtape as tf
    >>> [part.numpy() for part in tf.dynamic_partition([10, 20, 30], [1, 0, 1], 2)]
    [array([20], dtype=int32), array([10, 30], dtype=int32)]
    """
    x, numbers = (
        TENSORFLOW.tensor(data, "dynamic_partition: data"),
        as_indices(partitions, "dynamic_partition: partitions"),
    )
    count = as_int(num_partitions, "dynamic_partition: num_partitions")
    if count < 1:
        raise invalid_argument(
            f"dynamic_partition: num_partitions must be at least 1, got {count}."
        )
    shape, given = x.array.shape, numbers.array.shape
    if shape[: len(given)] != given:
        raise invalid_argument(
            f"dynamic_partition: data of shape {x.shape} does not begin with the shape of "
            f"partitions, {numbers.shape}."
        )
    flat = known(
        numbers, "dynamic_partition: partitions", "use gradtape.where with three arguments"
    ).reshape(-1)
    if flat.size and not (0 <= flat.min() and flat.max() < count):
        raise invalid_argument(
            f"dynamic_partition: partitions must be from 0 to {count - 1}, got {flat.min()} to "
            f"{flat.max()}."
        )
    rows = reshape(x, shape=(flat.size, *shape[len(given) :]))
    ordered = take(rows, Tensor(np.argsort(flat, kind="stable")), axis=0, sparse=False)
    return list(split(ordered, sizes=tuple(np.bincount(flat, minlength=count).tolist()), axis=0))


@published("dynamic_stitch")
def dynamic_stitch(
    indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None
) -> Tensor:
    """One tensor of the rows of all `data`, each at its index;
    of several rows for one index the last counts.

    >>> import gradtape as tf
    >>> tf.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy()
    array([10, 20, 30], dtype=int32)
    """
    indices, data = (
        as_list(indices, "dynamic_stitch: indices"),
        as_list(data, "dynamic_stitch: data"),
    )
    if len(indices) != len(data):
        raise ValueError(
            f"dynamic_stitch: indices has {len(indices)} entries, but data has {len(data)}."
        )
    if not indices:
        raise invalid_argument("dynamic_stitch: indices and data must have at least one entry.")
    places = [as_indices(index, f"dynamic_stitch: indices[{i}]") for i, index in enumerate(indices)]
    values = TENSORFLOW.tensors(data, "dynamic_stitch: data")
    rest = values[0].array.shape[places[0].array.ndim :]
    for i, (place, value) in enumerate(zip(places, values, strict=True)):
        if value.array.shape != place.array.shape + rest:
            raise invalid_argument(
                f"dynamic_stitch: data[{i}] has shape {value.shape}, but indices[{i}] of shape "
                f"{place.shape} ask for "
                f"{place.array.shape + rest}."
            )
    instead = "use gradtape.tensor_scatter_nd_update"
    numbers = np.concatenate(
        [known(place, "dynamic_stitch: indices", instead).reshape(-1) for place in places]
    )
    if numbers.size and numbers.min() < 0:
        raise invalid_argument(
            f"dynamic_stitch: indices must not be negative, got {numbers.min()}."
        )
    rows = concat(
        *[reshape(v, shape=(p.array.size, *rest)) for p, v in zip(places, values, strict=True)],
        axis=0,
    )
    size = int(numbers.max()) + 1 if numbers.size else 0
    return set_rows(Tensor(np.zeros((size, *rest), rows.array.dtype)), Tensor(numbers), rows)


@published("tensor_scatter_nd_max")
def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with the larger of what stands there and of `updates` at the coordinates in the last
    axis of `indices`.

    >>> import gradtape as tf
    >>> tf.tensor_scatter_nd_max([1, 2, 3], [[0], [2]], [5, 1]).numpy()
    array([5, 2, 3], dtype=int32)
    """
    return _extreme(
        segments.segment_max, tensor, indices, updates, bad_indices_policy, "tensor_scatter_nd_max"
    )


@published("tensor_scatter_nd_min")
def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with the smaller of what stands there and of `updates` at the coordinates in the
    last axis of `indices`.

    >>> import gradtape as tf
    >>> tf.tensor_scatter_nd_min([1, 2, 3], [[0], [2]], [5, 1]).numpy()
    array([1, 2, 1], dtype=int32)
    """
    return _extreme(
        segments.segment_min, tensor, indices, updates, bad_indices_policy, "tensor_scatter_nd_min"
    )


def _extreme(
    reduce: Any, tensor: Any, indices: Any, updates: Any, policy: str, function: str
) -> Tensor:
    """Each place of the tensor is a segment, made of what stands there and of the updates for it:
    what ties shares the gradient.
    """
    if policy not in ("", "DEFAULT", "ERROR"):
        raise ValueError(
            f"{function}: bad_indices_policy={policy!r} is not supported: an index out of range is "
            "an error."
        )
    x, values = tensors_of_kind(tensor, updates, REAL, function, ("tensor", "updates"))
    places = as_indices(indices, f"{function}: indices")
    shape, depth = x.array.shape, places.array.shape[-1] if places.array.ndim else 0
    given, rest = places.array.shape[:-1], shape[depth:]
    if not depth or depth > len(shape) or values.array.shape != given + rest:
        raise invalid_argument(
            f"{function}: indices of shape {places.shape} and updates of shape {values.shape} do "
            "not fit a tensor of shape "
            f"{x.shape}: the last axis of indices holds coordinates, and updates has one entry for "
            "each of them."
        )
    size, count = math.prod(shape[:depth]), math.prod(given)
    flat = reshape(flat_index(places, sizes=shape[:depth]), shape=(count,))
    rows = concat(reshape(x, shape=(size, *rest)), reshape(values, shape=(count, *rest)), axis=0)
    found = reduce(rows, concat(np.arange(size), flat, axis=0), size=size, empty=0)
    return reshape(found, shape=shape)


@published("extract_volume_patches")
def extract_volume_patches(
    input: TensorLike,
    ksizes: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The windows of a batch of volumes, each laid out in the last axis; sizes and strides are
    `[1, depth, height, width, 1]`.

    >>> import gradtape as tf
    >>> x = tf.reshape(tf.range(8.0), [1, 2, 2, 2, 1])
    >>> tf.extract_volume_patches(x, [1, 1, 2, 2, 1], [1, 1, 1, 1, 1], "VALID").numpy().reshape(
    ...     2, 4
    ... )
    array([[0., 1., 2., 3.],
           [4., 5., 6., 7.]], dtype=float32)
    """
    x = of_kind(input, REAL, "extract_volume_patches", "input")
    sizes, steps = (
        integers(v, f"extract_volume_patches: {a}")
        for v, a in ((ksizes, "ksizes"), (strides, "strides"))
    )
    if len(sizes) != 5 or len(steps) != 5 or min(*sizes, *steps) < 1:
        raise invalid_argument(
            f"extract_volume_patches: ksizes={list(sizes)} and strides={list(steps)} must be five "
            "positive numbers each."
        )
    if (sizes[0], sizes[4], steps[0], steps[4]) != (1, 1, 1, 1):
        message = (
            "extract_volume_patches: ksizes and strides must be 1 for the batch and the channels."
        )
        raise UnimplementedError(None, None, message)
    if x.array.ndim != 5:
        raise invalid_argument(
            f"extract_volume_patches: input must have 5 axes, got shape {x.shape}."
        )
    if padding not in ("SAME", "VALID"):
        raise invalid_argument(
            f"extract_volume_patches: padding must be 'SAME' or 'VALID', got {padding!r}."
        )
    for axis in (3, 2, 1):  # from behind, so that the axes before stay where they are
        x = _windows(x, axis, sizes[axis], steps[axis], padding)
    laid_out = transpose(x, perm=(0, 1, 3, 5, 2, 4, 6, 7))
    batch, *out = laid_out.array.shape[:4]
    return reshape(laid_out, shape=(batch, *out, math.prod(laid_out.array.shape[4:])))


def _windows(x: Tensor, axis: int, size: int, step: int, padding: str) -> Tensor:
    """The windows of one axis: a first axis that counts them,
    and a second one with their elements.
    """
    length = x.array.shape[axis]
    if padding == "SAME":
        count = -(-length // step)
        missing = max((count - 1) * step + size - length, 0)
        around = [(0, 0)] * x.array.ndim
        around[axis] = (missing // 2, missing - missing // 2)
        x = pad(x, paddings=tuple(around))
    else:
        count = max((length - size) // step + 1, 0)
    return take(
        x, Tensor(np.arange(count)[:, None] * step + np.arange(size)), axis=axis, sparse=False
    )


@published("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The paddings with which sizes become multiples of those of blocks, and what to crop
    afterwards.

    >>> import gradtape as tf
    >>> paddings, crops = tf.required_space_to_batch_paddings([5, 4], [2, 2])
    >>> paddings.numpy().tolist(), crops.numpy().tolist()
    ([[0, 1], [0, 0]], [[0, 1], [0, 0]])
    """
    function = "required_space_to_batch_paddings"
    sizes = np.array(integers(input_shape, f"{function}: input_shape"), np.int32)
    blocks = np.array(integers(block_shape, f"{function}: block_shape"), np.int32)
    if sizes.shape != blocks.shape or (blocks < 1).any():
        raise invalid_argument(
            f"{function}: block_shape={blocks.tolist()} must have a positive size for each of "
            f"input_shape={sizes.tolist()}."
        )
    base = np.zeros((len(sizes), 2), np.int32)
    if base_paddings is not None:
        given = as_tensor(base_paddings, argument=f"{function}: base_paddings")
        base = known(given, f"{function}: base_paddings", "use constants").astype(np.int32)
        if base.shape != (len(sizes), 2):
            raise invalid_argument(
                f"{function}: base_paddings must have the shape {(len(sizes), 2)}, got "
                f"{base.shape}."
            )
    extra = (-(sizes + base.sum(1)) % blocks).astype(np.int32)
    crops = np.stack([np.zeros_like(extra), extra], 1)
    return Tensor(base + crops), Tensor(crops)
