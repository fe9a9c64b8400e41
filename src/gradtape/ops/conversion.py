"""Conversions between dtypes other than `cast`: reinterpreting the bits, and saturating at the
limits of integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.ops.batching import as_it_is
from gradtape.ops.declare import op


def _bitcast(xp: Any, x: Any, *, dtype: Any) -> Any:
    """Smaller elements take a new last axis; larger ones are made of the elements of the last
    axis.
    """
    ratio = dtype.itemsize // x.dtype.itemsize
    if ratio > 1:
        if x.shape[-1:] != (ratio,):
            raise ValueError(f"the last axis must have size {ratio} to become {dtype.name}")
        return np.ascontiguousarray(x).view(dtype)[..., 0]
    parts = x.dtype.itemsize // dtype.itemsize
    found = np.ascontiguousarray(x).reshape(*x.shape, 1).view(dtype)
    return found if parts > 1 else found[..., 0]


def _bitcast_on_xla(xp: Any, x: Any, *, dtype: Any) -> Any:
    """XLA takes no complex numbers: they are made of two real ones in a last axis,
    on either side.
    """
    if dtype == x.dtype:
        return x
    if x.dtype.kind == "c":
        parts, size = xp.stack([x.real, x.imag], axis=-1), x.dtype.itemsize // dtype.itemsize
        if not size:
            parts = parts.reshape(*x.shape[:-1], 2 * x.shape[-1])
        found = _bitcast_on_xla(xp, parts, dtype=dtype)
        return found.reshape(*x.shape, size) if size > 1 else found
    if dtype.kind == "c":
        part = np.finfo(dtype).dtype
        if x.dtype.itemsize < part.itemsize:
            x = x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)
        both = xp.lax.bitcast_convert_type(x, part)
        return xp.lax.complex(both[..., 0], both[..., 1])
    return xp.lax.bitcast_convert_type(x, dtype)


def _saturate(xp: Any, x: Any, *, dtype: Any) -> Any:
    """Whole numbers cut off towards 0; what is too large or too small becomes the largest or the
    smallest, NaN becomes 0.
    """
    limits = np.iinfo(dtype)
    low, high = (
        (x < limits.min, x > limits.max)
        if x.dtype.kind in "iu"
        else (x <= float(limits.min), x >= float(limits.max))
    )
    nan = x != x  # noqa: PLR0124 - a NaN is not itself
    inside = xp.where(low | high | nan, xp.zeros((), x.dtype), x).astype(dtype)
    return xp.where(low, dtype.type(limits.min), xp.where(high, dtype.type(limits.max), inside))


bitcast = op(
    "bitcast",
    _bitcast,
    [None],
    moves=True,
    batch=as_it_is,
    xla=_bitcast_on_xla,
)
saturate_to_integer = op("saturate_to_integer", _saturate, [None], batch=as_it_is)
