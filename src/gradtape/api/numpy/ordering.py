"""NumPy's functions that sort, search and count: `sort`, `argsort`, `searchsorted`,
`bincount` and related functions.

Sorting is recorded as a gather; equal elements keep their order. Indices and counts are int64 and
have no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.indexing import along_axis, take
from gradtape.api.numpy.operands import (
    COMPLEX64,
    COMPLEX128,
    INT64,
    axes_of,
    axis_of,
    converted,
    inexact,
    known_values,
    promoted,
    tensor_of,
    tensors_of,
    values_of,
    widened,
    wrapped,
)
from gradtape.api.numpy.shaping import flat
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike, as_int, integers
from gradtape.core.tensor import Tensor
from gradtape.ops import ordering, reductions, shaping
from gradtape.ops.arithmetic import not_equal
from gradtape.ops.counting import searchsorted as searchsorted_rows
from gradtape.ops.segments import segment_sum
from gradtape.ops.selection import ones_like
from gradtape.published import published


@published("numpy.sort")
def sort(
    a: TensorLike,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Tensor:
    """Sorted along an axis, or all elements in one row; NaN stands last, in either direction.

    >>> import gradtape as tf
    >>> tf.numpy.sort([[3.0, 1.0], [2.0, 4.0]]).numpy()
    array([[1., 3.],
           [2., 4.]], dtype=float32)
    """
    x, place = _sortable(a, axis, order, "sort")
    return _sorted(x, place, descending=bool(descending))


@published("numpy.argsort")
def argsort(
    a: TensorLike,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Tensor:
    """The indices that would sort along an axis; see `sort`.

    >>> import gradtape as tf
    >>> tf.numpy.argsort([3.0, 1.0, 2.0]).numpy()
    array([1, 2, 0])
    """
    return _order(*_sortable(a, axis, order, "argsort"), descending=bool(descending))


def _sortable(a: TensorLike, axis: Any, order: Any, function: str) -> tuple[Tensor, int]:
    if order is not None:
        raise TypeError(
            f"{function}: order names the fields of structured arrays, which Tensors are not: "
            "leave it out."
        )
    x = tensor_of(a, function, "a")
    return (flat(x), 0) if axis is None else (x, axis_of(axis, x.array.ndim, function))


def _sorted(x: Tensor, axis: int, *, descending: bool = False) -> Tensor:
    """A gather; where nothing follows it, NumPy's own sorting,
    which is five times as fast as finding the places.
    """
    known = known_values(x)
    if x.node is None and known is not None and known.dtype.kind != "V":
        if descending:
            return Tensor(_mirrored(np.sort(_mirrored(known), axis)))
        return Tensor(np.sort(known, axis))
    return along_axis(x, _order(x, axis, descending=descending), axis)


def _order(x: Tensor, axis: int, *, descending: bool = False) -> Tensor:
    """The indices that sort a Tensor along an axis."""
    rank = x.array.ndim
    key = _mirrored(x) if descending else x
    if axis == rank - 1:
        return ordering.argsort(key, descending=False)
    last = (*(i for i in range(rank) if i != axis), axis)
    back = tuple(last.index(i) for i in range(rank))
    return shaping.transpose(
        ordering.argsort(shaping.transpose(key, perm=last), descending=False), perm=back
    )


def _mirrored(x: Any) -> Any:
    """Numbers in the opposite order: what sorts them upwards sorts `x` downwards, with NaN last
    and equal elements in their order. Twice, it is `x` again.
    """
    return -x if x.dtype.kind in "fcV" else ~x


@published("numpy.partition")
def partition(
    a: TensorLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    """With the elements `kth` where sorting would put them, smaller ones before and larger ones
    behind; here all are sorted.

    >>> import gradtape as tf
    >>> tf.numpy.partition([3.0, 4.0, 2.0, 1.0], 1).numpy()[1]
    np.float32(2.0)
    """
    x, place = _sortable(a, axis, order, "partition")
    _check_kth(kth, x.array.shape[place], "partition")
    return _sorted(x, place)


@published("numpy.argpartition")
def argpartition(
    a: TensorLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    """The indices that would partition along an axis, as `partition` does.

    >>> import gradtape as tf
    >>> tf.numpy.argpartition([3.0, 4.0, 2.0, 1.0], 1).numpy()[1]
    np.int64(2)
    """
    x, place = _sortable(a, axis, order, "argpartition")
    _check_kth(kth, x.array.shape[place], "argpartition")
    return _order(x, place)


def _check_kth(kth: Any, size: int, function: str) -> None:
    for k in integers(kth, f"{function}: kth"):
        if not -size <= k < size:
            raise ValueError(f"{function}: kth={k} is out of range for an axis of size {size}.")


@published("numpy.lexsort")
def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The indices that sort by several keys, of which the last counts first.

    >>> import gradtape as tf
    >>> tf.numpy.lexsort(([9, 4, 0], [1, 5, 1])).numpy()
    array([2, 0, 1])
    """
    given = (
        tensors_of(keys, "lexsort", "keys")
        if isinstance(keys, (list, tuple))
        else [tensor_of(keys, "lexsort", "keys")]
    )
    values = [values_of(key, "lexsort", "keys") for key in given]
    return wrapped(
        np.lexsort(
            values if isinstance(keys, (list, tuple)) else values[0],
            axis=as_int(axis, "lexsort: axis"),
        )
    )


