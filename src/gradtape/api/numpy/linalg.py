"""Products, powers, inverses, determinants and the solutions of linear systems: `numpy.linalg`."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from gradtape.api.numpy import products
from gradtape.api.numpy.checks import certainly, known
from gradtape.api.numpy.operands import (
    axis_of,
    converted,
    inexact,
    into,
    promoted,
    real_dtype,
    tensor_of,
    tensors_of,
)
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_float, as_int, as_list
from gradtape.convert import NUMPY, is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.errors import InvalidArgumentError
from gradtape.ops import (
    arithmetic,
    broadcasting,
    decompositions,
    determinants,
    matrix,
    reductions,
    shaping,
    solvers,
)
from gradtape.published import published

# Products


@published("numpy.linalg.matmul", "array_api.linalg.matmul")
def matmul(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The matrix product over the last two axes; see `gradtape.numpy.matmul`.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy()
    array([[11.]], dtype=float32)
    """
    return products.matmul(x1, x2)


@published("numpy.linalg.vecdot", "array_api.linalg.vecdot")
def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """The sum of products along an axis; complex numbers of the first factor are conjugated.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.vecdot([1.0, 2.0], [3.0, 4.0]).numpy()
    np.float32(11.0)
    """
    return products.vecdot(x1, x2, axis=axis)


@published("numpy.linalg.outer", "array_api.linalg.outer")
def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The product of each element of one vector with each of another.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.outer([1.0, 2.0], [3.0, 4.0]).numpy()
    array([[3., 4.],
           [6., 8.]], dtype=float32)
    """
    x, y = tensors_of([x1, x2], "outer", ["x1", "x2"])
    if x.array.ndim != 1 or y.array.ndim != 1:
        raise ValueError(f"outer: x1 and x2 must be vectors, got shapes {x.shape} and {y.shape}.")
    return products.outer(x, y)


@published("numpy.linalg.tensordot", "array_api.linalg.tensordot")
def tensordot(x1: TensorLike, x2: TensorLike, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over axes of both; see `gradtape.numpy.tensordot`.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.tensordot([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0], axes=1).numpy()
    array([21., 43.], dtype=float32)
    """
    return products.tensordot(x1, x2, axes)


@published("numpy.linalg.cross", "array_api.linalg.cross")
def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    x, y = tensors_of([x1, x2], "cross", ["x1", "x2"])
    if any(
        v.array.ndim and v.array.shape[axis_of(axis, v.array.ndim, "cross")] != 3 for v in (x, y)
    ):
        raise ValueError(
            f"cross: the vectors must have three elements along axis {axis}, got shapes {x.shape} "
            f"and {y.shape}."
        )
    return products.cross(x, y, axis=axis)


