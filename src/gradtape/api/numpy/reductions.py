"""NumPy's sums, products, means and extrema over axes, the index of an extremum, and cumulative
sums and products.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.numpy.checks import refuse_nothing
from gradtape.api.numpy.masks import chosen, chosen_or_initial, count, mask_of
from gradtape.api.numpy.operands import (
    FLOAT64,
    INT64,
    axes_of,
    axis_of,
    converted,
    dtype_of,
    float_dtype,
    into,
    sum_dtype,
    tensor_of,
)
from gradtape.api.tensorflow.arguments import AxisLike, DTypeLike, TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, reductions, selection, shaping
from gradtape.published import published


@published("numpy.sum", "array_api.sum")
def sum(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The sum over `axis`, plus `initial`; of truth values and short integers, as int32.

    >>> import gradtape as tf
    >>> tf.numpy.sum([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([4., 6.], dtype=float32)
    """
    x = to_add_up(a, dtype, "sum", where, 0)
    total = reductions.reduce_sum(
        x, axis=axes_of(axis, x.array.ndim, "sum"), keepdims=bool(keepdims)
    )
    return into(out, total if initial is None else total + initial, "sum")


@published("numpy.prod", "array_api.prod")
def prod(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The product over `axis`, times `initial`; of truth values and short integers, as int32.

    >>> import gradtape as tf
    >>> tf.numpy.prod([[1.0, 2.0], [3.0, 4.0]], axis=1).numpy()
    array([ 2., 12.], dtype=float32)
    """
    x = to_add_up(a, dtype, "prod", where, 1)
    total = reductions.reduce_prod(
        x, axis=axes_of(axis, x.array.ndim, "prod"), keepdims=bool(keepdims)
    )
    return into(out, total if initial is None else total * initial, "prod")


@published("numpy.mean", "array_api.mean")
def mean(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """The mean over `axis`; of truth values and integers, as float32.

    >>> import gradtape as tf
    >>> tf.numpy.mean([1, 2]).numpy()
    np.float32(1.5)
    """
    x = tensor_of(a, "mean", "a")
    wanted = dtype_of(dtype, float_dtype(x.array.dtype))
    x = converted(x, FLOAT64 if x.array.dtype.kind in "biu" else wanted)
    found = mean_of(
        x, mask_of(where, x, "mean"), axes_of(axis, x.array.ndim, "mean"), bool(keepdims)
    )
    return into(out, converted(found, wanted), "mean")


def mean_of(x: Tensor, mask: Tensor | None, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """The mean of the elements that a mask chooses, or of all."""
    if mask is None:
        return reductions.reduce_mean(x, axis=axes, keepdims=keepdims)
    total = reductions.reduce_sum(chosen(x, mask, 0), axis=axes, keepdims=keepdims)
    return total / count(mask, axes, keepdims, x.array.dtype)


@published("numpy.max", "array_api.max")
def max(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The largest element over `axis`, `initial` at least; NaN if there is one.

    Elements that tie share the gradient equally.

    >>> import gradtape as tf
    >>> tf.numpy.max([[1.0, 2.0], [3.0, 4.0]], axis=1, keepdims=True).numpy()
    array([[2.],
           [4.]], dtype=float32)
    """
    x = chosen_or_initial(tensor_of(a, "max", "a"), where, initial, "max")
    return into(out, largest(x, axis, keepdims, initial, "max"), "max")


amax = max


@published("numpy.min", "array_api.min")
def min(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The smallest element over `axis`, `initial` at most; NaN if there is one.

    Elements that tie share the gradient equally.

    >>> import gradtape as tf
    >>> tf.numpy.min([[1.0, 2.0], [3.0, 4.0]], axis=(0, 1)).numpy()
    np.float32(1.0)
    """
    x = chosen_or_initial(tensor_of(a, "min", "a"), where, initial, "min")
    return into(out, smallest(x, axis, keepdims, initial, "min"), "min")


amin = min


def largest(x: Tensor, axis: Any, keepdims: bool, initial: Any, function: str) -> Any:
    """The largest element over an axis, `initial` at least."""
    found = reductions.reduce_max(
        x, axis=_axes_with_elements(x, axis, initial, function), keepdims=bool(keepdims)
    )
    return found if initial is None else arithmetic.maximum(found, initial)


def smallest(x: Tensor, axis: Any, keepdims: bool, initial: Any, function: str) -> Any:
    """The smallest element over an axis, `initial` at most."""
    found = reductions.reduce_min(
        x, axis=_axes_with_elements(x, axis, initial, function), keepdims=bool(keepdims)
    )
    return found if initial is None else arithmetic.minimum(found, initial)


def _axes_with_elements(
    x: Tensor, axis: Any, initial: Any, function: str
) -> tuple[int, ...] | None:
    """The axes to reduce; without an `initial` value there must be elements along them."""
    reduced = axes_of(axis, x.array.ndim, function)
    if initial is None:
        refuse_nothing(x, reduced, function)
    return reduced


@published("numpy.all", "array_api.all")
def all(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """Whether all elements over `axis` are true, or are not zero.

    >>> import gradtape as tf
    >>> tf.numpy.all([[1, 0], [2, 3]], axis=1).numpy()
    array([False,  True])
    """
    x = tensor_of(a, "all", "a")
    x = chosen(x, mask_of(where, x, "all"), True)
    return into(
        out,
        reductions.reduce_all(x, axis=axes_of(axis, x.array.ndim, "all"), keepdims=bool(keepdims)),
        "all",
    )


@published("numpy.any", "array_api.any")
def any(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """Whether an element over `axis` is true, or is not zero.

    >>> import gradtape as tf
    >>> tf.numpy.any([[1, 0], [0, 0]], axis=1).numpy()
    array([ True, False])
    """
    x = tensor_of(a, "any", "a")
    x = chosen(x, mask_of(where, x, "any"), False)
    return into(
        out,
        reductions.reduce_any(x, axis=axes_of(axis, x.array.ndim, "any"), keepdims=bool(keepdims)),
        "any",
    )


# Where an extremum stands


@published("numpy.argmax", "array_api.argmax")
def argmax(a: TensorLike, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index of the largest element along `axis`, or in all of `a` read row by row; the first
    NaN counts as the largest.

    >>> import gradtape as tf
    >>> tf.numpy.argmax([[1, 5, 2], [7, 0, 1]], axis=1).numpy()
    array([1, 0])
    """
    return into(out, _place_of_extremum(reductions.argmax, a, axis, keepdims, "argmax"), "argmax")


@published("numpy.argmin", "array_api.argmin")
def argmin(a: TensorLike, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index of the smallest element along `axis`, or in all of `a` read row by row; the first
    NaN counts as the smallest.

    >>> import gradtape as tf
    >>> tf.numpy.argmin([[1, 5, 2], [7, 0, 1]]).numpy()
    np.int64(4)
    """
    return into(out, _place_of_extremum(reductions.argmin, a, axis, keepdims, "argmin"), "argmin")


def _place_of_extremum(
    op: Callable[..., Any], a: Any, axis: Any, keepdims: bool, function: str
) -> Tensor:
    x, along, kept = one_axis_of(a, axis, function)
    found = op(x, axis=along, dtype=INT64)
    if x.array.dtype in dtypes.TRAINABLE:
        unknown = arithmetic.is_nan(x)
        first = reductions.argmax(unknown, axis=along, dtype=INT64)
        found = selection.where(reductions.reduce_any(unknown, axis=(along,)), first, found)
    return shaping.reshape(found, shape=kept) if keepdims else found


def one_axis_of(a: Any, axis: Any, function: str) -> tuple[Tensor, int, tuple[int, ...]]:
    """A Tensor, the axis to look for an extremum in, and the shape of a result that keeps its axes.

    No axis means all, as one.
    """
    x = tensor_of(a, function, "a")
    shape = x.array.shape
    if axis is None:
        x, along, kept = shaping.reshape(x, shape=(x.array.size,)), 0, (1,) * len(shape)
    else:
        along = axis_of(axis, len(shape), function)
        kept = (*shape[:along], 1, *shape[along + 1 :])
    refuse_nothing(x, (along,), function)
    return x, along, kept


# Running sums and products


@published("numpy.cumsum")
def cumsum(a: TensorLike, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Tensor:
    """Running sums along `axis`, or over all of `a` read row by row.

    >>> import gradtape as tf
    >>> tf.numpy.cumsum([1.0, 2.0, 3.0]).numpy()
    array([1., 3., 6.], dtype=float32)
    """
    return into(
        out, running(reductions.cumsum, to_add_up(a, dtype, "cumsum"), axis, "cumsum"), "cumsum"
    )


@published("numpy.cumprod")
def cumprod(a: TensorLike, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Tensor:
    """Running products along `axis`, or over all of `a` read row by row.

    >>> import gradtape as tf
    >>> tf.numpy.cumprod([2.0, 3.0, 4.0]).numpy()
    array([ 2.,  6., 24.], dtype=float32)
    """
    return into(
        out, running(reductions.cumprod, to_add_up(a, dtype, "cumprod"), axis, "cumprod"), "cumprod"
    )


@published("numpy.cumulative_sum", "array_api.cumulative_sum")
def cumulative_sum(
    x: TensorLike,
    /,
    *,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Running sums along `axis`, which may be left out for a vector;
    `include_initial` puts a 0 in front.

    >>> import gradtape as tf
    >>> tf.numpy.cumulative_sum([1.0, 2.0], include_initial=True).numpy()
    array([0., 1., 3.], dtype=float32)
    """
    found = _cumulative(
        reductions.cumsum,
        to_add_up(x, dtype, "cumulative_sum"),
        axis,
        include_initial,
        0,
        "cumulative_sum",
    )
    return into(out, found, "cumulative_sum")


@published("numpy.cumulative_prod", "array_api.cumulative_prod")
def cumulative_prod(
    x: TensorLike,
    /,
    *,
    axis: Any = None,
    dtype: DTypeLike = None,
    out: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Running products along `axis`, which may be left out for a vector;
    `include_initial` puts a 1 in front.

    >>> import gradtape as tf
    >>> tf.numpy.cumulative_prod([2.0, 3.0], include_initial=True).numpy()
    array([1., 2., 6.], dtype=float32)
    """
    found = _cumulative(
        reductions.cumprod,
        to_add_up(x, dtype, "cumulative_prod"),
        axis,
        include_initial,
        1,
        "cumulative_prod",
    )
    return into(out, found, "cumulative_prod")


def running(op: Callable[..., Any], x: Tensor, axis: Any, function: str) -> Tensor:
    """A running sum or product along an axis; of all elements in a row if there is none."""
    if axis is None:
        return op(shaping.reshape(x, shape=(x.array.size,)), axis=0)
    return op(x, axis=axis_of(axis, x.array.ndim, function))


def _cumulative(
    op: Callable[..., Any], x: Tensor, axis: Any, include_initial: bool, first: int, function: str
) -> Tensor:
    rank = x.array.ndim
    if not rank:
        raise ValueError(f"{function}: x must have at least one axis, got a scalar.")
    if axis is None and rank > 1:
        raise ValueError(
            f"{function}: axis must be given for a tensor with more than one axis, got shape "
            f"{x.shape}."
        )
    along = axis_of(0 if axis is None else axis, rank, function)
    found = op(x, axis=along)
    if not include_initial:
        return found
    shape = x.array.shape
    start = Tensor(np.full((*shape[:along], 1, *shape[along + 1 :]), first, x.array.dtype))
    return shaping.concat(start, found, axis=along)


def to_add_up(a: Any, dtype: Any, function: str, where: Any = None, neutral: int = 0) -> Tensor:
    """The argument of a sum or product, in the dtype of the result,
    with a neutral number for what takes no part.
    """
    x = tensor_of(a, function, "a")
    x = converted(x, dtype_of(dtype, sum_dtype(x.array.dtype)))
    return x if where is None else chosen(x, mask_of(where, x, function), neutral)


PUBLISHED = {"numpy.amax": amax, "numpy.amin": amin}
