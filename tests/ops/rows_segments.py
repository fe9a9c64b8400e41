"""Rows of `gradtape.ops.segments`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import segments as s

from .table import COMPLEX, FLOATS, INTS, Case, at, fails, fixed, integers, real, sample

IDS = np.array([2, 0, 2, -1, 0, 2])
NOTHING = np.zeros(0, np.int64)


def by_segment(of, empty=None):
    """A reduction of the rows of each segment, by its definition."""

    def reference(x, ids, size, empty=empty):
        rows = [x[ids == i] for i in range(size)]
        return np.array(
            [of(r, axis=0) if len(r) else np.full(x.shape[1:], empty) for r in rows], x.dtype
        ).reshape(size, *x.shape[1:])

    return reference


def segment_take(x, ids):
    return np.array([x[i] if i >= 0 else np.zeros(x.shape[1:]) for i in ids], x.dtype).reshape(
        len(ids), *x.shape[1:]
    )


def samples(**params):
    return [
        sample(real(6, 2), fixed(IDS), size=4, **params),
        sample(real(6), fixed(np.sort(IDS)), size=3, **params),
        sample(real(5, 2), integers(5, low=-1, high=2), size=3, **params),
        sample(real(1), fixed(np.array([0])), size=1, **params),
        sample(real(0, 2), fixed(NOTHING), size=2, **params),
        sample(real(3, 0), fixed(np.array([0, 1, 0])), size=2, **params),
        sample(real(3), fixed(np.array([-1, -1, -1])), size=2, **params),
    ]  # fmt: skip


TOO_LARGE = fails(np.ones(2, np.float32), np.array([0, 3]), size=3, says=["segment id 3", "[0, 3)"])
TIES = np.array([0, 0, 1, 0, -1])

ROWS = [
    Case(s.segment_sum, by_segment(np.sum, 0), samples(), dtypes=FLOATS + COMPLEX + INTS,
        failures=[TOO_LARGE]),
    Case(
        s.segment_take, segment_take,
        [
            sample(real(3, 2), fixed(IDS)), sample(real(3), integers(4, low=-1)),
            sample(real(3, 2), integers(4)), sample(real(2, 2), fixed(NOTHING)),
            sample(real(2, 0), fixed(np.array([1, -1]))),
        ],
        dtypes=FLOATS + COMPLEX + INTS,
        failures=[fails(np.ones(2, np.float32), np.array([0, 2]), says=["segment id 2", "[0, 2)"])],
    ),
    Case(
        s.segment_prod, by_segment(np.prod, 1),
        [*samples(), sample(real(5, low=0, high=0), fixed(np.array([0, 1, 1, 0, 0])), size=2),
            sample(real(9), fixed(np.zeros(9, int)), size=1)],
        dtypes=FLOATS + COMPLEX + INTS,
        specials=[
            at([0.0, 2.0, 3.0, 5.0, np.inf], TIES, size=3, gives=[0, 3, 1],
                gradient=([10, 0, 1, 0, 0], None)),
        ],
        failures=[TOO_LARGE],
    ),
    Case(
        s.segment_max, by_segment(np.max), samples(empty=-7),
        dtypes=(*FLOATS, "int32", "int64", "int8"),
        specials=[
            at([0.0, 2.0, 3.0, 2.0, 2.0], TIES, size=3, empty=0, gives=[2, 3, 0],
                gradient=([0, 0.5, 1, 0.5, 0], None)),
            at([1.0, np.nan], np.array([0, 0]), size=1, empty=0, gives=[np.nan]),
        ],
        failures=[fails(np.ones(2, np.float32), np.array([0, 3]), size=3, empty=0,
            says=["segment id 3", "[0, 3)"])],
    ),
    Case(
        s.segment_min, by_segment(np.min), samples(empty=7), dtypes=FLOATS + INTS,
        specials=[at([0.0, 0.0, 3.0, 2.0, 2.0], TIES, size=3, empty=0, gives=[0, 3, 0],
            gradient=([0.5, 0.5, 1, 0, 0], None))],
    ),
]  # fmt: skip
