"""Gathering and scattering elements: `tf.gather`, `tf.boolean_mask`, `tf.where`, `tf.scatter_nd`
and related functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import boolean
from gradtape.api.tensorflow.arguments import (
    AxisLike,
    ShapeLike,
    TensorLike,
    as_int,
    as_shape,
    known,
    one_axis,
)
from gradtape.convert import TENSORFLOW, as_indices
from gradtape.core.composite import own_function, takes_composites
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import indexing, selection, shaping
from gradtape.ops.arithmetic import add, subtract
from gradtape.published import published

Shape = tuple[int, ...]


@published("gather")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: AxisLike = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """The slices of `params` at `indices` along an axis;
    the gradient for the first axis is an IndexedSlices.

    `batch_dims` leading axes are shared by `params` and `indices`: each entry of the batch has its
    own indices.

    >>> import gradtape as tf
    >>> tf.gather([[1, 2], [3, 4], [5, 6]], [2, 0]).numpy()
    array([[5, 6],
           [1, 2]], dtype=int32)
    """
    own = own_function(gather, params, indices)
    if own is not None:
        return own(params, indices, validate_indices, axis, batch_dims)
    x, picked = TENSORFLOW.tensor(params, "gather: params"), as_indices(indices, "gather: indices")
    batch = as_int(batch_dims, "gather: batch_dims")
    batch += picked.array.ndim if batch < 0 else 0
    place = one_axis(batch if axis is None else axis, x.array.ndim, "gather: axis")
    if not batch:
        return indexing.take(x, picked, axis=place)
    if (
        not 0 < batch <= min(place, picked.array.ndim)
        or x.array.shape[:batch] != picked.array.shape[:batch]
    ):
        raise invalid_argument(
            f"gather: batch_dims={batch_dims} does not fit params of shape {x.shape} and indices "
            f"of shape {picked.shape} with "
            f"axis={place}: the first batch_dims axes must be the same, and axis must "
            "come after them."
        )
    return _batch_gather(x, picked, place, batch)


def _batch_gather(x: Tensor, indices: Tensor, axis: int, batch: int) -> Tensor:
    """The axis is moved up to the batch, and what was gathered from it back to where it was."""
    rest = (*range(batch, axis), *range(axis + 1, x.array.ndim))
    width = indices.array.ndim
    places = shaping.reshape(indices, shape=(*indices.array.shape, 1))
    found = _batch_gather_nd(shaping.transpose(x, perm=(*range(batch), axis, *rest)), places, batch)
    moved = range(width, width + axis - batch)
    behind = range(width + axis - batch, found.array.ndim)
    return shaping.transpose(found, perm=(*range(batch), *moved, *range(batch, width), *behind))


@published("gather_nd")
def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """The elements or slices of `params` at the coordinates in the last axis of `indices`.

    >>> import gradtape as tf
    >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
    array([2, 3], dtype=int32)
    """
    _refuse_policy(bad_indices_policy, "gather_nd")
    x, places = (
        TENSORFLOW.tensor(params, "gather_nd: params"),
        as_indices(indices, "gather_nd: indices"),
    )
    batch = as_int(batch_dims, "gather_nd: batch_dims")
    if (
        not 0 <= batch <= places.array.ndim - 1
        or x.array.shape[:batch] != places.array.shape[:batch]
    ):
        raise invalid_argument(
            f"gather_nd: batch_dims={batch} does not fit params of shape {x.shape} and indices of "
            f"shape {places.shape}: the "
            "first batch_dims axes must be the same, and the last axis of indices holds "
            "coordinates."
        )
    _depth(places, x.array.shape[batch:], "gather_nd")
    return _batch_gather_nd(x, places, batch) if batch else indexing.take_at(x, places)


def _batch_gather_nd(x: Tensor, places: Tensor, batch: int) -> Tensor:
    """The place in the batch is one more coordinate."""
    shape, given = x.array.shape, places.array.shape
    count = math.prod(shape[:batch])
    entry = np.arange(count).reshape(*shape[:batch], *(1,) * (len(given) - batch))
    places = shaping.concat(np.broadcast_to(entry, (*given[:-1], 1)), places, axis=len(given) - 1)
    return indexing.take_at(shaping.reshape(x, shape=(count, *shape[batch:])), places)


def _depth(places: Tensor, shape: Shape, function: str) -> int:
    """How many coordinates `places` holds for each place in a tensor of this shape."""
    if not places.array.ndim or places.array.shape[-1] > len(shape):
        raise invalid_argument(
            f"{function}: the last axis of indices holds coordinates, at most {len(shape)} for "
            f"shape {shape}; got {places.shape}."
        )
    return places.array.shape[-1]


def _refuse_policy(policy: str, function: str) -> None:
    if policy not in ("", "DEFAULT", "ERROR"):
        raise ValueError(
            f"{function}: bad_indices_policy={policy!r} is not supported: an index out of range is "
            "an error."
        )


@published("boolean_mask")
@takes_composites
def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: AxisLike = None, name: str = "boolean_mask"
) -> Tensor:
    """The elements of `tensor` where `mask` is true; the mask covers as many axes as it has,
    from `axis` on.

    >>> import gradtape as tf
    >>> tf.boolean_mask([1, 2, 3], [True, False, True]).numpy()
    array([1, 3], dtype=int32)
    """
    x = TENSORFLOW.tensor(tensor, "boolean_mask: tensor")
    given = TENSORFLOW.tensor(mask, "boolean_mask: mask")
    chosen = known(given, "boolean_mask: mask", "use gradtape.where with three arguments").astype(
        bool
    )
    shape, width = x.array.shape, chosen.ndim
    place = 0 if axis is None else as_int(axis, "boolean_mask: axis")
    place += len(shape) if place < 0 else 0
    if not width or place < 0 or shape[place : place + width] != chosen.shape:
        raise ValueError(
            f"boolean_mask: a mask of shape {chosen.shape} does not fit a tensor of shape {shape} "
            f"at axis {place}."
        )
    lined_up = shaping.reshape(x, shape=(*shape[:place], chosen.size, *shape[place + width :]))
    return indexing.take(lined_up, np.flatnonzero(chosen), axis=place, sparse=False)


@published("where")
@takes_composites
def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`x` where `condition` is true and `y` elsewhere, with broadcasting; without both, the
    coordinates where it is true.

    >>> import gradtape as tf
    >>> tf.where([True, False], [1, 2], -1).numpy(), tf.where([False, True]).numpy()
    (array([ 1, -1], dtype=int32), array([[1]]))
    """
    if x is None and y is None:
        return selection.where_true(TENSORFLOW.tensor(condition, "where: condition"))
    if x is None or y is None:
        raise ValueError("where: give both x and y, or neither.")
    return selection.where(
        boolean(condition, "where", "condition"),
        *TENSORFLOW.tensors([x, y], ["where: x", "where: y"]),
    )


