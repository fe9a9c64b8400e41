"""Matrix products in NumPy, in the form in which BLAS is fastest."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.engines.numpy import blas

_FEW_ROWS = 64
_SMALL, _LARGE = 2**12, 2**15  # elements of a factor
_OF_BLAS = "fdFD"


def matmul(a: Any, b: Any) -> Any:
    """`a @ b` for arrays of at least two axes."""
    if a.dtype.char not in _OF_BLAS:
        return np.matmul(a, b)
    if b.ndim != 2:
        if a.shape[-1] * a.shape[-2] * b.shape[-1] > blas.SHARED:
            return blas.run(np.matmul, a, b)
        return np.matmul(a, b)
    if a.ndim > 2 or (
        (b.size > _SMALL or a.size > _SMALL) and (len(a) * b.size > blas.SHARED or b.size >= _LARGE)
    ):
        return blas.run(_times_matrix, a, b)
    # Of two matrices; NumPy is half a microsecond sooner at BLAS by this way than by `@`.
    return a.dot(b)


def _times_matrix(a: Any, b: Any) -> Any:
    """A batch times one matrix, as one product of two matrices; NumPy loops over the batch, which
    takes up to a third longer.

    Few rows times a large transposed matrix, which is the gradient of a layer's input, takes
    OpenBLAS up to twice as long as the transposed product, transposed back.
    """
    if a.ndim > 2:
        if not a.size or not a.flags.c_contiguous or a.shape[-1] != b.shape[0]:
            return np.matmul(a, b)
        return _times_matrix(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1])
    if (
        len(a) <= _FEW_ROWS
        and b.size >= _LARGE
        and b.flags.f_contiguous
        and a.shape[1] == b.shape[0]
    ):
        return np.ascontiguousarray(b.T.dot(a.T).T)
    return a.dot(b)
