"""Bessel functions of integer order.

The derivative of each is a sum of those of the neighbouring orders, at 0 too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradtape.engines.engine import host_kernel
from gradtape.ops import float32
from gradtape.ops.arithmetic import sign
from gradtape.ops.declare import op
from gradtape.ops.special import scipy_kernel, scipy_special


def _kernel(
    zeroth: str, first: str, general: str, second: Callable[..., Any]
) -> Callable[..., Any]:
    """scipy's own functions for the orders 0 and 1,
    which are several times faster than the general one; `second` is for large arrays of float32.
    """

    def kernel(xp: Any, x: Any, *, order: int) -> Any:
        if order < 2:
            return kernels[order](xp, x)
        if order == 2 and xp is np and float32.serves(x):
            return second(x)
        return (
            getattr(scipy_special(), general)(order, x)
            if xp is np
            else host_kernel(partial(kernel, np))(x, order=order)
        )

    kernels = scipy_kernel(zeroth), scipy_kernel(first)
    return kernel


def _by_recurrence(zeroth: str, first: str, general: str, sign: int) -> Callable[..., Any]:
    """The function of order 2 from those of the orders 0 and 1, in double precision; where x is so
    small that little is left of the difference, the general one.
    """

    def function(x: Any) -> Any:
        special, wide = scipy_special(), x.astype(np.float64)
        out = getattr(special, first)(wide) * 2
        out /= wide
        out += sign * getattr(special, zeroth)(wide)
        places = np.flatnonzero(~(np.abs(x) > _SMALL))
        if places.size:
            out.flat[places] = getattr(special, general)(2, wide.flat[places])
        return out.astype(np.float32)

    return function


_SMALL = 1e-2


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
    return _oscillating(bessel_j, g, x, order)


def _second_kind(g: Any, x: Any, order: int) -> Any:
    return _oscillating(bessel_y, g, x, order)


def _oscillating(function: Callable[..., Any], g: Any, x: Any, order: int) -> Any:
    if not order:
        return -g * function(x, order=1)
    return g * (function(x, order=order - 1) - function(x, order=order + 1)) * 0.5


def _decaying(g: Any, x: Any, order: int) -> Any:
    if not order:
        return -g * bessel_k(x, order=1)
    return g * (bessel_k(x, order=order - 1) + bessel_k(x, order=order + 1)) * -0.5


def _decaying_scaled(g: Any, x: Any, out: Any, order: int) -> Any:
    if not order:
        return g * (out - bessel_ke(x, order=1))
    return g * (out - (bessel_ke(x, order=order - 1) + bessel_ke(x, order=order + 1)) * 0.5)


_i2, _i2e = (partial(float32.in_blocks, float32.FUNCTIONS[name]) for name in ("i2", "i2e"))
_j2, _y2 = _by_recurrence("j0", "j1", "jv", -1), _by_recurrence("y0", "y1", "yv", -1)
_k2, _k2e = _by_recurrence("k0", "k1", "kv", 1), _by_recurrence("k0e", "k1e", "kve", 1)

bessel_i = op("bessel_i", _kernel("i0", "i1", "iv", _i2), [_modified], elementwise=True)
bessel_ie = op(
    "bessel_ie", _kernel("i0e", "i1e", "ive", _i2e), [_modified_scaled], elementwise=True
)
bessel_j = op("bessel_j", _kernel("j0", "j1", "jv", _j2), [_first_kind], elementwise=True)
bessel_y = op("bessel_y", _kernel("y0", "y1", "yv", _y2), [_second_kind], elementwise=True)
bessel_k = op("bessel_k", _kernel("k0", "k1", "kv", _k2), [_decaying], elementwise=True)
bessel_ke = op(
    "bessel_ke", _kernel("k0e", "k1e", "kve", _k2e), [_decaying_scaled], elementwise=True
)
