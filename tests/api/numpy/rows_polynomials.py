"""Rows of `gradtape.api.numpy.polynomials`."""

from __future__ import annotations

import numpy as np

from .table import Row


def named(name, *args, **keywords):
    return lambda xp, *arrays: getattr(xp, name)(*arrays, *args, **keywords)


def of(name, *shapes, keywords=None, **options):
    return [Row(name, named(name, **(keywords or {})), list(given), **options) for given in shapes]


def divisor(rng, shape):
    """A polynomial whose leading coefficient divides without rounding."""
    return np.concatenate([[2.0], rng.uniform(-2, 2, shape[0] - 1)])


AT = np.array([-1.0, -0.4, 0.1, 0.7, 1.2])
SIMPLE = np.array([2.0, -3.0, -5.0, 1.0])
TURNING = np.array([1.0, 0.5, 2.0, 1.0])

ROWS = [
    *of("polyval", [(4,), (3,)], [(3,), (2, 2)], [(3,), ()]),
    *of("polyval", [(1,), (2,)], wanted=[0]),
    *of("polyval", [(3,), (2,)], domain="complex", label="complex"),
    *of("polyval", [(3,), (2,)], dtype="int32", differentiable=False, label="int32"),
    *[
        row
        for name in ("polyadd", "polysub")
        for row in of(name, [(3,), (3,)], [(2,), (4,)], [(3,), (1,)], [(), (2,)])
    ],
    *of("polymul", [(3,), (2,)], [(1,), (3,)]),
    *of("polymul", [np.array([0.0, 1.0, 2.0]), (2,)], wanted=[1], label="leading zero"),
    *of("polydiv", [(5,), (3,)], [(3,), (3,)], [(4,), (2,)], domain=["real", divisor]),
    *of("polydiv", [(2,), (3,)], wanted=[0]),
    *of(
        "polydiv",
        [np.array([1.0, 5.0, 6.0]), np.array([1.0, 2.0])],
        wanted=[],
        label="exact",
        second=False,
    ),
    *of("polyder", [(4,)], [(1,)]),
    *of("polyder", [(4,)], keywords={"m": 2}, label="twice"),
    *of("polyder", [(4,)], dtype="int32", differentiable=False, label="int32"),
    *of("polyint", [(3,)]),
    *of("polyint", [(3,)], keywords={"m": 2, "k": [1.0, 2.0]}, label="twice"),
    Row("polyint", lambda xp, p, k: xp.polyint(p, 2, k), [(3,), (2,)], label="recorded constants"),
    Row("polyint", lambda xp, p, k: xp.polyint(p, 3, k), [(2,), ()], label="one constant"),
    *of("polyfit", [AT, (5,)], keywords={"deg": 2}),
    *of("polyfit", [AT, (5, 2)], keywords={"deg": 1}, label="two"),
    Row(
        "polyfit",
        lambda xp, x, y, w: xp.polyfit(x, y, 2, w=w),
        [AT, (5,), (5,)],
        domain=["real", "real", "positive"],
        label="weights",
    ),
    Row(
        "polyfit",
        lambda xp, x, y, w: xp.polyfit(x, y, 1, w=w),
        [AT, (5, 2), (5,)],
        domain=["real", "real", "positive"],
        label="weights",
    ),
    *of("polyfit", [AT, (5,)], keywords={"deg": 2, "full": True}, label="full"),
    *of("polyfit", [AT, (5,)], keywords={"deg": 1, "cov": True}, label="cov"),
    *of("polyfit", [AT, (5, 2)], keywords={"deg": 1, "cov": "unscaled"}, label="cov"),
    *of("poly", [(3,)], [(1,)]),
    *of("poly", [(3,)], domain="complex", label="complex"),
    *of("poly", [(3, 3)], domain="well_conditioned", label="matrix"),
    *of("roots", [SIMPLE]),
    *of("roots", [TURNING], label="turning"),
    *of("roots", [(3,)], domain="complex", label="complex"),
    Row(
        "roots",
        lambda xp, p: xp.roots(xp.concatenate([xp.zeros_like(p[:1]), p, xp.zeros_like(p[:2])])),
        [SIMPLE],
        label="zeros at both ends",
    ),
]
