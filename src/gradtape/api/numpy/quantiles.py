"""Medians, quantiles and percentiles, with NaN propagated or ignored: `numpy.quantile` and related
functions.

Each is a sort, followed by a weighted mean of at most two neighbours. Gradients reach the selected
elements and, where a method interpolates, the probabilities `q`.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gradtape.api.numpy.checks import certainly, known, refuse_nothing
from gradtape.api.numpy.nan_reductions import may_hold_nan
from gradtape.api.numpy.operands import (
    FLOAT32,
    FLOAT64,
    INT64,
    axes_of,
    converted,
    inexact,
    into,
    tensor_of,
)
from gradtape.api.numpy.statistics import beside_axes
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike
from gradtape.api.tensorflow.indexing import gather
from gradtape.api.tensorflow.ordering import sort
from gradtape.convert import NUMPY, common_dtype, is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.ops import (
    arithmetic,
    broadcasting,
    counting,
    indexing,
    ordering,
    reductions,
    selection,
    shaping,
)
from gradtape.published import published

Shape = tuple[int, ...]

_PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""The two parameters by which the methods that interpolate differ."""

_WHOLE_PLACES = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
"""The methods that take one of the elements, whatever `q` is."""

_METHODS = (*_WHOLE_PLACES, *_PLOTTING, "averaged_inverted_cdf", "midpoint")


