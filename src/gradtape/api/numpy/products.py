"""Products of vectors, matrices and tensors, Einstein sums and convolution: `numpy.dot`, `matmul`,
`einsum` and related functions.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

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
from gradtape.convert import common_dtype, is_tensor_like, operand
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, broadcasting, matrix, reductions, shaping, vector_convolution
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
        return _with_truth_values(product, x, y)
    places = [
        tuple(entry) if isinstance(entry, (tuple, list)) else (entry,)
        for entry in as_list(axes, f"{function}: axes")
    ]
    if len(places) not in (2, 3):
        raise ValueError(
            f"{function}: axes must name the axes of both factors and of the result, got {axes!r}."
        )
    found = _with_truth_values(
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


def _with_truth_values(product: Callable[[Tensor, Tensor], Any], x: Tensor, y: Tensor) -> Any:
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
    product = matrix.matmul(_conjugated(x)[..., None, :], y[..., :, None])
    return shaping.reshape(product, shape=product.array.shape[:-2])


def _matvec(x: Tensor, y: Tensor) -> Any:
    _refuse_less(x, 2, y, 1, "matvec")
    _check_sizes(x, y, y.array.ndim - 1, "matvec")
    product = matrix.matmul(x, y[..., :, None])
    return shaping.reshape(product, shape=product.array.shape[:-1])


def _vecmat(x: Tensor, y: Tensor) -> Any:
    _refuse_less(x, 1, y, 2, "vecmat")
    _check_sizes(x, y, y.array.ndim - 2, "vecmat")
    product = matrix.matmul(_conjugated(x)[..., None, :], y)
    return shaping.reshape(product, shape=(*product.array.shape[:-2], product.array.shape[-1]))


def _refuse_less(x: Tensor, x_rank: int, y: Tensor, y_rank: int, function: str) -> None:
    """Refuses factors with less axes than they need."""
    if x.array.ndim < x_rank or y.array.ndim < y_rank:
        raise ValueError(
            f"{function}: the factors must have at least {x_rank} and {y_rank} axes, got shapes "
            f"{x.shape} and {y.shape}."
        )


def _conjugated(x: Tensor) -> Any:
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
    return into(out, _with_truth_values(_dot, x, y), "dot")


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
    return _with_truth_values(lambda v, w: _vecdot(v, w, "vdot"), _in_a_row(x), _in_a_row(y))


@published("numpy.inner")
def inner(a: TensorLike, b: TensorLike, /) -> Tensor:
    """The sums of products over the last axes of both.

    >>> import gradtape as tf
    >>> tf.numpy.inner([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).numpy()
    array([21., 43.], dtype=float32)
    """
    x, y = tensors_of([a, b], "inner", ["a", "b"])
    if not x.array.ndim or not y.array.ndim:
        return _with_truth_values(arithmetic.multiply, x, y)
    _check_sizes(x, y, y.array.ndim - 1, "inner")
    return _with_truth_values(lambda v, w: products.tensordot(v, w, ((-1,), (-1,))), x, y)


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
        _with_truth_values(arithmetic.multiply, _in_a_row(x)[:, None], _in_a_row(y)[None, :]),
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
    return _with_truth_values(lambda v, w: products.tensordot(v, w, axes), x, y)


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
    product = _with_truth_values(arithmetic.multiply, blocks, inside)
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


# Einstein sums


@published("numpy.einsum")
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: DTypeLike = None,
    order: str = "K",
    casting: str = "safe",
) -> Tensor:
    """The sum of products that an equation describes: a letter for each axis,
    and the letters that remain after "->".

    Instead of an equation, lists of integers may stand behind the operands, and one for the result
    at the end.

    >>> import gradtape as tf
    >>> tf.numpy.einsum("ij,jk", [[1.0, 2.0]], [[3.0], [4.0]]).numpy()
    array([[11.]], dtype=float32)
    """
    equation, arrays = _equation(operands, "einsum")
    tensors = tensors_of(arrays, "einsum", "operands")
    if dtype is not None:
        tensors = [
            converted(x, dtype_of(dtype, common_dtype([x.array.dtype for x in tensors])))
            for x in tensors
        ]
    terms, output = _terms(equation, len(tensors))
    sizes = _sizes(terms, tensors)
    pairs = [_without_repeated(x, term, sizes) for x, term in zip(tensors, terms, strict=True)]
    found = products.einsum(
        f"{','.join(term for _, term in pairs)}->{output}", *[x for x, _ in pairs]
    )
    return into(out, found, "einsum")


@published("numpy.einsum_path")
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: Any = False) -> Any:
    """In which order `einsum` would best multiply its operands, and a text that explains it;
    see `numpy.einsum_path`.

    >>> import gradtape as tf
    >>> x = tf.ones([4, 4])
    >>> tf.numpy.einsum_path("ij,jk,kl->il", x, x, x)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    equation, arrays = _equation(operands, "einsum_path")
    shapes = [operand(x).array.shape if is_tensor_like(x) else np.shape(x) for x in arrays]
    stand_ins = [np.broadcast_to(np.float64(0), shape) for shape in shapes]
    try:
        return np.einsum_path(equation, *stand_ins, optimize=optimize, einsum_call=einsum_call)
    except (KeyError, TypeError) as error:
        raise TypeError(
            "einsum_path: optimize must be a boolean, 'greedy', 'optimal' or a path, got "
            f"{optimize!r}."
        ) from error


def _equation(operands: Sequence[Any], function: str) -> tuple[str, Sequence[Any]]:
    """The equation and the operands, from either of the two forms in which they can be given."""
    if not operands:
        raise ValueError(f"{function}: give an equation such as 'ij,jk->ik' and its operands.")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), operands[1:]
    terms = [_letters(term, function) for term in operands[1::2]]
    arrays = operands[: 2 * len(terms) : 2]
    equation = ",".join(terms)
    return (
        equation if len(operands) % 2 == 0 else f"{equation}->{_letters(operands[-1], function)}"
    ), arrays


