"""Reductions that ignore NaN: `nansum` and related functions. NaN gets no gradient."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradtape import dtypes
from gradtape.api.numpy.checks import certainly
from gradtape.api.numpy.masks import chosen, chosen_or_initial, mask_of
from gradtape.api.numpy.operands import (
    FLOAT32,
    INT64,
    axes_of,
    converted,
    dtype_of,
    float_dtype,
    inexact,
    into,
    real_dtype,
    tensor_of,
    tensors_of,
)
from gradtape.api.numpy.reductions import largest, one_axis_of, running, smallest, to_add_up
from gradtape.api.numpy.statistics import degrees_of_freedom, squared_size
from gradtape.api.tensorflow.arguments import AxisLike, DTypeLike, TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, broadcasting, elementary, reductions, selection, shaping
from gradtape.published import published


@published("numpy.nansum")
def nansum(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The sum over `axis`, with 0 in the place of NaN.

    >>> import gradtape as tf
    >>> tf.numpy.nansum([1.0, float("nan"), 3.0]).numpy()
    np.float32(4.0)
    """
    x = _without_nan(to_add_up(a, dtype, "nansum", where, 0), 0)
    total = reductions.reduce_sum(
        x, axis=axes_of(axis, x.array.ndim, "nansum"), keepdims=bool(keepdims)
    )
    return into(out, total if initial is None else total + initial, "nansum")


