"""Changing shapes: `tf.reshape`, `tf.transpose`, `tf.squeeze`, `tf.pad`, `tf.slice` and related
functions.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from gradtape.api.tensorflow.arguments import (
    AxisLike,
    ShapeLike,
    TensorLike,
    as_int,
    as_shape,
    axes,
    integers,
    known,
    one_axis,
    single,
)
from gradtape.convert import TENSORFLOW
from gradtape.core.composite import takes_composites
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops import broadcasting, indexing, mirroring, selection, shaping
from gradtape.ops.operators import index
from gradtape.published import published

Shape = tuple[int, ...]


@published("reshape")
def reshape(tensor: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The same elements in another shape; one size may be -1, which stands for what is left.

    >>> import gradtape as tf
    >>> tf.reshape([1, 2, 3, 4], [2, -1]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    x = TENSORFLOW.tensor(tensor, "reshape: tensor")
    return shaping.reshape(x, shape=_complete(integers(shape, "reshape: shape"), x.array.shape))


def _complete(sizes: Shape, shape: Shape) -> Shape:
    """A new shape with -1 replaced; among no elements, by what the sizes other than 0 leave."""
    unknown = sizes.count(-1)
    if unknown > 1 or any(size < -1 for size in sizes):
        raise invalid_argument(
            f"reshape: shape={list(sizes)} may have one -1 and no other negative size."
        )
    if not unknown:
        return sizes
    nonzero = math.prod(size for size in shape if size) if 0 in sizes else math.prod(shape)
    known = math.prod(size for size in sizes if size > 0)
    if nonzero % known:
        raise invalid_argument(
            f"reshape: a tensor of shape {shape} cannot have the shape {list(sizes)}: its size is "
            f"not a multiple of {known}."
        )
    return tuple(nonzero // known if size == -1 else size for size in sizes)


@published("transpose")
def transpose(
    a: TensorLike, perm: AxisLike = None, conjugate: bool = False, name: str = "transpose"
) -> Tensor:
    """The axes of `a` in the order `perm`, reversed if it is None;
    complex values may be conjugated as well.

    >>> import gradtape as tf
    >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
    array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int32)
    """
    x = TENSORFLOW.tensor(a, "transpose: a")
    rank = x.array.ndim
    order = tuple(range(rank))[::-1] if perm is None else axes(perm, rank, "transpose: perm")
    assert order is not None
    if len(order) != rank:
        raise invalid_argument(
            f"transpose: perm={list(order)} must name each of the {rank} axes of a once."
        )
    moved = shaping.transpose(x, perm=order)
    return broadcasting.conj(moved) if conjugate and x.array.dtype.kind == "c" else moved


@published("expand_dims")
@takes_composites
def expand_dims(input: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """`input` with a new axis of size 1 at `axis`.

    >>> import gradtape as tf
    >>> tf.expand_dims([1, 2], axis=-1).numpy()
    array([[1],
           [2]], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "expand_dims: input")
    sizes = x.array.shape
    place = one_axis(single(axis, "expand_dims: axis"), len(sizes) + 1, "expand_dims: axis")
    return shaping.reshape(x, shape=(*sizes[:place], 1, *sizes[place:]))


