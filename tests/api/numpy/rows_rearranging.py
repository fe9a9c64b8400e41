"""Rows of the functions that repeat, reorder, insert and leave out elements."""

from __future__ import annotations

import numpy as np

from .rows_shaping import row

CORNER = np.array([[0, 0, 0], [0, 1, 1]])

ROWS = [
    row("tile", (2, 3), call=lambda xp, x: xp.tile(x, 2)),
    row("tile", (3,), call=lambda xp, x: xp.tile(x, (2, 1, 2)), label="more axes"),
    row("tile", (2, 3), call=lambda xp, x: xp.tile(x, (0, 1)), label="none"),
    row("tile", (), call=lambda xp, x: xp.tile(x, 3)),
    row("repeat", (2, 3), call=lambda xp, x: xp.repeat(x, 2)),
    row("repeat", (2, 3), call=lambda xp, x: xp.repeat(x, 2, axis=1), label="axis"),
    row("repeat", (2, 3), call=lambda xp, x: xp.repeat(x, [1, 0, 3], axis=-1), label="each"),
    row("resize", (2, 3), call=lambda xp, x: xp.resize(x, (3, 3))),
    row("resize", (2, 3), call=lambda xp, x: xp.resize(x, 4), label="fewer"),
    row(
        "resize",
        (0,),
        call=lambda xp, x: xp.resize(x, (2, 2)),
        differentiable=False,
        label="nothing",
    ),
    row("flip", (2, 3)),
    row("flip", (2, 3), call=lambda xp, x: xp.flip(x, axis=-1), label="axis"),
    row("flip", (2, 3, 2), call=lambda xp, x: xp.flip(x, axis=(0, 2)), label="axes"),
    row("flip", ()),
    row("fliplr", (2, 3)),
    row("flipud", (2, 3)),
    row("roll", (2, 3), call=lambda xp, x: xp.roll(x, 2)),
    row("roll", (2, 3), call=lambda xp, x: xp.roll(x, -1, axis=1), label="axis"),
    row("roll", (2, 3), call=lambda xp, x: xp.roll(x, (1, 2), axis=(0, 1)), label="axes"),
    row("roll", (2, 3), call=lambda xp, x: xp.roll(x, 1, axis=(1, 0)), label="one shift"),
    row("roll", (5,), call=lambda xp, x: xp.roll(x, (1, 1), axis=0), label="twice"),
    *[
        row("rot90", (2, 3), call=lambda xp, x, k=k: xp.rot90(x, k), label=str(k))
        for k in (0, 1, 2, 3, -1)
    ],
    row("rot90", (2, 3, 2), call=lambda xp, x: xp.rot90(x, axes=(1, 2)), label="axes"),
    row("insert", (2, 3), (), call=lambda xp, x, v: xp.insert(x, 1, v)),
    row("insert", (2, 3), (2,), call=lambda xp, x, v: xp.insert(x, 1, v, axis=1), label="column"),
    row(
        "insert",
        (2, 3),
        (2, 2),
        call=lambda xp, x, v: xp.insert(x, [1], v, axis=1),
        label="columns",
    ),
    row("insert", (5,), (3,), call=lambda xp, x, v: xp.insert(x, [1, 1, 4], v), label="places"),
    row("insert", (5,), (2,), call=lambda xp, x, v: xp.insert(x, slice(1, 5, 2), v), label="slice"),
    row(
        "insert",
        (4,),
        (2,),
        call=lambda xp, x, v: xp.insert(x, np.array([True, False, True, False]), v),
        label="mask",
        since="2.4.0",
    ),
    row("insert", (4,), (1,), call=lambda xp, x, v: xp.insert(x, -1, v), label="negative"),
    row("delete", (2, 3), call=lambda xp, x: xp.delete(x, 1)),
    row("delete", (2, 3), call=lambda xp, x: xp.delete(x, -1, axis=1), label="axis"),
    row("delete", (5,), call=lambda xp, x: xp.delete(x, slice(0, 4, 2)), label="slice"),
    row(
        "delete",
        (4,),
        call=lambda xp, x: xp.delete(x, np.array([True, False, True, False])),
        label="mask",
    ),
    row("trim_zeros", (6,), call=lambda xp, x: xp.trim_zeros(x * np.array([0, 0, 1, 0, 1, 0]))),
    row(
        "trim_zeros",
        (3,),
        call=lambda xp, x: xp.trim_zeros(x * np.array([0, 1, 0]), "f"),
        label="front",
    ),
    row(
        "trim_zeros",
        (2, 3),
        call=lambda xp, x: xp.trim_zeros(x * CORNER),
        label="matrix",
        since="2.2.0",
    ),
    row(
        "trim_zeros",
        (2, 3),
        call=lambda xp, x: xp.trim_zeros(x * CORNER, axis=1),
        label="axis",
        since="2.2.0",
    ),
    row("trim_zeros", (3,), call=lambda xp, x: xp.trim_zeros(x * np.zeros(3, int)), label="zeros"),
]
