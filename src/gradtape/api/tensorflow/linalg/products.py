"""Matrix products, Einstein sums, norms and traces: `tf.linalg`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from numbers import Real
from string import ascii_letters
from typing import Any

from gradtape.api.tensorflow.accepted import INEXACT, of_kind
from gradtape.api.tensorflow.arguments import (
    AxisLike,
    DTypeLike,
    TensorLike,
    as_int,
    axes,
    integers,
    numpy_dtype,
    one_axis,
)
from gradtape.convert import TENSORFLOW
from gradtape.core.composite import own_function
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.errors import invalid_argument
from gradtape.ops import (
    arithmetic,
    broadcasting,
    decompositions,
    elementary,
    matrix,
    reductions,
    shaping,
)
from gradtape.ops.operators import true_divide
from gradtape.published import published

Shape = tuple[int, ...]


@published("matmul", "linalg.matmul")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product, over batches if there are more than two axes; an argument may be
    transposed or adjoint first. Of two LinearOperators, it is one.

    >>> import gradtape as tf
    >>> tf.matmul([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True).numpy()
    array([[11.]], dtype=float32)
    """
    plain = type(a) is Tensor and not (
        transpose_a or transpose_b or adjoint_a or adjoint_b or output_type
    )
    if plain and (type(b) is Tensor or type(b) is Variable):
        return matrix.matmul(a, b)
    own = own_function(matmul, a, b)
    if own is not None:
        return own(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b)
    if plain:
        return matrix.matmul(a, b)
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("matmul: an argument can be transposed or adjoint, not both.")
    x, y = _factors(a, b, "matmul")
    if output_type is not None:
        wanted = numpy_dtype(output_type)
        x, y = (broadcasting.cast(x, dtype=wanted), broadcasting.cast(y, dtype=wanted))
    if transpose_a or adjoint_a:
        x = _flipped(x, adjoint_a, "matmul: a")
    if transpose_b or adjoint_b:
        y = _flipped(y, adjoint_b, "matmul: b")
    return matrix.matmul(x, y)


def _factors(a: Any, b: Any, function: str) -> tuple[Any, Any]:
    """Two factors of a product; the commonest ones go to the op as they are."""
    if type(a) is Tensor and (type(b) is Variable or type(b) is Tensor):
        return a, b
    x, y = TENSORFLOW.tensors([a, b], [f"{function}: a", f"{function}: b"])
    return x, y


def _flipped(x: Any, conjugate: bool, argument: str) -> Tensor:
    if x.array.ndim < 2:
        raise invalid_argument(f"{argument} must have at least two axes, got shape {x.shape}.")
    flipped = shaping.matrix_transpose(x)
    return broadcasting.conj(flipped) if conjugate and x.array.dtype.kind == "c" else flipped


