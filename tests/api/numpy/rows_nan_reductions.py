"""Rows of `gradtape.api.numpy.nan_reductions`: with NaN and without."""

from __future__ import annotations

import numpy as np

from .table import Row

WITH_NAN = np.array([[1.0, np.nan, 3.5, -2.0], [0.5, 2.5, np.nan, 1.5], [-1.0, 4.0, 0.25, 0.75]])
HOLES = np.where(np.isnan(WITH_NAN), np.nan, 0).astype(np.float32)


def named(name, **keywords):
    return lambda xp, x: getattr(xp, name)(x, **keywords)


def filled(name, **keywords):
    """A call on an array some elements of which have become NaN,
    so that a central difference can be taken of the others.
    """
    return lambda xp, x: getattr(xp, name)(x + HOLES, **keywords)


def both(name, **keywords):
    """Rows with and without NaN."""
    label = ",".join(keywords)
    return [
        Row(name, named(name, **keywords), [(3, 4)], domain="apart", label=label),
        Row(name, filled(name, **keywords), [(3, 4)], domain="apart", label=f"nan {label}"),
    ]


ROWS = [
    *[
        row
        for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")
        for keywords in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True})
        for row in both(name, **keywords)
    ],
    *[
        row
        for name in ("nancumsum", "nancumprod")
        for keywords in ({}, {"axis": 1})
        for row in both(name, **keywords)
    ],
    *[
        row
        for name in ("nanvar", "nanstd")
        for keywords in ({"axis": 1, "ddof": 1}, {"axis": 0, "correction": 0.5})
        for row in both(name, **keywords)
    ],
    Row("nansum", named("nansum", axis=1), [(2, 3)], domain="complex", label="complex"),
    Row("nanmean", named("nanmean", axis=1), [(2, 3)], domain="complex", label="complex"),
    Row("nanvar", named("nanvar", axis=1), [(2, 3)], domain="complex", label="complex"),
    Row("nansum", named("nansum", initial=2.0), [(3,)], label="initial"),
    Row("nanmax", named("nanmax", axis=1, initial=0.5), [WITH_NAN], label="initial", second=False),
    Row("nanvar", lambda xp, x, m: xp.nanvar(x, axis=1, mean=m), [(3, 4), (3, 1)], label="mean"),
    *[
        Row(name, named(name, axis=0), [(2, 3)], dtype="int32", differentiable=False, label="int32")
        for name in ("nansum", "nanmean", "nanmax")
    ],
    *[
        Row(
            name,
            named(name, **keywords),
            [WITH_NAN],
            differentiable=False,
            result="int64",
            label=label,
        )
        for name in ("nanargmax", "nanargmin")
        for label, keywords in (
            ("", {}),
            ("axis", {"axis": 1}),
            ("keepdims", {"axis": 0, "keepdims": True}),
        )
    ],
    Row(
        "nanargmax",
        named("nanargmax"),
        [(4,)],
        dtype="int32",
        differentiable=False,
        result="int64",
        label="int32",
    ),
]
