"""Rows of `pad`, a few for each mode; those of integers ask only for the values."""

from __future__ import annotations

import numpy as np

from .rows_shaping import row


def pad(mode, width, shape=(3, 4), label="", dtype=None, since="2.1.0", **options):
    return row(
        "pad",
        shape,
        call=lambda xp, x: xp.pad(x, width, mode=mode, **options),
        label=" ".join([mode, str(width), label, *map(str, options.values())]),
        dtype=dtype,
        result=dtype,
        domain="apart" if dtype is None else "real",
        differentiable=dtype is None,
        since=since,
    )


WIDTHS = [2, (1, 3), ((0, 1), (2, 0))]
NAMED = [
    "constant",
    "edge",
    "linear_ramp",
    "maximum",
    "mean",
    "median",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
]

ROWS = [
    *[pad(mode, width) for mode in NAMED for width in WIDTHS],
    *[pad(mode, 1, dtype="int32") for mode in NAMED],
    *[pad(mode, 2, shape=()) for mode in NAMED],
    pad("constant", 1, shape=(0, 2)),
    pad("edge", ((0, 0), (1, 1)), shape=(0, 2)),
    pad("constant", {0: 1, -1: (0, 2)}, since="2.2.0"),
    pad("constant", 1, constant_values=3.5),
    pad("constant", 1, constant_values=((1.0, 2.0), (3.0, 4.0))),
    pad("linear_ramp", (2, 3), end_values=(5.0, -4.0)),
    *[pad(mode, 2, stat_length=2) for mode in ("maximum", "minimum", "mean", "median")],
    pad("mean", 2, stat_length=((1, 2), (3, 9))),
    *[
        pad(mode, width, reflect_type="odd")
        for mode in ("reflect", "symmetric")
        for width in (2, (7, 11))
    ],
    *[
        pad(mode, (9, 4), shape=shape)
        for mode in ("reflect", "symmetric", "wrap")
        for shape in [(1,), (2,), (3,)]
    ],
    *[
        pad(mode, (9, 4), shape=shape, reflect_type="odd")
        for mode in ("reflect", "symmetric")
        for shape in [(1,), (2,), (3,)]
    ],
    row(
        "pad",
        (2, 3),
        (),
        call=lambda xp, x, v: xp.pad(x, 1, constant_values=v),
        label="recorded constant",
    ),
    row(
        "pad",
        (2, 3),
        (2,),
        call=lambda xp, x, v: xp.pad(x, 2, mode="linear_ramp", end_values=v),
        label="recorded ends",
    ),
    row(
        "pad",
        (2, 3),
        domain="complex",
        call=lambda xp, x: xp.pad(x, 1, mode="mean"),
        label="complex",
    ),
    row(
        "pad",
        np.array([1.0, 1.0, 0.0]),
        call=lambda xp, x: xp.pad(x, 2, mode="constant"),
        label="ties",
    ),
]
