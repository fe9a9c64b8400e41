"""Rows of `gradtape.ops.reductions`."""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from gradtape.ops import reductions as r

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, at, real, sample

INTEGERS = np.dtype(np.int64)


def over_axes(*, empty: bool = True):
    """All axes, one, some, none; a scalar; nothing to reduce, and nothing left."""
    samples = [
        sample(real(2, 3, 2)), sample(real(2, 3), axis=(1,)),
        sample(real(2, 3, 2), axis=(0, 2), keepdims=True), sample(real(2, 3, 2), axis=(2, 1)),
        sample(real(2, 3), keepdims=True), sample(real(2), axis=()), sample(real()),
        sample(real(2, 0, 3), axis=(0,)),
    ]  # fmt: skip
    return [*samples, sample(real(0, 3), axis=(0,)), sample(real(0))] if empty else samples


def of_nothing(value):
    """Reductions of no elements, whose value no difference can be taken of."""
    nothing = np.zeros((0, 2), np.float32)
    return [
        at(nothing, axis=(0,), gives=[value, value], gradient=nothing),
        at(nothing, gives=value, gradient=nothing),
    ]


def reduced(of):
    return lambda x, axis=None, keepdims=False: of(x, axis=axis, keepdims=keepdims)


def same_dtype(of):
    return lambda x, axis=None, keepdims=False: of(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def mean(x, axis=None, keepdims=False):
    count = math.prod(x.shape if axis is None else [x.shape[a] for a in axis])
    total = np.asarray(x.sum(axis, keepdims=keepdims) / np.float64(count))
    return np.trunc(np.nan_to_num(total)).astype(x.dtype) if x.dtype.kind in "iu" else total


def running(of, first):
    """A running sum or product by its definition."""

    def reference(x, *, axis, exclusive=False, reverse=False):
        x = np.moveaxis(np.asarray(x), axis, 0)
        x = x[::-1] if reverse else x
        out = np.array(
            [of(x[: i + (not exclusive)], axis=0, initial=first) for i in range(len(x))], x.dtype
        ).reshape(x.shape)
        return np.moveaxis(out[::-1] if reverse else out, 0, axis)

    return reference


RUNNING = [
    sample(real(2, 3), axis=1), sample(real(3, 2), axis=0, exclusive=True),
    sample(real(2, 4), axis=1, reverse=True), sample(real(4), axis=0, exclusive=True, reverse=True),
    sample(real(0, 3), axis=0, exclusive=True), sample(real(2, 0), axis=0),
]  # fmt: skip
CHOSEN = [
    sample(real(2, 3), axis=1, dtype=INTEGERS),
    sample(real(2, 3, 2), axis=0, dtype=np.dtype(np.int32)),
    sample(real(4), axis=0, dtype=INTEGERS),
]

ROWS = [
    Case(r.reduce_sum, same_dtype(np.sum), over_axes(), dtypes=FLOATS + COMPLEX + INTS),
    Case(r.reduce_mean, mean, over_axes(empty=False), dtypes=FLOATS + COMPLEX + ("int32", "int64"),
        specials=of_nothing(np.nan)),
    Case(r.reduce_variance, np.var, over_axes(empty=False), specials=of_nothing(np.nan)),
    Case(
        r.reduce_prod, same_dtype(np.prod),
        [*over_axes(), sample(real(3, low=0, high=0)), sample(real(2, 5), axis=(1,))],
        dtypes=FLOATS + COMPLEX + INTS,
        specials=[
            at([0.0, 2.0, 3.0], gives=0.0, gradient=[6.0, 0.0, 0.0]),
            at([0.0, 2.0, 0.0], gives=0.0, gradient=[0.0, 0.0, 0.0]),
        ],
    ),
    Case(
        r.reduce_max, reduced(np.max), over_axes(empty=False), dtypes=FLOATS + INTS,
        specials=[
            *of_nothing(-np.inf), at(np.array([], np.int32), gives=-(2**31)),
            at([1.0, 3.0, 3.0], gives=3.0, gradient=[0.0, 0.5, 0.5]),
            at([[1.0, 1.0], [2.0, 3.0]], axis=(1,), gives=[1, 3],
                gradient=[[0.5, 0.5], [0.0, 1.0]]),
            at([-np.inf, 1.0], gives=1.0, gradient=[0.0, 1.0]), at([1.0, np.nan], gives=np.nan),
        ],
    ),
    Case(
        r.reduce_min, reduced(np.min), over_axes(empty=False), dtypes=FLOATS + INTS,
        specials=[
            *of_nothing(np.inf), at(np.array([], np.int32), gives=2**31 - 1),
            at([1.0, 1.0, 3.0], gives=1.0, gradient=[0.5, 0.5, 0.0]),
            at([1.0, np.nan], gives=np.nan),
        ],
    ),
    Case(
        r.reduce_logsumexp, reduced(scipy.special.logsumexp), over_axes(empty=False),
        specials=[
            *of_nothing(-np.inf),
            at([1000.0, 1000.0], gives=1000 + math.log(2), gradient=[0.5, 0.5]),
            at([-np.inf, 1.0], gives=1.0, gradient=[0.0, 1.0]),
            at([-np.inf, -np.inf], gives=-np.inf, gradient=[np.nan, np.nan]),
            at([np.inf, 1.0], gives=np.inf),
        ],
    ),
    Case(r.cumsum, running(np.sum, 0), RUNNING, dtypes=FLOATS + COMPLEX + INTS),
    Case(
        r.cumprod, running(np.prod, 1),
        [*RUNNING, sample(real(2, 5), axis=1), sample(real(3, low=0, high=0), axis=0)],
        dtypes=FLOATS + COMPLEX + INTS,
        specials=[at([2.0, 0.0, 3.0], axis=0, gives=[2, 0, 0], gradient=[1.0, 8.0, 0.0])],
    ),
    Case(r.reduce_all, reduced(np.all), over_axes(), dtypes=BOOL, orders=0),
    Case(r.reduce_any, reduced(np.any), over_axes(), dtypes=BOOL, orders=0),
    Case(
        r.argmax, lambda x, axis, dtype: np.argmax(x, axis).astype(dtype), CHOSEN,
        dtypes=FLOATS + INTS, orders=0,
        specials=[at([1.0, 3.0, 3.0], axis=0, dtype=INTEGERS, gives=1),
            at([1.0, np.nan, 3.0], axis=0, dtype=INTEGERS, gives=2)],
    ),
    Case(
        r.argmin, lambda x, axis, dtype: np.argmin(x, axis).astype(dtype), CHOSEN,
        dtypes=FLOATS + INTS, orders=0,
        specials=[at([1.0, 1.0, 3.0], axis=0, dtype=INTEGERS, gives=0)],
    ),
]  # fmt: skip
