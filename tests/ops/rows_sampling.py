"""Rows of `gradtape.ops.sampling`."""

from __future__ import annotations

import numpy as np
import scipy.special

from gradtape.ops import sampling

from .table import Arg, Case, at, fails, real, sample


def class_of(logits, uniform):
    upto = np.cumsum(scipy.special.softmax(logits, axis=-1), axis=-1)
    return np.array(
        [
            [np.searchsorted(row, u, side="right") for u in us]
            for row, us in zip(upto, uniform, strict=True)
        ],
        np.int64,
    )


def drawn(*shape):
    return Arg(shape, 0, 1, "float64", differentiable=False)


def gamma_sample(alpha, start, drawn):
    return scipy.special.gammaincinv(alpha, scipy.special.gammainc(start, drawn))


def truncated_sample(lower, upper, uniform):
    low, high = scipy.special.ndtr([*np.broadcast_arrays(lower, upper)])
    return scipy.special.ndtri(low + uniform * (high - low))


def shapes(*sizes):
    return real(*sizes, low=0.5, high=3)


def constant(*sizes, low=0.5, high=3):
    return real(*sizes, low=low, high=high, differentiable=False)


def bounds(lower, upper, uniform):
    return sample(
        real(*lower, low=-2, high=0),
        real(*upper, low=0.3, high=2),
        constant(*uniform, low=0.05, high=0.95),
    )


ROWS = [
    Case(
        sampling.gamma_sample,
        gamma_sample,
        [
            sample(shapes(2, 3), constant(2, 3), constant(2, 3)),
            sample(shapes(3), constant(3), constant(2, 3)),
            sample(shapes(), constant(), constant()),
            sample(shapes(3), constant(3), constant(0, 3)),
        ],
        specials=[
            at(
                [3.0, 0.01],
                [3.0, 0.01],
                [2.0, 1e-30],
                gives=[2.0, 1e-30],
                gradient=([0.856571422098, 0], None, None),
            ),
            at(3.0, 3.0, 40.0, gives=40.0, gradient=(2.93476299901, None, None)),
        ],
        failures=[fails(np.ones(2), np.ones(2), np.ones(3), says=["gamma_sample", "[2]", "[3]"])],
    ),
    Case(
        sampling.truncated_sample,
        truncated_sample,
        [
            bounds((2, 3), (2, 3), (2, 3)),
            bounds((3,), (), (2, 3)),
            bounds((2, 1), (1, 3), (2, 3)),
            bounds((), (), ()),
            bounds((3,), (3,), (0, 3)),
        ],
        specials=[
            at(
                [-np.inf, -np.inf, 0.0],
                [np.inf, 0.0, np.inf],
                [0.5, 0.5, 0.5],
                gives=[0.0, -0.67448975, 0.67448975],
            ),
            at(-np.inf, np.inf, 0.5, gives=0.0, gradient=(0.0, 0.0, None)),
            at([30.0, -31.0], [31.0, -30.0], [0.5, 0.5], gives=[30.0230705, -30.0230705]),
        ],
        failures=[
            fails(np.ones(2), np.ones(3), np.ones(2), says=["truncated_sample", "[2]", "[3]"])
        ],
    ),
    Case(
        sampling.class_of,
        class_of,
        [sample(real(2, 3), drawn(2, 5)), sample(real(1, 4), drawn(1, 3))],
        orders=0,
    ),
]
