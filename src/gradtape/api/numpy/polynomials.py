"""Polynomials, given by their coefficients from the highest power down: `numpy.polyval`, `polyfit`,
`roots` and related functions.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.exceptions import RankWarning

from gradtape.api.numpy import linalg
from gradtape.api.numpy.checks import known
from gradtape.api.numpy.linalg_decompositions import real_eigenvalues
from gradtape.api.numpy.operands import converted, inexact, promoted, tensor_of, tensors_of
from gradtape.api.numpy.vector_convolution import convolve
from gradtape.api.tensorflow.arguments import TensorLike, as_int
from gradtape.core.tensor import Tensor
from gradtape.ops import broadcasting, decompositions, elementary, reductions, selection, shaping
from gradtape.published import published


@published("numpy.polyval")
def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """The value of a polynomial at `x`.

    >>> import gradtape as tf
    >>> tf.numpy.polyval([1.0, 0.0, 2.0], [1.0, 3.0]).numpy()
    array([ 3., 11.], dtype=float32)
    """
    coefficients, at = promoted(tensors_of([p, x], "polyval", ["p", "x"]))
    count = coefficients.array.shape[0] if coefficients.array.ndim == 1 else -1
    if count < 0:
        raise ValueError(f"polyval: p must be a vector, got shape {coefficients.shape}.")
    found: Any = selection.zeros_like(at)
    for i in range(count):
        found = found * at + coefficients[i] if i else found + coefficients[0]
    return found


@published("numpy.polyadd")
def polyadd(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The sum of two polynomials.

    >>> import gradtape as tf
    >>> tf.numpy.polyadd([1.0, 2.0, 3.0], [10.0, 20.0]).numpy()
    array([ 1., 12., 23.], dtype=float32)
    """
    x, y = _same_degree(a1, a2, "polyadd")
    return x + y


