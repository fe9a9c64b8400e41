"""Joining, parting and repeating: `tf.concat`, `tf.stack`, `tf.split`, `tf.tile`, `tf.meshgrid` and
related functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.tensorflow.arguments import (
    AxisLike,
    ShapeLike,
    TensorLike,
    as_int,
    as_shape,
    has_axes,
    integers,
    one_axis,
    single,
)
from gradtape.convert import TENSORFLOW, as_tensor
from gradtape.core.composite import itself, takes_composites
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import broadcasting, indexing, shaping
from gradtape.published import published

Shape = tuple[int, ...]


@published("concat")
@takes_composites
def concat(values: Any, axis: AxisLike, name: str = "concat") -> Tensor:
    """Tensors one after the other along an axis that they have.

    >>> import gradtape as tf
    >>> tf.concat([[[1, 2]], [[3, 4], [5, 6]]], axis=0).numpy()
    array([[1, 2],
           [3, 4],
           [5, 6]], dtype=int32)
    """
    given = values if isinstance(values, (list, tuple)) else [values]
    if not given:
        raise invalid_argument("concat: values is empty; give at least one tensor.")
    tensors = TENSORFLOW.tensors(given, "concat: values")
    place = single(axis, "concat: axis")
    if len(tensors) == 1:
        return broadcasting.identity(tensors[0])
    return shaping.concat(*tensors, axis=one_axis(place, tensors[0].array.ndim, "concat: axis"))


@published("stack")
@takes_composites
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape side by side along a new axis.

    >>> import gradtape as tf
    >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if not isinstance(values, (list, tuple)):
        whole = TENSORFLOW.tensor(values, "stack: values")
        return itself(whole) if axis == 0 else stack(unstack(whole), axis)
    if not values:
        return as_tensor(values)
    tensors = TENSORFLOW.tensors(values, "stack: values")
    shapes = {x.array.shape for x in tensors}
    if len(shapes) > 1:
        raise invalid_argument(
            f"stack: values must have the same shape, got {', '.join(map(str, sorted(shapes)))}."
        )
    return shaping.stack(*tensors, axis=_axis_in_range(axis, tensors[0].array.ndim + 1, "stack"))


def _axis_in_range(axis: Any, rank: int, function: str) -> int:
    """An axis; one out of range is a ValueError, which TensorFlow has for a few functions."""
    place = as_int(axis, f"{function}: axis")
    if not -rank <= place < rank:
        raise ValueError(f"{function}: axis={place} is not in [{-rank}, {rank}).")
    return place % rank


@published("unstack")
def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The slices of `value` along an axis, as a list.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.unstack([[1, 2], [3, 4]], axis=1)]
    [array([1, 3], dtype=int32), array([2, 4], dtype=int32)]
    """
    x = TENSORFLOW.tensor(value, "unstack: value")
    place = _axis_in_range(axis, x.array.ndim, "unstack")
    if num is not None and num != x.array.shape[place]:
        raise invalid_argument(
            f"unstack: axis {place} of a tensor of shape {x.shape} does not have num={num} entries."
        )
    return shaping.unstack(x, axis=place)