@published("numpy.nanprod")
def nanprod(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The product over `axis`, with 1 in the place of NaN.

    >>> import gradtape as tf
    >>> tf.numpy.nanprod([2.0, float("nan"), 3.0]).numpy()
    np.float32(6.0)
    """
    x = _without_nan(to_add_up(a, dtype, "nanprod", where, 1), 1)
    total = reductions.reduce_prod(
        x, axis=axes_of(axis, x.array.ndim, "nanprod"), keepdims=bool(keepdims)
    )
    return into(out, total if initial is None else total * initial, "nanprod")


@published("numpy.nancumsum")
def nancumsum(a: TensorLike, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Tensor:
    """Running sums along `axis`, or over all of `a` read row by row, with 0 in the place of NaN.

    >>> import gradtape as tf
    >>> tf.numpy.nancumsum([1.0, float("nan"), 3.0]).numpy()
    array([1., 1., 4.], dtype=float32)
    """
    x = _without_nan(to_add_up(a, dtype, "nancumsum"), 0)
    return into(out, running(reductions.cumsum, x, axis, "nancumsum"), "nancumsum")


@published("numpy.nancumprod")
def nancumprod(a: TensorLike, axis: Any = None, dtype: DTypeLike = None, out: Any = None) -> Tensor:
    """Running products along `axis`, or over all of `a` read row by row,
    with 1 in the place of NaN.

    >>> import gradtape as tf
    >>> tf.numpy.nancumprod([2.0, float("nan"), 3.0]).numpy()
    array([2., 2., 6.], dtype=float32)
    """
    x = _without_nan(to_add_up(a, dtype, "nancumprod"), 1)
    return into(out, running(reductions.cumprod, x, axis, "nancumprod"), "nancumprod")


@published("numpy.nanmax")
def nanmax(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The largest element over `axis` that is not NaN; NaN if there is no other.

    >>> import gradtape as tf
    >>> tf.numpy.nanmax([1.0, float("nan"), 3.0]).numpy()
    np.float32(3.0)
    """
    return into(
        out, _extremum(largest, -math.inf, a, axis, keepdims, initial, where, "nanmax"), "nanmax"
    )


@published("numpy.nanmin")
def nanmin(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The smallest element over `axis` that is not NaN; NaN if there is no other.

    >>> import gradtape as tf
    >>> tf.numpy.nanmin([1.0, float("nan"), 3.0]).numpy()
    np.float32(1.0)
    """
    return into(
        out, _extremum(smallest, math.inf, a, axis, keepdims, initial, where, "nanmin"), "nanmin"
    )


def _extremum(
    of: Callable[..., Tensor],
    worst: float,
    a: Any,
    axis: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    function: str,
) -> Tensor:
    x = chosen_or_initial(tensor_of(a, function, "a"), where, initial, function)
    found = of(_without_nan(x, worst), axis, keepdims, initial, function)
    if not may_hold_nan(x) or initial is not None:
        return found
    nothing = reductions.reduce_all(
        arithmetic.is_nan(x), axis=axes_of(axis, x.array.ndim, function), keepdims=bool(keepdims)
    )
    return selection.where(nothing, math.nan, found)


@published("numpy.nanargmax")
def nanargmax(
    a: TensorLike, axis: Any = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """The index of the largest element along `axis` that is not NaN,
    or in all of `a` read row by row.

    >>> import gradtape as tf
    >>> tf.numpy.nanargmax([1.0, float("nan"), 3.0]).numpy()
    np.int64(2)
    """
    return into(
        out, _place_of_extremum(reductions.argmax, a, axis, keepdims, "nanargmax"), "nanargmax"
    )


@published("numpy.nanargmin")
def nanargmin(
    a: TensorLike, axis: Any = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """The index of the smallest element along `axis` that is not NaN,
    or in all of `a` read row by row.

    >>> import gradtape as tf
    >>> tf.numpy.nanargmin([1.0, float("nan"), 3.0]).numpy()
    np.int64(0)
    """
    return into(
        out, _place_of_extremum(reductions.argmin, a, axis, keepdims, "nanargmin"), "nanargmin"
    )


def _place_of_extremum(
    op: Callable[..., Any], a: Any, axis: Any, keepdims: bool, function: str
) -> Tensor:
    """The op passes over NaN on its own account."""
    x, along, kept = one_axis_of(a, axis, function)
    if may_hold_nan(x):
        nothing = reductions.reduce_all(arithmetic.is_nan(x), axis=(along,))
        if certainly(nothing):
            raise ValueError(f"{function}: a slice of a contains only NaN; a has shape {x.shape}.")
    found = op(x, axis=along, dtype=INT64)
    return shaping.reshape(found, shape=kept) if keepdims else found


@published("numpy.nanmean")
def nanmean(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Tensor:
    """The mean over `axis` of what is not NaN; NaN if there is nothing else.

    >>> import gradtape as tf
    >>> tf.numpy.nanmean([1.0, float("nan"), 3.0]).numpy()
    np.float32(2.0)
    """
    x = tensor_of(a, "nanmean", "a")
    x = converted(x, dtype_of(dtype, float_dtype(x.array.dtype)))
    x = chosen(x, mask_of(where, x, "nanmean"), math.nan)
    reduced = axes_of(axis, x.array.ndim, "nanmean")
    return into(out, _mean(x, reduced, bool(keepdims)), "nanmean")


@published("numpy.nanvar")
def nanvar(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """The variance over `axis` of what is not NaN; see `var`.

    >>> import gradtape as tf
    >>> tf.numpy.nanvar([1.0, float("nan"), 3.0]).numpy()
    np.float32(1.0)
    """
    free = degrees_of_freedom(ddof, correction, "nanvar")
    return into(out, _variance(a, axis, dtype, free, keepdims, where, mean, "nanvar"), "nanvar")


@published("numpy.nanstd")
def nanstd(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation over `axis` of what is not NaN; see `std`.

    >>> import gradtape as tf
    >>> tf.numpy.nanstd([1.0, float("nan"), 3.0]).numpy()
    np.float32(1.0)
    """
    free = degrees_of_freedom(ddof, correction, "nanstd")
    return into(
        out,
        elementary.sqrt(_variance(a, axis, dtype, free, keepdims, where, mean, "nanstd")),
        "nanstd",
    )


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any, function: str
) -> Tensor:
    """A variance whose divisor has no degree of freedom is NaN."""
    x = tensor_of(a, function, "a")
    x = inexact(converted(x, dtype_of(dtype, x.array.dtype)))
    x = chosen(x, mask_of(where, x, function), math.nan)
    reduced = axes_of(axis, x.array.ndim, function)
    center = (
        _mean(x, reduced, keepdims=True)
        if mean is None
        else tensors_of([x, mean], function, ["a", "mean"])[1]
    )
    squares = squared_size(_without_nan(x - center, 0))
    left = _count(x, reduced, bool(keepdims), squares.array.dtype) - ddof
    found = reductions.reduce_sum(squares, axis=reduced, keepdims=bool(keepdims)) / left
    return selection.where(arithmetic.less_equal(left, 0), math.nan, found)


def _mean(x: Tensor, reduced: tuple[int, ...] | None, keepdims: bool) -> Any:
    total = reductions.reduce_sum(_without_nan(x, 0), axis=reduced, keepdims=keepdims)
    return total / converted(_count(x, reduced, keepdims, real_dtype(x.array.dtype)), x.array.dtype)


def _count(x: Tensor, reduced: tuple[int, ...] | None, keepdims: bool, dtype: Any) -> Any:
    """How many elements are not NaN; half precision could not count them."""
    known = broadcasting.cast(
        arithmetic.logical_not(arithmetic.is_nan(x)), dtype=FLOAT32 if dtype.itemsize < 4 else dtype
    )
    return broadcasting.cast(
        reductions.reduce_sum(known, axis=reduced, keepdims=keepdims), dtype=dtype
    )


def may_hold_nan(x: Tensor) -> bool:
    """Whether the dtype of a Tensor has NaN."""
    return x.array.dtype in dtypes.TRAINABLE


def _without_nan(x: Tensor, value: float) -> Any:
    """`x` with a value in the place of NaN."""
    if not may_hold_nan(x):
        return x
    unknown = arithmetic.is_nan(x)
    return selection.drop(x, unknown) if value == 0 else selection.where(unknown, value, x)
