"""Rows of `gradtape.ops.indexing`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import indexing as i

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, at, fails, fixed, integers, real, sample

ROW_NUMBERS = np.array([0, 2, 0])


def scatter_rows(values, indices, shape):
    out = np.zeros(shape, values.dtype)
    for value, index in zip(values, indices, strict=True):
        out[index] += value
    return out


def set_rows(x, indices, values):
    out = np.array(x)
    for index, value in zip(indices, values, strict=True):
        out[index] = value
    return out


def reverse_rows(x, lengths):
    out = np.array(x)
    for row, count in zip(out, lengths, strict=True):
        row[:count] = row[:count][::-1].copy()
    return out


ROWS = [
    Case(
        i.take, lambda x, indices, axis, sparse=True: np.take(x, indices, axis),
        [
            sample(real(4, 3), integers(5, high=3), axis=0),
            sample(real(2, 4, 3), integers(2, 3, high=3), axis=1),
            sample(real(2, 4), integers(high=3, dtype="int64"), axis=1),
            sample(real(4), integers(high=3), axis=0),
            sample(real(4, 3), integers(0, high=3), axis=0),
            sample(real(2, 4), integers(0, 2, high=3), axis=1),
            sample(real(3, 0), integers(2), axis=0),
            sample(real(4, 3), integers(2, high=3), axis=0, sparse=False),
        ],
        dtypes=FLOATS + COMPLEX + INTS + BOOL,
        specials=[
            at([1.0, 2.0, 3.0], ROW_NUMBERS, axis=0, gives=[1, 3, 1], gradient=([2, 0, 1], None))],
        failures=[
            fails(np.ones((2, 3), np.float32), np.array([0, 2]), axis=0,
                says=["take", "index 2", "[0, 2)"]),
            fails(np.ones((2, 3), np.float32), np.array([-1]), axis=1, says=["take", "index -1"]),
        ],
    ),
    Case(
        i.scatter_rows, scatter_rows,
        [
            sample(real(5, 3), integers(5, high=3), shape=(4, 3)),
            sample(real(3), integers(3, high=3), shape=(4,)),
            sample(real(0, 3), integers(0), shape=(4, 3)),
            sample(real(2, 0), integers(2), shape=(4, 0)),
        ],
        dtypes=FLOATS + COMPLEX + INTS,
        specials=[at([1.0, 2.0, 3.0], ROW_NUMBERS, shape=(3,), gives=[4, 0, 2],
            gradient=([1, 1, 1], None))],
    ),
    Case(
        i.flat_index,
        lambda indices, sizes: np.ravel_multi_index(tuple(np.moveaxis(indices, -1, 0)), sizes),
        [
            sample(integers(4, 2), sizes=(3, 4)),
            sample(integers(2, 2, 3, dtype="int64"), sizes=(3, 4, 5)),
            sample(integers(1), sizes=(3,)), sample(integers(0, 2), sizes=(3, 4)),
        ],
        orders=0,
        failures=[
            fails(np.array([[0, 0], [1, 4]]), sizes=(3, 4),
                says=["flat_index", "indices[1] = [1, 4]", "[3, 4]"]),
            fails(np.array([[-1, 0]]), sizes=(3, 4), says=["flat_index", "[-1, 0]"]),
        ],
    ),
    Case(
        i.reverse_rows, reverse_rows,
        [
            sample(real(3, 4), integers(3, high=4)), sample(real(2, 3, 2), integers(2, high=3)),
            sample(real(2, 0), integers(2, high=0)), sample(real(0, 3), integers(0)),
        ],
        dtypes=FLOATS + COMPLEX + INTS + BOOL,
        failures=[fails(np.ones((1, 4), np.float32), np.array([5])),
            fails(np.ones((1, 4), np.float32), np.array([-1]))],
    ),
    Case(
        i.set_rows, set_rows,
        [
            sample(real(4, 3), fixed(np.array([2, 0])), real(2, 3)),
            sample(real(4), fixed(np.array([1, 3, 1])), real(3)),
            sample(real(2, 2, 2), fixed(np.array([1])), real(1, 2, 2)),
            sample(real(4, 3), integers(0), real(0, 3)),
        ],
        dtypes=FLOATS + COMPLEX + INTS + BOOL,
        specials=[
            at([1.0, 2.0], np.array([1, 1]), [3.0, 4.0], gives=[1, 4],
                gradient=([1, 0], None, [0, 1])),
        ],
    ),
]  # fmt: skip