@published("squeeze")
@takes_composites
def squeeze(input: TensorLike, axis: AxisLike = None, name: str | None = None) -> Tensor:
    """`input` without its axes of size 1, or without those of them that `axis` names.

    >>> import gradtape as tf
    >>> tf.squeeze([[[1], [2]]]).numpy()
    array([1, 2], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "squeeze: input")
    sizes = x.array.shape
    named = [] if axis is None else integers(axis, "squeeze: axis")
    dropped = {one_axis(a, len(sizes), "squeeze: axis") for a in named} or {
        i for i, n in enumerate(sizes) if n == 1
    }
    for place in dropped:
        if sizes[place] != 1:
            raise invalid_argument(
                f"squeeze: axis {place} of a tensor of shape {x.shape} has size "
                f"{sizes[place]}, not 1."
            )
    return shaping.reshape(x, shape=tuple(n for i, n in enumerate(sizes) if i not in dropped))


@published("pad")
def pad(
    tensor: TensorLike,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """`tensor` with `paddings[i]` (before, after) added along axis i: a constant, or the edge
    mirrored with or without itself.

    >>> import gradtape as tf
    >>> tf.pad([1, 2, 3], [[1, 2]]).numpy(), tf.pad([1, 2, 3], [[1, 2]], "REFLECT").numpy()
    (array([0, 1, 2, 3, 0, 0], dtype=int32), array([2, 1, 2, 3, 2, 1], dtype=int32))
    """
    x = TENSORFLOW.tensor(tensor, "pad: tensor")
    widths = _paddings(paddings, x.array.shape)
    kind = mode.upper() if isinstance(mode, str) else mode
    if isinstance(kind, str) and kind == "CONSTANT":
        return _padded(x, widths, constant_values)
    if not isinstance(kind, str) or kind not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"pad: mode must be CONSTANT, REFLECT or SYMMETRIC, got {mode!r}.")
    apart = int(kind == "REFLECT")
    for axis, (size, pair) in enumerate(zip(x.array.shape, widths, strict=True)):
        if max(pair) and max(pair) > size - apart:
            raise invalid_argument(
                f"pad: paddings[{axis}]={list(pair)} is too wide for mode {kind} on an axis of "
                f"size {size}."
            )
    return mirroring.mirror(x, paddings=widths, apart=apart) if np.any(widths) else x


def _paddings(paddings: Any, shape: Shape) -> tuple[tuple[int, int], ...]:
    given = TENSORFLOW.tensor(paddings, "pad: paddings")
    table = known(given, "pad: paddings", "use Python integers")
    if table.shape != (len(shape), 2) or (
        table.size and (table.dtype.kind not in "iu" or table.min() < 0)
    ):
        raise invalid_argument(
            f"pad: paddings must be integers of at least 0 in shape ({len(shape)}, 2), a pair for "
            f"each axis, got {table.tolist()}."
        )
    return tuple((low, high) for low, high in table.tolist())


def _padded(x: Tensor, widths: tuple[tuple[int, int], ...], value: Any) -> Tensor:
    """Padding with a number; a gradient flows back to a number that is a tensor."""
    kind = x.array.dtype.kind
    if (type(value) is int and kind != "O") or (type(value) is float and kind not in "biu"):
        return shaping.pad(x, paddings=widths, value=value)
    if kind == "O" and type(value) is int and not value:
        value = b""
    x, filler = TENSORFLOW.tensors([x, value], ["pad: tensor", "pad: constant_values"])
    if filler.array.ndim:
        raise invalid_argument(f"pad: constant_values must be a scalar, got shape {filler.shape}.")
    inside = np.pad(np.ones(x.array.shape, bool), widths)
    return selection.where(Tensor(inside), shaping.pad(x, paddings=widths), filler)


@published("reverse")
@takes_composites
def reverse(tensor: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """`tensor` with the order along the given axes turned round.

    >>> import gradtape as tf
    >>> tf.reverse([[1, 2], [3, 4]], axis=[1]).numpy()
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    x = TENSORFLOW.tensor(tensor, "reverse: tensor")
    return shaping.reverse(
        x, axis=axes(integers(axis, "reverse: axis"), x.array.ndim, "reverse: axis")
    )