@published("linalg.matvec")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of a matrix and a vector, or of batches of them.

    >>> import gradtape as tf
    >>> tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    own = own_function(matvec, a, b)
    if own is not None:
        return own(a, b, transpose_a, adjoint_a)
    x, y = _factors(a, b, "matvec")
    column = shaping.reshape(y, shape=(*y.array.shape, 1))
    product = matmul(x, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
    return shaping.reshape(product, shape=product.array.shape[:-1])


@published("linalg.matrix_transpose")
def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """The last two axes of `a` swapped; complex values may be conjugated as well.

    >>> import gradtape as tf
    >>> tf.linalg.matrix_transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x = TENSORFLOW.tensor(a, "matrix_transpose: a")
    if x.array.ndim < 2:
        raise ValueError(f"matrix_transpose: a must have at least two axes, got shape {x.shape}.")
    return _flipped(x, conjugate, "matrix_transpose: a")


@published("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The last two axes of `matrix` swapped, and complex values conjugated.

    >>> import gradtape as tf
    >>> tf.linalg.adjoint([[1 + 2j, 3]]).numpy()
    array([[1.-2.j],
           [3.-0.j]])
    """
    own = own_function(adjoint, matrix)
    return matrix_transpose(matrix, conjugate=True) if own is None else own(matrix)


@published("tensordot", "linalg.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over axes of `a` and `b`: the last of `a` and the first of `b`, as many
    as `axes` says, or two lists.

    >>> import gradtape as tf
    >>> tf.tensordot([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0], axes=1).numpy()
    array([21., 43.], dtype=float32)
    """
    x, y = _factors(a, b, "tensordot")
    x_axes, y_axes = _contracted(axes, x.array.ndim, y.array.ndim)
    sizes, other = [x.array.shape[i] for i in x_axes], [y.array.shape[i] for i in y_axes]
    if sizes != other:
        raise invalid_argument(
            f"tensordot: axes {list(x_axes)} of a have sizes {sizes}, but axes {list(y_axes)} of b "
            f"{other}."
        )
    rows = [i for i in range(x.array.ndim) if i not in x_axes]
    columns = [i for i in range(y.array.ndim) if i not in y_axes]
    product = matrix.matmul(_as_matrix(x, rows, x_axes), _as_matrix(y, y_axes, columns))
    return shaping.reshape(
        product, shape=tuple([x.array.shape[i] for i in rows] + [y.array.shape[i] for i in columns])
    )


def _contracted(given: Any, x_rank: int, y_rank: int) -> tuple[Sequence[int], Sequence[int]]:
    """The axes that `tensordot` sums over, of each factor."""
    plain = given.array.tolist() if isinstance(given, (Tensor, Variable)) else given
    if not hasattr(plain, "__len__"):
        number = as_int(plain, "tensordot: axes")
        if not 0 <= number <= min(x_rank, y_rank):
            raise ValueError(
                f"tensordot: axes={number} must be from 0 to {min(x_rank, y_rank)} for tensors of "
                f"rank {x_rank} and {y_rank}."
            )
        return range(x_rank - number, x_rank), range(number)
    if len(plain) != 2:
        raise ValueError(f"tensordot: axes must be an integer or two lists of axes, got {plain!r}.")
    x_axes, y_axes = (
        [one_axis(i, rank, "tensordot: axes") for i in integers(part, "tensordot: axes")]
        for part, rank in zip(plain, (x_rank, y_rank), strict=True)
    )
    if not len(x_axes) == len(y_axes) == len(set(x_axes)) == len(set(y_axes)):
        raise ValueError(
            f"tensordot: axes={plain!r} must name the same number of axes of a and b, each once."
        )
    return x_axes, y_axes


def _as_matrix(x: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    shape, order = x.array.shape, (*rows, *columns)
    if order != tuple(range(len(shape))):
        x = shaping.transpose(x, perm=order)
    return shaping.reshape(
        x, shape=(math.prod(shape[i] for i in rows), math.prod(shape[i] for i in columns))
    )


@published("norm", "linalg.norm")
def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The norm of vectors along `axis`, of matrices in two axes, or of all elements as one vector.

    `ord` is 'euclidean', 1, 2, inf or any positive number for vectors; 'euclidean', 'fro', 1, 2 or
    inf for matrices.

    >>> import gradtape as tf
    >>> tf.norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
    array([ 5., 10.], dtype=float32)
    """
    x = TENSORFLOW.tensor(tensor, "norm: tensor")
    is_matrix = isinstance(axis, (list, tuple))
    if is_matrix and len(set(integers(axis, "norm: axis"))) != 2:
        raise ValueError(
            f"norm: axis must be None, an integer, or a pair of two axes, got {axis!r}."
        )
    _check_order(ord, is_matrix)
    places, keep = axes(axis, x.array.ndim, "norm: axis"), bool(keepdims)
    if ord in ("euclidean", "fro") or (ord == 2 and not is_matrix):
        x = of_kind(x, INEXACT, "norm", "tensor")
        squares = x * broadcasting.conj(x) if x.array.dtype.kind == "c" else arithmetic.square(x)
        return elementary.sqrt(reductions.reduce_sum(squares, axis=places, keepdims=keep))
    if is_matrix:
        assert places is not None
        found = (
            _spectral_norm(x, places)
            if ord == 2
            else _greatest_sum(x, places if ord == 1 else places[::-1])
        )
        return (
            found
            if keep
            else shaping.reshape(
                found, shape=tuple(n for i, n in enumerate(x.array.shape) if i not in places)
            )
        )
    sizes = arithmetic.absolute(x)
    if ord == math.inf:
        return reductions.reduce_max(sizes, axis=places, keepdims=keep)
    if ord == 1:
        return reductions.reduce_sum(sizes, axis=places, keepdims=keep)
    return reductions.reduce_sum(sizes**ord, axis=places, keepdims=keep) ** (1 / ord)


def _greatest_sum(x: Tensor, places: Sequence[int]) -> Tensor:
    """The greatest sum of absolute values along the first axis, over the second."""
    sums = reductions.reduce_sum(arithmetic.absolute(x), axis=(places[0],), keepdims=True)
    return reductions.reduce_max(sums, axis=(places[1],), keepdims=True)


def _spectral_norm(x: Tensor, places: Sequence[int]) -> Tensor:
    """The greatest singular value of the matrices in two axes."""
    x = of_kind(x, INEXACT, "norm", "tensor")
    others = tuple(i for i in range(x.array.ndim) if i not in places)
    values = decompositions.singular_values(shaping.transpose(x, perm=(*others, *places)))
    greatest = reductions.reduce_max(values, axis=(len(others),))
    return shaping.reshape(
        greatest, shape=tuple(1 if i in places else n for i, n in enumerate(x.array.shape))
    )


def _check_order(ord: Any, is_matrix: bool) -> None:
    if is_matrix:
        if not isinstance(ord, (str, Real)) or ord not in ("euclidean", "fro", 1, 2, math.inf):
            raise ValueError(
                f"norm: ord for a matrix must be 'euclidean', 'fro', 1, 2 or inf, got {ord!r}."
            )
    elif not (isinstance(ord, str) and ord == "euclidean") and not (
        isinstance(ord, Real) and float(ord) > 0
    ):
        raise ValueError(
            f"norm: ord for a vector must be 'euclidean' or a positive number, got {ord!r}."
        )


@published("linalg.normalize")
def normalize(
    tensor: TensorLike, ord: Any = "euclidean", axis: AxisLike = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`tensor` divided by its norm, and the norm, which keeps its axes.

    >>> import gradtape as tf
    >>> unit, length = tf.linalg.normalize([3.0, 4.0])
    >>> unit.numpy(), length.numpy()
    (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    x = TENSORFLOW.tensor(tensor, "normalize: tensor")
    length = norm(x, ord, axis, keepdims=True)
    return true_divide(x, length), length


@published("linalg.trace")
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the diagonal of a matrix, or of each matrix of a batch.

    >>> import gradtape as tf
    >>> tf.linalg.trace([[1, 2], [3, 4]]).numpy()
    np.int32(5)
    """
    own = own_function(trace, x)
    if own is not None:
        return own(x)
    found = matrix.diagonal(_batch_of_matrices(x, "trace: x"))
    return reductions.reduce_sum(found, axis=(found.array.ndim - 1,))


def _batch_of_matrices(x: Any, argument: str) -> Tensor:
    """A matrix or a batch of them, as a Tensor."""
    found = TENSORFLOW.tensor(x, argument)
    if found.array.ndim < 2:
        raise invalid_argument(f"{argument} must have at least two axes, got shape {found.shape}.")
    return found


_TERM = r"[A-Za-z]*(?:\.\.\.[A-Za-z]*)?"
_EQUATION = re.compile(rf"({_TERM}(?:,{_TERM})*)(?:->({_TERM}))?")


@published("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: TensorLike, **kwargs: Any) -> Tensor:
    """The sum of products that `equation` describes: a letter for each axis,
    and the letters that remain after "->".

    >>> import gradtape as tf
    >>> tf.einsum("ij,jk->ik", tf.constant([[1.0, 2.0]]), tf.constant([[3.0], [4.0]])).numpy()
    array([[11.]], dtype=float32)
    """
    unexpected = set(kwargs) - {"name", "optimize", "greedy"}
    if unexpected:
        raise TypeError(
            f"einsum: unexpected keyword arguments {sorted(unexpected)}; it takes optimize, greedy "
            "and name."
        )
    if not isinstance(equation, str):
        raise TypeError(f"einsum: equation must be a string such as 'ij,jk->ik', got {equation!r}.")
    tensors = TENSORFLOW.tensors(inputs, "einsum: inputs")
    terms, output, sizes = _plan(equation, tuple([x.array.shape for x in tensors]))
    pairs = [
        _distinct(*_without_stretched(x, term, sizes))
        for x, term in zip(tensors, terms, strict=True)
    ]
    return matrix.einsum(
        *[x for x, _ in pairs], inputs=tuple(term for _, term in pairs), output=output
    )


@lru_cache(maxsize=1024)
def _plan(equation: str, shapes: tuple[Shape, ...]) -> tuple[list[str], str, dict[str, int]]:
    """The letters of the inputs and of the output, and their sizes."""
    terms, output, stretched = _subscripts(equation, shapes)
    return terms, output, _sizes(equation, terms, shapes, stretched)


def _subscripts(equation: str, shapes: Sequence[Shape]) -> tuple[list[str], str, str]:
    """The letters of each input and of the output, with letters in place of "...";
    and which letters these are.
    """
    found = _EQUATION.fullmatch(equation.replace(" ", ""))
    if found is None:
        raise ValueError(
            f"einsum: {equation!r} is not an equation; write one such as 'ij,jk->ik' or "
            "'...ij->...ji'."
        )
    terms = found[1].split(",")
    if len(terms) != len(shapes):
        raise ValueError(
            f"einsum: {equation!r} describes {len(terms)} inputs, but {len(shapes)} were given."
        )
    letters = re.sub("[^A-Za-z]", "", found[1])
    output = found[2]
    if output is None:
        output = ("..." if "..." in found[1] else "") + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1)
        )
    named = output.replace("...", "")
    if len(set(named)) < len(named) or not set(named) <= set(letters):
        raise ValueError(
            f"einsum: each letter after '->' in {equation!r} must occur there once, and be a "
            "letter of an input."
        )
    widths = [
        len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)
    ]
    for term, shape, width in zip(terms, shapes, widths, strict=True):
        if width < 0 or (width and "..." not in term):
            raise invalid_argument(
                f"einsum: {term!r} in {equation!r} does not describe an input of shape {shape}."
            )
    longest = max(widths)
    stretched = "".join(c for c in ascii_letters if c not in letters)[:longest]
    if longest and "..." not in output:
        raise invalid_argument(
            f"einsum: '...' in {equation!r} stands for axes that must remain: write it "
            "after '->' too."
        )
    expanded = [
        term.replace("...", stretched[longest - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    return expanded, output.replace("...", stretched), stretched


def _sizes(
    equation: str, terms: Sequence[str], shapes: Sequence[Shape], stretched: str
) -> dict[str, int]:
    """The size of each letter; where "..." stood, an axis of size 1 goes with any other."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1 and letter in stretched:
                sizes[letter] = size
            elif size != known and not (size == 1 and letter in stretched):
                shown = ", ".join(map(str, shapes))
                raise invalid_argument(
                    f"einsum: an axis of {equation!r} has sizes {known} and {size} in inputs of "
                    f"shapes {shown}."
                )
    return sizes


def _without_stretched(x: Tensor, term: str, sizes: dict[str, int]) -> tuple[Tensor, str]:
    """An input without the axes of size 1 that broadcasting stretches."""
    shape = x.array.shape
    kept = [i for i, letter in enumerate(term) if shape[i] == sizes[letter]]
    if len(kept) == len(term):
        return x, term
    return shaping.reshape(x, shape=tuple(shape[i] for i in kept)), "".join(term[i] for i in kept)


def _distinct(x: Tensor, term: str) -> tuple[Tensor, str]:
    """An input in which no letter is repeated: the diagonal of two axes with the same letter."""
    for letter in term:
        while term.count(letter) > 1:
            pair = (term.index(letter), term.rindex(letter))
            others = [i for i in range(len(term)) if i not in pair]
            x = matrix.diagonal(shaping.transpose(x, perm=(*others, *pair)))
            term = "".join(term[i] for i in others) + letter
    return x, term
