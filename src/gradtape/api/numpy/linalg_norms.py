"""Norms, condition numbers and ranks: `numpy.linalg`."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from gradtape.api.numpy.checks import refuse_nothing
from gradtape.api.numpy.linalg import checked_square, inv, limit_of, matrices
from gradtape.api.numpy.linalg_decompositions import svd
from gradtape.api.numpy.operands import INT64, axes_of, inexact, real_dtype, tensor_of
from gradtape.api.numpy.statistics import squared_size
from gradtape.api.numpy.values import on_values
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import (
    arithmetic,
    broadcasting,
    decompositions,
    elementary,
    reductions,
    selection,
    shaping,
)
from gradtape.published import published

Shape = tuple[int, ...]


@published("numpy.linalg.norm", "scipy.linalg.norm")
def norm(x: TensorLike, ord: Any = None, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors along one axis, of matrices in two, or of all elements as one vector.

    `ord` of a vector is any number, with -inf, inf and 0 (how many are not zero) among them, of a
    matrix 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
    array([ 5., 10.], dtype=float32)
    """
    values = inexact(tensor_of(x, "norm"))
    rank, keep = values.array.ndim, bool(keepdims)
    places = axes_of(axis, rank, "norm")
    if places is None:
        if ord is None:
            return _vector_norm(values, 2, tuple(range(rank)), keep, "norm")
        places = tuple(range(rank))
    if len(places) == 1:
        return _vector_norm(values, 2 if ord is None else ord, places, keep, "norm")
    if len(places) == 2:
        return _matrix_norm(
            values, "fro" if ord is None else ord, (places[0], places[1]), keep, "norm"
        )
    raise ValueError(
        f"norm: a norm with ord={ord!r} takes one axis or two, got {len(places)}: give axis."
    )


@published("numpy.linalg.vector_norm", "array_api.linalg.vector_norm")
def vector_norm(
    x: TensorLike, /, *, axis: AxisLike = None, keepdims: bool = False, ord: Any = 2
) -> Tensor:
    """The norm of vectors whose elements lie along one axis or several, or of all elements;
    see `norm` for `ord`.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.vector_norm([[3.0, 4.0], [0.0, 12.0]]).numpy()
    np.float32(13.0)
    """
    values = inexact(tensor_of(x, "vector_norm"))
    places = axes_of(axis, values.array.ndim, "vector_norm")
    return _vector_norm(
        values,
        ord,
        tuple(range(values.array.ndim)) if places is None else places,
        bool(keepdims),
        "vector_norm",
    )


