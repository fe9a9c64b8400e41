"""SparseTensors: making, converting and rearranging them.

`tf.sparse` has these functions and those of `mathematics`.

NumPy decides from the indices which elements there are; the values go through ops, so a tape
follows them. In a function that is being traced the indices are Tensors, and whatever does not
change their number works on them too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import (
    DTypeLike,
    ShapeLike,
    TensorLike,
    as_int,
    as_shape,
    integers,
    known,
    numpy_dtype,
    one_axis,
)
from gradtape.convert import TENSORFLOW, as_indices
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.ops.counting import coordinates as coordinates_of
from gradtape.ops.indexing import scatter_rows, set_rows, take
from gradtape.ops.ordering import argsort
from gradtape.ops.shaping import concat as concatenate
from gradtape.ops.shaping import reshape as dense_reshape
from gradtape.published import published

Shape = tuple[int, ...]


# What the functions of both files share


def given(sp_input: Any, function: str, argument: str = "sp_input") -> SparseTensor:
    """An argument that must be a SparseTensor."""
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(
            f"{function}: {argument} must be a SparseTensor, got {type(sp_input).__name__}: make "
            "one with gradtape.sparse.from_dense."
        )
    return sp_input


def shape_of(sp: SparseTensor) -> Shape:
    return tuple(
        known(sp.dense_shape, "the dense_shape of a SparseTensor", "use Python integers").tolist()
    )


def indices_of(sp: SparseTensor) -> Any:
    """The coordinates of each element: a NumPy array, or a Tensor in a function that is traced."""
    return sp.indices if is_traced(sp.indices) else np.asarray(sp.indices.array)


def known_indices(sp: SparseTensor, function: str) -> Any:
    """The coordinates for a function whose result has as many elements as they say."""
    return known(
        sp.indices,
        f"{function}: the indices",
        "use gradtape.sparse.to_dense and dense ops",
    )


def places(sp: SparseTensor, function: str, axes: Sequence[int] | None = None) -> Any:
    """Where each element stands in the axes, all of them unless they are given,
    when those are read row by row.
    """
    shape, indices = shape_of(sp), indices_of(sp)
    if not isinstance(indices, Tensor):
        outside = (indices < 0) | (indices >= np.array(shape, np.int64))
        if outside.any():
            row = int(np.argwhere(outside)[0][0])
            raise invalid_argument(
                f"{function}: indices[{row}] = {indices[row].tolist()} is not inside the shape "
                f"{list(shape)}."
            )
    return flat_places(indices, shape, range(len(shape)) if axes is None else axes)


def flat_places(indices: Any, shape: Shape, axes: Sequence[int]) -> Any:
    flat = np.zeros(len(indices), np.int64)
    for axis in axes:
        flat = flat * shape[axis] + indices[:, axis]
    return flat


def coordinates(flat: Any, shape: Shape) -> Any:
    """The inverse of `flat_places`: one row of coordinates for each place."""
    if not shape:
        return np.zeros((len(flat), 0), np.int64)
    if isinstance(flat, Tensor):
        return coordinates_of(flat, sizes=shape)
    return (
        np.stack(np.unravel_index(flat, shape), axis=-1).astype(np.int64)
        if len(flat)
        else np.zeros((0, len(shape)), np.int64)
    )


def new_sparse(indices: Any, values: Any, shape: Sequence[int]) -> SparseTensor:
    at = indices if isinstance(indices, Tensor) else Tensor(np.asarray(indices, np.int64))
    return SparseTensor(at, values, Tensor(np.asarray(shape, np.int64)))


def picked(values: Tensor, order: Any) -> Tensor:
    """Some of the values, in some order.

    Their gradient is dense, since nearly all of them are picked.
    """
    return take(
        values,
        order if isinstance(order, Tensor) else np.asarray(order, np.int64),
        axis=0,
        sparse=False,
    )


def in_order(indices: Any, values: Tensor, shape: Sequence[int]) -> SparseTensor:
    """The elements sorted by where they stand."""
    order = argsort(flat_places(indices, tuple(shape), range(len(shape))), descending=False)
    return new_sparse(
        picked(indices, order) if isinstance(indices, Tensor) else indices[order],
        picked(values, order),
        shape,
    )


# From and to dense tensors


@published("sparse.from_dense")
def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The elements of `tensor` that are not zero (of strings, not empty).

    >>> import gradtape as tf
    >>> x = tf.sparse.from_dense([[1, 0], [0, 3]])
    >>> x.indices.numpy().tolist(), x.values.numpy().tolist()
    ([[0, 0], [1, 1]], [1, 3])
    """
    x = TENSORFLOW.tensor(tensor, "from_dense: tensor")
    if not x.array.ndim:
        raise invalid_argument("from_dense: tensor must have at least one axis, got a scalar.")
    values = known(x, "from_dense: tensor", "use dense ops")
    found = np.flatnonzero(np.asarray(values != (b"" if values.dtype.kind == "O" else 0)))
    return new_sparse(
        coordinates(found, x.array.shape),
        picked(dense_reshape(x, shape=(x.array.size,)), found),
        x.array.shape,
    )


