"""NumPy's functions for diagonals and triangles of matrices: `diag`, `diagonal`, `tri`, `tril`,
`triu` and related functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import FLOAT32, axes_of, dtype_of, tensor_of
from gradtape.api.numpy.shaping import flat
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.ops.selection import keep
from gradtape.published import published


@published("numpy.diag")
def diag(v: TensorLike, k: int = 0) -> Tensor:
    """The matrix with a vector on diagonal `k`, or that diagonal of a matrix;
    those above the main one count as positive.

    >>> import gradtape as tf
    >>> tf.numpy.diag([1, 2]).numpy(), tf.numpy.diag([[1, 2], [3, 4]]).numpy()
    (array([[1, 0],
           [0, 2]], dtype=int32), array([1, 4], dtype=int32))
    """
    x, number = tensor_of(v, "diag", "v"), as_int(k, "diag: k")
    if x.array.ndim == 1:
        return _matrix(x, number)
    if x.array.ndim == 2:
        return diagonals_of(x, number)
    raise ValueError(f"diag: v must be a vector or a matrix, got shape {x.shape}.")


@published("numpy.diagflat")
def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """The matrix with all elements of `v`, in one row, on diagonal `k`.

    >>> import gradtape as tf
    >>> tf.numpy.diagflat([[1, 2]]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    return _matrix(flat(tensor_of(v, "diagflat", "v")), as_int(k, "diagflat: k"))


def _matrix(x: Tensor, k: int) -> Tensor:
    """A vector on a diagonal: in a matrix that is read row by row, every (n + 1)-th place."""
    count = x.array.size
    size = count + abs(k)
    places = _places(count, size, k)
    return shaping.reshape(
        shaping.place(x, key=(places,), shape=(size * size,)), shape=(size, size)
    )


def _places(count: int, columns: int, k: int) -> slice:
    """Where `count` elements of diagonal k stand in a matrix that is read row by row."""
    start = k if k >= 0 else -k * columns
    return slice(start, start + count * (columns + 1) - columns if count else start, columns + 1)


@published("numpy.diagonal")
def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Diagonal `offset` of the matrices that stand in two axes, as a new last axis.

    >>> import gradtape as tf
    >>> tf.numpy.diagonal([[1, 2], [3, 4]], offset=1).numpy()
    array([2], dtype=int32)
    """
    return diagonals_of(
        matrices_last(tensor_of(a, "diagonal", "a"), axis1, axis2, "diagonal"),
        as_int(offset, "diagonal: offset"),
    )


def matrices_last(x: Tensor, axis1: Any, axis2: Any, function: str) -> Tensor:
    """`x` with two axes moved to the end."""
    rank = x.array.ndim
    if rank < 2:
        raise ValueError(f"{function}: a must have at least two axes, got shape {x.shape}.")
    rows_and_columns = axes_of([axis1, axis2], rank, function, "axis1 and axis2") or ()
    order = (*(i for i in range(rank) if i not in rows_and_columns), *rows_and_columns)
    return x if order == tuple(range(rank)) else shaping.transpose(x, perm=order)


def diagonals_of(x: Tensor, k: int) -> Tensor:
    """Diagonal k of the matrices in the last two axes."""
    *batch, rows, columns = x.array.shape
    count = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    lined_up = shaping.reshape(x, shape=(*batch, rows * columns))
    return shaping.getitem(lined_up, key=(..., _places(count, columns, k)))


@published("numpy.tri")
def tri(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, *, like: Any = None
) -> Tensor:
    """An N by M matrix of ones at and below diagonal `k`, and zeros above it.

    >>> import gradtape as tf
    >>> tf.numpy.tri(2, 3).numpy()
    array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    columns = None if M is None else as_int(M, "tri: M")
    return Tensor(
        np.tri(as_int(N, "tri: N"), columns, as_int(k, "tri: k"), dtype_of(dtype, FLOAT32))
    )


@published("numpy.tril", "array_api.tril")
def tril(m: TensorLike, k: int = 0) -> Tensor:
    """The matrices in the last two axes with zeros above diagonal `k`.

    >>> import gradtape as tf
    >>> tf.numpy.tril([[1, 2], [3, 4]]).numpy()
    array([[1, 0],
           [3, 4]], dtype=int32)
    """
    return _triangle(m, as_int(k, "tril: k"), "tril")


@published("numpy.triu", "array_api.triu")
def triu(m: TensorLike, k: int = 0) -> Tensor:
    """The matrices in the last two axes with zeros below diagonal `k`.

    >>> import gradtape as tf
    >>> tf.numpy.triu([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return _triangle(m, as_int(k, "triu: k") - 1, "triu")


def _triangle(m: TensorLike, k: int, function: str) -> Tensor:
    """What is at and below diagonal k, or above it; of a vector,
    as if it stood in every row of a square matrix.
    """
    x = tensor_of(m, function, "m")
    if not x.array.ndim:
        raise ValueError(f"{function}: m must have at least one axis, got a scalar.")
    rows, columns = x.array.shape[-2:] if x.array.ndim > 1 else x.array.shape * 2
    lower = np.tri(rows, columns, k, dtype=bool)
    return keep(x, lower if function == "tril" else ~lower)
