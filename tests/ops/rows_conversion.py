"""Rows of `gradtape.ops.conversion`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import conversion as c

from .table import FLOATS, Case, at, fails, only, real, sample

UINT8, INT32, INT64, FLOAT32 = (np.dtype(t) for t in (np.uint8, np.int32, np.int64, np.float32))


def bitcast(x, dtype):
    parts = x.dtype.itemsize // dtype.itemsize
    shape = (*x.shape, parts) if parts > 1 else x.shape if parts == 1 else x.shape[:-1]
    return np.frombuffer(x.tobytes(), dtype).reshape(shape)


def saturate(x, dtype):
    limits = np.iinfo(dtype)
    return np.array(
        [min(max(int(v), limits.min), limits.max) for v in np.asarray(x).reshape(-1)], dtype
    ).reshape(np.shape(x))


ROWS = [
    Case(
        c.bitcast, bitcast,
        [
            sample(real(2, 3), dtype=INT64), sample(real(2, 3), dtype=UINT8),
            sample(real(2, 2), dtype=np.dtype(np.complex128)), sample(real(), dtype=INT32),
            sample(real(0, 2), dtype=INT64),
        ],
        dtypes=("float64",), orders=0, result=lambda dtype, params: params["dtype"],
        specials=[at(np.array([[0, 0, 128, 63]], np.uint8), dtype=FLOAT32, gives=[1.0])],
        failures=[fails(np.ones(3, np.uint8), dtype=FLOAT32, says=["bitcast", "size 4"])],
    ),
    Case(
        c.saturate_to_integer, saturate,
        [
            sample(real(2, 3, low=-400, high=400), dtype=UINT8),
            sample(real(low=-9, high=9), dtype=INT32),
            only(("float64", "int32"), sample(real(0), dtype=UINT8)),
        ],
        dtypes=(*FLOATS, "int32", "int64"), orders=0, result=lambda dtype, params: params["dtype"],
        specials=[
            at([3e10, -3e10, np.inf, np.nan], dtype=INT32,
                gives=[2**31 - 1, -(2**31), 2**31 - 1, 0]),
            at([1e30, -1e30, 2.9, -2.9], dtype=INT64, gives=[2**63 - 1, -(2**63), 2, -2]),
        ],
    ),
]  # fmt: skip