@published("split")
def split(
    value: TensorLike,
    num_or_size_splits: Any,
    axis: AxisLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Pieces of `value` along an axis: a number of equal ones, or a list of sizes,
    of which one may be -1 for what is left.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.split([1, 2, 3, 4, 5], [1, -1])]
    [array([1], dtype=int32), array([2, 3, 4, 5], dtype=int32)]
    """
    x = TENSORFLOW.tensor(value, "split: value")
    place = one_axis(single(axis, "split: axis"), x.array.ndim, "split: axis")
    total = x.array.shape[place]
    several = type(num_or_size_splits) is not int and has_axes(num_or_size_splits)
    if several:
        sizes = _split_sizes(integers(num_or_size_splits, "split: num_or_size_splits"), total, num)
    else:
        count = as_int(num_or_size_splits, "split: num_or_size_splits")
        if count < 1 or total % count:
            raise invalid_argument(
                f"split: axis {place} has size {total}, which cannot be split into {count} equal "
                "parts."
            )
        sizes = (total // count,) * count
    return shaping.split(x, sizes=sizes, axis=place)


def _split_sizes(sizes: Shape, total: int, num: int | None) -> Shape:
    left = total - sum(size for size in sizes if size != -1)
    complete = tuple(left if size == -1 else size for size in sizes)
    fits = sum(complete) == total and min(complete, default=-1) >= 0 and sizes.count(-1) < 2
    if not fits or num not in (None, len(sizes)):
        raise invalid_argument(
            f"split: an axis of size {total} cannot be split into "
            f"num_or_size_splits={list(sizes)}, num={num}."
        )
    return complete


@published("tile")
@takes_composites
def tile(input: TensorLike, multiples: ShapeLike, name: str | None = None) -> Tensor:
    """Copies of `input` side by side, `multiples[i]` of them along axis i.

    >>> import gradtape as tf
    >>> tf.tile([[1, 2]], [2, 2]).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "tile: input")
    counts = as_shape(multiples, "tile: multiples")
    if len(counts) != x.array.ndim:
        raise invalid_argument(
            f"tile: multiples={list(counts)} must have {x.array.ndim} entries, one for each axis "
            "of input."
        )
    return shaping.tile(x, multiples=counts)


@published("repeat")
def repeat(
    input: TensorLike, repeats: Any, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Each element of `input`, or each slice along `axis`, repeated;
    `repeats` is a number or one for each of them.

    >>> import gradtape as tf
    >>> tf.repeat([1, 2, 3], [2, 0, 1]).numpy()
    array([1, 1, 3], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "repeat: input")
    if axis is None:
        x, axis = shaping.reshape(x, shape=(x.array.size,)), 0
    place = _axis_in_range(axis, x.array.ndim, "repeat")
    sizes = x.array.shape
    counts = integers(repeats, "repeat: repeats")
    if min(counts, default=0) < 0:
        raise invalid_argument(f"repeat: repeats={list(counts)} must not be negative.")
    if len(counts) not in (1, sizes[place]):
        raise ValueError(
            f"repeat: repeats has {len(counts)} entries, but axis {place} of input has size "
            f"{sizes[place]}."
        )
    return repeated(x, counts, place)


def repeated(x: Tensor, counts: Sequence[int], axis: int) -> Tensor:
    """Each slice along an axis, `counts` times: one number for all of them, or one for each."""
    sizes = x.array.shape
    if len(counts) != 1:
        return indexing.take(x, np.repeat(np.arange(sizes[axis]), counts), axis=axis, sparse=False)
    (count,) = counts
    before, behind = sizes[: axis + 1], sizes[axis + 1 :]
    spread = broadcasting.broadcast_to(
        shaping.reshape(x, shape=(*before, 1, *behind)), shape=(*before, count, *behind)
    )
    return shaping.reshape(spread, shape=(*sizes[:axis], sizes[axis] * count, *behind))


@published("meshgrid")
def meshgrid(*args: TensorLike, **kwargs: Any) -> list[Tensor]:
    """The coordinates of a grid over the given vectors; `indexing="ij"` keeps their order, "xy"
    swaps the first two axes.

    >>> import gradtape as tf
    >>> [x.numpy().tolist() for x in tf.meshgrid([1, 2, 3], [4, 5])]
    [[[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]]]
    """
    indexing_of = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(
            f"meshgrid: unexpected keyword arguments {sorted(kwargs)}; it takes indexing and name."
        )
    if indexing_of not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing_of!r}.")
    vectors = [TENSORFLOW.tensor(x, f"meshgrid: args[{i}]") for i, x in enumerate(args)]
    sizes = [x.array.size for x in vectors]
    places = list(range(len(vectors)))
    if indexing_of == "xy":
        places[:2] = places[:2][::-1]
    shape = tuple(sizes[places.index(axis)] for axis in range(len(sizes)))
    return [_along_axis(x, place, shape) for x, place in zip(vectors, places, strict=True)]


def _along_axis(x: Tensor, axis: int, shape: Sequence[int]) -> Tensor:
    line = tuple(x.array.size if i == axis else 1 for i in range(len(shape)))
    return broadcasting.broadcast_to(shaping.reshape(x, shape=line), shape=tuple(shape))