@published("numpy.linalg.matrix_norm", "array_api.linalg.matrix_norm")
def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices in the last two axes; see `norm` for `ord`.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]], ord=2).numpy()
    np.float32(4.0)
    """
    values = matrices(x, "matrix_norm", "x")
    rank = values.array.ndim
    return _matrix_norm(values, ord, (rank - 2, rank - 1), bool(keepdims), "matrix_norm")


def _vector_norm(x: Tensor, ord: Any, places: Shape, keepdims: bool, function: str) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"{function}: ord of a vector must be a number, got {ord!r}.")
    if ord == 2:
        return elementary.sqrt(
            reductions.reduce_sum(squared_size(x), axis=places, keepdims=keepdims)
        )
    if ord == 0:
        counted = broadcasting.cast(arithmetic.not_equal(x, 0), dtype=real_dtype(x.array.dtype))
        return reductions.reduce_sum(counted, axis=places, keepdims=keepdims)
    sizes = arithmetic.absolute(x)
    if ord == math.inf:
        return arithmetic.maximum(reductions.reduce_max(sizes, axis=places, keepdims=keepdims), 0)
    if ord == -math.inf:
        refuse_nothing(x, places, function, "x")
        return reductions.reduce_min(sizes, axis=places, keepdims=keepdims)
    if ord == 1:
        return reductions.reduce_sum(sizes, axis=places, keepdims=keepdims)
    return reductions.reduce_sum(sizes**ord, axis=places, keepdims=keepdims) ** (1 / ord)


def _matrix_norm(
    x: Tensor, ord: Any, places: tuple[int, int], keepdims: bool, function: str
) -> Any:
    if ord in ("fro", "f"):
        return elementary.sqrt(
            reductions.reduce_sum(squared_size(x), axis=places, keepdims=keepdims)
        )
    shape = x.array.shape
    rest = tuple(size for i, size in enumerate(shape) if i not in places)
    if ord in (1, -1, math.inf, -math.inf):
        found = _extreme_sum(
            x, places if abs(ord) == 1 else places[::-1], largest=ord > 0, function=function
        )
    elif ord in (2, -2, "nuc"):
        others = tuple(i for i in range(len(shape)) if i not in places)
        values = decompositions.singular_values(shaping.transpose(x, perm=(*others, *places)))
        last = (len(others),)
        if ord == -2:
            refuse_nothing(values, last, function, "x")
        reduce = {2: _largest, -2: reductions.reduce_min, "nuc": reductions.reduce_sum}[ord]
        found = reduce(values, axis=last)
    else:
        raise ValueError(
            f"{function}: ord of a matrix must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got "
            f"{ord!r}."
        )
    return shaping.reshape(
        found,
        shape=tuple(1 if i in places else size for i, size in enumerate(shape))
        if keepdims
        else rest,
    )


def _extreme_sum(x: Tensor, places: tuple[int, int], *, largest: bool, function: str) -> Any:
    """The largest or the smallest, over the second of the axes, of the sums of sizes along the
    first; both axes are kept.
    """
    sums = reductions.reduce_sum(arithmetic.absolute(x), axis=(places[0],), keepdims=True)
    if largest:
        return _largest(sums, axis=(places[1],), keepdims=True)
    refuse_nothing(sums, (places[1],), function, "x")
    return reductions.reduce_min(sums, axis=(places[1],), keepdims=True)


def _largest(x: Any, **options: Any) -> Any:
    """The largest of numbers that are not negative; of none, it is 0."""
    return (
        reductions.reduce_max(x, **options) if x.array.size else reductions.reduce_sum(x, **options)
    )


@published("numpy.linalg.cond")
def cond(x: TensorLike, p: Any = None) -> Tensor:
    """The condition number: the norm of a matrix times that of its inverse; infinite if it has
    none. See `norm` for `p`.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.cond([[4.0, 0.0], [0.0, 2.0]]).numpy()
    np.float32(2.0)
    """
    a = matrices(x, "cond", "x")
    if not min(a.array.shape[-2:]):
        raise LinAlgError(f"cond: x must not be empty, got shape {a.shape}.")
    if p is None or p in (2, -2):
        values = decompositions.singular_values(a)
        largest, smallest = values[..., 0], values[..., -1]
        found = smallest / largest if p == -2 else largest / smallest
    else:
        checked_square(a, "cond", "x")
        try:
            inverted = inv(a)
        except LinAlgError:  # where a matrix has no inverse, there is no derivative either
            return on_values(np.linalg.cond, [a, p], {})
        found = matrix_norm(a, ord=p) * matrix_norm(inverted, ord=p)
    last = (a.array.ndim - 2, a.array.ndim - 1)
    unknown = reductions.reduce_any(arithmetic.is_nan(a), axis=last)
    singular = arithmetic.logical_and(arithmetic.is_nan(found), arithmetic.logical_not(unknown))
    return selection.where(singular, math.inf, found)


@published("numpy.linalg.matrix_rank", "array_api.linalg.matrix_rank")
def matrix_rank(
    A: TensorLike,
    tol: Any = None,
    hermitian: bool = False,
    *,
    rtol: Any = None,
) -> Tensor | Any:
    """How many singular values are greater than `tol`, or than `rtol` times the greatest;
    an integer for a vector.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
    np.int64(1)
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: tol and rtol cannot both be given: give one of them.")
    x = inexact(tensor_of(A, "matrix_rank", "A"))
    if x.array.ndim < 2:
        return int(bool(reductions.reduce_any(arithmetic.not_equal(x, 0))))
    values = svd(broadcasting.stop_gradient(x), compute_uv=False, hermitian=hermitian)
    last = (values.array.ndim - 1,)
    if tol is None:
        share = max(x.array.shape[-2:]) * decompositions.rounding(x) if rtol is None else rtol
        limit = (
            _largest(values, axis=last, keepdims=True)
            * limit_of(share, values.array.dtype, "matrix_rank", "rtol")[..., None]
        )
    else:
        limit = limit_of(tol, values.array.dtype, "matrix_rank", "tol")[..., None]
    return reductions.reduce_sum(
        broadcasting.cast(arithmetic.greater(values, limit), dtype=INT64), axis=last
    )