@published("numpy.polysub")
def polysub(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The difference of two polynomials.

    >>> import gradtape as tf
    >>> tf.numpy.polysub([1.0, 2.0, 3.0], [10.0, 20.0]).numpy()
    array([  1.,  -8., -17.], dtype=float32)
    """
    x, y = _same_degree(a1, a2, "polysub")
    return x - y


def _same_degree(a1: Any, a2: Any, function: str) -> list[Tensor]:
    given = [
        _vector(x, function, name)
        for x, name in zip(tensors_of([a1, a2], function, ["a1", "a2"]), ("a1", "a2"), strict=True)
    ]
    size = max(x.array.size for x in given)
    return [
        shaping.pad(x, paddings=((size - x.array.size, 0),)) if x.array.size < size else x
        for x in promoted(given)
    ]


@published("numpy.polymul")
def polymul(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The product of two polynomials.

    >>> import gradtape as tf
    >>> tf.numpy.polymul([1.0, 2.0], [1.0, 3.0]).numpy()
    array([1., 5., 6.], dtype=float32)
    """
    x, y = (
        _without_leading_zeros(_vector(v, "polymul"))
        for v in tensors_of([a1, a2], "polymul", ["a1", "a2"])
    )
    return convolve(x, y)


@published("numpy.polydiv")
def polydiv(u: TensorLike, v: TensorLike) -> tuple[Tensor, Tensor]:
    """The quotient of two polynomials, and the rest;
    zeros (to eight digits) at the beginning of the rest are left out.

    >>> import gradtape as tf
    >>> quotient, rest = tf.numpy.polydiv([1.0, 5.0, 8.0], [1.0, 2.0])
    >>> quotient.numpy(), rest.numpy()
    (array([1., 3.], dtype=float32), array([2.], dtype=float32))
    """
    rest, divisor = (
        inexact(_vector(x, "polydiv")) for x in promoted(tensors_of([u, v], "polydiv", ["u", "v"]))
    )
    width = divisor.array.size
    if not width:
        raise ValueError("polydiv: v must have at least one coefficient.")
    quotient = []
    while rest.array.size >= width:
        factor = rest[:1] / divisor[:1]
        quotient.append(factor)
        rest = shaping.concat(rest[1:width] - factor * divisor[1:], rest[width:], axis=0)
    if not quotient:
        quotient.append(Tensor(np.zeros(1, rest.array.dtype)))
    if not rest.array.size:
        rest = Tensor(np.zeros(1, rest.array.dtype))
    while rest.array.size > 1 and known(rest) and abs(rest.array[0]) <= 1e-8:
        rest = rest[1:]
    return shaping.concat(*quotient, axis=0), rest


@published("numpy.polyder")
def polyder(p: TensorLike, m: int = 1) -> Tensor:
    """The derivative of a polynomial, `m` times over.

    >>> import gradtape as tf
    >>> tf.numpy.polyder([1.0, 2.0, 3.0]).numpy()
    array([2., 2.], dtype=float32)
    """
    if as_int(m, "polyder: m") < 0:
        raise ValueError(f"polyder: m must not be negative, got {m}.")
    found = _vector(tensor_of(p, "polyder", "p"), "polyder", "p")
    for _ in range(m):
        degree = max(found.array.size - 1, 0)
        found = found[:degree] * np.arange(degree, 0, -1).astype(found.array.dtype)
    return found


@published("numpy.polyint")
def polyint(p: TensorLike, m: int = 1, k: Any = None) -> Tensor:
    """The integral of a polynomial, `m` times over, with the constants `k` (0 if there are none).

    >>> import gradtape as tf
    >>> tf.numpy.polyint([2.0, 2.0], k=5.0).numpy()
    array([1., 2., 5.], dtype=float32)
    """
    if as_int(m, "polyint: m") < 0:
        raise ValueError(f"polyint: m must not be negative, got {m}.")
    given, constants = tensors_of([p, 0.0 if k is None else k], "polyint", ["p", "k"])
    found = inexact(_vector(given, "polyint", "p"))
    constants = converted(_vector(constants, "polyint", "k"), found.array.dtype)
    if constants.array.size == 1 < m:
        constants = broadcasting.broadcast_to(constants, shape=(m,))
    if constants.array.size < m:
        raise ValueError(
            f"polyint: k must be one number, or one for each of {m} integrations, got "
            f"{constants.array.size}."
        )
    for i in range(m):
        size = found.array.size
        found = shaping.concat(
            found / np.arange(size, 0, -1).astype(found.array.dtype), constants[i : i + 1], axis=0
        )
    return found


@published("numpy.polyfit")
def polyfit(
    x: TensorLike,
    y: TensorLike,
    deg: int,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Tensor | Any:
    """The polynomial of degree `deg` that is nearest to the points (x, y), with weights `w`;
    differentiable by all three.

    With `full`, what `lstsq` tells follows it; with `cov`, the covariance of the coefficients.

    >>> import gradtape as tf
    >>> tf.numpy.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).numpy().round(3)
    array([2., 1.], dtype=float32)
    """
    at, values, weights = _points(x, y, w)
    count = as_int(deg, "polyfit: deg") + 1
    if deg < 0:
        raise ValueError(f"polyfit: deg must not be negative, got {deg}.")
    table, right = _powers(at, count), values
    if weights is not None:
        table = table * weights[:, None]
        right = right * (weights if right.array.ndim == 1 else weights[:, None])
    scale = elementary.sqrt(reductions.reduce_sum(table * table, axis=(0,)))
    table = table / scale
    limit = at.array.size * decompositions.rounding(at) if rcond is None else rcond
    scaled, left, rank, singular = linalg.lstsq(table, right, limit)
    found = scaled / (scale if scaled.array.ndim == 1 else scale[:, None])
    if full:
        cutoff = Tensor(np.asarray(limit, at.array.dtype)[()]) if rcond is None else rcond
        return found, left, rank, singular, cutoff
    if known(rank) and int(rank) != count:
        warnings.warn(
            "polyfit: the points do not determine the polynomial: choose a smaller deg.",
            RankWarning,
            stacklevel=2,
        )
    if not cov:
        return found
    base = linalg.inv(table.mT @ table) / (scale[:, None] * scale)
    factor: Any = 1.0
    if cov != "unscaled":
        if at.array.size <= count:
            raise ValueError(
                f"polyfit: cov needs more than {count} points, got {at.array.size}; use "
                "cov='unscaled'."
            )
        factor = left / (at.array.size - count)
    return found, base * factor if right.array.ndim == 1 else base[:, :, None] * factor


def _points(x: Any, y: Any, w: Any) -> tuple[Tensor, Tensor, Any]:
    """The points and their weights, refused if they do not go together."""
    names = ["x", "y"] if w is None else ["x", "y", "w"]
    at, values, *weights = (
        inexact(v)
        for v in promoted(tensors_of([x, y] if w is None else [x, y, w], "polyfit", names))
    )
    if at.array.ndim != 1 or not at.array.size:
        raise TypeError(f"polyfit: x must be a non-empty vector, got shape {at.shape}.")
    if values.array.ndim not in (1, 2) or values.array.shape[0] != at.array.size:
        raise TypeError(
            "polyfit: y must be a vector or matrix with as many rows as x, got shapes "
            f"{values.shape} and {at.shape}."
        )
    if weights and weights[0].array.shape != at.array.shape:
        raise TypeError(
            f"polyfit: w must be one weight for each point, got shapes {weights[0].shape} and "
            f"{at.shape}."
        )
    return at, values, weights[0] if weights else None


def _powers(x: Tensor, count: int) -> Any:
    """The powers of `x` below `count` in columns, the highest first."""
    columns = [selection.ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return shaping.stack(*columns[::-1], axis=1)


@published("numpy.poly")
def poly(seq_of_zeros: TensorLike) -> Tensor | Any:
    """The polynomial with these roots and a leading 1; of a square matrix,
    its characteristic polynomial.

    >>> import gradtape as tf
    >>> tf.numpy.poly([2.0, 3.0]).numpy()
    array([ 1., -5.,  6.], dtype=float32)
    """
    zeros = inexact(tensor_of(seq_of_zeros, "poly", "seq_of_zeros"))
    of_real_matrix = False
    if zeros.array.ndim == 2 and zeros.array.shape[0] == zeros.array.shape[1] > 0:
        of_real_matrix = zeros.array.dtype.kind != "c"
        zeros = real_eigenvalues(zeros)
    zeros = _vector(zeros, "poly", "seq_of_zeros")
    if not zeros.array.size:
        return 1.0
    one = Tensor(np.ones(1, zeros.array.dtype))
    found: Any = one
    for i in range(zeros.array.size):
        found = convolve(found, shaping.concat(one, -zeros[i : i + 1], axis=0))
    return broadcasting.real(found) if of_real_matrix or _in_pairs(zeros) else found


def _in_pairs(zeros: Tensor) -> bool:
    """Whether complex roots come with their conjugates, so that the polynomial is real."""
    if zeros.array.dtype.kind != "c" or not known(zeros):
        return False
    return bool(np.all(np.sort(zeros.array) == np.sort(zeros.array.conjugate())))


@published("numpy.roots")
def roots(p: TensorLike) -> Tensor:
    """The roots of a polynomial: the eigenvalues of its companion matrix,
    differentiable where they are simple.

    >>> import gradtape as tf
    >>> tf.numpy.roots([1.0, 0.0, -4.0]).numpy()
    array([-2.,  2.], dtype=float32)
    """
    coefficients = inexact(_vector(tensor_of(p, "roots", "p"), "roots", "p"))
    places = (
        np.flatnonzero(coefficients.array)
        if known(coefficients)
        else np.array([0, coefficients.array.size - 1])
    )
    if not places.size:
        return Tensor(np.zeros(0, coefficients.array.dtype))
    first, last = int(places[0]), int(places[-1])
    at_zero = coefficients.array.size - 1 - last
    degree = last - first
    if not degree:
        return Tensor(np.zeros(at_zero, coefficients.array.dtype))
    row = -coefficients[first + 1 : last + 1] / coefficients[first]
    below = Tensor(np.eye(degree - 1, degree, dtype=row.array.dtype))
    found = real_eigenvalues(shaping.concat(row[None, :], below, axis=0))
    return shaping.pad(found, paddings=((0, at_zero),)) if at_zero else found


def _vector(x: Tensor, function: str, argument: str = "a1") -> Tensor:
    """Coefficients; a number is a polynomial too."""
    if x.array.ndim > 1:
        raise ValueError(
            f"{function}: {argument} must be a vector of coefficients, got shape {x.shape}."
        )
    return x if x.array.ndim else shaping.reshape(x, shape=(1,))


def _without_leading_zeros(p: Tensor) -> Tensor:
    """A polynomial without the powers that it does not have, unless it is 0."""
    if not known(p):
        return p
    places = np.flatnonzero(p.array)
    return p[int(places[0]) if places.size else p.array.size - 1 :]
