"""NumPy's functions that put arrays together and take them apart: `concatenate`, `stack`, `block`,
`split` and related functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import axis_of, converted, dtype_of, into, tensor_of, tensors_of
from gradtape.api.numpy.shaping import flat, with_one_axis, with_three_axes, with_two_axes
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, has_axes, integers
from gradtape.convert import common_dtype, is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.published import published


@published("numpy.concatenate", "numpy.concat", "array_api.concat")
def concatenate(
    arrays: Any,
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: DTypeLike = None,
    casting: str = "same_kind",
) -> Tensor:
    """Arrays one after the other along an axis that they have; without an axis,
    all elements in one row.

    >>> import gradtape as tf
    >>> tf.numpy.concatenate([[[1, 2]], [[3, 4], [5, 6]]]).numpy()
    array([[1, 2],
           [3, 4],
           [5, 6]], dtype=int32)
    """
    tensors = _given(arrays, "concatenate", "arrays", dtype, casting)
    if axis is None:
        tensors, axis = [flat(x) for x in tensors], 0
    return into(out, joined(tensors, axis, "concatenate"), "concatenate")


def _given(
    arrays: Any, function: str, argument: str, dtype: DTypeLike = None, casting: str = "same_kind"
) -> list[Tensor]:
    """The entries of a sequence, or of the first axis of an array, as Tensors."""
    if type(arrays) is list or type(arrays) is tuple:
        tensors = tensors_of(arrays, function, argument)
    elif is_tensor_like(arrays) or isinstance(arrays, np.ndarray):
        whole = tensor_of(arrays, function, argument)
        if not whole.array.ndim:
            raise ValueError(f"{function}: {argument} must be a sequence of arrays, got a scalar.")
        tensors = shaping.unstack(whole, axis=0)
    elif isinstance(arrays, Sequence):
        tensors = tensors_of(arrays, function, argument)
    else:
        raise TypeError(
            f"{function}: {argument} must be a list or tuple of arrays, got "
            f"{type(arrays).__name__}."
        )
    if not tensors:
        raise ValueError(f"{function}: {argument} is empty; give at least one array.")
    if dtype is None:
        return tensors
    wanted = dtype_of(dtype, common_dtype([x.array.dtype for x in tensors]))
    for x in tensors:
        if not np.can_cast(x.array.dtype, wanted, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"{function}: dtype={wanted} cannot hold {x.array.dtype} under casting={casting!r}."
            )
    return [converted(x, wanted) for x in tensors]


def joined(tensors: list[Tensor], axis: int, function: str) -> Tensor:
    """Tensors one after the other along an axis."""
    place = axis_of(axis, tensors[0].array.ndim, function)
    shapes = [x.array.shape for x in tensors]
    alike = shapes.count(shapes[0]) == len(shapes)  # the commonest case, before the general one
    if not alike and (
        len({(*s[:place], *s[place + 1 :]) for s in shapes}) > 1
        or len({len(s) for s in shapes}) > 1
    ):
        raise ValueError(
            f"{function}: the shapes {shapes} must be the same except in axis {place}."
        )
    return shaping.concat(*tensors, axis=place)


@published("numpy.stack", "array_api.stack")
def stack(
    arrays: Any,
    axis: int = 0,
    out: Any = None,
    *,
    dtype: DTypeLike = None,
    casting: str = "same_kind",
) -> Tensor:
    """Arrays of one shape side by side along a new axis.

    >>> import gradtape as tf
    >>> tf.numpy.stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    tensors = _given(arrays, "stack", "arrays", dtype, casting)
    shapes = [x.array.shape for x in tensors]
    if len(set(shapes)) > 1:
        raise ValueError(f"stack: all arrays must have the same shape, got {shapes}.")
    return into(
        out, shaping.stack(*tensors, axis=axis_of(axis, len(shapes[0]) + 1, "stack")), "stack"
    )


