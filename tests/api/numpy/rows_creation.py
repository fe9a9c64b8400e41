"""Rows of the functions that make arrays, as far as NumPy asks their arguments: `numpy.zeros` and
the like are in `test_creation`.
"""

from __future__ import annotations

import numpy as np

from .rows_shaping import row


def value(name, *shapes, **options):
    """A row of a function that has no derivative."""
    return row(name, *shapes, differentiable=False, **options)


ENDS = [((), ()), ((3,), ()), ((2, 1), (3,))]

ROWS = [
    value("zeros_like", (2, 3)),
    value(
        "zeros_like",
        (2, 3),
        call=lambda xp, x: xp.zeros_like(x, dtype=np.int32, shape=4),
        result="int32",
        label="others",
    ),
    value("ones_like", ()),
    value("ones_like", (2, 3), dtype="int32"),
    value("empty_like", (0, 3)),
    row("full_like", (2, 3), (), wanted=[1]),
    row(
        "full_like",
        (2, 3),
        (4,),
        call=lambda xp, x, v: xp.full_like(x, v, shape=(2, 4)),
        wanted=[1],
        label="shape",
    ),
    *[row("linspace", *ends, call=lambda xp, a, b: xp.linspace(a, b, 5)) for ends in ENDS],
    row(
        "linspace",
        (3,),
        (),
        call=lambda xp, a, b: xp.linspace(a, b, 4, endpoint=False, axis=-1),
        label="open",
    ),
    row(
        "linspace", (3,), (), call=lambda xp, a, b: xp.linspace(a, b, 4, retstep=True), label="step"
    ),
    row("linspace", (), (), call=lambda xp, a, b: xp.linspace(a, b, 1), wanted=[0], label="one"),
    row("linspace", (2,), (), call=lambda xp, a, b: xp.linspace(a, b, 0), label="none"),
    value(
        "linspace",
        (),
        (),
        call=lambda xp, a, b: xp.linspace(a, b, 5, dtype=np.int32),
        result="int32",
        label="integers",
    ),
    value(
        "linspace",
        (),
        (),
        dtype="int32",
        call=lambda xp, a, b: xp.linspace(a, b, 5),
        label="from integers",
    ),
    *[row("logspace", *ends, call=lambda xp, a, b: xp.logspace(a, b, 4)) for ends in ENDS],
    row(
        "logspace",
        (),
        (),
        call=lambda xp, a, b: xp.logspace(a, b, 4, endpoint=False, base=2.0),
        label="open",
    ),
    row(
        "logspace",
        (2,),
        (),
        (3, 1),
        domain="positive",
        call=lambda xp, a, b, c: xp.logspace(a, b, 3, base=c),
        label="base",
    ),
    row(
        "logspace",
        (),
        (),
        (3,),
        domain="positive",
        call=lambda xp, a, b, c: xp.logspace(a, b, 3, base=c),
        label="base",
    ),
    *[
        row("geomspace", *ends, domain="positive", call=lambda xp, a, b: xp.geomspace(a, b, 4))
        for ends in ENDS
    ],
    row(
        "geomspace",
        (),
        (),
        domain="positive",
        call=lambda xp, a, b: xp.geomspace(-a, -b, 3),
        label="negative",
    ),
    row(
        "geomspace",
        (2,),
        (),
        domain="positive",
        call=lambda xp, a, b: xp.geomspace(a, b, 3, endpoint=False, axis=1),
        label="open",
    ),
    row(
        "geomspace",
        (),
        (),
        domain="complex",
        call=lambda xp, a, b: xp.geomspace(a, b, 4),
        label="complex",
    ),
    row("vander", (3,)),
    row(
        "vander",
        np.array([0.0, 2.0, -1.0]),
        call=lambda xp, x: xp.vander(x, 4, increasing=True),
        label="zero",
    ),
    row("vander", (3,), call=lambda xp, x: xp.vander(x, 1), label="ones"),
    value("vander", (3,), dtype="int32"),
]
