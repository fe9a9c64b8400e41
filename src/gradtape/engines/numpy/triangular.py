"""Triangular systems, and the derivative of Cholesky factors, by functions of BLAS that only SciPy
shows. Matrix products are NumPy's, which is where several threads pay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.engines.numpy.blas import by_scipy

_TRSM = {"f": "strsm", "d": "dtrsm", "F": "ctrsm", "D": "ztrsm"}
_BLOCK = 96  # rows
_LARGE = 2**27  # multiplications


def solve(a: Any, b: Any, *, lower: bool) -> Any:
    """The solution of a @ x = b for two matrices, of which `a` is triangular: only that triangle is
    read.
    """
    if len(a) * b.size < _LARGE:
        return by_scipy(_solve, a, b, lower)
    out = np.array(b, order="C")
    by_scipy(_solve_in_place, a, out, lower)
    return out


def _solve_in_place(a: Any, out: Any, lower: bool) -> None:
    """One half after the other: most of the work is a product."""
    if len(a) <= _BLOCK:
        out[...] = _solve(a, out, lower)
        return
    half = len(a) // 2
    parts = slice(None, half), slice(half, None)
    first, second = parts if lower else reversed(parts)
    _solve_in_place(a[first, first], out[first], lower)
    out[second] -= a[second, first] @ out[first]
    _solve_in_place(a[second, second], out[second], lower)


def _solve(a: Any, b: Any, lower: bool) -> Any:
    """By columns, as BLAS has them, the arrays are transposed: xᵀ aᵀ = bᵀ."""
    if a.flags.f_contiguous:
        return _trsm(b)(1.0, a, b.T, side=1, lower=lower, trans_a=1).T
    return _trsm(b)(1.0, np.ascontiguousarray(a).T, b.T, side=1, lower=not lower).T


def _trsm(array: Any) -> Any:
    # SciPy is loaded when it is first needed, and the package before its modules: another thread
    # may be loading it.
    from scipy.linalg import blas  # noqa: PLC0415

    return getattr(blas, _TRSM[array.dtype.char])


def pulled_through_cholesky(g: Any, factor: Any) -> Any:
    """The Hermitian cotangent of a matrix, or of a batch, from that of its lower Cholesky factor,
    for arrays of NumPy; else None.

    The blocks of columns come from the last to the first, the way back of computing the factor,
    with a sixth of the multiplications of the formula for whole matrices (Murray,
    "Differentiation of the Cholesky decomposition", 2016).
    """
    if (
        type(g) is not np.ndarray
        or type(factor) is not np.ndarray
        or factor.dtype.char not in _TRSM
    ):
        return None
    out = np.tril(g)
    for index in np.ndindex(out.shape[:-2] if out.size else (0,)):
        by_scipy(_pull_in_place, out[index], np.ascontiguousarray(factor[index]))
    return out


def _pull_in_place(g: Any, factor: Any) -> None:
    """`g` holds the cotangent of the factor, block by block that of the matrix: of the lower
    triangle, whose elements stand for two until the end.
    """
    for stop in range(len(g), 0, -_BLOCK):
        start = max(stop - _BLOCK, 0)
        of_block = g[start:stop, start:stop]
        block, left = factor[start:stop, start:stop], factor[start:stop, :start]
        if stop < len(g):
            of_below = _solve(block.conj().T, g[stop:, start:stop].conj().T, lower=False).conj().T
            g[stop:, start:stop] = of_below
            of_block -= of_below.conj().T @ factor[stop:, start:stop]
            g[stop:, :start] -= of_below @ left
            g[start:stop, :start] -= of_below.conj().T @ factor[stop:, :start]
        twice = _twice_pulled(of_block, block)
        g[start:stop, :start] -= twice @ left
        of_block[...] = np.tril(twice)
        _halve_diagonal(of_block)
    g += g.conj().T
    g *= 0.5


def _twice_pulled(g: Any, factor: Any) -> Any:
    """Two times the cotangent of a block, by the formula."""
    adjoint = factor.conj().T
    inner = np.tril(adjoint @ np.tril(g))
    _halve_diagonal(inner)
    left = _solve(adjoint, inner, lower=False)
    both = _solve(adjoint, left.conj().T, lower=False)
    return both + both.conj().T


def _halve_diagonal(matrix: Any) -> None:
    matrix.flat[:: len(matrix) + 1] *= 0.5
