"""Products of vectors, matrices and tensors: `numpy.dot`, `matmul`, `tensordot` and related
functions.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape.api.numpy.operands import (
    BOOL,
    INT32,
    axes_of,
    axis_of,
    converted,
    dtype_of,
    into,
    promoted,
    sum_dtype,
    tensor_of,
    tensors_of,
)
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, as_list
from gradtape.api.tensorflow.linalg import products
from gradtape.convert import common_dtype
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, broadcasting, matrix, reductions, shaping
from gradtape.published import published

# The generalized ufuncs: products of the last axes, over all axes in front of them


@published("numpy.matmul", "array_api.matmul")
def matmul(
    x1: TensorLike,
    x2: TensorLike,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> Tensor:
    """The matrix product over the last two axes; a vector stands for a row on the left,
    and for a column on the right.

    >>> import gradtape as tf
    >>> tf.numpy.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).numpy()
    array([21., 43.], dtype=float32)
    """
    return into(
        out,
        _over_core_axes(lambda x, y: _matmul(x, y, "matmul"), x1, x2, axes, dtype, "matmul"),
        "matmul",
    )


def _matmul_alone(x1: Any, x2: Any) -> Tensor:
    """The call without keywords that NumPy's protocol makes:
    matrices of numbers go straight to the op.
    """
    if type(x1) is Tensor and type(x2) is Tensor and x1.array.dtype.kind != "b":
        left, right = x1.array.shape, x2.array.shape
        if len(left) >= 2 <= len(right) and left[-1] == right[-2]:
            return matrix.matmul(x1, x2)
    return matmul(x1, x2)


matmul.bare, _matmul_alone.call = _matmul_alone, matmul  # type: ignore[attr-defined]


@published("numpy.vecdot", "array_api.vecdot")
def vecdot(
    x1: TensorLike,
    x2: TensorLike,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> Tensor:
    """The sum of products along the last axis, or along `axis`;
    complex numbers of the first factor are conjugated.

    >>> import gradtape as tf
    >>> tf.numpy.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).numpy()
    array([21., 43.], dtype=float32)
    """
    if axis is not None:
        axes = [axis, axis]
    found = _over_core_axes(_vecdot, x1, x2, axes, dtype, "vecdot")
    if keepdims:
        rank = found.array.ndim + 1
        place = axis_of(-1 if axis is None else axis, rank, "vecdot")
        shape = found.array.shape
        found = shaping.reshape(found, shape=(*shape[:place], 1, *shape[place:]))
    return into(out, found, "vecdot")


@published("numpy.matvec")
def matvec(
    x1: TensorLike,
    x2: TensorLike,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> Tensor:
    """The product of matrices in the last two axes with vectors in the last one.

    >>> import gradtape as tf
    >>> tf.numpy.matvec([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]).numpy()
    array([[1., 3.],
           [2., 4.]], dtype=float32)
    """
    return into(out, _over_core_axes(_matvec, x1, x2, axes, dtype, "matvec"), "matvec")


@published("numpy.vecmat")
def vecmat(
    x1: TensorLike,
    x2: TensorLike,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> Tensor:
    """The product of vectors in the last axis, conjugated if they are complex,
    with matrices in the last two.

    >>> import gradtape as tf
    >>> tf.numpy.vecmat([1.0, 10.0], [[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([31., 42.], dtype=float32)
    """
    return into(out, _over_core_axes(_vecmat, x1, x2, axes, dtype, "vecmat"), "vecmat")


def _over_core_axes(
    product: Callable[[Tensor, Tensor], Any], x1: Any, x2: Any, axes: Any, dtype: Any, function: str
) -> Any:
    """A product of the last axes, or of those that `axes` names for each factor and for the
    result.
    """
    x, y = tensors_of([x1, x2], function, ["x1", "x2"])
    if dtype is not None:
        x, y = [
            converted(factor, dtype_of(dtype, common_dtype([x.array.dtype, y.array.dtype])))
            for factor in (x, y)
        ]
    if axes is None:
        return with_truth_values(product, x, y)
    places = [
        tuple(entry) if isinstance(entry, (tuple, list)) else (entry,)
        for entry in as_list(axes, f"{function}: axes")
    ]
    if len(places) not in (2, 3):
        raise ValueError(
            f"{function}: axes must name the axes of both factors and of the result, got {axes!r}."
        )
    found = with_truth_values(
        product, _axes_last(x, places[0], function), _axes_last(y, places[1], function)
    )
    if len(places) == 2 or not places[2]:
        return found
    rank = found.array.ndim
    wanted = axes_of(places[2], rank, function, "axes") or ()
    others = iter(range(rank - len(wanted)))
    order = tuple(
        rank - len(wanted) + wanted.index(i) if i in wanted else next(others) for i in range(rank)
    )
    return shaping.transpose(found, perm=order)


def _axes_last(x: Tensor, axes: Sequence[int], function: str) -> Tensor:
    rank = x.array.ndim
    last = axes_of(tuple(axes), rank, function, "axes") or ()
    return shaping.transpose(x, perm=(*(i for i in range(rank) if i not in last), *last))


def with_truth_values(product: Callable[[Tensor, Tensor], Any], x: Tensor, y: Tensor) -> Any:
    """A product whose sums of truth values are truth values."""
    if x.array.dtype.kind != "b" or y.array.dtype.kind != "b":
        return product(x, y)
    return converted(product(converted(x, INT32), converted(y, INT32)), BOOL)


def _matmul(x: Tensor, y: Tensor, function: str) -> Any:
    left, right = x.array.ndim, y.array.ndim
    if not left or not right:
        raise ValueError(f"{function}: a scalar is not a matrix: write x1 * x2.")
    _check_sizes(x, y, 0 if right == 1 else right - 2, function)
    if left >= 2 <= right:
        return matrix.matmul(x, y)
    row = x if left > 1 else shaping.reshape(x, shape=(1, *x.array.shape))
    column = y if right > 1 else shaping.reshape(y, shape=(*y.array.shape, 1))
    product = matrix.matmul(row, column)
    shape = product.array.shape
    if right == 1:
        shape = shape[:-1]
    if left == 1:
        shape = shape[:-1] if right == 1 else (*shape[:-2], shape[-1])
    return shaping.reshape(product, shape=shape)


def _check_sizes(x: Tensor, y: Tensor, axis: int, function: str) -> None:
    """Refuses factors whose sum of products has not as many elements of one as of the other."""
    if x.array.shape[-1] != y.array.shape[axis]:
        raise ValueError(
            f"{function}: the last axis of the first factor has {x.array.shape[-1]} elements, but "
            f"axis {axis} of the second has "
            f"{y.array.shape[axis]}: the shapes are {x.shape} and {y.shape}."
        )


def _vecdot(x: Tensor, y: Tensor, function: str = "vecdot") -> Any:
    _refuse_less(x, 1, y, 1, function)
    _check_sizes(x, y, y.array.ndim - 1, function)
    product = matrix.matmul(conjugated(x)[..., None, :], y[..., :, None])
    return shaping.reshape(product, shape=product.array.shape[:-2])


def _matvec(x: Tensor, y: Tensor) -> Any:
    _refuse_less(x, 2, y, 1, "matvec")
    _check_sizes(x, y, y.array.ndim - 1, "matvec")
    product = matrix.matmul(x, y[..., :, None])
    return shaping.reshape(product, shape=product.array.shape[:-1])


def _vecmat(x: Tensor, y: Tensor) -> Any:
    _refuse_less(x, 1, y, 2, "vecmat")
    _check_sizes(x, y, y.array.ndim - 2, "vecmat")
    product = matrix.matmul(conjugated(x)[..., None, :], y)
    return shaping.reshape(product, shape=(*product.array.shape[:-2], product.array.shape[-1]))


def _refuse_less(x: Tensor, x_rank: int, y: Tensor, y_rank: int, function: str) -> None:
    """Refuses factors with less axes than they need."""
    if x.array.ndim < x_rank or y.array.ndim < y_rank:
        raise ValueError(
            f"{function}: the factors must have at least {x_rank} and {y_rank} axes, got shapes "
            f"{x.shape} and {y.shape}."
        )


def conjugated(x: Tensor) -> Any:
    return broadcasting.conj(x) if x.array.dtype.kind == "c" else x


# Dot products of all kinds


@published("numpy.dot")
def dot(a: TensorLike, b: TensorLike, out: Any = None) -> Tensor:
    """The sum of products over the last axis of `a` and the last but one of `b`,
    which a vector has as its only one.

    >>> import gradtape as tf
    >>> tf.numpy.dot([1.0, 2.0], [3.0, 4.0]).numpy()
    np.float32(11.0)
    """
    x, y = tensors_of([a, b], "dot", ["a", "b"])
    return into(out, with_truth_values(_dot, x, y), "dot")


def _dot(x: Tensor, y: Tensor) -> Any:
    if not x.array.ndim or not y.array.ndim:
        return arithmetic.multiply(x, y)
    if y.array.ndim <= 2:
        return _matmul(x, y, "dot")
    _check_sizes(x, y, y.array.ndim - 2, "dot")
    return products.tensordot(x, y, ((-1,), (-2,)))


@published("numpy.vdot")
def vdot(a: TensorLike, b: TensorLike, /) -> Tensor:
    """The sum of the products of all elements; complex numbers of `a` are conjugated.

    >>> import gradtape as tf
    >>> tf.numpy.vdot([[1.0, 2.0]], [[3.0], [4.0]]).numpy()
    np.float32(11.0)
    """
    x, y = tensors_of([a, b], "vdot", ["a", "b"])
    return with_truth_values(lambda v, w: _vecdot(v, w, "vdot"), _in_a_row(x), _in_a_row(y))


@published("numpy.inner")
def inner(a: TensorLike, b: TensorLike, /) -> Tensor:
    """The sums of products over the last axes of both.

    >>> import gradtape as tf
    >>> tf.numpy.inner([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).numpy()
    array([21., 43.], dtype=float32)
    """
    x, y = tensors_of([a, b], "inner", ["a", "b"])
    if not x.array.ndim or not y.array.ndim:
        return with_truth_values(arithmetic.multiply, x, y)
    _check_sizes(x, y, y.array.ndim - 1, "inner")
    return with_truth_values(lambda v, w: products.tensordot(v, w, ((-1,), (-1,))), x, y)


@published("numpy.outer")
def outer(a: TensorLike, b: TensorLike, out: Any = None) -> Tensor:
    """The product of each element of `a` with each of `b`.

    >>> import gradtape as tf
    >>> tf.numpy.outer([1.0, 2.0], [3.0, 4.0]).numpy()
    array([[3., 4.],
           [6., 8.]], dtype=float32)
    """
    x, y = tensors_of([a, b], "outer", ["a", "b"])
    return into(
        out,
        with_truth_values(arithmetic.multiply, _in_a_row(x)[:, None], _in_a_row(y)[None, :]),
        "outer",
    )


def _in_a_row(x: Tensor) -> Tensor:
    return x if x.array.ndim == 1 else shaping.reshape(x, shape=(x.array.size,))


@published("numpy.tensordot", "array_api.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2) -> Tensor:
    """The sum of products over axes of `a` and `b`: the last of `a` and the first of `b`, as many
    as `axes` says, or two lists.

    >>> import gradtape as tf
    >>> tf.numpy.tensordot([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0], axes=1).numpy()
    array([21., 43.], dtype=float32)
    """
    x, y = tensors_of([a, b], "tensordot", ["a", "b"])
    return with_truth_values(lambda v, w: products.tensordot(v, w, axes), x, y)


@published("numpy.kron")
def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """The Kronecker product: each element of `a` times all of `b`, in blocks.

    >>> import gradtape as tf
    >>> tf.numpy.kron([1.0, 10.0], [1.0, 2.0]).numpy()
    array([ 1.,  2., 10., 20.], dtype=float32)
    """
    x, y = tensors_of([a, b], "kron", ["a", "b"])
    rank = max(x.array.ndim, y.array.ndim)
    outer_sizes, inner_sizes = ((*(1,) * (rank - v.array.ndim), *v.array.shape) for v in (x, y))
    blocks = shaping.reshape(x, shape=tuple(n for size in outer_sizes for n in (size, 1)))
    inside = shaping.reshape(y, shape=tuple(n for size in inner_sizes for n in (1, size)))
    product = with_truth_values(arithmetic.multiply, blocks, inside)
    return shaping.reshape(
        product, shape=tuple(n * m for n, m in zip(outer_sizes, inner_sizes, strict=True))
    )


@published("numpy.cross")
def cross(
    a: TensorLike,
    b: TensorLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """The cross products of vectors along an axis of each;
    a vector of two elements has 0 as its third.

    Of two vectors of two elements only the third component of the product is given.

    >>> import gradtape as tf
    >>> tf.numpy.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promoted(tensors_of([a, b], "cross", ["a", "b"]))
    _refuse_less(x, 1, y, 1, "cross")
    x, y = _axes_last(x, (axisa,), "cross"), _axes_last(y, (axisb,), "cross")
    sizes = x.array.shape[-1], y.array.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise ValueError(
            f"cross: the vectors must have two or three elements, got {sizes[0]} and {sizes[1]}."
        )
    if sizes == (2, 2):
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    (x1, x2), (y1, y2) = ([_rolled(v, step) for step in (1, 2)] for v in map(_with_third, (x, y)))
    found = x1 * y2 - x2 * y1
    rank = found.array.ndim
    place = axis_of(axisc, rank, "cross", "axisc")
    others = iter(range(rank - 1))
    return shaping.transpose(
        found, perm=tuple(rank - 1 if i == place else next(others) for i in range(rank))
    )


def _with_third(x: Tensor) -> Any:
    return (
        x
        if x.array.shape[-1] == 3
        else shaping.pad(x, paddings=(*((0, 0),) * (x.array.ndim - 1), (0, 1)))
    )


def _rolled(x: Any, steps: int) -> Any:
    return shaping.roll(x, shift=(-steps,), axis=(x.array.ndim - 1,))


@published("numpy.trace")
def trace(
    a: TensorLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike = None,
    out: Any = None,
) -> Tensor:
    """The sum along a diagonal of two axes, `offset` columns to the right of the main one.

    >>> import gradtape as tf
    >>> tf.numpy.trace([[1.0, 2.0], [3.0, 4.0]]).numpy()
    np.float32(5.0)
    """
    x = tensor_of(a, "trace", "a")
    if x.array.ndim < 2:
        raise ValueError(f"trace: a must have at least two axes, got shape {x.shape}.")
    found = matrix.diagonal(
        _axes_last(x, (axis1, axis2), "trace"), offset=as_int(offset, "trace: offset")
    )
    found = converted(found, dtype_of(dtype, sum_dtype(x.array.dtype)))
    return into(out, reductions.reduce_sum(found, axis=(found.array.ndim - 1,)), "trace")
