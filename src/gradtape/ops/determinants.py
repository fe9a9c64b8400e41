"""Determinants.

The derivative of a determinant is the cofactor matrix, which exists for singular matrices too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.errors import InvalidArgumentError
from gradtape.ops.arithmetic import greater
from gradtape.ops.batching import as_it_is
from gradtape.ops.broadcasting import conj, imag, stop_gradient
from gradtape.ops.conditioning import are_ill_conditioned, count_large, known_values
from gradtape.ops.declare import op
from gradtape.ops.decompositions import rounding, svd
from gradtape.ops.selection import keep, where, zeros_like
from gradtape.ops.shaping import concat
from gradtape.ops.solvers import adjoint, dtype_of, inverse, trace


def _det_pull(g: Any, x: Any, out: Any) -> Any:
    return g[..., None, None] * _cofactors(x, out)


def _cofactors(x: Any, out: Any) -> Any:
    """The determinant times the transposed inverse, unless a matrix is so near to a singular one
    that this loses its digits.
    """
    if known_values(x) is None:
        return _cofactors_with_border(x)
    try:
        inverted = inverse(x)
    except (InvalidArgumentError, np.linalg.LinAlgError):
        return _cofactors_in_blocks(x)
    if are_ill_conditioned(x, inverted):
        return _cofactors_in_blocks(x)
    return out[..., None, None] * inverted.mT


def _cofactors_in_blocks(x: Any) -> Any:
    """The same by polynomials in the small singular values,
    so that no derivative of it divides by them.

    With the singular vectors as constants, B = Uᴴ A V has an invertible block P beside a block that
    is small. Its adjugate follows from the inverse of P and the adjugate of the small block's Schur
    complement.
    """
    s, u, v = svd(stop_gradient(x))
    large = count_large(s)
    b = adjoint(u) @ x @ v
    p = b[..., :large, :large]
    inverted = inverse(p)
    right, left = inverted @ b[..., :large, large:], b[..., large:, :large] @ inverted
    complement = b[..., large:, large:] - b[..., large:, :large] @ right
    determinant, adjugate = _adjugate(complement)
    top = concat(
        determinant[..., None, None] * inverted + right @ adjugate @ left,
        -(right @ adjugate),
        axis=-1,
    )
    whole = concat(top, concat(-(adjugate @ left), adjugate, axis=-1), axis=-2)
    factor = det(p) * det(u) * det(adjoint(v))
    return factor[..., None, None] * (conj(u) @ whole.mT @ v.mT)


def _cofactors_with_border(x: Any) -> Any:
    """The same for a program that is being traced, when nobody knows which matrices are singular.

    With the singular vectors U and V of the two smallest singular values as constants, M = [[A, U],
    [Vᴴ, 0]] is invertible also where these are 0, and det A = det M * det D with D the last block
    of M⁻¹, of which this is the derivative. Where a third value is 0, all cofactors and their first
    derivatives are.
    """
    s, u, v = svd(stop_gradient(x))
    size = x.shape[-1]
    inner = max(size - 2, 0)
    u, v = u[..., inner:], v[..., inner:]
    below = concat(adjoint(v), zeros_like(adjoint(v) @ u), axis=-1)
    bordered = concat(concat(x, u, axis=-1), below, axis=-2)
    if inner:
        regular = greater(s[..., inner - 1 : inner], s[..., :1] * (size * rounding(x)))[..., None]
        bordered = where(regular, bordered, np.eye(2 * size - inner, dtype=dtype_of(x)))
    inverted = inverse(bordered)
    columns, rows = inverted[..., :size, size:], inverted[..., size:, :size]
    determinant, adjugate = _adjugate(inverted[..., size:, size:])
    found = determinant[..., None, None] * inverted[..., :size, :size] - columns @ adjugate @ rows
    found = det(bordered)[..., None, None] * found.mT
    return keep(found, regular) if inner else found


def _adjugate(x: Any) -> tuple[Any, Any]:
    """The determinant and the adjugate of a small matrix, by Faddeev and LeVerrier:
    products and traces only.
    """
    size = x.shape[-1]
    one = np.eye(size, dtype=dtype_of(x))
    found = zeros_like(x) + one
    for i in range(1, size):
        product = x @ found
        found = product - (trace(product) / i)[..., None, None] * one
    return trace(x @ found) / size * (-1) ** (size - 1), found * (-1) ** (size - 1)


det = op("det", lambda xp, x: xp.linalg.det(x), [_det_pull], batch=as_it_is)


def _slogdet_pull(g: Any, wanted: Sequence[Any], x: Any, x_dtype: Any) -> list[Any]:
    """The sign of a real determinant has a derivative, which is 0; that of a complex one turns."""
    by_sign, by_log = g
    if x_dtype.kind == "c":
        sign, _ = slogdet(x)
        by_log = by_log + 1j * imag(by_sign * conj(sign))
    else:
        by_log = by_log + by_sign * 0
    return [by_log[..., None, None] * adjoint(inverse(x))]


slogdet = op(
    "slogdet",
    lambda xp, x: list(xp.linalg.slogdet(x)),
    pull_all=_slogdet_pull,
    several=True,
    conjugate=False,
    batch=as_it_is,
)
