"""Linear systems: inverses, general, triangular and tridiagonal solutions, Cholesky factors,
and the bands of matrices.

All work on the last two axes, with any batch axes in front. The rules are products and
solutions again, so they work for derivatives of every order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gradtape.core.tensor import Tensor
from gradtape.engines.numpy import triangular
from gradtape.engines.numpy.blas import of_matrices
from gradtape.engines.numpy.triangular import pulled_through_cholesky
from gradtape.ops.batching import as_it_is, elementwise, together
from gradtape.ops.broadcasting import conj, sum_to_shape
from gradtape.ops.declare import op
from gradtape.ops.links import matrices
from gradtape.ops.matrix import diagonal, on_diagonal
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.selection import keep_array
from gradtape.ops.shaping import concat, pad, roll

Shape = tuple[int, ...]


def dtype_of(x: Any) -> np.dtype[Any]:
    """The NumPy dtype of a Tensor or an array."""
    return (x.array if isinstance(x, Tensor) else x).dtype


def adjoint(x: Any) -> Any:
    """The last two axes swapped, and complex numbers conjugated."""
    return conj(x.mT) if dtype_of(x).kind == "c" else x.mT


def hermitian_part(x: Any) -> Any:
    return (x + adjoint(x)) / 2


def each_matrix(function: Any, *arrays: Any, out: Any) -> Any:
    """Fills `out` with `function` of the matrices of a batch, one after another,
    for kernels that take only one.
    """
    for index in np.ndindex(out.shape[:-2]):
        out[index] = function(*[array[index] for array in arrays])
    return out


def batches_of(xp: Any, *arrays: Any) -> list[Any]:
    """The arrays with their batch axes broadcast against each other."""
    batch = np.broadcast_shapes(*[array.shape[:-2] for array in arrays])
    return [xp.broadcast_to(array, (*batch, *array.shape[-2:])) for array in arrays]


# Bands


def _band(xp: Any, x: Any, *, low: float, high: float) -> Any:
    """`x` on the diagonals from `low` to `high`, which are counted to the right from the main one;
    else 0.
    """
    rows, columns = x.shape[-2:]
    if not x.size:
        return x
    # A window over all diagonals, which moves by one from row to row.
    diagonals = np.zeros(rows + columns - 1, bool)
    first, last = max(low + rows - 1, 0), min(high + rows, len(diagonals))
    diagonals[int(first) : max(int(last), 0)] = True
    return keep_array(xp, x, sliding_window_view(diagonals, columns)[::-1])


band = op(
    "band",
    _band,
    [lambda g, low, high: band(g, low=low, high=high)],
    linear=True,
    moves=True,
    batch=as_it_is,
)


def lower_part(x: Any, offset: int = 0) -> Any:
    """The part on and below a diagonal."""
    return band(x, low=-math.inf, high=offset)


def upper_part(x: Any, offset: int = 0) -> Any:
    """The part on and above a diagonal."""
    return band(x, low=offset, high=math.inf)


def mirrored(x: Any) -> Any:
    """The Hermitian matrix that has the lower triangle of `x`,
    so that gradients arrive in the lower triangle alone.
    """
    return lower_part(x) + adjoint(lower_part(x, -1))


# General matrices


def _inverse(xp: Any, x: Any) -> Any:
    return xp.linalg.inv(x)


_SINGULAR = (
    "the matrix is singular, or nearly so: add a small multiple of the identity, x + 1e-6 * "
    "tf.eye(n)."
)
inverse = op(
    "inverse",
    _inverse,
    [lambda g, out: -(out.mT @ g @ out.mT)],
    work=of_matrices,
    batch=as_it_is,
    when_not_finite=_SINGULAR,
)


_by_right_side = matrices("ik", None, "jk")


def _solve(xp: Any, a: Any, b: Any) -> Any:
    if b.ndim < 2:
        raise ValueError("both arguments must have at least two dimensions")
    return xp.linalg.solve(a, b)


def _solve_pull(
    g: Any, wanted: Sequence[Any], a: Any, out: Any, a_shape: Shape, b_shape: Shape
) -> list[Any]:
    by_b = solve(a.mT, g)
    return [
        None if wanted[0] is None else sum_to_shape(-(by_b @ out.mT), shape=a_shape),
        None if wanted[1] is None else sum_to_shape(by_b, shape=b_shape),
    ]


solve = op(
    "solve",
    _solve,
    work=of_matrices,
    pull_all=_solve_pull,
    batch=elementwise,
    links=_by_right_side,
    when_not_finite=_SINGULAR,
)


def _pseudoinverse(xp: Any, a: Any, cutoff: Any) -> Any:
    """`cutoff` has one entry for each matrix: singular values at or below that share of the largest
    count as zero.
    """
    return xp.linalg.pinv(a, cutoff)


def _pseudoinverse_pull(g: Any, a: Any, out: Any) -> Any:
    """Golub and Pereyra's formula: right wherever the rank does not change,
    with repeated singular values too.
    """
    outs, gs = adjoint(out), adjoint(g)
    pulled = -(outs @ g @ outs)
    left, right = gs @ out @ outs, outs @ out @ gs
    return pulled + (left - a @ (out @ left)) + (right - (right @ out) @ a)


pseudoinverse = op(
    "pseudoinverse",
    _pseudoinverse,
    [_pseudoinverse_pull, None],
    work=of_matrices,
    apart=["cutoff"],
    conjugate=False,
    batch=together,
)


# Triangular matrices


def _triangular_solve(xp: Any, a: Any, b: Any, *, lower: bool) -> Any:
    """A zero on the diagonal gives infinities, not an error."""
    if a.shape[-2:] != (b.shape[-2],) * 2:
        raise ValueError("the matrix must be square, with as many rows as the right-hand side")
    solved = partial(triangular.solve, lower=lower)
    if a.ndim == b.ndim == 2 and b.size:
        return solved(a, b)
    a, b = batches_of(xp, a, b)
    out = np.empty(b.shape, b.dtype)
    return each_matrix(solved, a, b, out=out) if out.size else out


def _triangular_solve_on_xla(xp: Any, a: Any, b: Any, *, lower: bool) -> Any:
    a, b = batches_of(xp, a, b)
    return xp.lax.linalg.triangular_solve(a, b, left_side=True, lower=lower)


def _triangular_solve_pull(
    g: Any, wanted: Sequence[Any], a: Any, out: Any, a_shape: Shape, b_shape: Shape, lower: bool
) -> list[Any]:
    by_b = triangular_solve(a.mT, g, lower=not lower)
    part = lower_part if lower else upper_part
    return [
        None if wanted[0] is None else sum_to_shape(part(-by_b @ out.mT), shape=a_shape),
        None if wanted[1] is None else sum_to_shape(by_b, shape=b_shape),
    ]


triangular_solve = op(
    "triangular_solve",
    _triangular_solve,
    work=of_matrices,
    pull_all=_triangular_solve_pull,
    batch=elementwise,
    xla=_triangular_solve_on_xla,
    links=_by_right_side,
)


def _cholesky(xp: Any, x: Any) -> Any:
    """NaN for a matrix that is not positive definite, and only for that one of a batch."""
    try:
        return xp.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        if x.ndim == 2 and x.shape[0] == x.shape[1]:
            return np.tril(np.full(x.shape, np.nan, x.dtype))
        if x.shape[-1] != x.shape[-2]:
            raise
    return each_matrix(lambda matrix: _cholesky(xp, matrix), x, out=np.empty_like(x))


def _cholesky_pull(g: Any, out: Any) -> Any:
    """For Hermitian matrices, whose gradient is Hermitian,
    although the kernel reads the lower triangle alone.
    """
    pulled = pulled_through_cholesky(g, out)
    if pulled is not None:
        return pulled
    factor = adjoint(out)
    inner = _lower_with_half_diagonal(factor @ g)
    solved = triangular_solve(factor, inner, lower=False)
    return hermitian_part(adjoint(triangular_solve(factor, adjoint(solved), lower=False)))


def _lower_with_half_diagonal(x: Any) -> Any:
    return (lower_part(x) + lower_part(x, -1)) / 2


cholesky = op(
    "cholesky",
    _cholesky,
    [_cholesky_pull],
    work=of_matrices,
    conjugate=False,
    batch=as_it_is,
    when_not_finite=_SINGULAR,
    xla=lambda xp, x: xp.lax.linalg.cholesky(x, symmetrize_input=False),  # NaN is XLA's own answer
)


# Tridiagonal matrices: three rows with the upper diagonal (its last entry is not read), the main
# one, and the lower one (its first entry is not read).


def _tridiagonal_solve(xp: Any, diagonals: Any, b: Any) -> Any:
    """A singular matrix gives NaN, not an error."""
    from scipy.linalg import solve_banded  # noqa: PLC0415 - SciPy is loaded when it is first needed

    def solved(matrix: Any, rhs: Any) -> Any:
        try:
            return solve_banded((1, 1), matrix, rhs, check_finite=False)
        except np.linalg.LinAlgError:
            return np.nan

    diagonals, b = batches_of(xp, diagonals, b)
    bands = np.array(diagonals)
    bands[..., 0, 1:], bands[..., 2, :-1] = diagonals[..., 0, :-1], diagonals[..., 2, 1:]
    out = np.empty(b.shape, np.result_type(diagonals, b))
    return each_matrix(solved, bands, b, out=out) if out.size else out


def _tridiagonal_solve_on_xla(xp: Any, diagonals: Any, b: Any) -> Any:
    diagonals, b = batches_of(xp, diagonals, b)
    upper, main, lower = (diagonals[..., i, :] for i in range(3))
    return xp.lax.linalg.tridiagonal_solve(lower, main, upper, b)


def _tridiagonal_solve_pull(
    g: Any, wanted: Sequence[Any], diagonals: Any, out: Any, diagonals_shape: Shape, b_shape: Shape
) -> list[Any]:
    by_b = tridiagonal_solve(transposed_diagonals(diagonals), g)
    return [
        None
        if wanted[0] is None
        else sum_to_shape(-_products_on_diagonals(by_b, out), shape=diagonals_shape),
        None if wanted[1] is None else sum_to_shape(by_b, shape=b_shape),
    ]


def transposed_diagonals(diagonals: Any) -> Any:
    """The three diagonals of the transposed matrix."""
    last = (diagonals.ndim - 1,)
    upper, main, lower = (diagonals[..., i : i + 1, :] for i in range(3))
    return concat(
        roll(lower, shift=(-1,), axis=last), main, roll(upper, shift=(1,), axis=last), axis=-2
    )


def _products_on_diagonals(y: Any, x: Any) -> Any:
    """The three diagonals of `y @ x.mT`."""
    ahead, behind = shifted_rows(x, 1), shifted_rows(x, -1)
    return concat(
        *[reduce_sum(y * z, axis=(y.ndim - 1,))[..., None, :] for z in (ahead, x, behind)], axis=-2
    )


def shifted_rows(x: Any, step: int) -> Any:
    """The rows of `x` one step up (1) or down (-1), with zeros where there is none."""
    paddings = ((0, 0),) * (x.ndim - 2)
    if step > 0:
        return pad(x[..., 1:, :], paddings=(*paddings, (0, 1), (0, 0)))
    return pad(x[..., :-1, :], paddings=(*paddings, (1, 0), (0, 0)))


tridiagonal_solve = op(
    "tridiagonal_solve",
    _tridiagonal_solve,
    pull_all=_tridiagonal_solve_pull,
    batch=elementwise,
    xla=_tridiagonal_solve_on_xla,
    links=_by_right_side,
)


def diagonal_matrix(x: Any) -> Any:
    """Square matrices with the last axis of `x` on the diagonal."""
    size = x.shape[-1]
    return on_diagonal(x, shape=(size, size))


def trace(x: Any) -> Any:
    found = diagonal(x)
    return reduce_sum(found, axis=(found.ndim - 1,))
