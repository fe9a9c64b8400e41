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


_LARGE = 4096  # conditions, for which NumPy's own takes longer than the calls here


def where_array(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, else `y`: large arrays on NumPy by their bits, see
    `keep_array`.
    """
    if xp is np and type(condition) is np.ndarray and condition.size >= _LARGE:
        dtype = getattr(x if hasattr(x, "dtype") else y, "dtype", None)
        bits = None if dtype is None or dtype.hasobject else _BITS.get(dtype.itemsize)
        if bits is not None and condition.dtype == bool and _fits(x, dtype) and _fits(y, dtype):
            kept, other = (np.asarray(value, dtype).view(bits) for value in (x, y))
            mask = condition.astype(bits)
            np.negative(mask, out=mask)  # all bits of what is kept
            difference = kept ^ other
            if difference.shape == mask.shape:
                difference &= mask
            else:
                difference = difference & mask
            return np.bitwise_xor(difference, other, out=difference).view(dtype)
    return xp.where(condition, x, y)


def _fits(value: Any, dtype: Any) -> bool:
    """Whether NumPy would take a value as one of this dtype beside another one."""
    return getattr(value, "dtype", None) is dtype or (
        type(value) in (int, float) and dtype.kind == "f"
    )


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
    where_array,
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
