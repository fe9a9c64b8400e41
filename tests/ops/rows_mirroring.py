"""Rows of `gradtape.ops.mirroring`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import mirroring as m

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, real, sample


def mirror(x, paddings, apart):
    return np.pad(x, paddings, mode="reflect" if apart else "symmetric")


def fold(x, paddings, apart):
    """Every element is added where the number of its place came from."""
    shape = [size - sum(pair) for size, pair in zip(x.shape, paddings, strict=True)]
    places = mirror(np.arange(np.prod(shape, dtype=int)).reshape(shape), paddings, apart)
    out = np.zeros(shape, x.dtype)
    np.add.at(out.reshape(-1), places.reshape(-1), x.reshape(-1))
    return out


ROWS = [
    Case(
        m.mirror, mirror,
        [
            sample(real(4), paddings=((3, 2),), apart=1),
            sample(real(4), paddings=((4, 1),), apart=0),
            sample(real(3, 2), paddings=((2, 0), (1, 1)), apart=1),
            sample(real(2, 3), paddings=((2, 1), (0, 3)), apart=0),
            sample(real(0, 3), paddings=((0, 0), (1, 2)), apart=1),
            sample(real(2, 1, 2), paddings=((0, 0), (1, 0), (0, 0)), apart=0),
        ],
        dtypes=FLOATS + COMPLEX + INTS + BOOL,
    ),
    Case(
        m.mirror_fold, fold,
        [
            sample(real(9), paddings=((3, 2),), apart=1),
            sample(real(9), paddings=((4, 1),), apart=0),
            sample(real(5, 4), paddings=((2, 0), (1, 1)), apart=1),
            sample(real(5, 6), paddings=((2, 1), (0, 3)), apart=0),
            sample(real(0, 6), paddings=((0, 0), (1, 2)), apart=1),
        ],
        dtypes=FLOATS + COMPLEX,
    ),
]  # fmt: skip
