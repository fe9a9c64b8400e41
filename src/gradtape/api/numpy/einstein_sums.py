"""Einstein sums: `numpy.einsum` and `einsum_path`."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import (
    converted,
    dtype_of,
    into,
    tensors_of,
)
from gradtape.api.tensorflow.arguments import DTypeLike
from gradtape.api.tensorflow.linalg import products
from gradtape.convert import common_dtype, is_tensor_like, operand
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.published import published


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
