"""NumPy's functions that pick elements by index or condition, and those that return indices:
`take`, `choose`, `nonzero`.

Picking is recorded; indices are int64, as in NumPy, and have no derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import (
    INT32,
    INT64,
    axis_of,
    converted,
    dtype_of,
    into,
    known_values,
    tensor_of,
    tensors_of,
    values_of,
    wrapped,
)
from gradtape.api.numpy.shaping import broadcast_together, flat
from gradtape.api.tensorflow.arguments import DTypeLike, ShapeLike, TensorLike, as_int, integers
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.ops.arithmetic import add, floormod, less, maximum, minimum, multiply
from gradtape.ops.indexing import take as gather
from gradtape.ops.selection import where, where_true
from gradtape.published import published

Shape = tuple[int, ...]


# Picking


@published("numpy.take", "array_api.take")
def take(
    a: TensorLike,
    indices: TensorLike,
    axis: int | None = None,
    out: Any = None,
    mode: str = "raise",
) -> Tensor:
    """The elements, or the slices along an axis, at `indices`;
    `mode` "wrap" and "clip" bring indices into range.

    >>> import gradtape as tf
    >>> tf.numpy.take([[1, 2], [3, 4], [5, 6]], [2, 0, -1], axis=0).numpy()
    array([[5, 6],
           [1, 2],
           [5, 6]], dtype=int32)
    """
    x = tensor_of(a, "take", "a")
    x, place = (flat(x), 0) if axis is None else (x, axis_of(axis, x.array.ndim, "take"))
    places = _in_range(
        _integers(indices, "take", "indices"), x.array.shape[place], mode, "take", "indices"
    )
    return into(out, gather(x, places, axis=place, sparse=False), "take")


def _integers(value: TensorLike, function: str, argument: str) -> Tensor:
    """Indices as int64, wide enough for every place; truth values count as 0 and 1,
    an empty list has no dtype of its own.
    """
    x = tensor_of(value, function, argument)
    if x.array.dtype.kind not in "biu" and x.array.size:
        raise TypeError(
            f"{function}: {argument} must be integers, got dtype {x.dtype.name}: convert it "
            "with astype."
        )
    return converted(x, INT64)


def _in_range(indices: Tensor, size: int, mode: str, function: str, argument: str) -> Tensor:
    """Indices from 0 to size - 1; those that are not known yet are checked in the gather."""
    if mode == "wrap" and size:
        return floormod(indices, size)
    if mode == "clip" and size:
        return minimum(maximum(indices, 0), size - 1)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"{function}: mode must be 'raise', 'wrap' or 'clip', got {mode!r}.")
    known = known_values(indices)
    if known is None:
        return where(less(indices, 0), add(indices, size), indices)
    low, high = (known.min(), known.max()) if known.size else (0, -1)
    if low < -size or high >= size:
        bad = low if low < -size else high
        raise IndexError(
            f"{function}: {argument} holds {bad}, which is out of range for an axis of size {size}."
        )
    return Tensor(np.where(known < 0, known + size, known)) if low < 0 else indices


@published("numpy.take_along_axis", "array_api.take_along_axis")
def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None = -1) -> Tensor:
    """For each place of `indices`, the element of its own row of `arr` along the axis.

    >>> import gradtape as tf
    >>> tf.numpy.take_along_axis([[1, 2], [3, 4]], [[1], [0]], axis=1).numpy()
    array([[2],
           [3]], dtype=int32)
    """
    x, places = (
        tensor_of(arr, "take_along_axis", "arr"),
        _integers(indices, "take_along_axis", "indices"),
    )
    if axis is None:
        if places.array.ndim != 1:
            raise ValueError(
                "take_along_axis: with axis=None, indices must be a vector, got shape "
                f"{places.shape}."
            )
        return take(x, places)
    if places.array.ndim != x.array.ndim:
        raise ValueError(
            f"take_along_axis: indices of shape {places.shape} must have the same number of axes "
            f"as arr of shape {x.shape}."
        )
    place = axis_of(axis, x.array.ndim, "take_along_axis")
    return along_axis(
        x, _in_range(places, x.array.shape[place], "raise", "take_along_axis", "indices"), place
    )


def along_axis(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """The elements of each row along an axis at int64 indices of its own, from 0 on:
    a gather from all elements in one row.
    """
    sizes, given = x.array.shape, indices.array.shape
    try:
        np.broadcast_shapes((*sizes[:axis], 1, *sizes[axis + 1 :]), given)
    except ValueError as error:
        raise ValueError(
            f"take_along_axis: indices of shape {given} do not fit arr of shape {sizes} with "
            f"axis={axis}."
        ) from error
    step = math.prod(sizes[axis + 1 :])
    starts = np.zeros((1,) * len(sizes), np.int64)
    for i, size in enumerate(sizes):
        if i != axis:
            line = np.arange(size) * math.prod(sizes[i + 1 :])
            starts = starts + line.reshape(tuple(size if k == i else 1 for k in range(len(sizes))))
    known = known_values(indices)
    places = (
        add(multiply(indices, step), starts) if known is None else Tensor(known * step + starts)
    )
    return gather(flat(x), places, axis=0, sparse=False)


@published("numpy.choose")
def choose(a: TensorLike, choices: Any, out: Any = None, mode: str = "raise") -> Tensor:
    """At each place, the element of the choice that `a` names by its number.

    >>> import gradtape as tf
    >>> tf.numpy.choose([1, 0, 1], [[1, 2, 3], [10, 20, 30]]).numpy()
    array([10,  2, 30], dtype=int32)
    """
    numbers = _integers(a, "choose", "a")
    if isinstance(choices, (list, tuple)):
        offered = tensors_of(choices, "choose", "choices")
    else:
        offered = shaping.unstack(tensor_of(choices, "choose", "choices"), axis=0)
    if not offered:
        raise ValueError("choose: choices is empty; give at least one array.")
    known = known_values(numbers)
    if mode == "raise" and known is not None and ((known < 0) | (known >= len(offered))).any():
        raise ValueError(
            f"choose: the elements of a must be from 0 to {len(offered) - 1}, got {known.min()} "
            f"to {known.max()}."
        )
    picked = numbers if mode == "raise" else _in_range(numbers, len(offered), mode, "choose", "a")
    first, *rest = broadcast_together([picked, *offered], "choose")
    table = shaping.stack(*rest, axis=0)
    found = along_axis(table, shaping.reshape(first, shape=(1, *first.array.shape)), 0)
    return into(out, shaping.reshape(found, shape=first.array.shape), "choose")


@published("numpy.compress")
def compress(
    condition: TensorLike,
    a: TensorLike,
    axis: int | None = None,
    out: Any = None,
) -> Tensor:
    """The elements, or the slices along an axis, for which the condition is true.

    >>> import gradtape as tf
    >>> tf.numpy.compress([False, True, True], [1, 2, 3]).numpy()
    array([2, 3], dtype=int32)
    """
    x = tensor_of(a, "compress", "a")
    x, place = (flat(x), 0) if axis is None else (x, axis_of(axis, x.array.ndim, "compress"))
    chosen = values_of(tensor_of(condition, "compress", "condition"), "compress", "condition")
    if chosen.ndim != 1:
        raise ValueError(f"compress: condition must be a vector, got shape {chosen.shape}.")
    picked = np.flatnonzero(chosen)
    if picked.size and picked[-1] >= x.array.shape[place]:
        raise IndexError(
            f"compress: condition is true at {picked[-1]}, which is out of range for an axis of "
            f"size {x.array.shape[place]}."
        )
    return into(out, gather(x, Tensor(picked), axis=place, sparse=False), "compress")


@published("numpy.extract")
def extract(condition: TensorLike, arr: TensorLike) -> Tensor:
    """The elements for which the condition is true, in one row.

    >>> import gradtape as tf
    >>> tf.numpy.extract([[True, False], [False, True]], [[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    chosen = values_of(tensor_of(condition, "extract", "condition"), "extract", "condition")
    return take(arr, np.flatnonzero(chosen))


# Indices of elements


@published("numpy.nonzero", "array_api.nonzero")
def nonzero(a: TensorLike) -> tuple[Tensor, ...]:
    """Where the elements are that are not zero: one vector of indices for each axis.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.nonzero([[0, 1], [2, 0]])]
    [array([0, 1]), array([1, 0])]
    """
    x = tensor_of(a, "nonzero", "a")
    if not x.array.ndim:
        raise ValueError("nonzero: a must have at least one axis, got a scalar: use atleast_1d(a).")
    return tuple(shaping.unstack(where_true(x), axis=1))


@published("numpy.argwhere")
def argwhere(a: TensorLike) -> Tensor:
    """The coordinates of the elements that are not zero, a row for each.

    >>> import gradtape as tf
    >>> tf.numpy.argwhere([[0, 1], [2, 0]]).numpy()
    array([[0, 1],
           [1, 0]])
    """
    return where_true(tensor_of(a, "argwhere", "a"))


@published("numpy.flatnonzero")
def flatnonzero(a: TensorLike) -> Tensor:
    """Where the elements are that are not zero, when all are in one row.

    >>> import gradtape as tf
    >>> tf.numpy.flatnonzero([[0, 1], [2, 0]]).numpy()
    array([1, 2])
    """
    return nonzero(flat(tensor_of(a, "flatnonzero", "a")))[0]


@published("numpy.unravel_index")
def unravel_index(indices: TensorLike, shape: ShapeLike, order: str = "C") -> tuple[Tensor, ...]:
    """The coordinates of places in an array of the given shape that is read row by row.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.unravel_index([2, 5], (2, 3))]
    [array([0, 1]), array([2, 2])]
    """
    sizes = integers(shape, "unravel_index: shape")
    places = values_of(_integers(indices, "unravel_index", "indices"), "unravel_index", "indices")
    try:
        return wrapped(np.unravel_index(places, sizes, order))  # type: ignore[call-overload]
    except ValueError as error:
        raise ValueError(f"unravel_index: {error}.") from error


@published("numpy.ravel_multi_index")
def ravel_multi_index(
    multi_index: Any, dims: ShapeLike, mode: Any = "raise", order: str = "C"
) -> Tensor:
    """The places of coordinates in an array of shape `dims` that is read row by row:
    the inverse of `unravel_index`.

    >>> import gradtape as tf
    >>> tf.numpy.ravel_multi_index(([0, 1], [2, 2]), (2, 3)).numpy()
    array([2, 5])
    """
    given = multi_index if isinstance(multi_index, (list, tuple)) else shaping.unstack(
        tensor_of(multi_index, "ravel_multi_index", "multi_index"), axis=0
    )  # fmt: skip
    coordinates = tuple(
        values_of(
            _integers(x, "ravel_multi_index", f"multi_index[{i}]"),
            "ravel_multi_index",
            f"multi_index[{i}]",
        )
        for i, x in enumerate(given)
    )
    sizes = integers(dims, "ravel_multi_index: dims")
    found = np.ravel_multi_index(coordinates, sizes, mode, order)  # type: ignore[call-overload]
    return wrapped(found)


# Indices of a grid


@published("numpy.indices")
def indices(dimensions: ShapeLike, dtype: DTypeLike = int, sparse: bool = False) -> Tensor | Any:
    """For each axis of a grid, the index of every place along it; `sparse` gives them as a tuple
    that broadcasts to the grid.

    >>> import gradtape as tf
    >>> tf.numpy.indices((2, 2)).numpy().tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    sizes = integers(dimensions, "indices: dimensions")
    whole = dtype_of(dtype, INT32)
    found = np.indices(sizes, whole, sparse=sparse)  # type: ignore[call-overload]
    return wrapped(found)


@published("numpy.diag_indices")
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of size n.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.diag_indices(3)]
    [array([0, 1, 2]), array([0, 1, 2])]
    """
    return wrapped(
        np.diag_indices(as_int(n, "diag_indices: n"), as_int(ndim, "diag_indices: ndim"))
    )


@published("numpy.diag_indices_from")
def diag_indices_from(arr: TensorLike) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array whose axes are of one size.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.diag_indices_from(tf.ones([2, 2]))]
    [array([0, 1]), array([0, 1])]
    """
    return wrapped(np.diag_indices_from(_frame(arr, "diag_indices_from")))


def _frame(arr: TensorLike, function: str) -> Any:
    """An array of the same shape, for functions that ask for nothing else."""
    return np.broadcast_to(np.int8(0), tensor_of(arr, function, "arr").array.shape)


@published("numpy.tril_indices")
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices of the lower triangle of an n by m matrix, up to diagonal `k`.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.tril_indices(2)]
    [array([0, 1, 1]), array([0, 0, 1])]
    """
    return wrapped(np.tril_indices(as_int(n, "tril_indices: n"), as_int(k, "tril_indices: k"), m))


@published("numpy.tril_indices_from")
def tril_indices_from(arr: TensorLike, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the lower triangle of a matrix of this shape, up to diagonal `k`.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.tril_indices_from(tf.ones([2, 2]))]
    [array([0, 1, 1]), array([0, 0, 1])]
    """
    return wrapped(
        np.tril_indices_from(_frame(arr, "tril_indices_from"), as_int(k, "tril_indices_from: k"))
    )


@published("numpy.triu_indices")
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices of the upper triangle of an n by m matrix, from diagonal `k` on.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.triu_indices(2)]
    [array([0, 0, 1]), array([0, 1, 1])]
    """
    return wrapped(np.triu_indices(as_int(n, "triu_indices: n"), as_int(k, "triu_indices: k"), m))


@published("numpy.triu_indices_from")
def triu_indices_from(arr: TensorLike, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the upper triangle of a matrix of this shape, from diagonal `k` on.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.triu_indices_from(tf.ones([2, 2]))]
    [array([0, 0, 1]), array([0, 1, 1])]
    """
    return wrapped(
        np.triu_indices_from(_frame(arr, "triu_indices_from"), as_int(k, "triu_indices_from: k"))
    )


@published("numpy.mask_indices")
def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Tensor, ...]:
    """The indices of what `mask_func`, such as `triu`, leaves of an n by n matrix of ones.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.mask_indices(2, tf.numpy.triu)]
    [array([0, 0, 1]), array([0, 1, 1])]
    """
    size = as_int(n, "mask_indices: n")
    return nonzero(mask_func(Tensor(np.ones((size, size), np.int32)), k))
