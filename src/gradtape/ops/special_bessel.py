"""Bessel functions of integer order.

The derivative of each is a sum of those of the neighbouring orders, at 0 too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradtape.engines.engine import host_kernel
from gradtape.ops.arithmetic import sign
from gradtape.ops.declare import op
from gradtape.ops.special import scipy_kernel, scipy_special


def _kernel(first: str, second: str, general: str) -> Callable[..., Any]:
    """scipy's own functions for the orders 0 and 1,
    which are several times faster than the general one.
    """

    def kernel(xp: Any, x: Any, *, order: int) -> Any:
        if order < 2:
            return kernels[order](xp, x)
        return (
            getattr(scipy_special(), general)(order, x)
            if xp is np
            else host_kernel(partial(kernel, np))(x, order=order)
        )

    kernels = scipy_kernel(first), scipy_kernel(second)
    return kernel


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


bessel_i = op("bessel_i", _kernel("i0", "i1", "iv"), [_modified], elementwise=True)
bessel_ie = op("bessel_ie", _kernel("i0e", "i1e", "ive"), [_modified_scaled], elementwise=True)
bessel_j = op("bessel_j", _kernel("j0", "j1", "jv"), [_first_kind], elementwise=True)
bessel_y = op("bessel_y", _kernel("y0", "y1", "yv"), [_second_kind], elementwise=True)
bessel_k = op("bessel_k", _kernel("k0", "k1", "kv"), [_decaying], elementwise=True)
bessel_ke = op("bessel_ke", _kernel("k0e", "k1e", "kve"), [_decaying_scaled], elementwise=True)
