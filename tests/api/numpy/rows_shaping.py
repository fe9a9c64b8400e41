"""Rows of the functions for shapes and dtypes."""

from __future__ import annotations

import numpy as np

from .table import Row


def row(name, *shapes, call=None, label="", **options):
    """A row whose call takes the arrays alone, unless another is given."""
    return Row(
        name, call or (lambda xp, *xs: getattr(xp, name)(*xs)), list(shapes), label=label, **options
    )


ROWS = [
    row("reshape", (2, 3), call=lambda xp, x: xp.reshape(x, (3, -1))),
    row("reshape", (2, 3), call=lambda xp, x: xp.reshape(x, (3, 2), order="F"), label="F"),
    row("reshape", (0, 3), call=lambda xp, x: xp.reshape(x, (3, 0))),
    row("reshape", (), call=lambda xp, x: xp.reshape(x, -1)),
    row("ravel", (2, 3)),
    row("ravel", (2, 3), call=lambda xp, x: xp.ravel(x, order="F"), label="F"),
    row("ravel", ()),
    row("transpose", (2, 3, 4)),
    row("transpose", (2, 3, 4), call=lambda xp, x: xp.transpose(x, (1, -1, 0)), label="axes"),
    row("transpose", (2, 3), domain="complex", label="complex"),
    row("permute_dims", (2, 3, 4), call=lambda xp, x: xp.permute_dims(x, (2, 0, 1))),
    row("matrix_transpose", (2, 3, 4)),
    row("moveaxis", (2, 3, 4), call=lambda xp, x: xp.moveaxis(x, 0, -1)),
    row("moveaxis", (2, 3, 4), call=lambda xp, x: xp.moveaxis(x, [0, 1], [-1, -2]), label="two"),
    row("rollaxis", (2, 3, 4), call=lambda xp, x: xp.rollaxis(x, 2)),
    row("rollaxis", (2, 3, 4), call=lambda xp, x: xp.rollaxis(x, 0, 3), label="to the end"),
    row("rollaxis", (2, 3, 4), call=lambda xp, x: xp.rollaxis(x, 1, -1), label="negative"),
    row("swapaxes", (2, 3, 4), call=lambda xp, x: xp.swapaxes(x, 0, -1)),
    row("squeeze", (1, 3, 1)),
    row("squeeze", (1, 3, 1), call=lambda xp, x: xp.squeeze(x, axis=-1), label="axis"),
    row("squeeze", (1, 3, 1), call=lambda xp, x: xp.squeeze(x, axis=(0, 2)), label="axes"),
    row("expand_dims", (2, 3), call=lambda xp, x: xp.expand_dims(x, -1)),
    row("expand_dims", (2, 3), call=lambda xp, x: xp.expand_dims(x, (0, 2)), label="axes"),
    row("broadcast_to", (3, 1), call=lambda xp, x: xp.broadcast_to(x, (2, 3, 4))),
    row("broadcast_to", (), call=lambda xp, x: xp.broadcast_to(x, 3)),
    row("broadcast_arrays", (2, 1), (3,)),
    row("broadcast_arrays", (2, 3)),
    *[
        row(name, shape)
        for name in ("atleast_1d", "atleast_2d", "atleast_3d")
        for shape in [(), (3,), (2, 3), (2, 3, 4)]
    ],
    row("atleast_2d", (), (3,), label="several"),
    row("copy", (2, 3)),
    row("astype", (2, 3), call=lambda xp, x: xp.astype(x, np.float64), result="float64"),
    row(
        "astype",
        (2, 3),
        call=lambda xp, x: xp.astype(x, np.int32),
        result="int32",
        differentiable=False,
        label="integers",
    ),
    row("meshgrid", (2,), (3,)),
    row(
        "meshgrid", (2,), (3,), (), call=lambda xp, *xs: xp.meshgrid(*xs, indexing="ij"), label="ij"
    ),
    row("meshgrid", (2,), (3,), call=lambda xp, *xs: xp.meshgrid(*xs, sparse=True), label="sparse"),
    row("meshgrid", (2,)),
    row("ix_", (2,), (3,)),
    row("ix_", (4,), dtype="bool", result="int64", differentiable=False, label="truth values"),
    row("ndim", (2, 3), differentiable=False),
    row("shape", (2, 3), differentiable=False),
    row("size", (2, 3), differentiable=False),
    row("size", (2, 3), call=lambda xp, x: xp.size(x, axis=1), differentiable=False, label="axis"),
]
