"""Rows of the functions that pick elements, and of those that give indices,
which have no derivative.
"""

from __future__ import annotations

import numpy as np

from .rows_shaping import row

PLACES = np.array([[2, 0], [-1, 1]])
MASK = np.array([[True, False, True], [False, False, True]])


def index(name, *shapes, dtype=None, **options):
    """A row of a function that gives indices, which are int64 whatever it was given."""
    return row(name, *shapes, dtype=dtype, result="int64", differentiable=False, **options)


ROWS = [
    row("take", (3, 4), call=lambda xp, x: xp.take(x, PLACES)),
    row("take", (3, 4), call=lambda xp, x: xp.take(x, PLACES, axis=0), label="first axis"),
    row("take", (3, 4), call=lambda xp, x: xp.take(x, PLACES, axis=-1), label="last axis"),
    row("take", (3, 4), call=lambda xp, x: xp.take(x, 1, axis=1), label="scalar"),
    row("take", (3, 4), call=lambda xp, x: xp.take(x, [], axis=1), label="nothing"),
    row("take", (3, 4), call=lambda xp, x: xp.take(x, [-7, 11], axis=1, mode="wrap"), label="wrap"),
    row("take", (3, 4), call=lambda xp, x: xp.take(x, [-7, 11], axis=1, mode="clip"), label="clip"),
    row(
        "take",
        (3, 4),
        domain="complex",
        call=lambda xp, x: xp.take(x, [1, 1], axis=0),
        label="complex",
    ),
    row(
        "take_along_axis",
        (2, 3),
        call=lambda xp, x: xp.take_along_axis(x, np.array([[2, 0], [1, -1]]), axis=1),
    ),
    row(
        "take_along_axis",
        (3, 1, 2),
        call=lambda xp, x: xp.take_along_axis(x, np.array([[[0], [1]]]), axis=-1),
        label="broadcast",
    ),
    row(
        "take_along_axis",
        (2, 3),
        call=lambda xp, x: xp.take_along_axis(x, np.array([4, -1]), axis=None),
        label="flat",
    ),
    row("choose", (3,), (2, 3), call=lambda xp, x, y: xp.choose(np.array([1, 0, 1]), [x, y])),
    row("choose", (2, 3), call=lambda xp, x: xp.choose(np.array([1, 0, 1]), x), label="array"),
    row(
        "choose",
        (3,),
        (),
        call=lambda xp, x, y: xp.choose(np.array([-1, 0, 5]), [x, y], mode="wrap"),
        label="wrap",
    ),
    row(
        "choose",
        (3,),
        (),
        call=lambda xp, x, y: xp.choose(np.array([-1, 0, 5]), [x, y], mode="clip"),
        label="clip",
    ),
    row("compress", (2, 3), call=lambda xp, x: xp.compress([True, False, True], x, axis=1)),
    row("compress", (2, 3), call=lambda xp, x: xp.compress([False, True], x), label="flat"),
    row("extract", (2, 3), call=lambda xp, x: xp.extract(MASK, x)),
    row("diag", (3,)),
    row("diag", (0,)),
    *[
        row("diag", shape, call=lambda xp, x, k=k: xp.diag(x, k), label=str(k))
        for shape in [(3,), (3, 4)]
        for k in (-2, 1, 5)
    ],
    row("diagflat", (2, 2)),
    row("diagflat", (2, 2), call=lambda xp, x: xp.diagflat(x, -1), label="below"),
    row("diagonal", (3, 4)),
    row("diagonal", (2, 3, 4), call=lambda xp, x: xp.diagonal(x, -1, 2, 0), label="axes"),
    row("diagonal", (2, 3, 4), call=lambda xp, x: xp.diagonal(x, 9), label="outside"),
    *[row(name, shape) for name in ("tril", "triu") for shape in [(3, 4), (2, 3, 3), (3,), (0, 3)]],
    *[
        row(name, (3, 4), call=lambda xp, x, f=name, k=k: getattr(xp, f)(x, k), label=str(k))
        for name in ("tril", "triu")
        for k in (-1, 2)
    ],
    row("tril", (3, 3), domain="complex", label="complex"),
    row("tril", (3, 3), dtype="bool", differentiable=False, label="truth values"),
    index("nonzero", (2, 3), dtype="bool"),
    index("nonzero", (0, 3)),
    index("argwhere", (2, 3), dtype="bool"),
    index("argwhere", ()),
    index("flatnonzero", (2, 3), dtype="bool"),
    index(
        "unravel_index",
        (2, 2),
        dtype="int32",
        domain="integers",
        call=lambda xp, x: xp.unravel_index(x, (3, 4)),
    ),
    index(
        "ravel_multi_index",
        (3,),
        (3,),
        dtype="int32",
        domain="integers",
        call=lambda xp, *xs: xp.ravel_multi_index(xs, (9, 8)),
    ),
    index(
        "ravel_multi_index",
        (2, 3),
        dtype="int32",
        domain="integers",
        call=lambda xp, x: xp.ravel_multi_index(x, (9, 8)),
        label="array",
    ),
    index("diag_indices_from", (3, 3)),
    index("tril_indices_from", (3, 4), call=lambda xp, x: xp.tril_indices_from(x, 1)),
    index("triu_indices_from", (3, 4), call=lambda xp, x: xp.triu_indices_from(x, -1)),
]
