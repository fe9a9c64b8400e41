"""Rows of `gradtape.ops.arithmetic`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import arithmetic as a

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, at, binary, fails, real, sample, unary

NUMBERS = FLOATS + COMPLEX + INTS
ORDERED = FLOATS + INTS
ZERO = np.array([1, 0], np.int32)


def without_nan(of):
    """0 where y is 0."""
    return lambda x, y: np.where(np.equal(y, 0), 0, of(x, y))


def zero_where(dead):
    """A product, and 0 where `dead` says so."""
    return lambda x, y: np.where(dead(x, y), 0, x * y)


ROWS = [
    binary(a.add, np.add, dtypes=NUMBERS),
    binary(a.subtract, np.subtract, dtypes=NUMBERS),
    binary(a.multiply, np.multiply, dtypes=NUMBERS),
    binary(a.divide, np.divide, y=(0.5, 2), dtypes=FLOATS + COMPLEX),
    binary(
        a.divide_no_nan, without_nan(np.divide), y=(0.5, 2), dtypes=FLOATS + COMPLEX,
        specials=[at(1.0, 0.0, gives=0.0, gradient=(0.0, 0.0)), at(np.nan, 0.0, gives=0.0)],
    ),
    binary(
        a.multiply_no_nan, without_nan(np.multiply), dtypes=FLOATS + COMPLEX,
        specials=[at(np.nan, 0.0, gives=0.0, gradient=(0.0, np.nan)), at(np.inf, 0.0, gives=0.0)],
    ),
    binary(
        a.times, zero_where(lambda x, y: x == 0), dtypes=FLOATS + COMPLEX,
        specials=[at(0.0, np.inf, gradient=(np.inf, 0.0)), at(np.nan, 0.0, gives=np.nan)],
    ),
    binary(
        a.both, zero_where(lambda x, y: (x == 0) | (y == 0)), dtypes=FLOATS + COMPLEX,
        specials=[at(0.0, np.inf, gradient=(np.inf, 0.0)), at(np.nan, 0.0, gives=0.0)],
    ),
    Case(
        a.add_n, lambda *terms: sum(terms),
        [sample(*[real(2, 3)] * 3), sample(real(), real()), sample(real(0), real(0))],
        dtypes=FLOATS + COMPLEX + ("int32", "int64"),
    ),
    binary(
        a.floormod, np.mod, x=(-5, 5), y=(1, 2), dtypes=ORDERED,
        specials=[at(7.5, 2.0, gives=1.5, gradient=(1.0, -3.0)),
            at(-7.5, 2.0, gives=0.5, gradient=(1.0, 4.0))],
        failures=[fails(ZERO, ZERO, says=["floormod", "division by zero"])],
    ),
    binary(
        a.floordiv, lambda x, y: np.floor(x / y).astype(np.result_type(x, y)), x=(-5, 5), y=(1, 2),
        dtypes=ORDERED, orders=0,
        failures=[fails(ZERO, ZERO, says=["floordiv", "division by zero"])],
    ),
    binary(a.maximum, np.maximum, dtypes=ORDERED, specials=[at(1.0, 1.0, gradient=(1.0, 0.0))]),
    binary(a.minimum, np.minimum, dtypes=ORDERED, specials=[at(1.0, 1.0, gradient=(1.0, 0.0))]),
    binary(a.squared_difference, lambda x, y: np.square(x - y), dtypes=(*FLOATS, "int32", "int64")),
    unary(a.negative, np.negative, dtypes=FLOATS + COMPLEX + ("int32", "int64", "int8", "int16")),
    unary(a.square, np.square, dtypes=NUMBERS),
    unary(a.sign, np.sign, dtypes=ORDERED,
        specials=[at([-2.0, 0.0, 3.0], gives=[-1, 0, 1], gradient=[0.0, 0.0, 0.0])]),
    unary(
        a.absolute, np.abs, dtypes=NUMBERS,
        specials=[
            at([-2.0, 0.0, 3.0], gives=[2, 0, 3], gradient=[-1.0, 0.0, 1.0]),
            at(np.array([0j, 3 + 4j]), gives=[0, 5], gradient=[0, 0.6 + 0.8j]),
        ],
    ),
    unary(a.floor, np.floor, dtypes=FLOATS, orders=0),
    unary(a.ceil, np.ceil, dtypes=FLOATS, orders=0),
    unary(a.round_half_even, np.rint, dtypes=FLOATS, orders=0,
        specials=[at([0.5, 1.5, -0.5, 2.5], gives=[0, 2, 0, 2])]),
    unary(a.is_nan, np.isnan, orders=0),
    unary(a.is_inf, np.isinf, orders=0),
    unary(a.is_finite, np.isfinite, orders=0),
    binary(a.equal, np.equal, dtypes=NUMBERS + BOOL, orders=0),
    binary(a.not_equal, np.not_equal, dtypes=NUMBERS + BOOL, orders=0),
    binary(a.less, np.less, dtypes=ORDERED, orders=0),
    binary(a.less_equal, np.less_equal, dtypes=ORDERED, orders=0),
    binary(a.greater, np.greater, dtypes=ORDERED, orders=0),
    binary(a.greater_equal, np.greater_equal, dtypes=ORDERED, orders=0),
    binary(a.logical_and, np.logical_and, dtypes=BOOL, orders=0),
    binary(a.logical_or, np.logical_or, dtypes=BOOL, orders=0),
    binary(a.logical_xor, np.logical_xor, dtypes=BOOL, orders=0),
    unary(a.logical_not, np.logical_not, dtypes=BOOL, orders=0),
    binary(a.bitwise_and, np.bitwise_and, dtypes=INTS, orders=0),
    binary(a.bitwise_or, np.bitwise_or, dtypes=INTS, orders=0),
    binary(a.bitwise_xor, np.bitwise_xor, dtypes=INTS, orders=0),
    unary(a.bitwise_not, np.invert, dtypes=INTS, orders=0),
]  # fmt: skip
