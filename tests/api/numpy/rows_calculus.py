"""Rows of `gradtape.api.numpy.calculus`."""

from __future__ import annotations

import numpy as np

from .table import Row


def rising(rng, shape):
    return np.cumsum(rng.uniform(0.3, 1, shape)) - 1


def named(name, *args, **keywords):
    return lambda xp, *arrays: getattr(xp, name)(*arrays, *args, **keywords)


def of(name, *shapes, keywords=None, **options):
    label = " ".join(
        [options.pop("label", ""), *(f"{key}={value}" for key, value in (keywords or {}).items())]
    ).strip()
    return [
        Row(name, named(name, **(keywords or {})), list(given), label=label, **options)
        for given in shapes
    ]


POINTS = np.array([-1.0, -0.2, 0.35, 0.9, 1.4, 1.85, 3.0])

ROWS = [
    *of("diff", [(5,)], [(2, 3)], [(0, 3)], [(1,)]),
    *of("diff", [(4, 3)], keywords={"n": 2, "axis": 0}),
    *of("diff", [(4, 3)], keywords={"n": 0}),
    *of("diff", [(4,)], keywords={"n": 6}),
    *of("diff", [(2, 3)], keywords={"prepend": 1.5, "append": [[1.0], [2.0]]}),
    Row(
        "diff",
        lambda xp, x, before, after: xp.diff(x, prepend=before, append=after),
        [(2, 3), (2, 1), ()],
        label="recorded ends",
    ),
    *of("diff", [(5,)], dtype="bool", differentiable=False, label="bool"),
    *of("diff", [(5,)], dtype="int32", differentiable=False, label="int32"),
    *of("ediff1d", [(2, 3)], [(1,)]),
    Row(
        "ediff1d",
        lambda xp, x, begin, end: xp.ediff1d(x, to_end=end, to_begin=begin),
        [(4,), (2, 1), ()],
        label="ends",
    ),
    *of("gradient", [(5,)], [(3, 4)], [(2, 3, 4)], keywords={}),
    *of("gradient", [(3, 4)], keywords={"axis": 1, "edge_order": 2}),
    *of("gradient", [(3, 4)], keywords={"axis": (1, 0)}),
    *of("gradient", [(4,)], domain="complex", label="complex"),
    *of("gradient", [(4,)], dtype="int32", differentiable=False, label="int32"),
    *[
        Row(
            "gradient",
            lambda xp, f, h, edge=edge: xp.gradient(f, h, edge_order=edge),
            [(3, 4), ()],
            domain=["real", "positive"],
            label=f"spacing {edge}",
        )
        for edge in (1, 2)
    ],
    *[
        Row(
            "gradient",
            lambda xp, f, x, edge=edge: xp.gradient(f, x, edge_order=edge),
            [(5,), (5,)],
            domain=["real", rising],
            label=f"coordinates {edge}",
        )
        for edge in (1, 2)
    ],
    Row(
        "gradient",
        lambda xp, f, h, x: xp.gradient(f, h, x, edge_order=2),
        [(3, 4), (), (4,)],
        domain=["real", "positive", rising],
        label="both",
    ),
    *of("trapezoid", [(4,)], [(2, 3)], [(2, 0)]),
    *of("trapezoid", [(3, 2)], keywords={"axis": 0, "dx": 0.5}),
    *of("trapezoid", [(2, 3), (3,)], [(2, 3), (2, 3)]),
    *of("trapezoid", [(3, 2), (3,)], keywords={"axis": 0}),
    *of("trapezoid", [(4,)], dtype="int32", differentiable=False, label="int32"),
    Row("interp", named("interp"), [POINTS, (5,), (5,)], domain=["real", rising, "real"]),
    Row("interp", named("interp"), [(2, 3), (5,), (5,)], domain=["real", rising, "real"]),
    Row("interp", named("interp"), [(), (5,), (5,)], domain=["unit", rising, "real"]),
    Row(
        "interp",
        named("interp"),
        [(3,), (5,), (5,)],
        domain=["unit", rising, "complex"],
        label="complex",
    ),
    Row(
        "interp",
        lambda xp, x, k, f, left, right: xp.interp(x, k, f, left, right),
        [POINTS, (3,), (3,), (), ()],
        domain=["real", rising, "real", "real", "real"],
        label="left and right",
    ),
    Row(
        "interp",
        lambda xp, x, k, f: xp.interp(x, k, f, period=1.7),
        [POINTS, (4,), (4,)],
        domain=["real", "real", "real"],
        label="period",
    ),
    Row(
        "interp",
        lambda xp, x: xp.interp(x, np.array([0.0, 1.0]), np.array([2.0, 3.0])),
        [(3,)],
        domain="unit",
        label="plain points",
    ),
    Row("interp", lambda xp, x, k, f: xp.interp(x, k, f), [(3,), (1,), (1,)], label="one point"),
]
