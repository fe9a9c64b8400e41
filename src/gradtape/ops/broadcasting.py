"""Broadcasting and its transpose, casting, and the parts of complex numbers:
what every other family builds on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.core.needed_ops import needed
from gradtape.engines.arrays import sum_array_to
from gradtape.ops import jets, links, products_on_xla
from gradtape.ops.batching import as_it_is, elementwise, lined_up
from gradtape.ops.declare import op
from gradtape.ops.rows import moving, rows_summed, spread


def _broadcast_to(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    """A view for large results; a copy is faster for small ones,
    since numpy.broadcast_to alone takes 3 µs.
    """
    if math.prod(shape) > 4096 or xp is not np:
        if xp is np and not x.ndim and x.dtype.char in "fd":
            return np.ndarray(shape, x.dtype, np.asarray(x).data.toreadonly(), 0, (0,) * len(shape))
        return xp.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    if x.ndim:
        out[...] = x
    else:
        out.fill(x if x.dtype != object else x[()])  # a string, not the array around it
    return out


def _cast(xp: Any, x: Any, *, dtype: Any) -> Any:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


def _complex(xp: Any, real: Any, imag: Any) -> Any:
    """Put together, not added: `real + imag * 1j` is NaN where a part is infinite."""
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, np.complex64))
    out.real, out.imag = real, imag
    return out[()]


def _batch_sum_to_shape(op: Any, size: int, args: Any, mapped: Any, params: Any) -> Any:
    (x,), shape = args, params["shape"]
    stretched = (size, *(1,) * (x.array.ndim - 1 - len(shape)), *shape)
    return needed.reshape(sum_to_shape(x, shape=stretched), shape=(size, *shape))


def _batch_broadcast_to(op: Any, size: int, args: Any, mapped: Any, params: Any) -> Any:
    (x,), shape = args, params["shape"]
    return broadcast_to(lined_up(x, len(shape)), shape=(size, *shape))


def _complex_jet(step: jets.JetCall) -> jets.Partials:
    real, imag = step.input(0), step.input(1)

    def partials(index: jets.Index) -> Any:
        like = real(index) if imag(index) is None else imag(index)
        if like is None:
            return None
        parts = [
            jets.zeros((), like) if part is None else part for part in (real(index), imag(index))
        ]
        return step.in_full(complex_from_parts(*parts))

    return partials


IN_PLACE: dict[str, Any] = {"links": links.elementwise, "input_shape": jets.same_shape}
"""Declared by ops that take each element to the one in its place,
and are not elementwise in their derivative.
"""

sum_to_shape = op(
    "sum_to_shape",
    lambda xp, x, *, shape: sum_array_to(x, shape),
    [lambda g, x_shape: broadcast_to(g, shape=x_shape)],
    linear=True,
    batch=_batch_sum_to_shape,
    plain=True,
    xla=products_on_xla.sum_to_shape,
    rows=moving(lambda rows, x_shape: spread(rows, x_shape), rows_summed),
)
broadcast_to = op(
    "broadcast_to",
    _broadcast_to,
    [lambda g, x_shape: sum_to_shape(g, shape=x_shape)],
    linear=True,
    moves=True,
    batch=_batch_broadcast_to,
    plain=True,
    rows=moving(lambda rows, x_shape: rows_summed(rows, x_shape), spread),
)
cast = op(
    "cast",
    _cast,
    [lambda g, x_dtype: cast(g, dtype=x_dtype)],
    linear=True,
    moves=True,
    batch=as_it_is,
    **IN_PLACE,
)
identity = op(
    "identity",
    lambda xp, x: x,
    [lambda g: g],
    linear=True,
    moves=True,
    batch=as_it_is,
    plain=True,
    **IN_PLACE,
)
identity.op.rule.takes_slices = True  # type: ignore[attr-defined]
stop_gradient = op("stop_gradient", lambda xp, x: x, [None], moves=True, stops=True, batch=as_it_is)

conj = op(
    "conj",
    "conj",
    [lambda g: conj(g)],
    arguments=["x"],
    linear=True,
    conjugate=False,
    batch=as_it_is,
    **IN_PLACE,
)
real = op(
    "real",
    "real",
    [lambda g, x_dtype: cast(g, dtype=x_dtype)],
    arguments=["x"],
    linear=True,
    batch=as_it_is,
    **IN_PLACE,
)
imag = op(
    "imag",
    "imag",
    [lambda g, x_dtype: cast(g, dtype=x_dtype) * 1j],
    arguments=["x"],
    linear=True,
    batch=as_it_is,
    **IN_PLACE,
)
complex_from_parts = op(
    "complex",
    _complex,
    [
        lambda g, real_shape: sum_to_shape(real(g), shape=real_shape),
        lambda g, imag_shape: sum_to_shape(imag(g), shape=imag_shape),
    ],
    linear=True,
    conjugate=False,
    batch=elementwise,
    xla=lambda xp, real, imag: xp.lax.complex(*xp.broadcast_arrays(real, imag)),
    jet=_complex_jet,
)

needed.sum_to_shape = sum_to_shape
needed.broadcast_to = broadcast_to
needed.cast = cast
needed.conj = conj
