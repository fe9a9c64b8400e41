"""Rows of `gradtape.ops.broadcasting`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import broadcasting as b

from .table import BOOL, COMPLEX, FLOATS, INTS, Case, at, fails, real, sample

EVERYTHING = FLOATS + COMPLEX + INTS + BOOL


def sum_to_shape(x, shape):
    added = x.ndim - len(shape)
    stretched = [added + i for i, size in enumerate(shape) if size == 1]
    return x.sum((*range(added), *stretched), dtype=x.dtype).reshape(shape)


def cast(x, dtype):
    return (x.real if dtype.kind != "c" else x).astype(dtype)


ROWS = [
    Case(
        b.sum_to_shape, sum_to_shape,
        [
            sample(real(2, 3, 4), shape=(3, 1)), sample(real(2, 3), shape=(3,)),
            sample(real(2, 3), shape=()), sample(real(2, 3), shape=(2, 3)),
            sample(real(), shape=()), sample(real(0, 3), shape=(3,)),
            sample(real(3, 0), shape=(1, 0)),
        ],
        dtypes=FLOATS + COMPLEX,
    ),
    Case(
        b.broadcast_to, np.broadcast_to,
        [
            sample(real(3, 1), shape=(2, 3, 4)), sample(real(), shape=(2, 3)),
            sample(real(2), shape=(2,)), sample(real(), shape=()), sample(real(1, 3), shape=(0, 3)),
        ],
        dtypes=EVERYTHING,
        specials=[at([1.0, 2.0, 3.0], shape=(2000, 3), gives=np.tile([1.0, 2.0, 3.0], (2000, 1)),
            gradient=[2000, 2000, 2000])],
        failures=[fails(np.ones(2, np.float32), shape=(3,), says=["broadcast_to", "(3,)"])],
    ),
    Case(
        b.cast, cast,
        [
            sample(real(2, 3), dtype=np.dtype(np.float64)),
            sample(real(2, 3), dtype=np.dtype(np.complex128)),
            sample(real(2, 3, differentiable=False), dtype=np.dtype(np.int32)),
            sample(real(), dtype=np.dtype(np.float64)),
            sample(real(0, 3), dtype=np.dtype(np.float64)),
        ],
        dtypes=FLOATS + COMPLEX,
        specials=[
            at([1.5, -1.5], dtype=np.dtype(np.int32), gives=[1, -1], gradient=(None,)),
            at([1.5, 0.0], dtype=np.dtype(np.bool_), gives=[True, False], gradient=(None,)),
            at(np.array([1.5, 2.5]), dtype=np.dtype(np.float16), gives=[1.5, 2.5],
                gradient=[1.0, 1.0]),
            at(np.array([1, 2], np.int32), dtype=np.dtype(np.float32), gives=[1.0, 2.0],
                gradient=(None,)),
            at(np.array([1 + 2j]), dtype=np.dtype(np.float32), gives=[1.0], gradient=[1.0 + 0j]),
        ],
        result=lambda dtype, params: params["dtype"],
    ),
    Case(b.identity, lambda x: x, [sample(real(2, 3)), sample(real()), sample(real(0))],
        dtypes=EVERYTHING),
    Case(
        b.stop_gradient, lambda x: x, [sample(real(2, 3)), sample(real()), sample(real(0))],
        dtypes=EVERYTHING, orders=0, specials=[at(2.0, gives=2.0, gradient=(None,))],
    ),
    Case(b.conj, np.conj, [sample(real(2, 3)), sample(real()), sample(real(0))],
        dtypes=COMPLEX + FLOATS),
    Case(
        b.real, np.real, [sample(real(2, 3)), sample(real()), sample(real(0))],
        dtypes=COMPLEX, specials=[at(np.array([1 + 2j]), gives=[1.0], gradient=[1 + 0j])],
    ),
    Case(
        b.imag, np.imag, [sample(real(2, 3)), sample(real()), sample(real(0))],
        dtypes=COMPLEX, specials=[at(np.array([1 + 2j]), gives=[2.0], gradient=[1j])],
    ),
    Case(
        b.complex_from_parts, lambda x, y: x + 1j * y,
        [sample(real(2, 3), real(2, 3)), sample(real(2, 3), real(3)), sample(real(), real()),
            sample(real(0), real(0))],
        dtypes=("float32", "float64"),
        specials=[at(np.inf, 1.0, gives=complex(np.inf, 1.0), gradient=(1.0, 0.0))],
    ),
]  # fmt: skip
