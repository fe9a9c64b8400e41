"""Rows of the functions that put arrays together and take them apart."""

from __future__ import annotations

from .rows_shaping import row

ROWS = [
    row("concatenate", (2, 3), (2, 1), call=lambda xp, *xs: xp.concatenate(xs, axis=-1)),
    row(
        "concatenate",
        (2, 3),
        (0, 3),
        (1, 3),
        call=lambda xp, *xs: xp.concatenate(xs),
        label="empty",
    ),
    row(
        "concatenate",
        (2, 3),
        (2,),
        call=lambda xp, *xs: xp.concatenate(xs, axis=None),
        label="flat",
    ),
    row("concatenate", (2, 3), call=lambda xp, x: xp.concatenate(x), label="array"),
    row("concat", (2,), (3,), call=lambda xp, *xs: xp.concat(xs)),
    row("stack", (2, 3), (2, 3), call=lambda xp, *xs: xp.stack(xs, axis=1)),
    row("stack", (), (), call=lambda xp, *xs: xp.stack(xs)),
    row("stack", (2, 3), call=lambda xp, x: xp.stack(x, axis=-1), label="array"),
    row("hstack", (2, 3), (2, 1), call=lambda xp, *xs: xp.hstack(xs)),
    row("hstack", (2,), (), call=lambda xp, *xs: xp.hstack(xs)),
    row("vstack", (3,), (2, 3), call=lambda xp, *xs: xp.vstack(xs)),
    row("dstack", (3,), (1, 3, 2), call=lambda xp, *xs: xp.dstack(xs)),
    row("dstack", (2, 3), (2, 3), call=lambda xp, *xs: xp.dstack(xs)),
    row("column_stack", (3,), (3, 2), call=lambda xp, *xs: xp.column_stack(xs)),
    row("block", (2, 2), (2, 1), (1, 3), call=lambda xp, a, b, c: xp.block([[a, b], [c]])),
    row("block", (3,), (), call=lambda xp, a, b: xp.block([a, b, 1.0])),
    row("block", (3,), call=lambda xp, a: xp.block(a), label="one"),
    row("block", (2,), (2,), call=lambda xp, a, b: xp.block([[a], [b]]), label="rows"),
    row("append", (2, 3), (2,)),
    row("append", (2, 3), (1, 3), call=lambda xp, *xs: xp.append(*xs, axis=0), label="axis"),
    row("unstack", (2, 3), call=lambda xp, x: xp.unstack(x, axis=1)),
    row("array_split", (7, 2), call=lambda xp, x: xp.array_split(x, 3)),
    row(
        "array_split", (2, 5), call=lambda xp, x: xp.array_split(x, [1, 3], axis=1), label="places"
    ),
    row(
        "array_split", (5,), call=lambda xp, x: xp.array_split(x, [3, 1, 9]), label="falling places"
    ),
    row("split", (6, 2), call=lambda xp, x: xp.split(x, 3)),
    row("split", (2, 5), call=lambda xp, x: xp.split(x, [-2], axis=-1), label="places"),
    row("hsplit", (2, 4), call=lambda xp, x: xp.hsplit(x, 2)),
    row("hsplit", (4,), call=lambda xp, x: xp.hsplit(x, 2)),
    row("vsplit", (4, 2), call=lambda xp, x: xp.vsplit(x, [1])),
    row("dsplit", (1, 2, 4), call=lambda xp, x: xp.dsplit(x, 2)),
]
