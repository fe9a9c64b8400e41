"""Rows of `gradtape.ops.counting`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import counting as c

from .table import Case, at, fails, fixed, integers, real, sample


def bins(x, low, high, nbins):
    edges = low + (high - low) * np.arange(1, nbins) / nbins
    return np.searchsorted(edges, x, side="right").astype(np.int32)


def searchsorted(x, values, side):
    before = np.less if side == "left" else np.less_equal
    return before(x[..., None, :], values[..., :, None]).sum(-1)


def sorted_rows(*shape):
    return fixed(np.sort(np.random.default_rng(0).uniform(-2, 2, shape), axis=-1))


def permutation(*shape):
    return fixed(
        np.random.default_rng(0).permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)
    )


ONE, TWO = np.float32(1), np.float32(2)
ROWS = [
    Case(
        c.histogram_bins, bins,
        [
            sample(real(2, 5), real(low=-1.5, high=-1), real(low=1, high=1.5), nbins=4),
            sample(real(), real(low=-1, high=0), real(low=1), nbins=1),
            sample(real(0), real(low=-1, high=0), real(low=1), nbins=3),
        ],
        orders=0, dtypes=("float32", "float64"),
        specials=[at([-np.inf, 0.0, 2.5, 5.0, np.inf], 0.0, 5.0, nbins=5, gives=[0, 0, 2, 4, 4])],
        failures=[fails(np.ones(2, np.float32), TWO, ONE, nbins=2),
            fails(np.full(1, np.nan, np.float32), ONE, TWO, nbins=2)],
    ),
    Case(
        c.searchsorted, searchsorted,
        [
            sample(sorted_rows(4), real(3), side="left"),
            sample(sorted_rows(2, 3, 4), real(2, 3, 5), side="right"),
            sample(sorted_rows(0), real(3), side="left"),
            sample(sorted_rows(2, 3), real(2, 0), side="left"),
        ],
        orders=0, dtypes=("float64",),
        specials=[at([1.0, 3.0, 3.0], [3.0, 0.0], side="left", gives=[1, 0]),
            at([1.0, 3.0, 3.0], [3.0], side="right", gives=[3])],
    ),
    Case(
        c.invert_permutation, lambda x: np.argsort(x, -1),
        [sample(permutation(5)), sample(permutation(2, 3)), sample(permutation(0))], orders=0,
        failures=[fails(np.array([0, 0]), says=["invert_permutation", "0 to 1"]),
            fails(np.array([0, 2])), fails(np.array([-1, 0]))],
    ),
    Case(
        c.coordinates, lambda x, sizes: np.stack(np.unravel_index(x, sizes), -1),
        [sample(integers(4, high=11, dtype="int64"), sizes=(3, 4)),
            sample(integers(high=11, dtype="int64"), sizes=(12,))],
        orders=0,
        failures=[fails(np.array([12]), sizes=(3, 4)), fails(np.array([-1]), sizes=(3, 4))],
    ),
]  # fmt: skip
