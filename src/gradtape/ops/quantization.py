"""Rounding to the values that a quantized number can have.

The ranges `low` and `high` broadcast against `x`.

These ops have no derivative, since they are constant almost everywhere: the public functions use
straight-through gradients where `x` is in the range.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.engines.arrays import in_place
from gradtape.ops.batching import elementwise
from gradtape.ops.declare import op

INSIDE, BELOW, ABOVE, NOWHERE = 0, -1, 1, 2


def _nudged(xp: Any, low: Any, high: Any, bits: int, narrow: bool) -> tuple[Any, Any, Any, Any]:
    """The ends of the range, moved so that 0 is one of the values;
    the distance between two values; which of them is 0.
    """
    first, last = int(narrow), 2**bits - 1
    step = (high - low) / (last - first)
    zero = first - low / step
    nearest = xp.clip(xp.floor(zero + 0.5), first, last)
    return (first - nearest) * step, (last - nearest) * step, step, nearest - first


def _fake_quant(xp: Any, x: Any, low: Any, high: Any, *, bits: int, narrow: bool) -> Any:
    bottom, top, step, zero = _nudged(xp, low, high, bits, narrow)
    quantized = xp.clip(x, bottom, top)
    quantized -= bottom
    quantized *= 1 / step
    quantized -= zero
    quantized += 0.5
    quantized = in_place(xp.floor, quantized)
    quantized *= step
    empty = _empty(xp, low, high)
    if xp is np and not empty.any():
        return quantized
    return xp.where(empty, xp.zeros((), x.dtype), quantized)


def _fake_quant_side(xp: Any, x: Any, low: Any, high: Any, *, bits: int, narrow: bool) -> Any:
    """Where `x` is: INSIDE, BELOW or ABOVE the range, or NOWHERE for NaN; a sum of numbers for
    these, as NumPy's `where` takes several times as long.

    The range from 0 to 0 holds everything.
    """
    bottom, top, _, _ = _nudged(xp, low, high, bits, narrow)
    inside = ((x >= bottom) & (x <= top)) | _empty(xp, low, high)
    below, above = ~inside & (x < bottom), ~inside & (x > top)
    side = above.astype(np.int8) - below.astype(np.int8)
    return side + (~(inside | below | above)).astype(np.int8) * np.int8(NOWHERE)


def _fake_quant_inside(xp: Any, x: Any, low: Any, high: Any, *, bits: int, narrow: bool) -> Any:
    """Whether `x` is in the range. That from 0 to 0 holds everything."""
    bottom, top, _, _ = _nudged(xp, low, high, bits, narrow)
    inside = xp.equal(xp.clip(x, bottom, top), x)
    empty = _empty(xp, low, high)
    return inside if xp is np and not empty.any() else inside | empty


def _empty(xp: Any, low: Any, high: Any) -> Any:
    return xp.equal(low, 0) & xp.equal(high, 0)


def _quantize_and_dequantize(
    xp: Any,
    x: Any,
    low: Any,
    high: Any,
    *,
    bits: int,
    signed: bool,
    narrow: bool,
    half_up: bool,
    clamp: bool,
) -> Any:
    """The steps are as wide as the end of the range that needs the wider ones asks for;
    0 is always a value.
    """
    if xp is np and x.size and np.any(low > high):
        raise ValueError("input_min is greater than input_max")
    least = (narrow - 2 ** (bits - 1)) if signed else 0
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    largest = xp.asarray(xp.finfo(x.dtype).max)
    by_low = xp.where(least * low > 0, least / low, largest)
    by_high = xp.where(most * high > 0, most / high, largest)
    scale = xp.minimum(by_low, by_high)
    step = xp.where(by_low < by_high, low / (least or 1), high / (most or 1))
    if clamp:
        x = xp.maximum(
            xp.minimum(x, xp.where(by_low < by_high, most * step, high)),
            xp.where(by_low < by_high, low, least * step),
        )
    return (xp.floor(x * scale + 0.5) if half_up else xp.rint(x * scale)) * step


fake_quant = op("fake_quant", _fake_quant, [None, None, None], batch=elementwise)
fake_quant_side = op("fake_quant_side", _fake_quant_side, [None, None, None], batch=elementwise)
fake_quant_inside = op(
    "fake_quant_inside", _fake_quant_inside, [None, None, None], batch=elementwise
)
quantize_and_dequantize = op(
    "quantize_and_dequantize", _quantize_and_dequantize, [None, None, None], batch=elementwise
)
