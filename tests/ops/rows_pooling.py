"""Rows of `gradtape.ops.pooling`: references go from window to window."""

from __future__ import annotations

import numpy as np

from gradtape.ops import pooling as p
from gradtape.ops.convolution import Windows

from .rows_convolution import touching
from .table import Case, at, fixed, real, sample


def members(windows, sizes):
    """For each window, the elements of the input in it, in the order of the kernel."""
    found = {}
    for _, window, element in touching(windows, sizes):
        found.setdefault(window, []).append(element)
    return found


def pooled(of, x, windows):
    out = np.full((len(x), *windows.outputs(x.shape[1:-1]), x.shape[-1]), -np.inf)
    for window, elements in members(windows, x.shape[1:-1]).items():
        out[:, *window] = of([x[:, *element] for element in elements], axis=0)
    return out


def max_pool(x, windows):
    return pooled(np.max, x, windows)


def avg_pool(x, windows):
    return pooled(np.mean, x, windows)


def avg_unpool(y, windows, sizes):
    out = np.zeros((len(y), *sizes, y.shape[-1]))
    for window, elements in members(windows, sizes).items():
        for element in elements:
            out[:, *element] += y[:, *window] / len(elements)
    return out


def maxima(x, windows):
    """Where each window has its first maximum: keys of single elements of the output and of the
    input.
    """
    for window, elements in members(windows, x.shape[1:-1]).items():
        first = np.argmax([x[:, *element] for element in elements], axis=0)
        for image, channel in np.ndindex(len(x), x.shape[-1]):
            yield (image, *window, channel), (image, *elements[first[image, channel]], channel)


def max_unpool(y, x, top, windows):
    out = np.zeros(x.shape)
    for in_y, in_x in maxima(x, windows):
        out[in_x] += y[in_y]
    return out


def max_pick(values, x, top, windows):
    out = np.zeros(top.shape)
    for in_y, in_x in maxima(x, windows):
        out[in_y] += values[in_x]
    return out


POOLS = [
    ((2, 4, 4, 1), Windows((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1))),
    ((1, 4, 3, 2), Windows((3, 2), (1, 2), ((1, 1), (0, 1)), (1, 1))),
    ((1, 5, 2), Windows((2,), (1,), ((0, 0),), (2,))),
    ((1, 2, 3, 2, 1), Windows((2, 2, 1), (1, 1, 1), ((0, 0), (0, 0), (0, 0)), (1, 1, 1))),
    ((1, 5, 1), Windows((1,), (2,), ((0, 0),), (1,))),
    ((0, 2, 2, 1), Windows((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))),
    ((1, 1, 2), Windows((2,), (1,), ((0, 0),), (1,))),
    ((2, 2, 4, 1), Windows((7, 2), (3, 2), ((1, 1), (0, 0)), (1, 1))),
    ((1, 4, 2, 2), Windows((5, 5), (5, 5), ((0, 0), (0, 0)), (1, 1))),
    ((1, 3, 4, 1), Windows((2, 2), (1, 1), ((0, 0), (0, 0)), (4, 1))),
]
SHAPES = [
    (shape, windows, (shape[0], *windows.outputs(shape[1:-1]), shape[-1]))
    for shape, windows in POOLS
]
# With ties.
INPUTS = [
    np.random.default_rng(i).integers(0, 4, shape).astype(np.float64)
    for i, (shape, _) in enumerate(POOLS)
]
PLACES = [(x, max_pool(x, windows), windows) for x, (_, windows) in zip(INPUTS, POOLS, strict=True)]

FOUR = np.array([1.0, 3.0, 3.0, 2.0], np.float32).reshape(1, 4, 1)
PAIRS = Windows((2,), (1,), ((0, 0),), (1,))

ROWS = [
    Case(
        p.max_pool, max_pool, [sample(real(*shape), windows=windows) for shape, windows in POOLS],
        specials=[at(FOUR, windows=PAIRS, gives=FOUR[:, [1, 1, 2]],
            gradient=np.array([0.0, 2.0, 1.0, 0.0]).reshape(1, 4, 1))],
    ),
    Case(p.max_unpool, max_unpool,
        [sample(real(*top.shape), fixed(x), fixed(top), windows=w) for x, top, w in PLACES]),
    Case(p.max_pick, max_pick,
        [sample(real(*x.shape), fixed(x), fixed(top), windows=w) for x, top, w in PLACES]),
    Case(p.avg_pool, avg_pool, [sample(real(*shape), windows=windows) for shape, windows in POOLS]),
    Case(
        p.avg_unpool, avg_unpool,
        [sample(real(*pooled), windows=windows, sizes=shape[1:-1]) for shape, windows,
            pooled in SHAPES],
    ),
]  # fmt: skip