@published("roll")
def roll(input: TensorLike, shift: Any, axis: AxisLike, name: str | None = None) -> Tensor:
    """`input` moved by `shift` places along an axis; what falls off the end comes in at the front.

    >>> import gradtape as tf
    >>> tf.roll([1, 2, 3, 4], shift=1, axis=0).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "roll: input")
    steps, places = integers(shift, "roll: shift"), integers(axis, "roll: axis")
    if len(steps) != len(places):
        raise invalid_argument(
            f"roll: shift={list(steps)} and axis={list(places)} must have the same number of "
            "entries."
        )
    return shaping.roll(
        x, shift=steps, axis=tuple(one_axis(a, x.array.ndim, "roll: axis") for a in places)
    )


@published("broadcast_to")
def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`input` repeated along axes of size 1, and along new ones in front,
    until it has the given shape.

    >>> import gradtape as tf
    >>> tf.broadcast_to([1, 2], [2, 2]).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "broadcast_to: input")
    sizes, wanted = x.array.shape, as_shape(shape, "broadcast_to: shape")
    added = len(wanted) - len(sizes)
    if added < 0 or any(n not in (1, m) for n, m in zip(sizes, wanted[added:], strict=True)):
        raise invalid_argument(
            f"broadcast_to: input of shape {x.shape} cannot be broadcast to shape={list(wanted)}."
        )
    return broadcasting.broadcast_to(x, shape=wanted)


@published("slice")
def slice(input_: TensorLike, begin: ShapeLike, size: ShapeLike, name: str | None = None) -> Tensor:
    """The block of `size` elements that starts at `begin`;
    a size of -1 goes to the end of its axis.

    >>> import gradtape as tf
    >>> tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [-1, 2]).numpy()
    array([[2, 3],
           [5, 6]], dtype=int32)
    """
    x = TENSORFLOW.tensor(input_, "slice: input_")
    counts = integers(size, "slice: size")
    shape = x.array.shape
    if _any_traced(begin):
        return _slice_from(x, begin, counts)
    starts = integers(begin, "slice: begin")
    if not len(starts) == len(counts) == len(shape):
        raise invalid_argument(
            f"slice: begin={list(starts)} and size={list(counts)} must have {len(shape)} entries, "
            "one for each axis of input_."
        )
    ends = [
        n if count == -1 else start + count
        for start, count, n in zip(starts, counts, shape, strict=True)
    ]
    if not all(0 <= start <= end <= n for start, end, n in zip(starts, ends, shape, strict=True)):
        raise invalid_argument(
            f"slice: begin={list(starts)}, size={list(counts)} is not inside the shape {x.shape}."
        )
    return shaping.getitem(
        x, key=tuple(builtins.slice(start, end) for start, end in zip(starts, ends, strict=True))
    )


def _any_traced(values: Any) -> bool:
    return is_traced(values) or (isinstance(values, (list, tuple)) and any(map(is_traced, values)))


def _slice_from(x: Tensor, begin: Any, counts: tuple[int, ...]) -> Tensor:
    """A block whose start only the compiled program knows; its size is known, so that -1 is not."""
    starts = [begin[i] for i in range(len(begin))]
    if not len(starts) == len(counts) == x.array.ndim:
        raise invalid_argument(
            f"slice: begin and size={list(counts)} must have {x.array.ndim} entries, one for each "
            "axis of input_."
        )
    for axis, (start, count) in enumerate(zip(starts, counts, strict=True)):
        if not is_traced(start):
            part = builtins.slice(
                as_int(start, "slice: begin"),
                None if count == -1 else as_int(start, "slice: begin") + count,
            )
            x = shaping.getitem(x, key=(*(builtins.slice(None),) * axis, part))
        elif count < 0:
            raise invalid_argument(
                f"slice: size={list(counts)} must not be -1 where begin is known only to the "
                "compiled program."
            )
        else:
            x = indexing.take(x, start + np.arange(count, dtype=start.array.dtype), axis=axis)
    return x


@published("strided_slice")
def strided_slice(
    input_: TensorLike,
    begin: ShapeLike,
    end: ShapeLike,
    strides: ShapeLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Variable | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_[begin:end:strides]` for several axes; bit i of a mask changes what entry i means.

    `begin_mask` and `end_mask` leave a bound open, `ellipsis_mask` stands for `...`,
    `new_axis_mask` for a new axis, and `shrink_axis_mask` takes the one element at `begin`.

    >>> import gradtape as tf
    >>> tf.strided_slice([[1, 2, 3], [4, 5, 6]], [0, 0], [2, 3], [1, 2]).numpy()
    array([[1, 3],
           [4, 6]], dtype=int32)
    """
    starts, ends = integers(begin, "strided_slice: begin"), integers(end, "strided_slice: end")
    steps = (1,) * len(starts) if strides is None else integers(strides, "strided_slice: strides")
    if not len(starts) == len(ends) == len(steps) or 0 in steps:
        raise invalid_argument(
            f"strided_slice: begin={list(starts)}, end={list(ends)} and strides={list(steps)} "
            "must have the same length, and no stride may be 0."
        )
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = (
        as_int(mask, f"strided_slice: {name}")
        for mask, name in (
            (begin_mask, "begin_mask"), (end_mask, "end_mask"), (ellipsis_mask, "ellipsis_mask"),
            (new_axis_mask, "new_axis_mask"), (shrink_axis_mask, "shrink_axis_mask"),
        )
    )  # fmt: skip
    key: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(starts, ends, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            if step != 1:
                raise invalid_argument(
                    f"strided_slice: strides[{i}]={step} must be 1 where shrink_axis_mask takes "
                    "one element."
                )
            key.append(start)
        else:
            key.append(
                builtins.slice(
                    None if begin_mask & bit else start, None if end_mask & bit else stop, step
                )
            )
    if var is not None and not isinstance(var, Variable):
        raise TypeError(f"strided_slice: var must be a Variable, got {var!r}.")
    return (
        var[tuple(key)]
        if var is not None
        else index(TENSORFLOW.tensor(input_, "strided_slice: input_"), tuple(key))
    )
