"""Functions of matrices: exponential, logarithm and square root.

For every such function f, the upper right block of f([[A, E], [0, A]]) is the derivative of f at A
along E. SciPy's own logarithm and square root print warnings and differ between versions, so both
are implemented here, from the Schur form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.ops.batching import as_it_is, together
from gradtape.ops.declare import op
from gradtape.ops.links import matrices
from gradtape.ops.op import ON_HOST
from gradtape.ops.selection import zeros_like
from gradtape.ops.shaping import concat
from gradtape.ops.solvers import each_matrix


def _along(function: Callable[[Any], Any], x: Any, direction: Any) -> Any:
    """The derivative of a function at `x` along a direction."""
    size = x.shape[-1]
    blocks = concat(concat(x, direction, axis=-1), concat(zeros_like(x), x, axis=-1), axis=-2)
    return function(blocks)[..., :size, size:]


def _expm(xp: Any, x: Any) -> Any:
    # SciPy is loaded when it is first needed.
    from scipy.linalg import expm as of_matrices  # noqa: PLC0415

    return of_matrices(x) if x.size else x.copy()


expm = op(
    "expm",
    _expm,
    [lambda g, x: _along(expm, x.mT, g)],
    batch=as_it_is,
    xla=lambda xp, x: xp.dense.expm(x) if x.size else x,
    links=matrices("ij", "kl"),
)


def _schur(x: Any) -> tuple[Any, Any]:
    """Triangular T and unitary Z with x = Z T Zᴴ, in double precision."""
    from scipy.linalg import schur  # noqa: PLC0415 - SciPy is loaded when it is first needed

    triangular, unitary = schur(x.astype(np.complex128), output="complex", check_finite=False)
    return triangular, unitary


def _root_of_triangular(t: Any) -> Any:
    """The principal square root of a triangular matrix, column by column from the diagonal up."""
    size = len(t)
    root = np.diag(np.sqrt(np.diag(t)))
    for j in range(size):
        for i in range(j - 1, -1, -1):
            rest = t[i, j] - root[i, i + 1 : j] @ root[i + 1 : j, j]
            root[i, j] = rest / total if (total := root[i, i] + root[j, j]) else rest and math.nan
    return root


def _back(triangular: Any, unitary: Any, dtype: Any) -> Any:
    """The function's value; NaN where it is complex but a real one is wanted."""
    found = unitary @ triangular @ unitary.conj().T
    if dtype.kind == "c":
        return found
    complex_part = np.abs(found.imag).max(initial=0)
    return (
        found.real
        if complex_part <= 1e-7 * np.abs(found.real).max(initial=0)
        else np.full_like(found.real, np.nan)
    )


def _sqrtm_of_one(x: Any) -> Any:
    if not np.isfinite(x).all():
        return np.full_like(x, np.nan)
    triangular, unitary = _schur(x)
    return _back(_root_of_triangular(triangular), unitary, x.dtype)


def _logm_of_one(x: Any) -> Any:
    """Roots until the matrix is near 1, where the logarithm is an integral that sixteen points give
    to the last digit.
    """
    triangular, unitary = _schur(x) if np.isfinite(x).all() else (np.zeros_like(x), x)
    if not np.diag(triangular).all():
        return np.full_like(x, np.nan)
    one, doublings = np.eye(len(x)), 0
    while np.abs(triangular - one).sum(axis=0).max(initial=0) > 0.25 and doublings < 64:
        triangular, doublings = _root_of_triangular(triangular), doublings + 1
    small = triangular - one
    points, weights = np.polynomial.legendre.leggauss(16)
    total = sum(
        w / 2 * np.linalg.solve(one + (p + 1) / 2 * small, small)
        for p, w in zip(points, weights, strict=True)
    )
    return _back(total * 2.0**doublings, unitary, x.dtype)


def _sylvester(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """X with A X + X B = C."""
    # SciPy is loaded when it is first needed.
    from scipy.linalg import solve_sylvester  # noqa: PLC0415

    def solved(*matrices: Any) -> Any:
        return solve_sylvester(*matrices) if all(np.isfinite(m).all() for m in matrices) else np.nan

    return each_matrix(solved, a, b, c, out=np.empty_like(c)) if c.size else c.copy()


# XLA computes Schur forms on the CPU alone.
logm = op(
    "logm",
    lambda xp, x: each_matrix(_logm_of_one, x, out=np.empty_like(x)),
    [lambda g, x: _along(logm, x.mT, g)],
    batch=as_it_is,
    xla=ON_HOST,
    links=matrices("ij", "kl"),
)
sqrtm = op(
    "sqrtm",
    lambda xp, x: each_matrix(_sqrtm_of_one, x, out=np.empty_like(x)),
    [lambda g, out: sylvester(out.mT, out.mT, g)],
    batch=as_it_is,
    xla=ON_HOST,
)


def _sylvester_pull(g: Any, wanted: Any, a: Any, b: Any, out: Any) -> list[Any]:
    by_c = sylvester(a.mT, b.mT, g)
    return [
        None if wanted[0] is None else -(by_c @ out.mT),
        None if wanted[1] is None else -(out.mT @ by_c),
        by_c,
    ]


sylvester = op(
    "sylvester",
    _sylvester,
    pull_all=_sylvester_pull,
    batch=together,
    xla=ON_HOST,
    links=matrices("ij", None, None, "kl"),
)
