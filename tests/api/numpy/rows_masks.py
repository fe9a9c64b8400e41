"""Rows of the table for the argument `where` of reductions."""

import numpy as np

from .table import Row

MASK = np.array([[True, False, True], [False, True, True]])
ROW_MASK = np.array([True, True, False])
WITH_NAN = np.array([[1.5, np.nan, -0.5], [0.3, 2.0, np.nan]])


def masked(name, mask, **keywords):
    return lambda xp, x: getattr(xp, name)(x, where=mask, **keywords)


ROWS = [
    *[
        Row(name, masked(name, mask, **keywords), [(2, 3)], label=f"where {label}")
        for name in (
            "sum",
            "prod",
            "mean",
            "var",
            "std",
            "nansum",
            "nanprod",
            "nanmean",
            "nanvar",
            "nanstd",
        )
        for label, mask, keywords in (
            ("all", MASK, {}),
            ("axis", MASK, {"axis": 1, "keepdims": True}),
            ("broadcast", ROW_MASK, {"axis": -1}),
        )
    ],
    *[
        Row(
            name,
            masked(name, MASK, axis=1, initial=initial),
            [(2, 3)],
            domain="apart",
            label=f"where, from {initial}",
        )
        for name in ("max", "min", "nanmax", "nanmin")
        for initial in (-5.0, 0.05, 5.0)
    ],
    *[
        Row(name, masked(name, ~np.isnan(WITH_NAN), axis=0), [WITH_NAN], label="where NaN is not")
        for name in ("sum", "prod", "mean", "var", "nanmean")
    ],
    *[
        Row(name, masked(name, MASK, axis=1), [(2, 3)], domain="complex", label="where complex")
        for name in ("sum", "mean", "var")
    ],
    *[
        Row(
            name,
            masked(name, MASK, axis=0),
            [(2, 3)],
            dtype="int32",
            differentiable=False,
            label="where int32",
        )
        for name in ("sum", "prod", "mean", "all", "any")
    ],
    *[
        Row(
            name,
            masked(name, MASK, axis=1),
            [(2, 3)],
            dtype="bool",
            differentiable=False,
            label="where bool",
        )
        for name in ("sum", "all", "any")
    ],
]
