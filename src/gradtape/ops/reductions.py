"""Sums, means, products and extrema over axes, and running sums and products.

`axis` is a tuple of non-negative axes, or None for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.engines.arrays import sum_last_axis
from gradtape.ops import links
from gradtape.ops.arithmetic import equal, times
from gradtape.ops.batching import shifted
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.ops.declare import op
from gradtape.ops.elementary import exp
from gradtape.ops.jets import (
    Index,
    JetCall,
    Partials,
    chain_rule,
    minus,
    product_rule,
    same_shape,
    square_rule,
    through,
)
from gradtape.ops.jets import ones_like as _ones_like
from gradtape.ops.rows import moving
from gradtape.ops.selection import ones_like, zeros_like
from gradtape.ops.shaping import concat, getitem, reshape, transpose
from gradtape.ops.shaping import reverse as flip

Axes = tuple[int, ...] | None
Shape = tuple[int, ...]


def _sum(xp: Any, x: Any, *, axis: Axes = None, keepdims: bool = False) -> Any:
    if xp is np and axis is not None and len(axis) == 1 and axis[0] == x.ndim - 1:
        total = sum_last_axis(x)
        if total is not None:
            return total if keepdims else total[..., 0]
    return xp.add.reduce(x, axis=axis, dtype=x.dtype, keepdims=keepdims)


def _mean(xp: Any, x: Any, *, axis: Axes = None, keepdims: bool = False) -> Any:
    count = x.size if axis is None else math.prod([x.shape[a] for a in axis])
    if x.dtype.kind in "iu":
        total = x.sum(axis, dtype=xp.int64 if x.dtype.kind == "i" else xp.uint64, keepdims=keepdims)
        # A mean of integers is cut off towards 0.
        return (xp.sign(total) * (abs(total) // max(count, 1))).astype(x.dtype)
    return _sum(xp, x, axis=axis, keepdims=keepdims) / x.dtype.type(count)


def _variance(xp: Any, x: Any, *, axis: Axes = None, keepdims: bool = False) -> Any:
    distances = x - _mean(xp, x, axis=axis, keepdims=True)
    return _mean(xp, distances * distances, axis=axis, keepdims=keepdims)


def _logsumexp(xp: Any, x: Any, *, axis: Axes = None, keepdims: bool = False) -> Any:
    if not x.size:
        return xp.log(_sum(xp, x, axis=axis, keepdims=keepdims))
    top = xp.max(x, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    total = xp.log(_sum(xp, xp.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else xp.squeeze(total, axis)


def _cumsum(xp: Any, x: Any, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Any:
    if reverse:
        x = xp.flip(x, axis)
    out = xp.cumsum(x, axis=axis, dtype=x.dtype)
    if exclusive and x.shape[axis]:
        out = xp.concatenate(
            [xp.zeros_like(out[_along(axis, 0, 1)]), out[_along(axis, 0, -1)]], axis=axis
        )
    return xp.flip(out, axis) if reverse else out


def _cumprod(xp: Any, x: Any, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Any:
    if reverse:
        x = xp.flip(x, axis)
    if exclusive and x.shape[axis]:
        x = xp.concatenate([xp.ones_like(x[_along(axis, 0, 1)]), x[_along(axis, 0, -1)]], axis=axis)
    out = xp.cumprod(x, axis=axis, dtype=x.dtype)
    return xp.flip(out, axis) if reverse else out


def _along(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    """The key of a slice of one axis."""
    return (*(slice(None),) * axis, slice(start, stop))


def _cumsum_pull(g: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    return cumsum(g, axis=axis, exclusive=exclusive, reverse=not reverse)


def _cumprod_pull(g: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """The product of what comes before an element, times the sum of the cotangents g[i] of itself
    and of all that follow, each with the product of the elements in between: products only, so that
    zeros do no harm in any derivative.
    """
    if reverse:
        g, x = flip(g, axis=axis), flip(x, axis=axis)
    count = x.shape[axis]
    if exclusive and count:
        g = concat(
            getitem(g, key=_along(axis, 1, count)),
            zeros_like(getitem(g, key=_along(axis, 0, 1))),
            axis=axis,
        )
    step, product = 1, getitem(x, key=_along(axis, 1, count))
    # g[i] sums over `step` cotangents, product[i] is that of the `step` elements behind i.
    while step < count:
        near, far = (
            getitem(g, key=_along(axis, 0, count - step)),
            getitem(g, key=_along(axis, step, count)),
        )
        g = concat(
            near + times(far, product), getitem(g, key=_along(axis, count - step, count)), axis=axis
        )
        if 2 * step < count:
            product = getitem(product, key=_along(axis, 0, count - 2 * step)) * getitem(
                product, key=_along(axis, step, count - step)
            )
        step *= 2
    pulled = times(g, cumprod(x, axis=axis, exclusive=True))
    return flip(pulled, axis=axis) if reverse else pulled


def _arg_extremum(xp: Any, of: Any, x: Any, axis: int, dtype: Any) -> Any:
    """The first index of the extremum; a NaN is passed over, as in TensorFlow,
    unless there is nothing else.
    """
    found = of(x, axis=axis)
    if x.dtype.kind == "f" and found.size and _may_be_nan(xp, x, found, axis):
        found = of(
            xp.where(xp.isnan(x), -math.inf if of.__name__ == "argmax" else math.inf, x), axis=axis
        )
    return found.astype(dtype)


def _may_be_nan(xp: Any, x: Any, found: Any, axis: int) -> bool:
    """Whether the second search for an extremum is needed.

    XLA cannot ask, and leaves the first one out instead.
    """
    return xp is not np or bool(
        np.isnan(np.take_along_axis(x, np.expand_dims(found, axis), axis)).any()
    )


def expand_reduced(g: Any, x_shape: Shape, axis: Axes) -> Any:
    """A reduction's result, or its cotangent, put beside every element that went into it."""
    if axis is not None and g.ndim != len(x_shape):
        g = reshape(g, shape=tuple([1 if i in axis else size for i, size in enumerate(x_shape)]))
    return broadcast_to(g, shape=x_shape)


