"""Keeping values and gradients within bounds: `tf.clip_by_value`, `tf.clip_by_norm`,
`tf.clip_by_global_norm`.

An IndexedSlices stays sparse: only its values are clipped, and repeated rows are not added up
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, overload

import numpy as np

from gradtape.api.tensorflow.accepted import FLOATING, NUMERIC, of_kind
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike
from gradtape.api.tensorflow.arguments import axes as reduced_axes
from gradtape.convert import TENSORFLOW
from gradtape.core.composite import takes_composites
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting, elementary, reductions, selection
from gradtape.published import published
from gradtape.shapes import TensorShape


@overload
def clip_by_value(  # type: ignore[overload-overlap]
    t: IndexedSlices,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> IndexedSlices: ...
@overload
def clip_by_value(
    t: TensorLike,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> Tensor: ...
@published("clip_by_value")
@takes_composites
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """`t` with what is below `clip_value_min` or above `clip_value_max` put on the bound;
    on a bound the gradient is 1.

    >>> import gradtape as tf
    >>> tf.clip_by_value([-3.0, 0.5, 3.0], -1.0, 1.0).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    names = ["clip_by_value: t", "clip_by_value: clip_value_min", "clip_by_value: clip_value_max"]
    values, low, high = TENSORFLOW.tensors([_values(t), clip_value_min, clip_value_max], names)
    of_kind(values, NUMERIC, "clip_by_value", "t")
    for bound, argument in ((high, names[2]), (low, names[1])):
        _check_bound(values, bound, argument)
    return _like(t, arithmetic.maximum(arithmetic.minimum(values, high), low))


def _check_bound(values: Tensor, bound: Tensor, argument: str) -> None:
    """Refuses a bound that does not broadcast to the values, or that would broaden their shape."""
    try:
        shape = np.broadcast_shapes(values.array.shape, bound.array.shape)
    except ValueError:
        raise invalid_argument(
            f"{argument} has shape {bound.shape}, which does not fit t's shape {values.shape}."
        ) from None
    if shape != values.array.shape:
        raise ValueError(
            f"{argument} would broadcast t of shape {values.shape} to {TensorShape(shape)}."
        )


@overload
def clip_by_norm(  # type: ignore[overload-overlap]
    t: IndexedSlices, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_norm(
    t: TensorLike,
    clip_norm: TensorLike,
    axes: AxisLike = None,
    name: str | None = None,
) -> Tensor: ...
@published("clip_by_norm")
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> Any:
    """`t`, scaled down where its Euclidean norm, over `axes` or over all elements,
    is greater than `clip_norm`.

    >>> import gradtape as tf
    >>> tf.clip_by_norm([3.0, 4.0], 1.0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    values = _floating(_values(t), "clip_by_norm", "t")
    values, limit = TENSORFLOW.tensors(
        [values, clip_norm], ["clip_by_norm: t", "clip_by_norm: clip_norm"]
    )
    limit = arithmetic.maximum(limit, 0)
    over = reduced_axes(axes, values.array.ndim, "clip_by_norm: axes")
    squares = reductions.reduce_sum(arithmetic.square(values), axis=over, keepdims=True)
    positive = arithmetic.greater(squares, 0)
    # The root of 0 has no finite derivative, so a zero vector goes round it.
    length = selection.where(
        positive, elementary.sqrt(selection.where(positive, squares, 1)), squares
    )
    scaled = _in_shape(values, arithmetic.multiply(values, limit), "clip_by_norm: clip_norm")
    return _like(t, scaled / arithmetic.maximum(length, limit))


@published("clip_by_global_norm")
def clip_by_global_norm(
    t_list: Sequence[Any],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Tensor | Any], Tensor]:
    """The tensors of a list, all scaled by one factor so that their norm as one long vector is at
    most `clip_norm`; and that norm.

    A norm that is not finite makes everything NaN. None stays None.

    >>> import gradtape as tf
    >>> clipped, norm = tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([4.0])], 1.0)
    >>> clipped[0].numpy(), clipped[2].numpy(), norm.numpy()
    (array([0.6], dtype=float32), array([0.8], dtype=float32), np.float32(5.0))
    """
    values = _values_of_list(t_list, "clip_by_global_norm")
    length = (
        _global_norm(values)
        if use_norm is None
        else TENSORFLOW.tensor(use_norm, "clip_by_global_norm: use_norm")
    )
    length, limit = TENSORFLOW.tensors(
        [length, clip_norm], ["clip_by_global_norm: use_norm", "clip_by_global_norm: clip_norm"]
    )
    factor = limit * arithmetic.minimum(
        arithmetic.divide(1.0, length), arithmetic.divide(1.0, limit)
    )
    factor += length - length  # 0, or NaN for a norm that is not finite
    clipped = [
        None if v is None else _like(t, v * _in_dtype(factor, v))
        for t, v in zip(t_list, values, strict=True)
    ]
    return clipped, length


@published("linalg.global_norm")
def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The Euclidean norm of the tensors of a list as one long vector; None counts for nothing.

    >>> import gradtape as tf
    >>> tf.linalg.global_norm([tf.constant([3.0]), tf.constant([[4.0]])]).numpy()
    np.float32(5.0)
    """
    return _global_norm(_values_of_list(t_list, "global_norm"))


def _global_norm(values: Sequence[Tensor | None]) -> Tensor:
    squares = [reductions.reduce_sum(arithmetic.square(v)) for v in values if v is not None]
    return elementary.sqrt(reduce(arithmetic.add, squares)) if squares else Tensor(np.float32(0))


def _values_of_list(t_list: Any, function: str) -> list[Tensor | None]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, (str, bytes)):
        raise TypeError(
            f"{function}: t_list must be a list or tuple of tensors, got {type(t_list).__name__}."
        )
    return [
        None if t is None else _floating(_values(t), function, f"t_list[{i}]")
        for i, t in enumerate(t_list)
    ]


def _values(t: Any) -> Any:
    return t.values if isinstance(t, IndexedSlices) else t


def _like(t: Any, values: Tensor) -> Any:
    """The clipped values in the form in which they came."""
    return t.with_values(values) if isinstance(t, IndexedSlices) else values


def _floating(t: Any, function: str, argument: str) -> Tensor:
    return of_kind(TENSORFLOW.tensor(t, f"{function}: {argument}"), FLOATING, function, argument)


def _in_dtype(factor: Tensor, values: Tensor) -> Tensor:
    dtype = values.array.dtype
    return factor if factor.array.dtype == dtype else broadcasting.cast(factor, dtype=dtype)


def _in_shape(values: Tensor, result: Tensor, argument: str) -> Tensor:
    """A result, refused if an argument has broadcast the values to another shape."""
    if result.array.shape != values.array.shape:
        raise ValueError(f"{argument} would broadcast t of shape {values.shape} to {result.shape}.")
    return result