@published("sparse.to_dense")
def to_dense(
    sp_input: SparseTensor,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense tensor, with `default_value` where no element stands; without validation, the last
    of several in one place counts.

    >>> import gradtape as tf
    >>> x = tf.sparse.SparseTensor([[0], [2]], [1.0, 2.0], [4])
    >>> tf.sparse.to_dense(x, default_value=-1.0).numpy()
    array([ 1., -1.,  2., -1.], dtype=float32)
    """
    sp = given(sp_input, "to_dense")
    flat, shape = places(sp, "to_dense"), shape_of(sp)
    steps = np.ones(0) if isinstance(flat, Tensor) else np.diff(flat)
    if validate_indices and (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 1
        what = (
            "is a repeated index"
            if steps[row - 1] == 0
            else "is out of order; sort it with sparse.reorder"
        )
        raise invalid_argument(
            f"to_dense: indices[{row}] = {sp.indices.array[row].tolist()} {what}."
        )
    size = math.prod(shape)
    once = validate_indices if isinstance(flat, Tensor) else (steps > 0).all()
    if default_value is None and sp.values.array.dtype in dtypes.TRAINABLE and once:
        return dense_reshape(scatter_rows(sp.values, flat, shape=(size,)), shape=shape)
    if default_value is None:
        default_value = (
            b"" if sp.values.array.dtype.kind == "O" else np.zeros((), sp.values.array.dtype)
        )
    values, default = TENSORFLOW.tensors(
        [sp.values, default_value], ["to_dense: sp_input", "to_dense: default_value"]
    )
    if default.array.ndim:
        raise invalid_argument(
            f"to_dense: default_value must be a scalar, got shape {default.shape}."
        )
    return dense_reshape(set_rows(broadcast_to(default, shape=(size,)), flat, values), shape=shape)


@published("sparse.to_indicator")
def to_indicator(sp_input: SparseTensor, vocab_size: int, name: str | None = None) -> Tensor:
    """For each row of ids, which of the numbers below `vocab_size` are in it: the ids are the
    values, the last axis their places.

    >>> import gradtape as tf
    >>> ids = tf.sparse.SparseTensor([[0, 0], [1, 0], [1, 1]], [2, 0, 1], [2, 2])
    >>> tf.sparse.to_indicator(ids, 3).numpy()
    array([[False, False,  True],
           [ True,  True, False]])
    """
    sp = given(sp_input, "to_indicator")
    ids, size = (
        as_indices(sp.values, "to_indicator: the values of sp_input"),
        as_int(vocab_size, "to_indicator: vocab_size"),
    )
    if not is_traced(ids) and ids.array.size and not 0 <= ids.array.min() <= ids.array.max() < size:
        raise invalid_argument(
            f"to_indicator: the ids are from {ids.array.min()} to {ids.array.max()}, but "
            f"vocab_size is {size}."
        )
    shape = shape_of(sp)
    nothing = Tensor(np.zeros(math.prod(shape[:-1]) * size, bool))
    flat = (
        cast(ids, dtype=np.dtype(np.int64))
        + places(sp, "to_indicator", range(len(shape) - 1)) * size
    )
    return dense_reshape(
        set_rows(nothing, flat, np.ones(ids.array.shape, bool)), shape=(*shape[:-1], size)
    )


@published("sparse.eye")
def eye(
    num_rows: int,
    num_columns: int | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """Ones on the diagonal of a matrix.

    >>> import gradtape as tf
    >>> tf.sparse.to_dense(tf.sparse.eye(2, 3)).numpy()
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    rows = as_int(num_rows, "eye: num_rows")
    columns = rows if num_columns is None else as_int(num_columns, "eye: num_columns")
    diagonal = np.arange(min(rows, columns))
    return new_sparse(
        np.stack([diagonal, diagonal], axis=-1),
        Tensor(np.ones(len(diagonal), numpy_dtype(dtype))),
        (rows, columns),
    )


# Other forms


@published("sparse.reorder")
def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """The same elements, sorted by where they stand.

    >>> import gradtape as tf
    >>> tf.sparse.reorder(tf.sparse.SparseTensor([[2], [0]], [2.0, 1.0], [4])).values.numpy()
    array([1., 2.], dtype=float32)
    """
    sp = given(sp_input, "reorder")
    return in_order(indices_of(sp), sp.values, shape_of(sp))


@published("sparse.transpose")
def transpose(
    sp_input: SparseTensor, perm: ShapeLike | None = None, name: str | None = None
) -> SparseTensor:
    """The axes in another order: reversed, or as `perm` says.

    >>> import gradtape as tf
    >>> tf.sparse.transpose(
    ...     tf.sparse.SparseTensor([[0, 2]], [1.0], [2, 3])
    ... ).indices.numpy().tolist()
    [[2, 0]]
    """
    sp = given(sp_input, "transpose")
    shape = shape_of(sp)
    order = (
        tuple(reversed(range(len(shape)))) if perm is None else integers(perm, "transpose: perm")
    )
    if sorted(order) != list(range(len(shape))):
        raise ValueError(
            f"transpose: perm={list(order)} must name each of the {len(shape)} axes of sp_input "
            "once."
        )
    indices = indices_of(sp)
    moved = (
        take(indices, np.array(order), axis=1)
        if isinstance(indices, Tensor)
        else indices[:, list(order)]
    )
    return in_order(moved, sp.values, [shape[axis] for axis in order])


@published("sparse.reshape")
def reshape(sp_input: SparseTensor, shape: ShapeLike, name: str | None = None) -> SparseTensor:
    """The same elements in another shape; one entry of it may be -1.

    >>> import gradtape as tf
    >>> tf.sparse.reshape(
    ...     tf.sparse.SparseTensor([[1, 2]], [1.0], [2, 3]), [-1]
    ... ).indices.numpy().tolist()
    [[5]]
    """
    sp = given(sp_input, "reshape")
    wanted, size = list(integers(shape, "reshape: shape")), math.prod(shape_of(sp))
    if wanted.count(-1) > 1:
        raise invalid_argument(f"reshape: only one entry of shape can be -1, got {wanted}.")
    if -1 in wanted:
        others = -math.prod(wanted)
        wanted[wanted.index(-1)] = size // others if others else 0
    if math.prod(wanted) != size:
        raise invalid_argument(
            f"reshape: a SparseTensor of shape {list(shape_of(sp))} cannot have the shape {wanted}."
        )
    return new_sparse(coordinates(places(sp, "reshape"), tuple(wanted)), sp.values, wanted)


@published("sparse.expand_dims")
def expand_dims(
    sp_input: SparseTensor, axis: int | None = None, name: str | None = None
) -> SparseTensor:
    """One more axis of size 1: before `axis`, or at the end.

    >>> import gradtape as tf
    >>> tf.sparse.expand_dims(tf.sparse.SparseTensor([[1]], [1.0], [2]), 0).shape
    TensorShape([1, 2])
    """
    sp = given(sp_input, "expand_dims")
    shape = shape_of(sp)
    place = one_axis(-1 if axis is None else axis, len(shape) + 1, "expand_dims: axis")
    indices, nothing = indices_of(sp), np.zeros((sp.indices.array.shape[0], 1), np.int64)
    parts = [indices[:, :place], nothing, indices[:, place:]]
    at = concatenate(*parts, axis=1)
    return new_sparse(at, sp.values, (*shape[:place], 1, *shape[place:]))


@published("sparse.reset_shape")
def reset_shape(sp_input: SparseTensor, new_shape: ShapeLike | None = None) -> SparseTensor:
    """The same elements in a larger shape, or in the smallest that holds them.

    >>> import gradtape as tf
    >>> tf.sparse.reset_shape(tf.sparse.SparseTensor([[1]], [1.0], [9])).shape
    TensorShape([2])
    """
    sp = given(sp_input, "reset_shape")
    shape = shape_of(sp)
    if new_shape is None:
        return new_sparse(
            sp.indices, sp.values, known_indices(sp, "reset_shape").max(axis=0, initial=-1) + 1
        )
    wanted = as_shape(new_shape, "reset_shape: new_shape")
    if len(wanted) != len(shape) or any(new < old for new, old in zip(wanted, shape, strict=True)):
        raise ValueError(
            f"reset_shape: new_shape={list(wanted)} must be at least {list(shape)} in every axis."
        )
    return new_sparse(sp.indices, sp.values, wanted)


@published("sparse.concat")
def concat(
    axis: int,
    sp_inputs: Sequence[SparseTensor],
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """SparseTensors one after another along an axis;
    the other axes may grow to the largest if `expand_nonconcat_dims`.

    >>> import gradtape as tf
    >>> x = tf.sparse.SparseTensor([[1]], [1.0], [2])
    >>> tf.sparse.concat(0, [x, x]).indices.numpy().tolist()
    [[1], [3]]
    """
    parts = [
        given(sp, "concat", f"sp_inputs[{i}]")
        for i, sp in enumerate([sp_inputs] if isinstance(sp_inputs, SparseTensor) else sp_inputs)
    ]
    if not parts:
        raise ValueError("concat: sp_inputs is empty; give at least one SparseTensor.")
    shapes = [shape_of(sp) for sp in parts]
    ranks = {len(shape) for shape in shapes}
    if len(ranks) > 1:
        raise invalid_argument(f"concat: sp_inputs differ in rank: {shapes}.")
    place = one_axis(axis, ranks.pop(), "concat: axis")
    others = {shape[:place] + shape[place + 1 :] for shape in shapes}
    if len(others) > 1 and not expand_nonconcat_dims:
        raise invalid_argument(
            f"concat: the shapes {shapes} must be the same except in axis {place}."
        )
    starts = np.cumsum([0, *(shape[place] for shape in shapes)])
    indices = [
        indices_of(sp) + start * (np.arange(len(shapes[0])) == place)
        for sp, start in zip(parts, starts, strict=False)
    ]
    result = [max(sizes) for sizes in zip(*shapes, strict=True)]
    result[place] = int(starts[-1])
    values = TENSORFLOW.tensors([sp.values for sp in parts], "concat: sp_inputs")
    return in_order(concatenate(*indices, axis=0), concatenate(*values, axis=0), result)


@published("sparse.slice")
def slice(
    sp_input: SparseTensor, start: ShapeLike, size: ShapeLike, name: str | None = None
) -> SparseTensor:
    """The part of `size` elements along each axis from `start` on, as far as there are so many.

    >>> import gradtape as tf
    >>> x = tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    >>> tf.sparse.slice(x, [0, 1], [2, 2]).indices.numpy().tolist()
    [[1, 1]]
    """
    sp = given(sp_input, "slice")
    shape, indices = shape_of(sp), known_indices(sp, "slice")
    first, length = integers(start, "slice: start"), integers(size, "slice: size")
    if not len(first) == len(length) == len(shape):
        raise invalid_argument(
            f"slice: start and size need an entry for each of the {len(shape)} axes, got {first} "
            f"and {length}."
        )
    left = [max(0, min(n, whole - at)) for at, n, whole in zip(first, length, shape, strict=True)]
    inside = indices - np.array(first, np.int64)
    kept = np.flatnonzero(((inside >= 0) & (inside < np.array(left, np.int64))).all(axis=1))
    return new_sparse(inside[kept], picked(sp.values, kept), left)


@published("sparse.split")
def split(
    sp_input: SparseTensor, num_split: int, axis: int, name: str | None = None
) -> list[SparseTensor]:
    """`num_split` parts along an axis; the first ones are larger by 1 if they cannot all be the
    same.

    >>> import gradtape as tf
    >>> [part.shape.as_list() for part in tf.sparse.split(tf.sparse.eye(2, 3), 2, axis=1)]
    [[2, 2], [2, 1]]
    """
    sp = given(sp_input, "split")
    shape, count = shape_of(sp), as_int(num_split, "split: num_split")
    place = one_axis(axis, len(shape), "split: axis")
    if not 1 <= count <= shape[place]:
        raise invalid_argument(
            f"split: num_split={count} is not from 1 to the size {shape[place]} of axis {place}."
        )
    sizes = [shape[place] // count + (i < shape[place] % count) for i in range(count)]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    return [
        slice(
            sp,
            [start if i == place else 0 for i in range(len(shape))],
            [n if i == place else shape[i] for i in range(len(shape))],
        )
        for start, n in zip(starts, sizes, strict=True)
    ]


@published("sparse.retain")
def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """The elements for which `to_retain` is true; the gradient of the values is an IndexedSlices.

    >>> import gradtape as tf
    >>> tf.sparse.retain(tf.sparse.eye(2), [True, False]).indices.numpy().tolist()
    [[0, 0]]
    """
    sp = given(sp_input, "retain")
    chosen = known(
        TENSORFLOW.tensor(to_retain, "retain: to_retain"),
        "retain: to_retain",
        "multiply the values by it",
    )
    if chosen.shape != sp.values.array.shape:
        raise ValueError(
            f"retain: to_retain must have a boolean for each of the {sp.values.shape[0]} "
            f"elements, got shape {chosen.shape}."
        )
    kept = np.flatnonzero(chosen)
    return new_sparse(take(sp.indices, kept, axis=0), take(sp.values, kept, axis=0), shape_of(sp))


@published("sparse.mask")
def mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """The slices of `a` whose indices are not in `mask_indices`.

    >>> import gradtape as tf
    >>> rows = tf.IndexedSlices(values=[[1.0], [2.0]], indices=[3, 5])
    >>> tf.sparse.mask(rows, [3]).indices.numpy()
    array([5], dtype=int32)
    """
    if not isinstance(a, IndexedSlices):
        raise TypeError(f"mask: a must be an IndexedSlices, got {type(a).__name__}.")
    instead = "multiply the values by 0"
    dropped = known(as_indices(mask_indices, "mask: mask_indices"), "mask: mask_indices", instead)
    kept = np.flatnonzero(~np.isin(known(a.indices, "mask: the indices of a", instead), dropped))
    return IndexedSlices(take(a.values, kept, axis=0), take(a.indices, kept, axis=0), a.dense_shape)


@published("sparse.fill_empty_rows")
def fill_empty_rows(
    sp_input: SparseTensor, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """The SparseTensor with `default_value` at the start of each row that had no element,
    and which rows those were.

    >>> import gradtape as tf
    >>> x, empty = tf.sparse.fill_empty_rows(tf.sparse.SparseTensor([[0, 1]], [1.0], [2, 3]), 9.0)
    >>> x.values.numpy(), empty.numpy()
    (array([1., 9.], dtype=float32), array([False,  True]))
    """
    sp = given(sp_input, "fill_empty_rows")
    values, default = TENSORFLOW.tensors(
        [sp.values, default_value], ["fill_empty_rows: sp_input", "fill_empty_rows: default_value"]
    )
    if default.array.ndim:
        raise invalid_argument(
            f"fill_empty_rows: default_value must be a scalar, got shape {default.shape}."
        )
    shape, indices = shape_of(sp), known_indices(sp, "fill_empty_rows")
    places(sp, "fill_empty_rows")
    empty = np.ones(shape[0], bool)
    empty[indices[:, 0]] = False
    rows = np.flatnonzero(empty)
    starts = np.zeros((len(rows), len(shape)), np.int64)
    starts[:, 0] = rows
    added = broadcast_to(default, shape=(len(rows),))
    return in_order(
        np.concatenate([indices, starts]), concatenate(values, added, axis=0), shape
    ), Tensor(empty)


@published("sparse.map_values")
def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """`op` applied to the values of the SparseTensors among the arguments,
    which must all have the same places.

    >>> import gradtape as tf
    >>> tf.sparse.map_values(
    ...     tf.square, tf.sparse.SparseTensor([[0], [2]], [2.0, 3.0], [4])
    ... ).values.numpy()
    array([4., 9.], dtype=float32)
    """
    found = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, SparseTensor)]
    if not found:
        raise ValueError("map_values: at least one argument must be a SparseTensor.")
    first = found[0]
    for other in found[1:]:
        one, two = indices_of(first), indices_of(other)
        same = isinstance(one, Tensor) or isinstance(two, Tensor) or np.array_equal(one, two)
        if not same or shape_of(first) != shape_of(other):
            raise invalid_argument(
                "map_values: all SparseTensors among the arguments must have the same indices "
                "and shape."
            )
    inner = [_values(arg) for arg in args]
    return first.with_values(op(*inner, **{key: _values(arg) for key, arg in kwargs.items()}))


def _values(arg: Any) -> Any:
    return arg.values if isinstance(arg, SparseTensor) else arg