def _mean_pull(g: Any, x_shape: Shape, axis: Axes) -> Any:
    return expand_reduced(g / (_count(x_shape, axis) or 1), x_shape, axis)


def _variance_pull(g: Any, x: Any, x_shape: Shape, axis: Axes) -> Any:
    """What the mean adds vanishes: the distances from it sum up to zero."""
    distances = x - reduce_mean(x, axis=axis, keepdims=True)
    return times(expand_reduced(g * (2 / max(_count(x_shape, axis), 1)), x_shape, axis), distances)


def _count(x_shape: Shape, axis: Axes) -> int:
    return math.prod(x_shape if axis is None else [x_shape[a] for a in axis])


def _extremum(of: Any, x: Any, axis: Axes, keepdims: bool) -> Any:
    """The extremum of nothing is the dtype's own limit, as in TensorFlow."""
    if x.size:
        return of(x, axis=axis, keepdims=keepdims)
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        empty: float = limits.min if of.__name__ == "max" else limits.max
    else:
        empty = -math.inf if of.__name__ == "max" else math.inf
    return of(x, axis=axis, keepdims=keepdims, initial=empty)


def _extremum_pull(
    g: Any, x: Any, out: Any, x_shape: Shape, x_dtype: Any, axis: Axes, keepdims: bool
) -> Any:
    """The elements that attain the extremum share the cotangent equally."""
    attained = cast(equal(x, expand_reduced(out, x_shape, axis)), dtype=x_dtype)
    share = times(g, 1 / reduce_sum(attained, axis=axis, keepdims=keepdims))
    return times(expand_reduced(share, x_shape, axis), attained)


def _logsumexp_pull(g: Any, x: Any, out: Any, x_shape: Shape, axis: Axes, keepdims: bool) -> Any:
    """Each element's share of the sum.

    A large `out` is rounded, which all shares show alike: their own total sets that right.
    """
    shares = exp(x - expand_reduced(out, x_shape, axis))
    share = times(g, 1 / reduce_sum(shares, axis=axis, keepdims=keepdims))
    return times(expand_reduced(share, x_shape, axis), shares)


def _product_pull(g: Any, x: Any, x_shape: Shape, axis: Axes) -> Any:
    """An element's partial derivative is the product of all the others,
    which division would lose where one is zero.
    """
    axes = range(len(x_shape))
    reduced = tuple(axes) if axis is None else axis
    order = tuple([i for i in axes if i not in reduced]) + reduced
    ordered = tuple([x_shape[i] for i in order])
    kept = ordered[: len(ordered) - len(reduced)]
    lined_up = reshape(transpose(x, perm=order), shape=(*kept, _count(x_shape, reduced)))
    others = reshape(_products_of_others(lined_up), shape=ordered)
    return times(
        expand_reduced(g, x_shape, axis),
        transpose(others, perm=tuple([order.index(i) for i in axes])),
    )


def _products_of_others(x: Any) -> Any:
    """For each element of the last axis, the product of the rest of it: of pairs first,
    then of pairs of pairs.
    """
    count = x.shape[-1]
    if count < 2:
        return ones_like(x)
    half = count // 2
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    others = _products_of_others(concat(first * second, rest, axis=-1))
    of_pairs = others[..., :half]
    return concat(of_pairs * second, of_pairs * first, others[..., half:], axis=-1)


def _variance_jet(step: JetCall) -> Partials:
    """The mean of the squared distances from the mean."""
    x, axis = step.input(0), step.params.get("axis")

    @step.cached
    def distance(index: Index) -> Any:
        moved = x(index)
        return None if moved is None else moved - reduce_mean(moved, axis=axis, keepdims=True)

    def partials(index: Index) -> Any:
        squared = square_rule(index, distance)
        return None if squared is None else reduce_mean(squared, **step.params)

    return partials


