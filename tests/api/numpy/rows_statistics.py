"""Rows of `gradtape.api.numpy.statistics`."""

from __future__ import annotations

import numpy as np

from .table import Row


def named(name, **keywords):
    return lambda xp, x: getattr(xp, name)(x, **keywords)


def spread(name):
    return [
        Row(name, named(name, **keywords), [shape], domain=domain, label=label)
        for label, keywords, shape, domain in (
            ("", {}, (2, 3), "real"), ("axis", {"axis": 1}, (2, 4), "real"),
            ("ddof", {"axis": 0, "ddof": 1}, (3, 2), "real"),
            ("correction", {"axis": (0, 2), "correction": 0.5, "keepdims": True}, (2, 2, 3),
                "real"),
            ("complex", {"axis": 1}, (2, 3), "complex"), ("empty", {"axis": 1}, (0, 3), "real"),
        )
    ]  # fmt: skip


ROWS = [
    *[
        Row("ptp", named("ptp", **keywords), [(3, 4)], domain="apart", label=",".join(keywords))
        for keywords in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True})
    ],
    *spread("var"),
    *spread("std"),
    *[
        Row(
            name,
            lambda xp, x, m, name=name: getattr(xp, name)(x, axis=0, mean=m),
            [(3, 2), (1, 2)],
            label="mean",
        )
        for name in ("var", "std")
    ],
    Row("var", named("var"), [(5,)], dtype="int32", differentiable=False, label="int32"),
    Row("var", named("var", dtype="float64"), [(5,)], result="float64", label="dtype"),
    Row("average", named("average", axis=1), [(2, 3)]),
    Row("average", named("average", returned=True), [(2, 3)], label="returned"),
    Row(
        "average",
        lambda xp, x, w: xp.average(x, weights=w),
        [(2, 3), (2, 3)],
        domain=["real", "positive"],
        label="weights",
    ),
    Row(
        "average",
        lambda xp, x, w: xp.average(x, 1, w, returned=True),
        [(2, 3), (3,)],
        domain=["real", "positive"],
        label="weights",
    ),
    Row(
        "average",
        lambda xp, x, w: xp.average(x, (2, 0), w, keepdims=True),
        [(2, 3, 4), (4, 2)],
        domain=["real", "positive"],
        label="weights",
    ),
    Row("average", named("average"), [(4,)], dtype="int32", differentiable=False, label="int32"),
    Row("cov", named("cov"), [(3, 4)]),
    Row("cov", named("cov", rowvar=False, bias=True), [(4, 3)], label="columns"),
    Row("cov", named("cov", ddof=0), [(4,)], label="vector"),
    Row("cov", lambda xp, x, y: xp.cov(x, y), [(2, 4), (4,)], label="y"),
    Row("cov", named("cov"), [(2, 3)], domain="complex", label="complex"),
    Row(
        "cov",
        lambda xp, x, w: xp.cov(x, aweights=w),
        [(2, 4), (4,)],
        domain=["real", "positive"],
        label="aweights",
    ),
    Row(
        "cov",
        lambda xp, x, w: xp.cov(x, fweights=np.array([1, 2, 0, 3]), aweights=w),
        [(2, 4), (4,)],
        domain=["real", "positive"],
        label="both weights",
    ),
    Row("cov", named("cov", fweights=[1, 2, 0, 3], ddof=0), [(2, 4)], label="fweights"),
    Row(
        "cov",
        lambda xp, x, w: xp.cov(x, fweights=[1, 2, 0, 3], aweights=w),
        [(2, 4), (4,)],
        domain=["complex", "positive"],
        label="complex weights",
    ),
    Row("corrcoef", named("corrcoef"), [(3, 5)]),
    Row("corrcoef", named("corrcoef", rowvar=False), [(5, 2)], label="columns"),
    Row("corrcoef", lambda xp, x, y: xp.corrcoef(x, y), [(5,), (5,)], label="y"),
    Row("corrcoef", named("corrcoef"), [(2, 4)], domain="complex", label="complex"),
]