@published("numpy.sort_complex")
def sort_complex(a: TensorLike) -> Tensor:
    """Complex numbers sorted along the last axis, by their real parts and,
    where those are equal, by the imaginary ones.

    >>> import gradtape as tf
    >>> tf.numpy.sort_complex([3.0, 1.0]).numpy()
    array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    x = tensor_of(a, "sort_complex", "a")
    if x.array.dtype.kind != "c":
        x = converted(x, COMPLEX128 if inexact(x).array.dtype.itemsize == 8 else COMPLEX64)
    return sort(x)


# Searching


@published("numpy.searchsorted", "array_api.searchsorted")
def searchsorted(
    a: TensorLike, v: TensorLike, side: str = "left", sorter: TensorLike | None = None
) -> Tensor:
    """Where each value would go into a sorted vector:
    before what equals it ("left") or behind it ("right").

    >>> import gradtape as tf
    >>> tf.numpy.searchsorted([1.0, 3.0, 5.0], [0.0, 3.0, 6.0]).numpy()
    array([0, 1, 3])
    """
    row, values = promoted(tensors_of([a, v], "searchsorted", ["a", "v"]))
    if row.array.ndim != 1:
        raise ValueError(f"searchsorted: a must be a sorted vector, got shape {row.shape}.")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}.")
    return place_in(row if sorter is None else take(row, sorter), values, side)


def place_in(row: Tensor, values: Tensor, side: str) -> Tensor:
    """Where each of the values would stand in a sorted vector."""
    found = searchsorted_rows(row, flat(values), side=side)
    return shaping.reshape(found, shape=values.array.shape)


@published("numpy.digitize")
def digitize(x: TensorLike, bins: TensorLike, right: bool = False) -> Tensor:
    """The number of the bin between rising or falling edges that each value lies in;
    `right` closes bins on the right.

    >>> import gradtape as tf
    >>> tf.numpy.digitize([0.2, 6.4, 3.0], [0.0, 1.0, 2.5, 4.0]).numpy()
    array([1, 4, 3])
    """
    values, edges = promoted(tensors_of([x, bins], "digitize", ["x", "bins"]))
    known_edges = values_of(edges, "digitize", "bins")
    steps = (
        np.diff(known_edges) if edges.array.ndim == 1 and edges.array.dtype.kind != "O" else None
    )
    if steps is None or not ((steps >= 0).all() or (steps <= 0).all()):
        raise ValueError(f"digitize: bins must be a monotonic vector, got {edges.array}.")
    side = "left" if right else "right"
    if (steps >= 0).all():
        return place_in(edges, values, side)
    return edges.array.size - place_in(shaping.reverse(edges, axis=(0,)), values, side)


# Counting


@published("numpy.count_nonzero", "array_api.count_nonzero")
def count_nonzero(a: TensorLike, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """How many elements are not zero, in all or along axes.

    >>> import gradtape as tf
    >>> tf.numpy.count_nonzero([[0, 1], [2, 3]], axis=1).numpy()
    array([1, 2])
    """
    x = tensor_of(a, "count_nonzero", "a")
    counted = converted(not_equal(x, 0) if x.array.dtype.kind != "b" else x, INT64)
    return reductions.reduce_sum(
        counted, axis=axes_of(axis, x.array.ndim, "count_nonzero"), keepdims=bool(keepdims)
    )


@published("numpy.bincount")
def bincount(x: TensorLike, /, weights: TensorLike | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on is in a vector, or the sum of its `weights`,
    which a gradient flows back to.

    >>> import gradtape as tf
    >>> (
    ...     tf.numpy.bincount([1, 1, 3]).numpy(),
    ...     tf.numpy.bincount([1, 1, 3], weights=[0.5, 1.0, 2.0]).numpy(),
    ... )
    (array([0, 2, 0, 1]), array([0. , 1.5, 0. , 2. ], dtype=float32))
    """
    numbers = tensor_of(x, "bincount")
    array, least = values_of(numbers, "bincount"), as_int(minlength, "bincount: minlength")
    if array.ndim != 1 or (array.size and array.dtype.kind not in "biu"):
        raise TypeError(
            f"bincount: x must be a vector of integers, got shape {numbers.shape}, dtype "
            f"{numbers.dtype.name}."
        )
    if least < 0 or (array.size and array.min() < 0):
        raise ValueError("bincount: neither x nor minlength may be negative.")
    size = max(least, int(array.max()) + 1 if array.size else 0)
    values = None if weights is None else flat(widened(tensor_of(weights, "bincount", "weights")))
    return counted(converted(numbers, INT64), values, size, "bincount")


def counted(ids: Tensor, weights: Tensor | None, size: int, function: str) -> Tensor:
    """How often each of the numbers from 0 to size - 1 is in a row of them, or the sum of its
    weights; -1 counts nowhere.
    """
    if weights is None:
        return segment_sum(ones_like(ids), ids, size=size)
    if weights.array.size != ids.array.size:
        raise ValueError(
            f"{function}: weights must have one entry for each of {ids.array.size} elements, got "
            f"{weights.array.size}."
        )
    return segment_sum(
        converted(weights, INT64) if weights.array.dtype.kind == "b" else weights, ids, size=size
    )