def _extremum_jet(step: JetCall) -> Partials:
    shares = step.pull(0, _ones_like(step.output(())))
    return through(step, lambda moved: reduce_sum(moved * shares, **step.params))


def _logsumexp_jet(step: JetCall) -> Partials:
    out = step.output(())
    _, log_sum = partials_of_softmax(
        step, step.params.get("axis"), lambda: step.pull(0, _ones_like(out))
    )
    return lambda index: (
        None if (moved := log_sum(index)) is None else reshape(moved, shape=out.array.shape)
    )


def partials_of_softmax(
    step: JetCall, axis: Axes, value: Callable[[], Any]
) -> tuple[Partials, Partials]:
    """The partials of a softmax, whose value is given, and of the logarithm that it subtracts:
    each moves with the other.
    """
    x = step.input(0)

    @step.cached
    def weights(index: Index) -> Any:
        first, rest = index[:1], index[1:]
        above = lambda part: minus(x(first + part), log_sum(first + part))
        return product_rule(rest, weights, above) if index else value()

    @step.cached
    def log_sum(index: Index) -> Any:
        moved = chain_rule(index, weights, x)
        return None if moved is None else reduce_sum(moved, axis=axis, keepdims=True)

    return weights, log_sum


def _cumsum_links(call: links.LinkedCall, index: int) -> links.Link:
    shape, params = call.shape, call.params
    axis = params["axis"] % len(shape)
    size, before, after = shape[axis], math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    steps = links.united_backwards(size, size)
    if params["exclusive"]:
        steps.append((np.arange(1, size), np.arange(size - 1)))
    pairs = [step[::-1] if params["reverse"] else step for step in steps]
    return links.Link(*[links.along(*pair, (size, size), before, after) for pair in pairs])


def _rows_put_beside(rows: Any, x_shape: Shape, axis: Axes) -> Any:
    """Rows of sums put beside every element that went into them."""
    reduced = range(len(x_shape)) if axis is None else [a % len(x_shape) for a in axis]
    kept = [1 if i in reduced else size for i, size in enumerate(x_shape)]
    return np.broadcast_to(rows.reshape(len(rows), *kept), (len(rows), *x_shape))


def _rows_summed(rows: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    axes = range(rows.ndim - 1) if axis is None else axis
    return rows.sum(axis=tuple([a if a < 0 else a + 1 for a in axes]), keepdims=keepdims)


reduce_sum = op(
    "reduce_sum",
    _sum,
    [lambda g, x_shape, axis: expand_reduced(g, x_shape, axis)],
    linear=True,
    batch=shifted("axis"),
    plain=True,
    rows=moving(_rows_put_beside, _rows_summed),
)
reduce_mean = op("reduce_mean", _mean, [_mean_pull], linear=True, batch=shifted("axis"), plain=True)
reduce_variance = op(
    "reduce_variance",
    _variance,
    [_variance_pull],
    batch=shifted("axis"),
    kinds="fV",
    plain=True,
    jet=_variance_jet,
)
reduce_prod = op(
    "reduce_prod",
    lambda xp, x, *, axis=None, keepdims=False: xp.prod(
        x, axis=axis, keepdims=keepdims, dtype=x.dtype
    ),
    [_product_pull],
    batch=shifted("axis"),
)
reduce_max = op(
    "reduce_max",
    lambda xp, x, *, axis=None, keepdims=False: _extremum(xp.max, x, axis, keepdims),
    [_extremum_pull],
    batch=shifted("axis"),
    jet=_extremum_jet,
)
reduce_min = op(
    "reduce_min",
    lambda xp, x, *, axis=None, keepdims=False: _extremum(xp.min, x, axis, keepdims),
    [_extremum_pull],
    batch=shifted("axis"),
    jet=_extremum_jet,
)
reduce_logsumexp = op(
    "reduce_logsumexp",
    _logsumexp,
    [_logsumexp_pull],
    batch=shifted("axis"),
    jet=_logsumexp_jet,
)
cumsum = op(
    "cumsum",
    _cumsum,
    [_cumsum_pull],
    linear=True,
    batch=shifted("axis"),
    links=_cumsum_links,
    input_shape=same_shape,
)
cumprod = op("cumprod", _cumprod, [_cumprod_pull], batch=shifted("axis"))

reduce_all = op(
    "reduce_all",
    lambda xp, x, *, axis=None, keepdims=False: xp.all(x, axis=axis, keepdims=keepdims),
    [None],
    batch=shifted("axis"),
)
reduce_any = op(
    "reduce_any",
    lambda xp, x, *, axis=None, keepdims=False: xp.any(x, axis=axis, keepdims=keepdims),
    [None],
    batch=shifted("axis"),
)
argmax = op(
    "argmax",
    lambda xp, x, *, axis, dtype: _arg_extremum(xp, xp.argmax, x, axis, dtype),
    [None],
    batch=shifted("axis"),
)
argmin = op(
    "argmin",
    lambda xp, x, *, axis, dtype: _arg_extremum(xp, xp.argmin, x, axis, dtype),
    [None],
    batch=shifted("axis"),
)
