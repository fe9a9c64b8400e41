"""Rows of the functions that sort, search, count, and take arrays as sets."""

from __future__ import annotations

import numpy as np

from .rows_indexing import index
from .rows_shaping import row

POINTS = np.array([0.1, 0.7, 1.3, 2.6, 3.1, 0.8])
SMALL = np.array([3, 1, 0, 3, 2, 1])
EDGES = np.array([0.0, 0.5, 1.0, 3.0])


def weighted(name, call, label="", **options):
    """A histogram of fixed points, recorded by its weights alone."""
    return row(name, (6,), call=call, label=f"weights {label}", **options)


ROWS = [
    row("sort", (2, 5), domain="apart"),
    row("sort", (3, 2), domain="apart", call=lambda xp, x: xp.sort(x, axis=0), label="axis"),
    row("sort", (2, 3), domain="apart", call=lambda xp, x: xp.sort(x, axis=None), label="flat"),
    row("sort", (0, 3)),
    row("sort", (5,), domain="complex", label="complex"),
    row("sort", (5,), dtype="bool", differentiable=False, label="truth values"),
    index("argsort", (2, 5), domain="apart"),
    index(
        "argsort", (3, 2), domain="apart", call=lambda xp, x: xp.argsort(x, axis=0), label="axis"
    ),
    index(
        "argsort", (2, 3), domain="apart", call=lambda xp, x: xp.argsort(x, axis=None), label="flat"
    ),
    index(
        "argsort",
        (7,),
        dtype="int32",
        call=lambda xp, x: xp.argsort(x, kind="stable"),
        label="ties",
    ),
    row(
        "sort",
        (3, 4),
        domain="apart",
        call=lambda xp, x: xp.sort(x, 0, descending=True),
        label="falling",
        since="2.5.0",
    ),
    row(
        "sort",
        (5,),
        domain="complex",
        call=lambda xp, x: xp.sort(x, descending=True),
        label="falling complex",
        since="2.5.0",
    ),
    index(
        "argsort",
        (7,),
        dtype="int32",
        call=lambda xp, x: xp.argsort(x, descending=True),
        label="falling ties",
        since="2.5.0",
    ),
    row("partition", (2, 5), domain="apart", call=lambda xp, x: xp.partition(x, 2)[..., 2]),
    row(
        "partition",
        (2, 5),
        domain="apart",
        call=lambda xp, x: xp.sort(xp.partition(x, (1, 3))[..., :1]),
        label="two",
    ),
    row(
        "partition",
        (5, 2),
        domain="apart",
        call=lambda xp, x: xp.partition(x, -1, axis=0)[-1],
        label="axis",
    ),
    index("argpartition", (2, 5), domain="apart", call=lambda xp, x: xp.argpartition(x, 2)[..., 2]),
    index("lexsort", (5,), (5,), dtype="int32", call=lambda xp, *xs: xp.lexsort(xs)),
    index("lexsort", (2, 5), dtype="int32"),
    row("sort_complex", (5,), domain="complex"),
    row("sort_complex", (5,), domain="apart", label="real"),
    index("searchsorted", (4,), call=lambda xp, x: xp.searchsorted(EDGES, x)),
    index(
        "searchsorted",
        (2, 3),
        call=lambda xp, x: xp.searchsorted(EDGES, x, side="right"),
        label="right",
    ),
    index(
        "searchsorted",
        (5,),
        domain="apart",
        call=lambda xp, x: xp.searchsorted(x, [0.1, 0.2], sorter=xp.argsort(x)),
        label="sorter",
    ),
    index("digitize", (2, 3), call=lambda xp, x: xp.digitize(x, EDGES)),
    index(
        "digitize",
        (2, 3),
        call=lambda xp, x: xp.digitize(x, EDGES[::-1], right=True),
        label="falling",
    ),
    index("count_nonzero", (2, 3), dtype="bool", since="2.4.0"),
    index(
        "count_nonzero",
        (2, 3),
        call=lambda xp, x: xp.count_nonzero(x, axis=1, keepdims=True),
        label="axis",
    ),
    index("bincount", (6,), dtype="int32", domain="integers"),
    index(
        "bincount",
        (6,),
        dtype="int32",
        domain="integers",
        call=lambda xp, x: xp.bincount(x, minlength=12),
        label="longer",
    ),
    weighted("bincount", lambda xp, w: xp.bincount(SMALL, weights=w)),
    row("unique", (6,), domain="apart"),
    index(
        "unique",
        (6,),
        dtype="int64",
        call=lambda xp, x: xp.unique(x, True, True, True),
        label="all",
    ),
    index(
        "unique",
        (4, 2),
        dtype="int64",
        call=lambda xp, x: xp.unique(x, axis=0, return_inverse=True),
        label="rows",
    ),
    row("unique", (3, 2), domain="apart", call=lambda xp, x: xp.unique(x, axis=1), label="columns"),
    index(
        "unique",
        (2, 3),
        dtype="int64",
        call=lambda xp, x: xp.unique(x, return_inverse=True),
        label="shape",
    ),
    row("unique_values", (6,), domain="apart", call=lambda xp, x: xp.sort(xp.unique_values(x))),
    index("unique_counts", (6,), dtype="int64"),
    index("unique_inverse", (2, 3), dtype="int64"),
    index("unique_all", (6,), dtype="int64"),
    row(
        "unique_all",
        (4,),
        domain="apart",
        call=lambda xp, x: xp.unique_all(x).values,
        label="values",
    ),
    row(
        "unique_counts",
        (4,),
        domain="apart",
        call=lambda xp, x: xp.unique_counts(x).values,
        label="values",
    ),
    row(
        "unique_inverse",
        (4,),
        domain="apart",
        call=lambda xp, x: xp.unique_inverse(x).values,
        label="values",
    ),
    row("union1d", (3,), (2, 2), domain="apart"),
    row("intersect1d", (5,), domain="apart", call=lambda xp, x: xp.intersect1d(x, x[1:4])),
    index(
        "intersect1d",
        (6,),
        (6,),
        dtype="int64",
        call=lambda xp, *xs: xp.intersect1d(*xs, return_indices=True),
        label="places",
    ),
    row("setdiff1d", (5,), domain="apart", call=lambda xp, x: xp.setdiff1d(x, x[1:3])),
    row("setxor1d", (5,), domain="apart", call=lambda xp, x: xp.setxor1d(x[:4], x[2:])),
    row("isin", (6,), dtype="int32", call=lambda xp, x: xp.isin(x, [0, 1]), differentiable=False),
    row(
        "isin",
        (6,),
        dtype="int32",
        call=lambda xp, x: xp.isin(x, [0, 1], invert=True),
        differentiable=False,
        label="invert",
    ),
    row("isin", (6,), call=lambda xp, x: xp.isin(x, []), differentiable=False, label="nothing"),
    row(
        "isin",
        (2, 3),
        call=lambda xp, x: xp.isin(x, [np.nan, 1.0]),
        differentiable=False,
        label="nan",
    ),
    index("histogram", (20,), call=lambda xp, x: xp.histogram(x, bins=EDGES)[0]),
    row(
        "histogram",
        (20,),
        domain="apart",
        call=lambda xp, x: xp.histogram(x, bins=4)[1],
        label="edges",
    ),
    index(
        "histogram",
        (20,),
        call=lambda xp, x: xp.histogram(x, bins=4, range=(-1, 1))[0],
        label="range",
    ),
    index("histogram", (9,), call=lambda xp, x: xp.histogram(x)[0], label="ten"),
    index("histogram", (0,), call=lambda xp, x: xp.histogram(x)[0], label="nothing"),
    row(
        "histogram",
        (20,),
        domain="apart",
        call=lambda xp, x: xp.histogram(x, bins=4, density=True),
        label="density",
    ),
    weighted(
        "histogram", lambda xp, w: xp.histogram(POINTS.astype(np.float32), bins=EDGES, weights=w)[0]
    ),
    weighted(
        "histogram",
        lambda xp, w: xp.histogram(POINTS, bins=3, weights=w, density=True)[0],
        "density",
        domain="positive",
    ),
    row(
        "histogram_bin_edges",
        (7,),
        domain="apart",
        call=lambda xp, x: xp.histogram_bin_edges(x, bins=4),
    ),
    row(
        "histogram_bin_edges",
        (20,),
        domain="apart",
        call=lambda xp, x: xp.histogram_bin_edges(x, bins="auto"),
        label="rule",
    ),
    row(
        "histogram2d",
        (20,),
        (20,),
        domain="apart",
        call=lambda xp, x, y: xp.histogram2d(x, y, bins=3),
        second=False,
    ),
    row(
        "histogram2d",
        (20,),
        (20,),
        domain="apart",
        call=lambda xp, x, y: xp.histogram2d(x, y, bins=(2, 3)),
        label="two",
        second=False,
    ),
    weighted(
        "histogram2d",
        lambda xp, w: xp.histogram2d(POINTS, POINTS[::-1], bins=[EDGES, 2], weights=w)[0],
    ),
    row("histogramdd", (20, 3), domain="apart", call=lambda xp, x: xp.histogramdd(x, bins=2)),
    row(
        "histogramdd",
        (20, 2),
        domain="apart",
        call=lambda xp, x: xp.histogramdd(x, bins=(2, 3), density=True),
        label="density",
    ),
    weighted(
        "histogramdd", lambda xp, w: xp.histogramdd([POINTS, POINTS**2], bins=3, weights=w)[0]
    ),
]
