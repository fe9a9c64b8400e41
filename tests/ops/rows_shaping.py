"""Rows of `gradtape.ops.shaping`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import shaping as s

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, fails, real, sample

EVERYTHING = FLOATS + COMPLEX + INTS + BOOL
MATRIX = np.ones((2, 3), np.float32)
EVERY = slice(None)


def place(x, key, shape):
    out = np.zeros(shape, x.dtype)
    out[key] = x
    return out


def split(x, sizes, axis):
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def pad(x, paddings, value=0):
    return np.pad(x, paddings, constant_values=value) if x.ndim else x


ROWS = [
    Case(
        s.reshape, lambda x, shape: np.reshape(x, shape),
        [
            sample(real(2, 3), shape=(3, 2)), sample(real(2, 3), shape=(6,)),
            sample(real(2, 3), shape=(1, 2, 3, 1)), sample(real(1), shape=()),
            sample(real(), shape=(1, 1)), sample(real(2, 0), shape=(0, 5)),
        ],
        dtypes=EVERYTHING,
        failures=[fails(MATRIX, shape=(4,), says=["reshape", "float32[2, 3]", "(4,)"])],
    ),
    Case(
        s.transpose, lambda x, perm: np.transpose(x, perm),
        [
            sample(real(2, 3, 4), perm=(2, 0, 1)), sample(real(2, 3), perm=(1, 0)),
            sample(real(), perm=()), sample(real(0, 3), perm=(1, 0)),
        ],
        dtypes=EVERYTHING, failures=[fails(MATRIX, perm=(0, 0), says=["transpose", "perm=(0, 0)"])],
    ),
    Case(
        s.matrix_transpose, lambda x: np.swapaxes(x, -1, -2),
        [sample(real(2, 3, 4)), sample(real(2, 3)), sample(real(2, 0, 3))], dtypes=EVERYTHING,
        failures=[fails(np.ones(2, np.float32))],
    ),
    Case(
        s.getitem, lambda x, key: x[key],
        [
            sample(real(4, 3, 2), key=(slice(None, None, -2), None, ..., 1)),
            sample(real(4, 3), key=(2,)), sample(real(4, 3), key=(slice(1, 3), -1)),
            sample(real(4), key=(...,)), sample(real(4), key=(slice(3, 3),)),
            sample(real(), key=(None,)), sample(real(), key=()), sample(real(0, 3), key=(EVERY, 1)),
        ],
        dtypes=EVERYTHING, failures=[fails(MATRIX, key=(5,), says=["getitem", "5"])],
    ),
    Case(
        s.place, place,
        [
            sample(real(2, 1, 3), key=(slice(None, None, -2), None, ..., 1), shape=(4, 3, 2)),
            sample(real(3), key=(2,), shape=(4, 3)), sample(real(), key=(1,), shape=(3,)),
            sample(real(0), key=(slice(3, 3),), shape=(4,)), sample(real(1), key=(None,), shape=()),
        ],
        dtypes=EVERYTHING,
    ),
    Case(
        s.concat, lambda *arrays, axis: np.concatenate(arrays, axis),
        [
            sample(real(2, 3), real(2, 1), real(2, 2), axis=1),
            sample(real(2, 3), real(1, 3), axis=-2), sample(real(3), axis=0),
            sample(real(0, 3), real(2, 3), axis=0), sample(real(0), real(0), axis=0),
        ],
        dtypes=EVERYTHING,
        failures=[fails(MATRIX, MATRIX.T, axis=0, says=["concat", "[2, 3]", "[3, 2]"])],
    ),
    Case(
        s.stack, lambda *arrays, axis: np.stack(arrays, axis),
        [
            sample(real(2, 3), real(2, 3), real(2, 3), axis=1),
            sample(real(2, 3), real(2, 3), axis=-1), sample(real(), real(), axis=0),
            sample(real(2), axis=0), sample(real(0, 3), real(0, 3), axis=0),
        ],
        dtypes=EVERYTHING,
        failures=[fails(MATRIX, MATRIX.T, axis=0, says=["stack", "[2, 3]", "[3, 2]"])],
    ),
    Case(
        s.unstack, lambda x, axis: [np.take(x, i, axis) for i in range(x.shape[axis])],
        [sample(real(2, 3), axis=1), sample(real(3, 2), axis=0), sample(real(2), axis=0),
            sample(real(2, 0), axis=0)],
        dtypes=EVERYTHING,
    ),
    Case(
        s.split, split,
        [
            sample(real(2, 6), sizes=(1, 3, 2), axis=1), sample(real(4, 2), sizes=(2, 2), axis=0),
            sample(real(3), sizes=(3, 0), axis=0), sample(real(2, 0), sizes=(0, 0), axis=1),
        ],
        dtypes=EVERYTHING,
    ),
    Case(
        s.tile, lambda x, multiples: np.tile(x, multiples),
        [
            sample(real(2, 3), multiples=(2, 3)), sample(real(3), multiples=(1,)),
            sample(real(2, 3), multiples=(0, 2)), sample(real(), multiples=()),
            sample(real(2, 0), multiples=(3, 2)),
        ],
        dtypes=EVERYTHING,
    ),
    Case(
        s.pad, pad,
        [
            sample(real(2, 3), paddings=((1, 2), (0, 1))),
            sample(real(3), paddings=((2, 0),), value=3), sample(real(), paddings=()),
            sample(real(0, 2), paddings=((1, 0), (0, 0))),
        ],
        dtypes=FLOATS + COMPLEX + INTS,
        failures=[fails(MATRIX, paddings=((1, 1), (-1, 0)), says=["pad", "(-1, 0)"])],
    ),
    Case(
        s.reverse, lambda x, axis: np.flip(x, axis),
        [
            sample(real(2, 3), axis=(1,)), sample(real(2, 3, 2), axis=(0, 2)),
            sample(real(2), axis=()), sample(real(0, 3), axis=(0,)),
        ],
        dtypes=EVERYTHING, failures=[fails(MATRIX, axis=(2,), says=["reverse", "2"])],
    ),
    Case(
        s.roll, lambda x, shift, axis: np.roll(x, shift, axis),
        [
            sample(real(2, 3), shift=(1,), axis=(1,)),
            sample(real(2, 3), shift=(-1, 2), axis=(0, 1)),
            sample(real(3), shift=(1, 1), axis=(0, 0)), sample(real(0, 3), shift=(1,), axis=(0,)),
        ],
        dtypes=EVERYTHING, failures=[fails(MATRIX, shift=(1,), axis=(2,), says=["roll", "2"])],
    ),
]  # fmt: skip
