"""Factorisations: LU, QR, singular values and eigenvalues.

Their factors are unique up to signs, phases and, where values repeat, rotations. The rules are
correct for every function that does not depend on that choice. Where two values are equal up to
rounding, the term that would divide by their difference is dropped: in the first derivative of such
a function it is zero. In its second derivative it is a limit that no rule can know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.engines.numpy.blas import of_matrices
from gradtape.ops.arithmetic import absolute, equal, greater
from gradtape.ops.batching import as_it_is
from gradtape.ops.broadcasting import cast, real
from gradtape.ops.declare import op
from gradtape.ops.elementary import reciprocal
from gradtape.ops.matrix import diagonal
from gradtape.ops.reductions import reduce_max
from gradtape.ops.selection import keep, where
from gradtape.ops.solvers import (
    Shape,
    adjoint,
    diagonal_matrix,
    dtype_of,
    hermitian_part,
    lower_part,
    mirrored,
    solve,
    triangular_solve,
    upper_part,
)


def rounding(x: Any) -> float:
    """The distance from 1 to the next number of the dtype;
    half precision is computed in float32.
    """
    dtype = dtype_of(x)
    return float(np.finfo(dtype if dtype.itemsize >= 4 and dtype.kind in "fc" else np.float32).eps)


def _reciprocals(differences: Any, values: Any) -> Any:
    """1 / differences, and 0 where the difference is no more than the rounding of the values."""
    if not values.shape[-1]:
        return differences
    sizes = absolute(values)
    limit = reduce_max(sizes, axis=(sizes.ndim - 1,))[..., None, None] * (
        4 * values.shape[-1] * rounding(values)
    )
    apart = greater(absolute(differences), limit)
    return keep(reciprocal(where(apart, differences, 1)), apart)


def _reciprocal_gaps(values: Any) -> Any:
    """1 / (values[j] - values[i])."""
    return _reciprocals(values[..., None, :] - values[..., :, None], values)


# LU


def _lu(xp: Any, x: Any) -> list[Any]:
    """Both triangular factors in one matrix, and which row of `x` stands in each row of their
    product.
    """
    # SciPy is loaded when it is first needed.
    from scipy.linalg import get_lapack_funcs  # noqa: PLC0415

    size = x.shape[-1]
    if x.shape[-2] != size:
        raise ValueError("the matrix must be square")
    factors, rows = np.empty(x.shape, x.dtype), np.empty(x.shape[:-1], np.int32)
    (getrf,) = get_lapack_funcs(("getrf",), (x,))
    for index in np.ndindex(x.shape[:-2] if size else (0,)):
        factors[index], swaps, singular = getrf(x[index])
        if singular:
            raise ValueError("the matrix is not invertible")
        order = np.arange(size)
        for i, swap in enumerate(swaps):
            order[[i, swap]] = order[[swap, i]]
        rows[index] = order
    return [factors, rows]


def _lu_on_xla(xp: Any, x: Any) -> list[Any]:
    """A singular matrix is not refused: its factors are there,
    and what divides by them is not finite.
    """
    factors, _, rows = xp.lax.linalg.lu(x)
    return [factors, rows]


def _lu_pull(g: Any, wanted: Sequence[Any], out: Any) -> list[Any]:
    factors, rows = out
    lower, upper = unit_lower(factors), upper_part(factors)
    inner = lower_part(lower.mT @ lower_part(g[0], -1), -1) + upper_part(
        upper_part(g[0]) @ upper.mT
    )
    left = triangular_solve(lower.mT, inner, lower=False)
    both = triangular_solve(upper, left.mT, lower=False).mT
    return [permutation(rows, dtype_of(factors)).mT @ both]


def unit_lower(factors: Any) -> Any:
    """The lower triangular factor with ones on its diagonal."""
    return lower_part(factors, -1) + np.eye(factors.shape[-1], dtype=dtype_of(factors))


def permutation(rows: Any, dtype: Any) -> Any:
    """The matrix that puts row `rows[i]` of another into row i."""
    order = np.arange(rows.shape[-1], dtype=dtype_of(rows))
    return cast(equal(rows[..., None], order), dtype=dtype)


lu = op(
    "lu",
    _lu,
    pull_all=_lu_pull,
    several=True,
    batch=as_it_is,
    xla=_lu_on_xla,
    work=of_matrices,
    unique=False,
)


# QR


def _qr(xp: Any, x: Any, *, full: bool = False) -> list[Any]:
    if x.shape[-2] < x.shape[-1]:
        raise ValueError("the matrix must have at least as many rows as columns")
    return list(xp.linalg.qr(x, mode="complete" if full else "reduced"))


def _qr_pull(g: Any, wanted: Sequence[Any], out: Any, x_shape: Shape) -> list[Any]:
    """`rest` are the columns that complete an orthonormal basis:
    only the space that they span has a derivative.
    """
    columns = x_shape[-1]
    q, rest, r = out[0][..., :columns], out[0][..., columns:], out[1][..., :columns, :]
    by_q, by_rest, by_r = g[0][..., :columns], g[0][..., columns:], g[1][..., :columns, :]
    pulled = by_q + q @ hermitian_part(mirrored(r @ adjoint(by_r) - adjoint(by_q) @ q))
    if rest.shape[-1]:
        pulled = pulled - rest @ (adjoint(by_rest) @ q)
    return [adjoint(triangular_solve(r, adjoint(pulled), lower=False))]


qr = op(
    "qr",
    _qr,
    pull_all=_qr_pull,
    several=True,
    conjugate=False,
    batch=as_it_is,
    work=of_matrices,
    unique=False,
)


# Singular values


def _svd(xp: Any, x: Any, *, full: bool = False) -> list[Any]:
    u, s, vh = _or_nan(lambda matrix: xp.linalg.svd(matrix, full_matrices=full), x)
    return [s, u, vh.conj().mT]


def _or_nan(function: Any, x: Any) -> Any:
    """NaN where LAPACK does not converge, as it does not for NaN."""
    try:
        return function(x)
    except np.linalg.LinAlgError:
        if x.ndim <= 2:
            return [np.full_like(part, np.nan) for part in function(np.zeros_like(x))]
    parts = [_or_nan(function, matrix) for matrix in x.reshape(-1, *x.shape[-2:])]
    return [
        np.stack(column).reshape(*x.shape[:-2], *column[0].shape)
        for column in zip(*parts, strict=True)
    ]


def _svd_pull(g: Any, wanted: Sequence[Any], out: Any, x_shape: Shape) -> list[Any]:
    """With P = Uᴴ dA V: UᴴdU + VᴴdV = (P + Pᴴ) / (s[j] - s[i]) and UᴴdU - VᴴdV = (P - Pᴴ) / (s[j] +
    s[i]).
    """
    s, all_u, all_v = out
    count = min(x_shape[-2:])
    u, v, by_u, by_v = (part[..., :count] for part in (all_u, all_v, g[1], g[2]))
    vh, of_u, of_v = adjoint(v), adjoint(u) @ by_u, adjoint(v) @ by_v
    plus = _reciprocal_gaps(s) * (of_u + of_v) / 2
    minus = _reciprocals(s[..., None, :] + s[..., :, None], s) * (of_u - of_v) / 2
    pulled = (
        u
        @ (
            _complex_like(diagonal_matrix(g[0]), plus)
            + plus
            + adjoint(plus)
            + minus
            - adjoint(minus)
        )
        @ vh
    )
    inverted = _reciprocals(s[..., None, :], s)
    if x_shape[-2] > count:
        outside = by_u - u @ of_u
        if all_u.shape[-1] > count:
            outside = outside - all_u[..., count:] @ (adjoint(g[1][..., count:]) @ u)
        pulled = pulled + (outside * inverted) @ vh
    if x_shape[-1] > count:
        outside = by_v - v @ of_v
        if all_v.shape[-1] > count:
            outside = outside - all_v[..., count:] @ (adjoint(g[2][..., count:]) @ v)
        pulled = pulled + (u * inverted) @ adjoint(outside)
    return [pulled]


def _complex_like(x: Any, other: Any) -> Any:
    return x if dtype_of(x) == dtype_of(other) else cast(x, dtype=dtype_of(other))


svd = op(
    "svd",
    _svd,
    pull_all=_svd_pull,
    several=True,
    conjugate=False,
    batch=as_it_is,
    work=of_matrices,
    unique=False,
)


def _singular_values(xp: Any, x: Any) -> Any:
    return _or_nan(lambda matrix: [xp.linalg.svd(matrix, compute_uv=False)], x)[0]


def _singular_values_pull(g: Any, x: Any) -> Any:
    """The vectors are computed here, since without them the values take a fraction of the time."""
    _, u, v = svd(x)
    return (u * g[..., None, :]) @ adjoint(v)


singular_values = op(
    "singular_values",
    _singular_values,
    [_singular_values_pull],
    conjugate=False,
    batch=as_it_is,
    work=of_matrices,
)


# Hermitian matrices: only the lower triangle is read, so the gradient is in it too.


def _read_from_lower(x: Any) -> Any:
    """A Hermitian gradient as that of the lower triangle, which stands for both."""
    return lower_part(x) + lower_part(x, -1)


def _eigh_pull(g: Any, wanted: Sequence[Any], out: Any) -> list[Any]:
    w, v = out
    inner = _reciprocal_gaps(w) * (adjoint(v) @ g[1])
    return [
        _read_from_lower(
            hermitian_part(v @ (_complex_like(diagonal_matrix(g[0]), inner) + inner) @ adjoint(v))
        )
    ]


def _eigvalsh_pull(g: Any, x: Any) -> Any:
    _, v = eigh(x)
    return _read_from_lower((v * g[..., None, :]) @ adjoint(v))


eigh = op(
    "eigh",
    lambda xp, x: _or_nan(lambda matrix: list(xp.linalg.eigh(matrix)), x),
    work=of_matrices,
    pull_all=_eigh_pull,
    several=True,
    conjugate=False,
    batch=as_it_is,
    # JAX would read both triangles.
    xla=lambda xp, x: list(xp.linalg.eigh(x, symmetrize_input=False)),
    unique=False,
)
eigvalsh = op(
    "eigvalsh",
    lambda xp, x: _or_nan(lambda matrix: [xp.linalg.eigvalsh(matrix)], x)[0],
    [_eigvalsh_pull],
    work=of_matrices,
    conjugate=False,
    batch=as_it_is,
    xla=lambda xp, x: xp.linalg.eigvalsh(x, symmetrize_input=False),
)


# General matrices: eigenvalues and vectors are complex, the vectors of length 1.


def _as_complex(x: Any) -> Any:
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def _eig_pull(g: Any, wanted: Sequence[Any], out: Any, x_dtype: Any) -> list[Any]:
    w, v = out
    vh = adjoint(v)
    by_v = vh @ g[1]
    # What would change the length of a vector.
    along = cast(real(diagonal(by_v)), dtype=dtype_of(by_v))
    inner = adjoint(_reciprocal_gaps(w)).mT * (by_v - (vh @ v) * along[..., None, :])
    return [_real_if(solve(vh, (diagonal_matrix(g[0]) + inner) @ vh), x_dtype)]


def _eigvals_pull(g: Any, x: Any, x_dtype: Any) -> Any:
    _, v = eig(x)
    vh = adjoint(v)
    return _real_if(solve(vh, g[..., :, None] * vh), x_dtype)


def _real_if(x: Any, dtype: Any) -> Any:
    return x if dtype.kind == "c" else real(x)


eig = op(
    "eig",
    lambda xp, x: _or_nan(lambda matrix: [_as_complex(part) for part in xp.linalg.eig(matrix)], x),
    work=of_matrices,
    pull_all=_eig_pull,
    several=True,
    conjugate=False,
    batch=as_it_is,
    unique=False,
)
eigvals = op(
    "eigvals",
    lambda xp, x: _or_nan(lambda matrix: [_as_complex(xp.linalg.eigvals(matrix))], x)[0],
    [_eigvals_pull],
    work=of_matrices,
    conjugate=False,
    batch=as_it_is,
)