def _letters(term: Any, function: str) -> str:
    try:
        return "".join(
            "..." if entry is Ellipsis else ascii_letters[entry.__index__()] for entry in term
        )
    except (TypeError, AttributeError, IndexError) as error:
        raise TypeError(
            f"{function}: a list of axes must contain integers below 52 and at most one '...', "
            f"got {term!r}."
        ) from error


def _terms(equation: str, count: int) -> tuple[list[str], str]:
    """The letters of each operand and of the result: without "->", those that stand there once,
    in alphabetical order.
    """
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if len(terms) != count:
        raise ValueError(
            f"einsum: {equation!r} describes {len(terms)} operands, but {count} were given."
        )
    if not arrow:
        letters = re.sub("[^A-Za-z]", "", inputs)
        output = ("..." if "..." in inputs else "") + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1)
        )
    return terms, output


def _axes_of_letters(x: Tensor, term: str) -> list[tuple[str, int]]:
    """Each letter of a term with its axis."""
    before, dots, after = term.partition("...")
    first = [(letter, i) for i, letter in enumerate(before)]
    return (
        first + [(letter, x.array.ndim - len(after) + i) for i, letter in enumerate(after)]
        if dots
        else first
    )


def _sizes(terms: Sequence[str], tensors: Sequence[Tensor]) -> dict[str, int]:
    """The size of each letter, where an axis of size 1 goes with any other."""
    sizes: dict[str, int] = {}
    for x, term in zip(tensors, terms, strict=True):
        for letter, axis in _axes_of_letters(x, term):
            if 0 <= axis < x.array.ndim:
                sizes[letter] = max(sizes.get(letter, 0), x.array.shape[axis])
    return sizes


def _without_repeated(x: Tensor, term: str, sizes: dict[str, int]) -> tuple[Tensor, str]:
    """An operand without the axes of size 1 that are repeated for a longer one of the same
    letter.
    """
    shape = x.array.shape
    repeated = [
        (letter, axis)
        for letter, axis in _axes_of_letters(x, term)
        if shape[axis : axis + 1] == (1,) and sizes[letter] > 1
    ]
    if not repeated:
        return x, term
    gone = {axis for _, axis in repeated}
    kept = shaping.reshape(x, shape=tuple(size for i, size in enumerate(shape) if i not in gone))
    return kept, "".join(c for c in term if c not in {letter for letter, _ in repeated})


# Convolution


@published("numpy.convolve")
def convolve(a: TensorLike, v: TensorLike, mode: str = "full") -> Tensor:
    """The convolution of two vectors: all of it, as much as the longer one has ('same'), or where
    they overlap in full ('valid').

    >>> import gradtape as tf
    >>> tf.numpy.convolve([1.0, 2.0, 3.0], [1.0, 10.0]).numpy()
    array([ 1., 12., 23., 30.], dtype=float32)
    """
    x, y = _two_vectors(a, v, "convolve")
    return _with_truth_values(
        lambda p, q: _convolved(p, q, mode, "convolve", (_shorter(p, q) - 1) // 2), x, y
    )


@published("numpy.correlate")
def correlate(a: TensorLike, v: TensorLike, mode: str = "valid") -> Tensor:
    """The sums of products of one vector with the other, conjugated, moved along it;
    see `convolve` for `mode`.

    >>> import gradtape as tf
    >>> tf.numpy.correlate([1.0, 2.0, 3.0], [1.0, 10.0]).numpy()
    array([21., 32.], dtype=float32)
    """
    x, y = _two_vectors(a, v, "correlate")
    short = _shorter(x, y)
    start = short // 2 if x.array.size < y.array.size else (short - 1) // 2
    moved = shaping.reverse(_conjugated(y), axis=(0,))
    return _with_truth_values(lambda p, q: _convolved(p, q, mode, "correlate", start), x, moved)


def _two_vectors(a: Any, v: Any, function: str) -> list[Tensor]:
    found = [
        shaping.reshape(x, shape=(1,)) if not x.array.ndim else x
        for x in tensors_of([a, v], function, ["a", "v"])
    ]
    for x, name in zip(found, ("a", "v"), strict=True):
        if x.array.ndim != 1 or not x.array.size:
            raise ValueError(
                f"{function}: {name} must be a vector with at least one element, got shape "
                f"{x.shape}."
            )
    return promoted(found)


def _shorter(x: Tensor, y: Tensor) -> int:
    return min(x.array.size, y.array.size)


def _convolved(x: Tensor, y: Tensor, mode: str, function: str, start: int) -> Any:
    """A convolution; that of the longer one's length begins `start` elements after the whole."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{function}: mode must be 'full', 'same' or 'valid', got {mode!r}.")
    if x.array.size < y.array.size:
        x, y = y, x
    found = vector_convolution.convolve(x, y, full=mode != "valid")
    return found[start : start + x.array.size] if mode == "same" else found
