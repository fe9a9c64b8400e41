"""Rows of `gradtape.api.numpy.quantiles`."""

from __future__ import annotations

import numpy as np

from .rows_nan_reductions import filled
from .table import Row

METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
)  # fmt: skip
INTERPOLATING = METHODS[3:9]
SHARES = np.array([[0.0, 0.13, 0.5], [0.61, 0.93, 1.0]])


def named(name, *args, **keywords):
    return lambda xp, x: getattr(xp, name)(x, *args, **keywords)


ROWS = [
    *[
        Row(name, named(name, **keywords), [shape], domain="apart", label=",".join(keywords))
        for name in ("median", "nanmedian")
        for keywords, shape in (
            ({}, (5,)),
            ({}, (2, 3)),
            ({"axis": 1}, (2, 3)),
            ({"axis": (0, 2), "keepdims": True}, (2, 3, 2)),
            ({"axis": 1}, (0, 3)),
        )
    ],
    Row("median", named("median"), [(4,)], dtype="int32", differentiable=False, label="int32"),
    *[
        Row(name, named(name, share, axis=1, method=method), [(2, 7)], domain="apart", label=method)
        for method in METHODS
        for name, share in (
            ("quantile", 0.37),
            ("nanquantile", 0.37),
            ("percentile", 81),
            ("nanpercentile", 81),
        )
    ],
    *[
        Row(
            "quantile",
            lambda xp, x, q, method=method: xp.quantile(x, q, axis=0, method=method),
            [(7, 2), np.array([0.21, 0.47, 0.84])],
            domain="apart",
            label=f"by q {method}",
        )
        for method in INTERPOLATING
    ],
    *[
        Row(
            "nanquantile",
            lambda xp, x, q, method=method: xp.nanquantile(x, q, axis=0, method=method),
            [(7, 2), np.array([0.21, 0.52, 0.84])],
            domain="apart",
            label=f"by q {method}",
        )
        for method in INTERPOLATING
    ],
    Row(
        "percentile",
        lambda xp, x, q: xp.percentile(x, q),
        [(6,), np.array(33.0)],
        domain="apart",
        label="by q",
    ),
    Row(
        "nanpercentile",
        lambda xp, x, q: xp.nanpercentile(x, q),
        [(6,), np.array(33.0)],
        domain="apart",
        label="by q",
    ),
    *[
        Row(
            "quantile",
            lambda xp, x, q, method=method: xp.quantile(
                x, q, axis=(0, 2), method=method, keepdims=True
            ),
            [(2, 3, 4), SHARES],
            domain="apart",
            label=f"shares {method}",
            wanted=[0],
            second=False,
        )
        for method in METHODS
    ],
    *[
        Row(
            "nanquantile",
            lambda xp, x, q, method=method: filled("nanquantile", q=q, axis=1, method=method)(
                xp, x
            ),
            [(3, 4), SHARES],
            domain="apart",
            label=f"nan {method}",
            wanted=[0],
            second=False,
        )
        for method in METHODS
    ],
    Row("nanmedian", filled("nanmedian", axis=0), [(3, 4)], domain="apart", label="nan"),
    Row(
        "nanpercentile",
        filled("nanpercentile", q=30, axis=1),
        [(3, 4)],
        domain="apart",
        label="nan",
    ),
    Row(
        "quantile",
        named("quantile", 0.4, method="lower"),
        [(5,)],
        dtype="int32",
        differentiable=False,
        label="int32",
    ),
    Row(
        "quantile",
        named("quantile", 0.4),
        [(5,)],
        dtype="int32",
        differentiable=False,
        label="int32",
    ),
    *[
        Row(
            name,
            lambda xp, x, w, name=name: getattr(xp, name)(
                x, 0.4, axis=1, weights=w, method="inverted_cdf"
            ),
            [(3, 4), shape],
            domain=["apart", "positive"],
            wanted=[0],
            label="weights",
        )
        for name, shape in (("quantile", (4,)), ("nanquantile", (3, 4)))
    ],
    *[
        Row(
            name,
            lambda xp, x, w, name=name: getattr(xp, name)(
                x, np.array([0.0, 40.0, 100.0]), weights=w, method="inverted_cdf"
            ),
            [(2, 4), (2, 4)],
            domain=["apart", "positive"],
            wanted=[0],
            label="weights",
        )
        for name in ("percentile", "nanpercentile")
    ],
]