@published("numpy.linalg.multi_dot")
def multi_dot(arrays: Sequence[TensorLike], *, out: Any = None) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications;
    the ends may be vectors.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.multi_dot([[1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0]]).numpy()
    np.float32(11.0)
    """
    factors = tensors_of(as_list(arrays, "multi_dot: arrays"), "multi_dot", "arrays")
    if len(factors) < 2:
        raise ValueError(f"multi_dot: arrays must have at least two entries, got {len(factors)}.")
    row, column = factors[0].array.ndim == 1, factors[-1].array.ndim == 1
    if row:
        factors[0] = shaping.reshape(factors[0], shape=(1, *factors[0].array.shape))
    if column:
        factors[-1] = shaping.reshape(factors[-1], shape=(*factors[-1].array.shape, 1))
    for i, factor in enumerate(factors):
        if factor.array.ndim != 2:
            raise LinAlgError(
                f"multi_dot: arrays[{i}] must be a matrix, got shape {factor.shape}; only the ends "
                "may be vectors."
            )
    splits = _best_splits(
        [factors[0].array.shape[0], *(factor.array.shape[1] for factor in factors)]
    )
    product = _multiplied(factors, splits, 0, len(factors) - 1)
    rows, columns = product.array.shape
    shape = (() if row else (rows,)) + (() if column else (columns,))
    return into(
        out, shaping.reshape(product, shape=shape) if row or column else product, "multi_dot"
    )


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of matrices i to j, for each pair:
    matrix i has sizes[i] rows and sizes[i + 1] columns.
    """
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            found = [
                (costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            costs[i, j], splits[i, j] = min(found)
    return splits


def _multiplied(
    factors: Sequence[Tensor], splits: dict[tuple[int, int], int], i: int, j: int
) -> Tensor:
    if i == j:
        return factors[i]
    k = splits[i, j]
    return products.matmul(
        _multiplied(factors, splits, i, k), _multiplied(factors, splits, k + 1, j)
    )


@published("numpy.linalg.matrix_power", "array_api.linalg.matrix_power")
def matrix_power(a: TensorLike, n: Any) -> Tensor:
    """A square matrix multiplied by itself; a negative `n` is a power of the inverse.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 3).numpy()
    array([[1., 3.],
           [0., 1.]], dtype=float32)
    """
    x = checked_square(tensor_of(a, "matrix_power", "a"), "matrix_power")
    try:
        count = n.__index__()
    except (AttributeError, TypeError) as error:
        raise TypeError(f"matrix_power: n must be an integer, got {n!r}.") from error
    if not count:
        one = Tensor(np.eye(x.array.shape[-1], dtype=x.array.dtype))
        return broadcasting.broadcast_to(one, shape=x.array.shape)
    if count < 0:
        x, count = inv(x), -count
    found, power = None, x
    while count:
        count, odd = divmod(count, 2)
        if odd:
            found = power if found is None else products.matmul(found, power)
        power = products.matmul(power, power) if count else power
    assert found is not None
    return found


# Parts of matrices


@published("numpy.linalg.matrix_transpose", "array_api.linalg.matrix_transpose")
def matrix_transpose(x: TensorLike, /) -> Tensor:
    """The last two axes swapped.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.matrix_transpose([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([[1., 3.],
           [2., 4.]], dtype=float32)
    """
    return shaping.matrix_transpose(
        _at_least_two_axes(tensor_of(x, "matrix_transpose"), "matrix_transpose", "x")
    )


@published("numpy.linalg.diagonal", "array_api.linalg.diagonal")
def diagonal(x: TensorLike, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes, `offset` columns to the right of the main one.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.diagonal([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([1., 4.], dtype=float32)
    """
    return matrix.diagonal(
        _at_least_two_axes(tensor_of(x, "diagonal"), "diagonal", "x"),
        offset=as_int(offset, "diagonal: offset"),
    )


@published("numpy.linalg.trace", "array_api.linalg.trace")
def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Tensor:
    """The sum of a diagonal of the last two axes.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.trace([[1.0, 2.0], [3.0, 4.0]]).numpy()
    np.float32(5.0)
    """
    return products.trace(x, offset, -2, -1, dtype)


# Linear systems


@published("numpy.linalg.solve", "scipy.linalg.solve", "array_api.linalg.solve")
def solve(a: TensorLike, b: TensorLike) -> Tensor:
    """The solution x of a x = b; `b` is one vector, or a matrix of columns.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).numpy()
    array([1. , 0.5], dtype=float32)
    """
    x, y = (inexact(v) for v in promoted(tensors_of([a, b], "solve", ["a", "b"])))
    checked_square(x, "solve")
    if not y.array.ndim:
        raise ValueError("solve: b must have at least one axis, got a scalar.")
    if y.array.ndim > 1:
        return or_linalg_error(solvers.solve, x, y, function="solve")
    found = or_linalg_error(
        solvers.solve, x, shaping.reshape(y, shape=(*y.array.shape, 1)), function="solve"
    )
    return shaping.reshape(found, shape=found.array.shape[:-1])


@published("numpy.linalg.inv", "scipy.linalg.inv", "array_api.linalg.inv")
def inv(a: TensorLike) -> Tensor:
    """The inverse of a square matrix.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return or_linalg_error(
        solvers.inverse, checked_square(matrices(a, "inv"), "inv"), function="inv"
    )


_NOT_GIVEN: Any = object()


@published("numpy.linalg.pinv", "array_api.linalg.pinv")
def pinv(
    a: TensorLike, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN
) -> Tensor:
    """The pseudo-inverse; singular values up to `rcond` times the greatest count as zero.

    The gradient holds at constant rank.

    `rtol` is another name of `rcond`, with a default that goes with the size and precision of `a`
    if it is None. Of a Hermitian matrix only the lower triangle is read.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy()
    array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    x = matrices(a, "pinv")
    shape = x.array.shape
    if rtol is not _NOT_GIVEN:
        if rcond is not None:
            raise ValueError("pinv: rcond and rtol mean the same: give one of them.")
        rcond = max(shape[-2:]) * decompositions.rounding(x) if rtol is None else rtol
    cutoff = limit_of(1e-15 if rcond is None else rcond, _precise(x), "pinv", "rcond")
    cutoff = broadcasting.broadcast_to(cutoff, shape=shape[:-2])
    return or_linalg_error(
        solvers.pseudoinverse, solvers.mirrored(x) if hermitian else x, cutoff, function="pinv"
    )


def limit_of(given: Any, dtype: np.dtype[Any], function: str, argument: str) -> Tensor:
    """A limit for singular values, rounded no more than once."""
    exact = (
        given
        if is_tensor_like(given)
        else np.asarray(
            NUMPY.array(given, f"{function}: {argument}", np.dtype(np.float64)), np.float64
        )
    )
    return converted(tensor_of(exact, function, argument), dtype)


def _precise(x: Tensor) -> np.dtype[Any]:
    """The real dtype in which to measure singular values."""
    return np.dtype(np.float32) if x.array.dtype.itemsize < 4 else real_dtype(x.array.dtype)


@published("numpy.linalg.lstsq")
def lstsq(a: TensorLike, b: TensorLike, rcond: Any = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The x for which a x is nearest to `b` (the shortest one if there are many), what is left, the
    rank, the singular values.

    What is left are the squared lengths of b - a x, and nothing unless `a` has more rows than
    columns and full rank.

    >>> import gradtape as tf
    >>> x, left, rank, values = tf.numpy.linalg.lstsq([[2.0], [0.0]], [4.0, 3.0])
    >>> x.numpy(), left.numpy()
    (array([2.], dtype=float32), array([9.], dtype=float32))
    """
    x, y = (inexact(v) for v in promoted(tensors_of([a, b], "lstsq", ["a", "b"])))
    if x.array.ndim != 2 or y.array.ndim not in (1, 2) or x.array.shape[0] != y.array.shape[0]:
        raise LinAlgError(
            f"lstsq: a must be a matrix with as many rows as b, got shapes {x.shape} and {y.shape}."
        )
    rows, columns = x.array.shape
    columns_of_b = y if y.array.ndim == 2 else shaping.reshape(y, shape=(rows, 1))
    limit = -1.0 if rcond is None else as_float(rcond, "lstsq: rcond")
    if limit == -1:
        limit = float(np.finfo(np.float64).eps) * (max(rows, columns) if rcond is None else 1)
    values = decompositions.singular_values(x)
    top = reductions.reduce_max(values, keepdims=True) if values.array.size else values
    counted = broadcasting.cast(arithmetic.greater(values, top * limit), dtype=np.dtype(np.int32))
    rank = reductions.reduce_sum(counted)
    cutoff = limit_of(limit, _precise(x), "lstsq", "rcond")
    found = or_linalg_error(solvers.pseudoinverse, x, cutoff, function="lstsq") @ columns_of_b
    left = Tensor(np.zeros(0, values.array.dtype))
    if rows > columns and (not known(rank) or int(rank) == columns):
        left = _squared_lengths(columns_of_b - x @ found)
    return (
        (found if y.array.ndim == 2 else shaping.reshape(found, shape=(columns,))),
        left,
        rank,
        values,
    )


def _squared_lengths(x: Tensor) -> Tensor:
    sizes = (
        arithmetic.square(x)
        if x.array.dtype.kind != "c"
        else broadcasting.real(x * broadcasting.conj(x))
    )
    return reductions.reduce_sum(sizes, axis=(0,))


@published("numpy.linalg.tensorinv")
def tensorinv(a: TensorLike, ind: int = 2) -> Tensor:
    """The inverse of `tensordot` with `a`: its first `ind` axes stand for rows,
    the others for columns.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.tensorinv([[2.0, 0.0], [0.0, 4.0]], ind=1).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    if as_int(ind, "tensorinv: ind") <= 0:
        raise ValueError(f"tensorinv: ind must be positive, got {ind}.")
    x = inexact(tensor_of(a, "tensorinv", "a"))
    first, last = x.array.shape[:ind], x.array.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise LinAlgError(
            f"tensorinv: the first {ind} axes of a and the remaining ones must have the same "
            f"number of elements, got shape {x.shape}."
        )
    flat = shaping.reshape(x, shape=(math.prod(first), math.prod(last)))
    return shaping.reshape(inv(flat), shape=(*last, *first))


@published("numpy.linalg.tensorsolve")
def tensorsolve(a: TensorLike, b: TensorLike, axes: Any = None) -> Tensor:
    """The x whose product with `a` over all axes of x is `b`;
    `axes` of `a` are moved to its end first.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.tensorsolve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).numpy()
    array([1. , 0.5], dtype=float32)
    """
    x, y = tensors_of([a, b], "tensorsolve", ["a", "b"])
    rank = x.array.ndim
    if axes is not None:
        moved = [
            axis_of(axis, rank, "tensorsolve", "axes")
            for axis in as_list(axes, "tensorsolve: axes")
        ]
        x = shaping.transpose(x, perm=(*(i for i in range(rank) if i not in moved), *moved))
    shape = x.array.shape[y.array.ndim :]
    count = math.prod(shape)
    if x.array.size != count**2 or y.array.size != count:
        raise LinAlgError(
            f"tensorsolve: a of shape {x.shape} is not square for b of shape {y.shape}."
        )
    found = solve(shaping.reshape(x, shape=(count, count)), shaping.reshape(y, shape=(count,)))
    return shaping.reshape(found, shape=shape)


# Determinants


@published("numpy.linalg.det", "scipy.linalg.det", "array_api.linalg.det")
def det(a: TensorLike) -> Tensor:
    """The determinant of a square matrix.

    Its gradient are the cofactors, also where the matrix is singular.

    >>> import gradtape as tf
    >>> tf.numpy.linalg.det([[2.0, 1.0], [0.0, 4.0]]).numpy()
    np.float32(8.0)
    """
    return determinants.det(checked_square(matrices(a, "det"), "det"))


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


@published("numpy.slogdet", "numpy.linalg.slogdet", "array_api.linalg.slogdet")
def slogdet(a: TensorLike) -> SlogdetResult:
    """The sign of the determinant of a square matrix, and the logarithm of its absolute value.

    >>> import gradtape as tf
    >>> sign, logarithm = tf.numpy.linalg.slogdet([[-1.0, 0.0], [0.0, 1.0]])
    >>> sign.numpy(), logarithm.numpy()
    (np.float32(-1.0), np.float32(0.0))
    """
    return SlogdetResult(*determinants.slogdet(checked_square(matrices(a, "slogdet"), "slogdet")))


# How linear algebra takes matrices, and says that it has no answer


def matrices(a: Any, function: str, argument: str = "a") -> Tensor:
    """A matrix or a batch of them, of floating-point or complex numbers."""
    return _at_least_two_axes(inexact(tensor_of(a, function, argument)), function, argument)


def checked_square(x: Tensor, function: str, argument: str = "a") -> Tensor:
    """A Tensor, refused if its last two axes differ."""
    rows, columns = _at_least_two_axes(x, function, argument).array.shape[-2:]
    if rows != columns:
        raise LinAlgError(
            f"{function}: {argument} must be a square matrix, or a batch of them, got shape "
            f"{x.shape}."
        )
    return x


def _at_least_two_axes(x: Tensor, function: str, argument: str) -> Tensor:
    if x.array.ndim < 2:
        raise LinAlgError(
            f"{function}: {argument} must be a matrix, or a batch of them, got shape {x.shape}."
        )
    return x


def or_linalg_error(op: Callable[..., Any], *args: Tensor, function: str, **params: Any) -> Any:
    """The result of an op; what LAPACK refuses is a LinAlgError, as in NumPy."""
    try:
        return op(*args, **params)
    except InvalidArgumentError as error:
        if isinstance(error.__cause__, LinAlgError):
            raise LinAlgError(f"{function}: {error.__cause__}.") from error
        raise


def not_nan(values: Tensor, function: str, reason: str) -> Tensor:
    """A factor or values, refused with a LinAlgError where they are NaN:
    ops give that in the place of an error.
    """
    if certainly(arithmetic.is_nan(values)):
        raise LinAlgError(f"{function}: {reason}.")
    return values
