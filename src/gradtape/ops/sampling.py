"""Samples that depend on tensors: the random numbers themselves are drawn elsewhere and passed in
as constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.engines.engine import host_kernel
from gradtape.ops.arithmetic import times
from gradtape.ops.batching import elementwise, every_mapped
from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import op
from gradtape.ops.elementary import exp
from gradtape.ops.op import ON_HOST
from gradtape.ops.shaping import reshape
from gradtape.ops.special import scipy_special
from gradtape.ops.special_integrals import igamma_by_a

if TYPE_CHECKING:
    from gradtape.ops.op import Op


def _gamma_sample(xp: Any, alpha: Any, start: Any, drawn: Any) -> Any:
    """The number at the quantile of the gamma distribution of shape `alpha` at which `drawn` is in
    that of shape `start`.

    Samples are drawn with the shape that they are asked for, and are their own quantiles; all else
    is what gradients are of.
    """
    if alpha is start or np.array_equal(alpha, start):
        shape = np.broadcast_shapes(alpha.shape, drawn.shape)
        return drawn if drawn.shape == shape else np.broadcast_to(drawn, shape)
    special = scipy_special()
    lower, upper = special.gammainc(start, drawn), special.gammaincc(start, drawn)
    return np.where(
        lower < upper, special.gammaincinv(alpha, lower), special.gammainccinv(alpha, upper)
    ).astype(drawn.dtype)[()]


def _gamma_sample_on_xla(xp: Any, alpha: Any, start: Any, drawn: Any) -> Any:
    """Without a look at the values: a sample of the very tensor that it was drawn with is
    itself.
    """
    if alpha is start:
        return xp.broadcast_to(drawn, np.broadcast_shapes(alpha.shape, drawn.shape))
    return host_kernel(partial(_gamma_sample, np))(alpha, start, drawn)


def _truncated_sample(xp: Any, lower: Any, upper: Any, uniform: Any) -> Any:
    """The quantile of the standard normal distribution between two bounds, in logarithms,
    which far tails need.
    """
    special, dtype = scipy_special(), np.result_type(lower, upper)
    low, high, u = (np.asarray(array, np.float64) for array in (lower, upper, uniform))
    # The logarithm of a probability near 1 has no digits: the tail above 0 is that below, seen in a
    # mirror.
    mirrored = low > 0
    low, high, u = (
        np.where(mirrored, -high, low),
        np.where(mirrored, -low, high),
        np.where(mirrored, 1 - u, u),
    )
    logarithm = np.logaddexp(
        np.log1p(-u) + special.log_ndtr(low), np.log(u) + special.log_ndtr(high)
    )
    found = np.clip(special.ndtri_exp(logarithm), low, high)
    return np.where(mirrored, -found, found).astype(dtype)[()]


def _density_ratio(bound: Any, out: Any) -> Any:
    """The standard normal density at a bound over that at the sample."""
    return exp((out - bound) * (out + bound) * 0.5)


def _class_of(xp: Any, logits: Any, uniform: Any) -> Any:
    """For each number, the class in whose part of [0, 1) it lies.

    All rows are searched at once, each in its own unit interval.
    """
    rows, classes = logits.shape
    weights = xp.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    upto = xp.cumsum(weights, -1)
    start = np.arange(rows, dtype=np.float64)[:, None]
    found = xp.searchsorted(
        (upto / upto[:, -1:] + start).reshape(-1), (uniform + start).reshape(-1), side="right"
    )
    return xp.clip(
        found.reshape(uniform.shape) - np.arange(rows)[:, None] * classes, 0, classes - 1
    )


def _batched(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """A batch of batches is a larger batch."""
    args = every_mapped(size, args, mapped)
    joined = [reshape(arg, shape=(size * arg.array.shape[1], arg.array.shape[2])) for arg in args]
    return reshape(op.call(*joined, **params), shape=args[1].array.shape)


# The quantile at which a sample lies stays what it is when a parameter moves: that gives the
# derivative of the sample.
gamma_sample = op(
    "gamma_sample",
    _gamma_sample,
    [
        lambda g, alpha, out, alpha_shape: sum_to_shape(
            -times(g, igamma_by_a(alpha, out, order=1, over_density=True)), shape=alpha_shape
        ),
        None,
        None,
    ],
    batch=elementwise,
    xla=_gamma_sample_on_xla,
)
truncated_sample = op(
    "truncated_sample",
    _truncated_sample,
    [
        lambda g, lower, uniform, out, lower_shape: sum_to_shape(
            times(g, _density_ratio(lower, out) * (1 - uniform)), shape=lower_shape
        ),
        lambda g, upper, uniform, out, upper_shape: sum_to_shape(
            times(g, _density_ratio(upper, out) * uniform), shape=upper_shape
        ),
        None,
    ],
    batch=elementwise,
    xla=ON_HOST,  # JAX has no quantile of a logarithm
)
class_of = op("class_of", _class_of, [None, None], apart=["uniform"], batch=_batched)
