"""Rows of `gradtape.ops.quantization`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import quantization as q

from .table import Case, at, fails, fixed, real, sample

WIDE = ("float32", "float64")
RANGES = [
    (real(5, 3, low=-4, high=4), fixed(-1.1), fixed(3.0)),
    (real(4, low=-4, high=4), fixed(1.0), fixed(3.0)),
    (real(2, 2, 3, low=-4, high=4), real(3, low=-4, high=-1), real(3, low=1, high=2)),
    (real(low=-4, high=4), fixed(-3.0), fixed(-1.0)), (real(0, 3), fixed(-1.0), fixed(1.0)),
]  # fmt: skip


def nudged(low, high, bits, narrow):
    first, last = int(narrow), 2**bits - 1
    step = (high - low) / (last - first)
    zero = np.clip(np.floor(first - low / step + 0.5), first, last)
    return (first - zero) * step, (last - zero) * step, step


def fake_quant(x, low, high, bits, narrow):
    """The nearest of all values, each an integer times the step."""
    bottom, top, step = nudged(low, high, bits, narrow)
    return np.floor(np.clip(x, bottom, top) / step + 0.5) * step


def side(x, low, high, bits, narrow):
    bottom, top, _ = nudged(low, high, bits, narrow)
    return ((x > top).astype(np.int8) - (x < bottom)).astype(np.int8)


def quantize_and_dequantize(x, low, high, bits, signed, narrow, half_up, clamp):
    least, most = (narrow - 2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    with np.errstate(all="ignore"):
        step = np.maximum(low / least if least else -np.inf, high / most)
    rounded = np.floor(x / step + 0.5) if half_up else np.rint(x / step)
    return np.clip(rounded, least, most) * step if clamp else rounded * step


def options(*, bits=8, signed=True, narrow=False, half_up=False, clamp=True):
    return {"bits": bits, "signed": signed, "narrow": narrow, "half_up": half_up, "clamp": clamp}


ROWS = [
    Case(
        q.fake_quant, fake_quant,
        [sample(*args, bits=bits, narrow=narrow) for args in RANGES for bits,
            narrow in ((3, False), (8, True))],
        dtypes=WIDE, orders=0,
        specials=[
            at([-7.0, 0.0, 7.0], np.float32(0), np.float32(0), bits=8, narrow=False,
                gives=[0, 0, 0]),
            at([np.nan, np.inf, -np.inf], np.float32(-4), np.float32(3), bits=3, narrow=False,
                gives=[np.nan, 3, -4]),
            at([0.5, -0.5], np.float32(-4), np.float32(3), bits=3, narrow=False, gives=[1, 0]),
        ],
    ),
    Case(
        q.fake_quant_side, side, [sample(*args, bits=3, narrow=False) for args in RANGES],
        dtypes=WIDE, orders=0,
        specials=[
            at([-7.0, np.nan], np.float32(0), np.float32(0), bits=8, narrow=False, gives=[0, 0]),
            at([np.nan, -4.0, 3.0, 3.1, -4.1], np.float32(-4), np.float32(3), bits=3, narrow=False,
                gives=[2, 0, 0, 1, -1]),
        ],
    ),
    Case(
        q.fake_quant_inside, lambda *args, **options: side(*args, **options) == 0,
        [sample(*args, bits=3, narrow=False) for args in RANGES], dtypes=WIDE, orders=0,
        specials=[
            at([-7.0, np.nan], np.float32(0), np.float32(0), bits=8, narrow=False,
                gives=[True, True]),
            at([np.nan, -4.0, 3.0, 3.1, -4.1], np.float32(-4), np.float32(3), bits=3, narrow=False,
                gives=[False, True, True, False, False]),
        ],
    ),
    Case(
        q.quantize_and_dequantize, quantize_and_dequantize,
        [
            sample(real(5, 3, low=-4, high=4), fixed(-1.0), fixed(2.0), **options()),
            sample(real(5, 3, low=-4, high=4), fixed(-3.0), fixed(2.0),
                **options(bits=3, narrow=True)),
            sample(real(4, 3, low=-4, high=4), real(3, low=-2, high=-1), real(3, low=1, high=2),
                **options(bits=4, clamp=False)),
            sample(real(5, low=-4, high=4), fixed(0.0), fixed(2.0),
                **options(bits=3, signed=False, half_up=True)),
            sample(real(low=-4, high=4), fixed(-1.0), fixed(2.0), **options()),
            sample(real(0, 3), fixed(-1.0), fixed(2.0), **options()),
        ],
        dtypes=WIDE, orders=0,
        specials=[at([1.0, -1.0], np.float32(0), np.float32(0), **options(), gives=[0, 0])],
        failures=[fails(np.ones(2, np.float32), np.float32(2), np.float32(1), **options(),
            says=["input_min is greater"])],
    ),
]  # fmt: skip
