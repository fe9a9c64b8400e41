"""Bessel functions of integer order.

The derivative of each is a sum of those of the neighbouring orders, at 0 too; where they are
infinite at 0, of the lower one and its own quotient by x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradtape.engines.engine import host_kernel
from gradtape.ops import fits, float32
from gradtape.ops.arithmetic import sign
from gradtape.ops.declare import op
from gradtape.ops.special import scipy_kernel, scipy_special


def _kernel(
    zeroth: str, first: str, general: str, second: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """scipy's own functions for the orders 0 and 1,
    which are several times faster than the general one; `second` is for large arrays of float32.
    """

    def kernel(xp: Any, x: Any, *, order: int) -> Any:
        if order < 2:
            return kernels[order](xp, x)
        if order == 2 and second is not None and xp is np and float32.serves(x):
            return second(x)
        if xp is not np:
            return host_kernel(partial(kernel, np))(x, order=order)
        found = getattr(scipy_special(), general)(order, x)
        if general == "ive":  # it vanishes at infinity, where SciPy has NaN
            found = np.where(np.isinf(x), x.dtype.type(0), found)[()]
        return found

    kernels = scipy_kernel(zeroth), scipy_kernel(first)
    return kernel


def _second_first_kind(x: Any) -> Any:
    """The function of the first kind of order 2: by its fit, and from 4 on from the functions of
    the orders 0 and 1, in double precision.
    """
    near = np.clip(x, -4, 4)
    near *= near
    out = float32.polynomial(near, fits.J2)
    out *= near
    places = np.flatnonzero(~(np.abs(x) < 4))
    if places.size:
        special, wide = scipy_special(), x[places].astype(np.float64)
        out[places] = special.j1(wide) * 2 / wide - special.j0(wide)
    return out


def _modified(g: Any, x: Any, order: int) -> Any:
    if not order:
        return g * bessel_i(x, order=1)
    return g * (bessel_i(x, order=order - 1) + bessel_i(x, order=order + 1)) * 0.5


def _modified_scaled(g: Any, x: Any, out: Any, order: int) -> Any:
    if not order:
        return g * (bessel_ie(x, order=1) - sign(x) * out)
    return g * (
        (bessel_ie(x, order=order - 1) + bessel_ie(x, order=order + 1)) * 0.5 - sign(x) * out
    )


def _first_kind(g: Any, x: Any, order: int) -> Any:
    if not order:
        return -g * bessel_j(x, order=1)
    return g * (bessel_j(x, order=order - 1) - bessel_j(x, order=order + 1)) * 0.5


def _second_kind(g: Any, x: Any, out: Any, order: int) -> Any:
    if not order:
        return -g * bessel_y(x, order=1)
    return g * (bessel_y(x, order=order - 1) - out * order / x)


def _decaying(g: Any, x: Any, out: Any, order: int) -> Any:
    if not order:
        return -g * bessel_k(x, order=1)
    return -g * (bessel_k(x, order=order - 1) + out * order / x)


def _decaying_scaled(g: Any, x: Any, out: Any, order: int) -> Any:
    if not order:
        return g * (out - bessel_ke(x, order=1))
    # As a product, which has a sign where both are infinite.
    return g * (out * (1 - order / x) - bessel_ke(x, order=order - 1))


_i2, _i2e, _j2 = (
    partial(float32.in_blocks, function)
    for function in (float32.FUNCTIONS["i2"], float32.FUNCTIONS["i2e"], _second_first_kind)
)

bessel_i = op("bessel_i", _kernel("i0", "i1", "iv", _i2), [_modified], elementwise=True)
bessel_ie = op(
    "bessel_ie", _kernel("i0e", "i1e", "ive", _i2e), [_modified_scaled], elementwise=True
)
bessel_j = op("bessel_j", _kernel("j0", "j1", "jv", _j2), [_first_kind], elementwise=True)
bessel_y = op("bessel_y", _kernel("y0", "y1", "yv"), [_second_kind], elementwise=True)
bessel_k = op("bessel_k", _kernel("k0", "k1", "kv"), [_decaying], elementwise=True)
bessel_ke = op("bessel_ke", _kernel("k0e", "k1e", "kve"), [_decaying_scaled], elementwise=True)
