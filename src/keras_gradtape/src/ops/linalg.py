"""Keras's `linalg` namespace: factorisations, systems of equations, norms,
and derivatives along a direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import by_rule, cast_to, floating, tensors

# Factorisations


def cholesky(a: Any, upper: bool = False) -> Any:
    """The triangular matrix whose product with its transpose is `a`."""
    return gnp.linalg.cholesky(convert_to_tensor(a), upper=upper)


def cholesky_inverse(a: Any, upper: bool = False) -> Any:
    """The inverse of the matrix whose `cholesky` is `a`."""
    a = convert_to_tensor(a)
    inverse = solve_triangular(a, gnp.eye(a.shape[-1], dtype=a.dtype), lower=not upper)
    return inverse @ inverse.mT if upper else inverse.mT @ inverse


def eig(a: Any) -> Any:
    """The eigenvalues and eigenvectors of a square matrix,
    complex also where they happen to be real.
    """
    return tf.linalg.eig(convert_to_tensor(a))


def eigh(a: Any) -> Any:
    """The eigenvalues and eigenvectors of a symmetric matrix."""
    return tuple(gnp.linalg.eigh(convert_to_tensor(a)))


def qr(x: Any, mode: str = "reduced") -> Any:
    """An orthogonal and an upper triangular matrix whose product is `x`."""
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. "
            f"Received: mode={mode}"
        )
    return tuple(gnp.linalg.qr(convert_to_tensor(x), mode))


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The singular values, and the orthogonal matrices on both sides of them."""
    found = gnp.linalg.svd(convert_to_tensor(x), full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def lu_factor(a: Any) -> Any:
    """The triangular factors of a matrix in one, and its row exchanges:
    step i exchanges row i with row pivots[i].
    """
    a = convert_to_tensor(a)
    rows, columns = a.shape[-2:]
    if rows != columns:
        return _eliminated(a)
    factors, order = tf.linalg.lu(a)
    return factors, _exchanges(order)


def _exchanges(order: Any) -> Any:
    """The row exchanges, one after the other, that bring rows into an order."""
    row = gnp.arange(order.shape[-1])

    def step(i: Any, now: Any, pivots: Any) -> tuple[Any, Any, Any]:
        wanted = tf.gather(order, i, axis=-1)[..., None]
        other = cast_to(gnp.argmax(now == wanted, axis=-1, keepdims=True), "int32")
        return (
            i + 1,
            _exchanged(now[..., None], i, other)[..., 0],
            gnp.where(row == i, other, pivots),
        )

    start = (tf.constant(0), gnp.zeros_like(order) + row, gnp.zeros_like(order))
    return tf.while_loop(lambda i, *_: i < len(row), step, start)[2]


def _exchanged(a: Any, i: Any, other: Any) -> Any:
    """A matrix with row i and row `other` exchanged."""
    row = gnp.arange(a.shape[-2])
    order = gnp.where(row == i, other, gnp.where(row == other, i, row))
    return gnp.take_along_axis(a, order[..., None], axis=-2)


def _eliminated(a: Any) -> tuple[Any, Any]:
    """The factors and row exchanges of a matrix that need not be square, column by column."""
    rows, columns = a.shape[-2:]
    steps = min(rows, columns)
    row, column = gnp.arange(rows), gnp.arange(columns)

    def step(i: Any, a: Any, pivots: Any) -> tuple[Any, Any, Any]:
        size = gnp.where(row >= i, gnp.abs(tf.gather(a, i, axis=-1)), -1.0)
        other = cast_to(gnp.argmax(size, axis=-1, keepdims=True), "int32")
        a = _exchanged(a, i, other)
        top = tf.gather(a, i, axis=-2)[..., None, :]
        factors = tf.math.divide_no_nan(
            tf.gather(a, i, axis=-1)[..., None], tf.gather(top, i, axis=-1)[..., None]
        )
        below = row[:, None] > i
        reduced = gnp.where(below & (column > i), a - factors * top, a)
        return (
            i + 1,
            gnp.where(below & (column == i), factors, reduced),
            gnp.where(row[:steps] == i, other, pivots),
        )

    start = (tf.constant(0), a, gnp.zeros((*a.shape[:-2], steps), "int32"))
    _, factors, pivots = tf.while_loop(lambda i, *_: i < steps, step, start)
    return factors, pivots


# Systems of equations


def det(a: Any) -> Any:
    """The determinants of square matrices."""
    return gnp.linalg.det(convert_to_tensor(a))


def inv(a: Any) -> Any:
    """The inverses of square matrices."""
    return gnp.linalg.inv(convert_to_tensor(a))


def solve(a: Any, b: Any) -> Any:
    """The x for which a x = b."""
    return gnp.linalg.solve(*tensors((a, b)))


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    """The x for which a x = b, where `a` is triangular."""
    a, b = tensors((a, b))
    if b.ndim == a.ndim - 1:
        return tf.linalg.triangular_solve(a, b[..., None], lower)[..., 0]
    return tf.linalg.triangular_solve(a, b, lower)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The x for which a x is nearest to b."""
    a, b = tensors((a, b))
    return gnp.linalg.lstsq(a, b, rcond)[0]


def pinv(x: Any, rcond: Any = None) -> Any:
    """The pseudo-inverses of matrices."""
    return gnp.linalg.pinv(_matrices(x), rtol=rcond)


def matrix_rank(x: Any, tol: Any = None) -> Any:
    """How many singular values are greater than `tol`."""
    return cast_to(gnp.linalg.matrix_rank(_matrices(x), tol), "int32")


def _matrices(x: Any) -> Any:
    x = convert_to_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"Expected input to have rank >= 2. Received input with shape {x.shape}.")
    return x


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norms of vectors or matrices."""
    return gnp.linalg.norm(by_rule(x, floating), ord, axis, keepdims)


# Derivatives


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value of `fun` and its derivative along `tangents`; with `has_aux`,
    also what it gives besides.
    """
    besides: list[Any] = []

    def main(*args: Any) -> Any:
        if not has_aux:
            return fun(*args)
        value, aux = fun(*args)
        besides.append(aux)
        return value

    value, tangent = tf.jvp(main, list(primals), list(tangents))
    return (value, tangent, besides[-1]) if has_aux else (value, tangent)