@published("numpy.hstack")
def hstack(tup: Any, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Tensor:
    """Arrays side by side: along the second axis, vectors along their only one.

    >>> import gradtape as tf
    >>> tf.numpy.hstack([[1, 2], [3]]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    tensors = [with_one_axis(x) for x in _given(tup, "hstack", "tup", dtype, casting)]
    return joined(tensors, 0 if tensors[0].array.ndim == 1 else 1, "hstack")


@published("numpy.vstack")
def vstack(tup: Any, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Tensor:
    """Arrays below each other: along the first axis, vectors as rows.

    >>> import gradtape as tf
    >>> tf.numpy.vstack([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return joined(
        [with_two_axes(x) for x in _given(tup, "vstack", "tup", dtype, casting)], 0, "vstack"
    )


@published("numpy.dstack")
def dstack(tup: Any) -> Tensor:
    """Arrays behind each other: along the third axis.

    >>> import gradtape as tf
    >>> tf.numpy.dstack([[1, 2], [3, 4]]).numpy()
    array([[[1, 3],
            [2, 4]]], dtype=int32)
    """
    return joined([with_three_axes(x) for x in _given(tup, "dstack", "tup")], 2, "dstack")


@published("numpy.column_stack")
def column_stack(tup: Any) -> Tensor:
    """Vectors, and matrices beside them, as the columns of a matrix.

    >>> import gradtape as tf
    >>> tf.numpy.column_stack([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    columns = [
        x if x.array.ndim > 1 else shaping.reshape(x, shape=(x.array.size, 1))
        for x in _given(tup, "column_stack", "tup")
    ]
    return joined(columns, 1, "column_stack")


@published("numpy.block")
def block(arrays: Any) -> Tensor:
    """One array of blocks: the innermost lists are joined along the last axis,
    those around them along the one before it.

    >>> import gradtape as tf
    >>> tf.numpy.block([[tf.ones([1, 2]), tf.zeros([1, 1])], [1.0, 2.0, 3.0]]).numpy()
    array([[1., 1., 0.],
           [1., 2., 3.]], dtype=float32)
    """
    depths = set(_depths(arrays, "arrays"))
    if len(depths) > 1:
        raise ValueError(
            "block: the lists in arrays must be nested to the same depth, got depths "
            f"{sorted(depths)}."
        )
    (depth,) = depths
    blocks = iter(tensors_of(list(_blocks(arrays)), "block", "arrays"))
    tensors = _nested(arrays, lambda _: next(blocks))
    rank = max(depth, *[x.array.ndim for x in _blocks(tensors)])
    lined_up = _nested(
        tensors, lambda x: shaping.reshape(x, shape=(1,) * (rank - x.array.ndim) + x.array.shape)
    )
    return _joined_blocks(lined_up, rank - depth)


def _depths(arrays: Any, place: str) -> Any:
    """How deep each block stands in lists; numbers in an innermost list are blocks too."""
    if isinstance(arrays, tuple):
        raise TypeError(f"block: {place} is a tuple; only lists nest blocks.")
    if not isinstance(arrays, list):
        yield 0
        return
    if not arrays:
        raise ValueError(f"block: {place} is an empty list.")
    for i, entry in enumerate(arrays):
        for depth in _depths(entry, f"{place}[{i}]"):
            yield depth + 1


def _blocks(arrays: Any) -> Any:
    if not isinstance(arrays, list):
        yield arrays
        return
    for entry in arrays:
        yield from _blocks(entry)


def _nested(arrays: Any, change: Callable[[Any], Any]) -> Any:
    return (
        [_nested(entry, change) for entry in arrays] if isinstance(arrays, list) else change(arrays)
    )


def _joined_blocks(blocks: Any, axis: int) -> Tensor:
    if not isinstance(blocks, list):
        return blocks
    return joined([_joined_blocks(entry, axis + 1) for entry in blocks], axis, "block")


@published("numpy.append")
def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """`values` behind `arr`, along an axis or, without one, all elements in one row.

    >>> import gradtape as tf
    >>> tf.numpy.append([1, 2], [[3, 4]]).numpy()
    array([1, 2, 3, 4], dtype=int32)
    """
    tensors = tensors_of([arr, values], "append", ["arr", "values"])
    if axis is None:
        tensors, axis = [flat(x) for x in tensors], 0
    return joined(tensors, axis, "append")


@published("numpy.unstack", "array_api.unstack")
def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, as a tuple.

    >>> import gradtape as tf
    >>> [part.numpy() for part in tf.numpy.unstack([[1, 2], [3, 4]])]
    [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    whole = tensor_of(x, "unstack")
    if not whole.array.ndim:
        raise ValueError("unstack: x must have at least one axis, got a scalar.")
    return tuple(shaping.unstack(whole, axis=axis_of(axis, whole.array.ndim, "unstack")))


@published("numpy.array_split")
def array_split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Pieces along an axis: a number of nearly equal ones, or those between the given places.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.array_split([1, 2, 3, 4, 5], 2)]
    [array([1, 2, 3], dtype=int32), array([4, 5], dtype=int32)]
    """
    return _pieces(tensor_of(ary, "array_split", "ary"), indices_or_sections, axis, "array_split")


@published("numpy.split")
def split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Pieces along an axis: a number of equal ones, or those between the given places.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.numpy.split([1, 2, 3, 4], [1])]
    [array([1], dtype=int32), array([2, 3, 4], dtype=int32)]
    """
    return _equal_pieces(tensor_of(ary, "split", "ary"), indices_or_sections, axis, "split")


@published("numpy.hsplit")
def hsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """Pieces along the second axis, of a vector along its only one.

    >>> import gradtape as tf
    >>> [x.numpy().tolist() for x in tf.numpy.hsplit([[1, 2], [3, 4]], 2)]
    [[[1], [3]], [[2], [4]]]
    """
    x = _with_rank(ary, 1, "hsplit")
    return _equal_pieces(x, indices_or_sections, 1 if x.array.ndim > 1 else 0, "hsplit")


@published("numpy.vsplit")
def vsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """Pieces along the first axis of an array with two axes or more.

    >>> import gradtape as tf
    >>> [x.numpy().tolist() for x in tf.numpy.vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _equal_pieces(_with_rank(ary, 2, "vsplit"), indices_or_sections, 0, "vsplit")


@published("numpy.dsplit")
def dsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """Pieces along the third axis.

    >>> import gradtape as tf
    >>> [x.shape for x in tf.numpy.dsplit(tf.ones([1, 2, 4]), 2)]
    [TensorShape([1, 2, 2]), TensorShape([1, 2, 2])]
    """
    return _equal_pieces(_with_rank(ary, 3, "dsplit"), indices_or_sections, 2, "dsplit")


def _with_rank(ary: TensorLike, rank: int, function: str) -> Tensor:
    x = tensor_of(ary, function, "ary")
    if x.array.ndim < rank:
        raise ValueError(f"{function}: ary must have at least {rank} axes, got shape {x.shape}.")
    return x


def _equal_pieces(x: Tensor, places: Any, axis: int, function: str) -> list[Tensor]:
    """Pieces of which a number given alone makes equal ones."""
    place = axis_of(axis, x.array.ndim, function)
    if _is_number(places) and x.array.shape[place] % max(
        as_int(places, f"{function}: indices_or_sections"), 1
    ):
        raise ValueError(
            f"{function}: {places} equal parts cannot be made from an axis of size "
            f"{x.array.shape[place]}."
        )
    return _pieces(x, places, place, function)


def _pieces(x: Tensor, places: Any, axis: int, function: str) -> list[Tensor]:
    place = axis_of(axis, x.array.ndim, function)
    total = x.array.shape[place]
    if _is_number(places):
        count = as_int(places, f"{function}: indices_or_sections")
        if count < 1:
            raise ValueError(f"{function}: indices_or_sections must be at least 1, got {count}.")
        longer = total % count
        return shaping.split(
            x, sizes=[total // count + (i < longer) for i in range(count)], axis=place
        )
    ends = integers(places, f"{function}: indices_or_sections")
    slices = [
        slice(*slice(low, high).indices(total))
        for low, high in zip((0, *ends), (*ends, None), strict=True)
    ]
    if all(
        before.start <= before.stop == after.start <= after.stop
        for before, after in pairwise(slices)
    ):
        return shaping.split(x, sizes=[part.stop - part.start for part in slices], axis=place)
    return [
        shaping.getitem(x, key=(*(slice(None),) * place, part)) for part in slices
    ]  # places that do not rise, or reach outside


def _is_number(places: Any) -> bool:
    return not has_axes(places)
