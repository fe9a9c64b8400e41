"""Functions of matrices, cross products, and the argument checks of `tf.linalg`."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.accepted import (
    COMPLEX,
    INEXACT,
    REAL,
    Kind,
    Refusal,
    of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.errors import FailedPreconditionError, invalid_argument
from gradtape.ops import broadcasting, matrix_functions, shaping
from gradtape.published import published


def matrices(
    x: Any, function: str, argument: str, kind: Kind = INEXACT, refusal: Refusal = invalid_argument
) -> Tensor:
    """A matrix or a batch of them, of floating-point or complex numbers."""
    return checked_matrices(of_kind(x, kind, function, argument, refusal), function, argument)


def checked_matrices(x: Tensor, function: str, argument: str) -> Tensor:
    """A Tensor, refused if it has fewer than two axes."""
    if x.array.ndim < 2:
        raise invalid_argument(
            f"{function}: {argument} must have at least two axes, got shape {x.shape}."
        )
    return x


def square(x: Any, function: str, argument: str, kind: Kind = INEXACT) -> Tensor:
    """The same for square matrices."""
    return checked_square(matrices(x, function, argument, kind), function, argument)


def checked_square(x: Tensor, function: str, argument: str) -> Tensor:
    """A Tensor, refused if its last two axes differ."""
    rows, columns = checked_matrices(x, function, argument).array.shape[-2:]
    if rows != columns:
        raise invalid_argument(
            f"{function}: {argument} must be square matrices, got shape {x.shape}."
        )
    return x


def in_dtype(value: Tensor, like: Tensor) -> Tensor:
    """A real value in the dtype of a Tensor that may be complex."""
    dtype = like.array.dtype
    return value if value.array.dtype == dtype else broadcasting.cast(value, dtype=dtype)


@published("linalg.expm", "scipy.linalg.expm")
def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponential of a square matrix: the sum of its powers, each divided by a factorial.

    >>> import gradtape as tf
    >>> tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
    array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    x = of_kind(input, INEXACT, "expm", "input", refusal=ValueError)
    return matrix_functions.expm(checked_square(x, "expm", "input"))


@published("linalg.logm")
def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal logarithm of a square complex matrix, the inverse of `expm`.

    >>> import gradtape as tf
    >>> tf.linalg.logm([[1 + 0j, 2], [0, 1]]).numpy().real
    array([[0., 2.],
           [0., 0.]])
    """
    return matrix_functions.logm(square(input, "logm", "input", COMPLEX))


@published("matrix_square_root", "linalg.sqrtm", "scipy.linalg.sqrtm")
def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal square root of a square matrix; NaN for a real matrix that has no real one.

    >>> import gradtape as tf
    >>> tf.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy()
    array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    return matrix_functions.sqrtm(square(input, "sqrtm", "input"))


@published("linalg.cross")
def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The cross product of vectors of three elements, which lie along the last axis.

    >>> import gradtape as tf
    >>> tf.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    x, y = tensors_of_kind(a, b, REAL, "cross", ("a", "b"))
    shape = x.array.shape
    if shape != y.array.shape or not shape:
        raise invalid_argument(
            f"cross: a and b must have the same shape, with at least one axis, got {x.shape} and "
            f"{y.shape}."
        )
    if shape[-1] != 3:
        raise FailedPreconditionError(
            None,
            None,
            f"cross: the last axis of a and b must have three elements, got {shape[-1]}.",
        )
    last = (len(shape) - 1,)
    x1, x2, y1, y2 = (shaping.roll(v, shift=(-step,), axis=last) for v in (x, y) for step in (1, 2))
    return x1 * y2 - x2 * y1
