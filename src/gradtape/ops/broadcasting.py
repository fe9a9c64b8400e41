"""Broadcasting and its transpose, casting, and the parts of complex numbers: what every other family builds on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.core.needed_ops import needed
from gradtape.engines.arrays import sum_array_to
from gradtape.ops.declare import op


def _broadcast_to(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    """A view for large results; a copy is faster for small ones, since numpy.broadcast_to alone takes 3 µs."""
    if math.prod(shape) > 4096 or xp is not np:
        return xp.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def _cast(xp: Any, x: Any, *, dtype: Any) -> Any:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


sum_to_shape = op(
    "sum_to_shape",
    lambda xp, x, *, shape: sum_array_to(x, shape),
    [lambda g, x_shape: broadcast_to(g, shape=x_shape)],
    linear=True,
)
broadcast_to = op(
    "broadcast_to", _broadcast_to, [lambda g, x_shape: sum_to_shape(g, shape=x_shape)], linear=True, moves=True
)
cast = op("cast", _cast, [lambda g, x_dtype: cast(g, dtype=x_dtype)], linear=True, moves=True)
identity = op("identity", lambda xp, x: x, [lambda g: g], linear=True, moves=True)
stop_gradient = op("stop_gradient", lambda xp, x: x, [None], moves=True)

conj = op("conj", "conj", [lambda g: conj(g)], arguments=["x"], linear=True, conjugate=False)
real = op("real", "real", [lambda g, x_dtype: cast(g, dtype=x_dtype)], arguments=["x"], linear=True)
imag = op("imag", "imag", [lambda g, x_dtype: cast(g, dtype=x_dtype) * 1j], arguments=["x"], linear=True)
complex_from_parts = op(
    "complex",
    lambda xp, real, imag: real + imag * xp.asarray(1j, dtype=xp.result_type(real.dtype, xp.complex64)),
    [lambda g: real(g), lambda g: imag(g)],
    linear=True,
    conjugate=False,
)

needed.sum_to_shape = sum_to_shape
needed.broadcast_to = broadcast_to
needed.cast = cast
needed.conj = conj