@published("numpy.median")
def median(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The middle element over `axis` in rising order, or the mean of the two middle ones;
    NaN if there is a NaN.

    >>> import gradtape as tf
    >>> tf.numpy.median([3.0, 1.0, 10.0]).numpy()
    np.float32(3.0)
    """
    x = inexact(tensor_of(a, "median", "a"))
    lines = _lines(x, axis, "median")
    ordered = sort(lines.rows)
    size = lines.size
    middle = shaping.getitem(ordered, key=(..., slice(max(size - 1, 0) // 2, size // 2 + 1)))
    found = reductions.reduce_mean(middle, axis=(ordered.array.ndim - 1,))
    return into(out, lines.back(_nan_where_nan(found, ordered), 0, keepdims), "median")


@published("numpy.quantile")
def quantile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """What a share `q` of the elements over `axis` does not exceed;
    `method` says what to take between two of them.

    >>> import gradtape as tf
    >>> tf.numpy.quantile([0.0, 10.0, 20.0], [0.25, 0.5]).numpy()
    array([ 5., 10.], dtype=float32)
    """
    return into(out, _quantile(a, q, 1, axis, method, keepdims, weights, "quantile"), "quantile")


@published("numpy.percentile")
def percentile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """What `q` percent of the elements over `axis` do not exceed; see `quantile`.

    >>> import gradtape as tf
    >>> tf.numpy.percentile([0.0, 10.0, 20.0], 75).numpy()
    np.float32(15.0)
    """
    return into(
        out, _quantile(a, q, 100, axis, method, keepdims, weights, "percentile"), "percentile"
    )


@published("numpy.nanmedian")
def nanmedian(
    a: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The `median` of what is not NaN; NaN if there is nothing else.

    >>> import gradtape as tf
    >>> tf.numpy.nanmedian([3.0, float("nan"), 10.0, 1.0]).numpy()
    np.float32(3.0)
    """
    return into(
        out,
        _quantile(a, 0.5, 1, axis, "linear", keepdims, None, "nanmedian", skip_nan=True),
        "nanmedian",
    )


@published("numpy.nanquantile")
def nanquantile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """The `quantile` of what is not NaN; NaN if there is nothing else.

    >>> import gradtape as tf
    >>> tf.numpy.nanquantile([0.0, 10.0, float("nan"), 20.0], 0.25).numpy()
    np.float32(5.0)
    """
    found = _quantile(a, q, 1, axis, method, keepdims, weights, "nanquantile", skip_nan=True)
    return into(out, found, "nanquantile")


@published("numpy.nanpercentile")
def nanpercentile(
    a: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """The `percentile` of what is not NaN; NaN if there is nothing else.

    >>> import gradtape as tf
    >>> tf.numpy.nanpercentile([0.0, 10.0, float("nan"), 20.0], 75).numpy()
    np.float32(15.0)
    """
    found = _quantile(a, q, 100, axis, method, keepdims, weights, "nanpercentile", skip_nan=True)
    return into(out, found, "nanpercentile")


class _Lines(NamedTuple):
    """The elements to sort, in the last axis, and how a result for each row of them goes back into
    shape.
    """

    rows: Tensor
    shape: Shape
    reduced: Shape

    @property
    def size(self) -> int:
        return self.rows.array.shape[-1]

    def back(self, found: Tensor, added: int, keepdims: bool) -> Tensor:
        """`found` has the axes that are not reduced, and `added` ones behind them,
        which go to the front.
        """
        rank = found.array.ndim
        if added and rank > added:
            found = shaping.transpose(
                found, perm=(*range(rank - added, rank), *range(rank - added))
            )
        if not keepdims:
            return found
        kept = tuple(1 if i in self.reduced else size for i, size in enumerate(self.shape))
        return shaping.reshape(found, shape=(*found.array.shape[:added], *kept))


def _lines(x: Tensor, axis: Any, function: str) -> _Lines:
    shape = x.array.shape
    axes = axes_of(axis, len(shape), function)
    reduced = tuple(range(len(shape))) if axes is None else axes
    others = tuple(i for i in range(len(shape)) if i not in reduced)
    rows = shaping.transpose(x, perm=(*others, *reduced))
    count = math.prod(shape[i] for i in reduced)
    return _Lines(shaping.reshape(rows, shape=(*(shape[i] for i in others), count)), shape, reduced)


def _share(q: Any, function: str, whole: int) -> Tensor:
    """The probabilities.

    Plain ones are computed with in double precision, so that 0.9 is as near to 0.9 as it can be.
    """
    if is_tensor_like(q):
        shares = inexact(tensor_of(q, function, "q"))
    else:
        shares = Tensor(np.asarray(NUMPY.array(np.asarray(q), f"{function}: q"), FLOAT64)[()])
    shares = shares / whole if whole != 1 else shares
    if certainly(
        arithmetic.logical_not(
            arithmetic.greater_equal(shares, 0) & arithmetic.less_equal(shares, 1)
        )
    ):
        raise ValueError(f"{function}: q must be from 0 to {whole}, got {q!r}.")
    return shares


def _quantile(
    a: Any,
    q: Any,
    whole: int,
    axis: Any,
    method: str,
    keepdims: bool,
    weights: Any,
    function: str,
    skip_nan: bool = False,
) -> Tensor:
    if method not in _METHODS:
        raise ValueError(
            f"{function}: method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}."
        )
    x = tensor_of(a, function, "a")
    if x.array.dtype.kind == "c":
        raise TypeError(
            f"{function}: a must be real, got dtype {x.dtype.name}: complex numbers have no order."
        )
    shares = _share(q, function, whole)
    if method not in _WHOLE_PLACES:
        x = converted(
            inexact(x),
            common_dtype([inexact(x).array.dtype, shares.array.dtype])
            if is_tensor_like(q)
            else None,
        )
    # Half precision cannot tell the places of a few thousand elements.
    if shares.array.dtype.itemsize < 4:
        shares = converted(shares, FLOAT32)
    lines = _lines(x, axis, function)
    refuse_nothing(lines.rows, (lines.rows.array.ndim - 1,), function)
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(
                f"{function}: weights are only supported with method='inverted_cdf', got "
                f"{method!r}."
            )
        reach = _reached(x, lines, weights, axis, function, skip_nan)
        return lines.back(_weighted(lines, reach, shares, skip_nan), shares.array.ndim, keepdims)
    ordered = sort(lines.rows)
    count: Any = lines.size
    if skip_nan and may_hold_nan(x):
        known = arithmetic.logical_not(arithmetic.is_nan(ordered))
        count = reductions.reduce_sum(
            broadcasting.cast(known, dtype=shares.array.dtype), axis=(ordered.array.ndim - 1,)
        )
        count = shaping.reshape(count, shape=(*count.array.shape, *(1,) * shares.array.ndim))
    found = _chosen(ordered, shares, count, method)
    return lines.back(
        found if skip_nan else _nan_where_nan(found, ordered), shares.array.ndim, keepdims
    )


def _chosen(ordered: Tensor, q: Tensor, count: Any, method: str) -> Tensor:
    """The element at a place, or between two of them."""
    if method in _WHOLE_PLACES:
        return _at(ordered, _whole_place(q, count, method), count)
    place, share = _place_between(q, count, method)
    below = arithmetic.floor(place)
    low, high = _at(ordered, below, count), _at(ordered, below + 1, count)
    return _between(low, high, converted(share, ordered.array.dtype))


def _between(low: Tensor, high: Tensor, share: Tensor) -> Tensor:
    """The point between two elements.

    From an infinite one there is no distance: there, each counts by its share if it has one.
    """
    infinite = arithmetic.logical_or(arithmetic.is_inf(low), arithmetic.is_inf(high))
    if known(infinite) and not certainly(infinite):
        return low + (high - low) * share
    near, far = selection.drop(low, infinite), selection.drop(high, infinite)
    of_low, of_high = (
        selection.drop(low, arithmetic.equal(share, 1)),
        selection.drop(high, arithmetic.equal(share, 0)),
    )
    return selection.where(
        infinite, of_low * (1 - share) + of_high * share, near + (far - near) * share
    )


def _whole_place(q: Tensor, count: Any, method: str) -> Any:
    """Where the quantile stands among the elements, for the methods that take one of them."""
    if method == "inverted_cdf":
        return arithmetic.ceil(q * count - 1)
    if method == "closest_observation":
        place = q * count - 1.5
        not_odd = arithmetic.not_equal(arithmetic.floormod(place, 2), 1)
        return arithmetic.floor(place) + broadcasting.cast(not_odd, dtype=q.array.dtype)
    rounded = {
        "lower": arithmetic.floor,
        "higher": arithmetic.ceil,
        "nearest": arithmetic.round_half_even,
    }[method]
    return rounded(q * (count - 1))


def _place_between(q: Tensor, count: Any, method: str) -> tuple[Any, Any]:
    """Where the quantile stands, for the methods that take something between two elements; and
    which share of the second.
    """
    if method in _PLOTTING:
        first, last = _PLOTTING[method]
        place = (
            q * (count - 1)
            if method == "linear"
            else q * count + (first + q * (1 - first - last)) - 1
        )
        return place, place - arithmetic.floor(place)
    place, whole, between = (
        (q * count - 1, 0.5, 1.0)
        if method == "averaged_inverted_cdf"
        else (q * (count - 1), 0.0, 0.5)
    )
    is_whole = broadcasting.cast(
        arithmetic.equal(place, arithmetic.floor(place)), dtype=q.array.dtype
    )
    return place, is_whole * (whole - between) + between


def _at(ordered: Tensor, place: Any, count: Any) -> Tensor:
    """The elements at whole places, of which those outside stand for the first or the last of
    `count`.
    """
    inside = arithmetic.maximum(arithmetic.minimum(place, count - 1), 0)
    index = broadcasting.cast(broadcasting.stop_gradient(inside), dtype=INT64)
    if not isinstance(count, Tensor):
        return indexing.take(ordered, index, axis=ordered.array.ndim - 1, sparse=False)
    return _picked(ordered, index)


def _picked(rows: Tensor, index: Tensor) -> Tensor:
    """The elements of the last axis at indices that each row has for itself."""
    if rows.array.ndim == 1:
        return indexing.take(rows, index, axis=0, sparse=False)
    return gather(rows, index, axis=-1, batch_dims=rows.array.ndim - 1)


def _nan_where_nan(found: Tensor, ordered: Tensor) -> Any:
    """NaN for rows that hold one, which sorting has put at the end."""
    if not may_hold_nan(ordered) or not ordered.array.shape[-1]:
        return found
    unknown = arithmetic.is_nan(shaping.getitem(ordered, key=(..., -1)))
    added = found.array.ndim - unknown.array.ndim
    return selection.where(
        shaping.reshape(unknown, shape=(*unknown.array.shape, *(1,) * added)), math.nan, found
    )


class _Reached(NamedTuple):
    """Rows in rising order, and which share of all weights the elements of a row have reached
    together.
    """

    ordered: Tensor
    shares: Tensor


def _reached(
    x: Tensor, lines: _Lines, weights: Any, axis: Any, function: str, skip_nan: bool
) -> _Reached:
    """An element without weight at the beginning has reached nothing, not even a share of 0."""
    given = converted(tensor_of(weights, function, "weights"), FLOAT64)
    if certainly(arithmetic.less(given, 0)):
        raise ValueError(f"{function}: weights must not be negative.")
    given = beside_axes(given, x, axes_of(axis, x.array.ndim, function), function)
    spread = _lines(broadcasting.broadcast_to(given, shape=x.array.shape), axis, function).rows
    order = ordering.argsort(lines.rows, descending=False)
    ordered, beside = _picked(lines.rows, order), _picked(spread, order)
    if skip_nan and may_hold_nan(ordered):
        beside = selection.drop(beside, arithmetic.is_nan(ordered))
    sums = reductions.cumsum(beside, axis=order.array.ndim - 1)
    shares = sums / shaping.getitem(sums, key=(..., slice(-1, None)))
    if certainly(arithmetic.is_nan(shares)):
        raise ValueError(f"{function}: weights must have a positive sum, without NaN or infinity.")
    return _Reached(ordered, selection.where(arithmetic.equal(shares, 0), -1, shares))


def _weighted(lines: _Lines, reach: _Reached, q: Tensor, skip_nan: bool) -> Tensor:
    """The first element of each row at which the weights have reached the share `q`."""
    rows = reach.ordered.array.shape[:-1]
    wanted = shaping.reshape(q, shape=(*(1,) * len(rows), q.array.size))
    wanted = broadcasting.broadcast_to(wanted, shape=(*rows, q.array.size))
    place = counting.searchsorted(converted(reach.shares, q.array.dtype), wanted, side="left")
    found = _picked(reach.ordered, arithmetic.minimum(place, lines.size - 1))
    found = shaping.reshape(found, shape=(*rows, *q.array.shape))
    return found if skip_nan else _nan_where_nan(found, reach.ordered)
