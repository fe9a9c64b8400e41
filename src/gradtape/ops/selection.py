"""Selecting values by a condition, and constants in the shape of a given tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.core.needed_ops import needed
from gradtape.ops import batching, jets
from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import op

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def keep_array(xp: Any, x: Any, condition: Any) -> Any:
    """`x` where the condition holds, else 0.

    On NumPy the bits of x are multiplied by the condition: `numpy.where` branches at each element,
    which takes twelve times as long if the conditions are mixed, and a product of the values would
    make NaN of 0 times infinity.
    """
    bits = _BITS.get(x.dtype.itemsize)
    if xp is not np or bits is None:
        return xp.where(condition, x, xp.zeros((), x.dtype))
    return np.multiply(x.view(bits), condition, dtype=bits).view(x.dtype)


keep = op(
    "keep",
    keep_array,
    [lambda g, condition, x_shape: sum_to_shape(keep(g, condition), shape=x_shape), None],
    apart=["condition"],
    linear=True,
    batch=batching.elementwise,
    native=True,
)
drop = op(
    "drop",
    lambda xp, x, condition: keep_array(xp, x, ~condition),
    [lambda g, condition, x_shape: sum_to_shape(drop(g, condition), shape=x_shape), None],
    apart=["condition"],
    linear=True,
    batch=batching.elementwise,
    native=True,
)
needed.drop = drop


def _where_jet(step: jets.JetCall) -> jets.Partials:
    x, y, condition = step.input(1), step.input(2), step.saved("condition")

    def partials(index: jets.Index) -> Any:
        kept, other = x(index), y(index)
        total = jets.plus(
            None if kept is None else keep(kept, condition),
            None if other is None else drop(other, condition),
        )
        return None if total is None else step.in_full(total)

    return partials


where = op(
    "where",
    lambda xp, condition, x, y: xp.where(condition, x, y),
    [
        None,
        lambda g, condition, x_shape: sum_to_shape(keep(g, condition), shape=x_shape),
        lambda g, condition, y_shape: sum_to_shape(drop(g, condition), shape=y_shape),
    ],
    apart=["condition"],
    batch=batching.elementwise,
    native=True,
    jet=_where_jet,
)
zeros_like = op(
    "zeros_like",
    lambda xp, x, *, dtype=None: xp.zeros(x.shape, dtype or x.dtype),
    [None],
    batch=batching.as_it_is,
)
ones_like = op(
    "ones_like",
    lambda xp, x, *, dtype=None: xp.ones(x.shape, dtype or x.dtype),
    [None],
    batch=batching.as_it_is,
)
where_true = op("where_true", lambda xp, x: xp.argwhere(x), [None])