@published("scatter_nd")
def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: ShapeLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Zeros of a shape with `updates` added at the coordinates in the last axis of `indices`.

    >>> import gradtape as tf
    >>> tf.scatter_nd([[1], [3], [1]], [10, 20, 30], [5]).numpy()
    array([ 0, 40,  0, 20,  0], dtype=int32)
    """
    _refuse_policy(bad_indices_policy, "scatter_nd")
    sizes = as_shape(shape, "scatter_nd: shape")
    places, values = (
        as_indices(indices, "scatter_nd: indices"),
        TENSORFLOW.tensor(updates, "scatter_nd: updates"),
    )
    return _scattered(places, values, sizes, "scatter_nd")


def _scattered(places: Tensor, values: Tensor, shape: Shape, function: str) -> Tensor:
    rows, flat, lined_up = _rows(places, values, shape, function)
    return shaping.reshape(indexing.scatter_rows(lined_up, flat, shape=rows), shape=shape)


def _rows(
    places: Tensor, values: Tensor, shape: Shape, function: str
) -> tuple[Shape, Tensor, Tensor]:
    """A shape with the axes that coordinates name made into one; the coordinates on that axis;
    the values beside them.
    """
    depth = _depth(places, shape, function)
    given = places.array.shape[:-1]
    if values.array.shape != given + shape[depth:]:
        raise invalid_argument(
            f"{function}: updates have shape {values.shape}, but indices of shape {places.shape} "
            f"ask for {given + shape[depth:]}."
        )
    count = math.prod(given)
    flat = shaping.reshape(indexing.flat_index(places, sizes=shape[:depth]), shape=(count,))
    lined_up = shaping.reshape(values, shape=(count, *shape[depth:]))
    return (math.prod(shape[:depth]), *shape[depth:]), flat, lined_up


@published("tensor_scatter_nd_update")
def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """`tensor` with what stands at the coordinates in the last axis of `indices` replaced; of
    several updates the last counts.

    >>> import gradtape as tf
    >>> tf.tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [10, 30]).numpy()
    array([10,  2, 30], dtype=int32)
    """
    x, values = _tensor_and_updates(tensor, updates, "tensor_scatter_nd_update")
    places = as_indices(indices, "tensor_scatter_nd_update: indices")
    rows, flat, lined_up = _rows(places, values, x.array.shape, "tensor_scatter_nd_update")
    return shaping.reshape(
        indexing.set_rows(shaping.reshape(x, shape=rows), flat, lined_up), shape=x.array.shape
    )


@published("tensor_scatter_nd_add")
def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with `updates` added at the coordinates in the last axis of `indices`.

    >>> import gradtape as tf
    >>> tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([31,  2,  3], dtype=int32)
    """
    _refuse_policy(bad_indices_policy, "tensor_scatter_nd_add")
    x, values = _tensor_and_updates(tensor, updates, "tensor_scatter_nd_add")
    places = as_indices(indices, "tensor_scatter_nd_add: indices")
    return add(x, _scattered(places, values, x.array.shape, "tensor_scatter_nd_add"))


@published("tensor_scatter_nd_sub")
def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with `updates` subtracted at the coordinates in the last axis of `indices`.

    >>> import gradtape as tf
    >>> tf.tensor_scatter_nd_sub([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([-29,   2,   3], dtype=int32)
    """
    _refuse_policy(bad_indices_policy, "tensor_scatter_nd_sub")
    x, values = _tensor_and_updates(tensor, updates, "tensor_scatter_nd_sub")
    places = as_indices(indices, "tensor_scatter_nd_sub: indices")
    return subtract(x, _scattered(places, values, x.array.shape, "tensor_scatter_nd_sub"))


def _tensor_and_updates(tensor: Any, updates: Any, function: str) -> list[Tensor]:
    return TENSORFLOW.tensors([tensor, updates], [f"{function}: tensor", f"{function}: updates"])
