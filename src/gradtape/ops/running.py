"""Cumulative log-sum-exp."""

from __future__ import annotations

import math
from typing import Any

from gradtape.ops.activations import sigmoid
from gradtape.ops.arithmetic import equal, times
from gradtape.ops.batching import shifted
from gradtape.ops.declare import op
from gradtape.ops.selection import drop, ones_like, where
from gradtape.ops.shaping import Shape, concat, getitem


def _pull(g: Any, x: Any, out: Any, x_shape: Shape, axis: int) -> Any:
    """Element j gets the sum of g[i] * exp(x[j] - out[i]) for all i from j on.

    That is exp(x[j] - out[j]) * s[j] with s[j] = g[j] + exp(out[j] - out[j + 1]) * s[j + 1]. Both
    factors are sigmoids of x[j + 1] - out[j], so that they are right however large x is. The sums
    are made of 1, 2, 4, ... terms, by ops alone.
    """
    count = x_shape[axis]
    if not count:
        return g

    def part(values: Any, start: int, stop: int) -> Any:
        return getitem(values, key=(*(slice(None),) * axis, slice(start, stop)))

    before = part(out, 0, count - 1)
    rise = where(equal(before, -math.inf), math.inf, part(x, 1, count) - before)
    product = sigmoid(-rise)
    step = 1
    # g[i] sums over `step` terms, product[i] is that of the `step` factors from i on.
    while step < count:
        g = concat(
            part(g, 0, count - step) + times(part(g, step, count), product),
            part(g, count - step, count),
            axis=axis,
        )
        if 2 * step < count:
            product = part(product, 0, count - 2 * step) * part(product, step, count - step)
        step *= 2
    return times(
        g, drop(concat(ones_like(part(x, 0, 1)), sigmoid(rise), axis=axis), equal(x, -math.inf))
    )


cumulative_logsumexp = op(
    "cumulative_logsumexp",
    lambda xp, x, *, axis: xp.logaddexp.accumulate(x, axis=axis),
    [_pull],
    batch=shifted("axis"),
    xla=lambda xp, x, *, axis: xp.lax.cumlogsumexp(x, axis=axis),
)
