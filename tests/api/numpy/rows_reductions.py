"""Rows of `gradtape.api.numpy.reductions`."""

from __future__ import annotations

import numpy as np

from .table import Row


def named(name, **keywords):
    """A call of one argument."""
    return lambda xp, x: getattr(xp, name)(x, **keywords)


def over_axes(name, domain="real", *, empty=True, **options):
    """Rows for a reduction: over all axes, over one, over several, of a scalar, and of nothing."""
    rows = [
        Row(name, named(name), [(2, 3)], domain=domain, **options),
        Row(name, named(name, axis=-1), [(2, 3)], domain=domain, label="axis=-1", **options),
        Row(
            name,
            named(name, axis=(0, 2), keepdims=True),
            [(2, 3, 2)],
            domain=domain,
            label="keepdims",
            **options,
        ),
        Row(name, named(name), [()], domain=domain, **options),
        Row(name, named(name, axis=1), [(0, 3)], domain=domain, label="axis=1", **options),
    ]
    return (
        [*rows, Row(name, named(name, axis=0), [(0, 3)], domain=domain, label="axis=0", **options)]
        if empty
        else rows
    )


ROWS = [
    *over_axes("sum"),
    *over_axes("sum", "complex"),
    Row("sum", named("sum", axis=0, initial=2.0), [(2, 3)], label="initial"),
    Row("sum", named("sum", dtype="float64"), [(2, 3)], label="dtype", result="float64"),
    *[
        Row("sum", named("sum", axis=1), [(2, 3)], dtype=dtype, differentiable=False, label=dtype)
        for dtype in ("int8", "bool", "uint8", "int32", "int64")
    ],
    *over_axes("prod"),
    Row("prod", named("prod", axis=1), [(2, 3)], domain="complex", label="complex"),
    Row("prod", named("prod", axis=1, initial=2.0), [(2, 3)], label="initial"),
    Row("prod", named("prod"), [np.array([0.0, 2.0, 0.0, 3.0])], label="zeros"),
    Row("prod", named("prod"), [(4,)], dtype="int16", differentiable=False, label="int16"),
    *over_axes("mean", empty=False),
    Row("mean", named("mean", axis=0), [(2, 3)], domain="complex", label="complex"),
    *[
        Row("mean", named("mean", axis=1), [(2, 3)], dtype=dtype, differentiable=False, label=dtype)
        for dtype in ("int8", "bool", "int32", "int64")
    ],
    *over_axes("max", "apart", empty=False),
    *over_axes("min", "apart", empty=False),
    *[Row(name, named(name, axis=0), [(3, 2)], domain="apart") for name in ("amax", "amin")],
    *[
        Row(name, named(name, axis=0, initial=0.05), [(3, 2)], domain="apart", label="initial")
        for name in ("max", "min")
    ],
    Row("max", named("max", axis=0, initial=1.0), [(0, 2)], label="of nothing"),
    Row("max", named("max"), [(2, 3)], dtype="int32", differentiable=False, label="int32"),
    Row(
        "max", named("max"), [np.array([1.0, np.nan, 2.0])], second=False, finite=False, label="nan"
    ),
    *over_axes("all", differentiable=False, dtype="bool"),
    *over_axes("any", differentiable=False, dtype="bool"),
    Row(
        "all",
        named("all", axis=1),
        [np.array([[1.0, 0.0], [2.0, 3.0]])],
        differentiable=False,
        label="of numbers",
    ),
    *[
        Row(
            name,
            named(name, **keywords),
            [(2, 3)],
            domain="apart",
            differentiable=False,
            result="int64",
            label=label,
        )
        for name in ("argmax", "argmin")
        for label, keywords in (
            ("", {}),
            ("axis", {"axis": -1}),
            ("keepdims", {"keepdims": True}),
            ("both", {"axis": 0, "keepdims": True}),
        )
    ],
    *[
        Row(
            name,
            named(name, axis=1),
            [np.array([[1.0, np.nan, 3.0, np.nan], [2.0, 5.0, 5.0, 1.0]])],
            differentiable=False,
            result="int64",
            label="nan and ties",
        )
        for name in ("argmax", "argmin")
    ],
    Row(
        "argmax",
        named("argmax"),
        [(2, 3)],
        dtype="int32",
        differentiable=False,
        result="int64",
        label="int32",
    ),
    Row(
        "argmin",
        named("argmin"),
        [(2, 3)],
        domain="complex",
        differentiable=False,
        result="int64",
        label="complex",
    ),
    *[
        Row(name, named(name, **keywords), [shape], label=label)
        for name in ("cumsum", "cumprod")
        for label, keywords, shape in (
            ("", {}, (2, 3)),
            ("axis", {"axis": 0}, (2, 3)),
            ("", {"axis": -1}, (4,)),
            ("empty", {"axis": 1}, (0, 3)),
        )
    ],
    Row("cumsum", named("cumsum"), [(4,)], dtype="bool", differentiable=False, label="bool"),
    Row("cumprod", named("cumprod"), [np.array([2.0, 0.0, 3.0, 0.0, 1.0])], label="zeros"),
    *[
        Row(name, named(name, **keywords), [shape], label=label)
        for name in ("cumulative_sum", "cumulative_prod")
        for label, keywords, shape in (
            ("", {}, (3,)),
            ("axis", {"axis": 1}, (2, 3)),
            ("initial", {"axis": 0, "include_initial": True}, (2, 3)),
        )
    ],
]
