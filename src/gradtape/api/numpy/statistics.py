"""Spread, weighted means and correlation: `numpy.var`, `average`, `cov` and related functions."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from gradtape.api.numpy.checks import certainly
from gradtape.api.numpy.masks import chosen, count, mask_of
from gradtape.api.numpy.operands import (
    axes_of,
    converted,
    dtype_of,
    float_dtype,
    inexact,
    into,
    promoted,
    real_dtype,
    tensor_of,
    tensors_of,
)
from gradtape.api.numpy.reductions import largest, mean_of, smallest
from gradtape.api.tensorflow.arguments import AxisLike, DTypeLike, TensorLike, as_float
from gradtape.convert import common_dtype
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, broadcasting, elementary, matrix, reductions, shaping
from gradtape.published import published


@published("numpy.ptp")
def ptp(a: TensorLike, axis: AxisLike = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """The distance from the smallest to the largest element over `axis`.

    >>> import gradtape as tf
    >>> tf.numpy.ptp([4.0, 1.0, 3.0]).numpy()
    np.float32(3.0)
    """
    x = tensor_of(a, "ptp", "a")
    return into(
        out,
        largest(x, axis, keepdims, None, "ptp") - smallest(x, axis, keepdims, None, "ptp"),
        "ptp",
    )


@published("numpy.var", "array_api.var")
def var(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """The variance over `axis`: squared distances from the mean,
    added up and divided by their number less `ddof`.

    A `mean` that is known already must have the axes as size 1. `correction` is another name of
    `ddof`.

    >>> import gradtape as tf
    >>> tf.numpy.var([1.0, 2.0, 3.0], ddof=1).numpy()
    np.float32(1.0)
    """
    free = degrees_of_freedom(ddof, correction, "var")
    return into(out, _variance(a, axis, dtype, free, keepdims, where, mean, "var"), "var")


@published("numpy.std", "array_api.std")
def std(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation over `axis`: the square root of `var`.

    >>> import gradtape as tf
    >>> tf.numpy.std([[1.0, 3.0], [2.0, 8.0]], axis=1).numpy()
    array([1., 3.], dtype=float32)
    """
    free = degrees_of_freedom(ddof, correction, "std")
    return into(
        out, elementary.sqrt(_variance(a, axis, dtype, free, keepdims, where, mean, "std")), "std"
    )


def degrees_of_freedom(ddof: float, correction: float | None, function: str) -> float:
    """What is taken from the number of elements; it has two names."""
    if correction is None:
        return ddof
    if ddof:
        raise ValueError(
            f"{function}: ddof={ddof} and correction={correction} mean the same: give one of them."
        )
    return correction


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any, function: str
) -> Tensor:
    x = tensor_of(a, function, "a")
    x = inexact(converted(x, dtype_of(dtype, x.array.dtype)))
    reduced, mask = axes_of(axis, x.array.ndim, function), mask_of(where, x, function)
    center = (
        mean_of(x, mask, reduced, True)
        if mean is None
        else tensors_of([x, mean], function, ["a", "mean"])[1]
    )
    squares = squared_size(chosen(x - center, mask, 0))
    total = reductions.reduce_sum(squares, axis=reduced, keepdims=bool(keepdims))
    if mask is not None:
        return total / arithmetic.maximum(
            count(mask, reduced, bool(keepdims), squares.array.dtype) - ddof, 0
        )
    shape = x.array.shape
    return total / max(
        math.prod(shape if reduced is None else [shape[i] for i in reduced]) - ddof, 0
    )


def squared_size(x: Any) -> Any:
    """The square, or the squared modulus of complex numbers as a real number."""
    if x.array.dtype.kind != "c":
        return arithmetic.square(x)
    return broadcasting.real(arithmetic.multiply(broadcasting.conj(x), x))


@overload
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: Any = None,
    returned: Literal[False] = False,
    *,
    keepdims: bool = False,
) -> Tensor: ...
@overload
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: Any = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any: ...
@published("numpy.average")
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean over `axis`, in which each element has its weight;
    `returned` adds the sum of the weights.

    The weights have the shape of `a`, or that of the axes alone.

    >>> import gradtape as tf
    >>> tf.numpy.average([1.0, 2.0, 3.0], weights=[3.0, 1.0, 0.0]).numpy()
    np.float32(1.25)
    """
    keep = bool(keepdims)
    if weights is None:
        x = inexact(tensor_of(a, "average", "a"))
        reduced = axes_of(axis, x.array.ndim, "average")
        found = reductions.reduce_mean(x, axis=reduced, keepdims=keep)
        count = x.array.size / max(found.array.size, 1)
        return (
            (found, Tensor(np.full(found.array.shape, count, found.array.dtype)))
            if returned
            else found
        )
    given = tensors_of([a, weights], "average", ["a", "weights"])
    common = float_dtype(common_dtype([x.array.dtype for x in given]))
    x, w = (converted(v, common) for v in given)
    reduced = axes_of(axis, x.array.ndim, "average")
    w = broadcasting.broadcast_to(beside_axes(w, x, reduced, "average"), shape=x.array.shape)
    scale = reductions.reduce_sum(w, axis=reduced, keepdims=keep)
    if certainly(arithmetic.equal(scale, 0)):
        raise ZeroDivisionError("average: weights add up to zero and cannot be normalized.")
    found = reductions.reduce_sum(x * w, axis=reduced, keepdims=keep) / scale
    return (found, scale) if returned else found


def beside_axes(weights: Tensor, x: Tensor, axes: tuple[int, ...] | None, function: str) -> Tensor:
    """Weights for the elements of `x`, or for those along some axes of it, in a shape that
    broadcasts to that of `x`.
    """
    shape, given = x.array.shape, weights.array.shape
    if given == shape:
        return weights
    if axes is None:
        raise TypeError(
            f"{function}: weights have shape {weights.shape} but a has {x.shape}: give axis, the "
            "axis they belong to."
        )
    if given != tuple(shape[i] for i in axes):
        raise ValueError(
            f"{function}: weights of shape {weights.shape} do not fit axes {axes} of a, which has "
            f"shape {x.shape}."
        )
    ordered = shaping.transpose(weights, perm=tuple(np.argsort(axes).tolist()))
    return shaping.reshape(
        ordered, shape=tuple(size if i in axes else 1 for i, size in enumerate(shape))
    )


@published("numpy.cov")
def cov(
    m: TensorLike,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: DTypeLike = None,
) -> Tensor:
    """The covariances of variables, one in each row of `m` (and of `y`),
    or in each column unless `rowvar`.

    `fweights` says how often each observation was made, `aweights` how much it counts.

    >>> import gradtape as tf
    >>> tf.numpy.cov([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]).numpy()
    array([[ 1., -2.],
           [-2.,  4.]], dtype=float32)
    """
    if ddof is not None and not as_float(ddof, "cov: ddof").is_integer():
        raise ValueError(f"cov: ddof must be an integer, got {ddof!r}.")
    x = _variables(m, y, rowvar, dtype, "cov")
    less = ddof if ddof is not None else 0 if bias else 1
    observed = x.array.shape[1]
    counts = _weights(fweights, observed, x, "fweights")
    amounts = _weights(aweights, observed, x, "aweights")
    weights = counts if amounts is None else amounts if counts is None else counts * amounts
    if weights is None:
        centered = x - reductions.reduce_mean(x, axis=(1,), keepdims=True)
        return _squeezed((centered @ _adjoint(centered)) / max(observed - less, 0))
    total = reductions.reduce_sum(weights)
    centered = x - reductions.reduce_sum(x * weights, axis=(1,), keepdims=True) / total
    divisor = total
    if less:
        divisor = total - (
            less if amounts is None else less * reductions.reduce_sum(weights * amounts) / total
        )
    return _squeezed(((centered * weights) @ _adjoint(centered)) / arithmetic.maximum(divisor, 0))


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any, function: str) -> Tensor:
    """The variables in rows, of one floating-point or complex dtype."""
    given = promoted(
        tensors_of([m] if y is None else [m, y], function, ["m", "y"][: 1 if y is None else 2])
    )
    rows = []
    for x, name in zip(given, ("m", "y"), strict=False):
        if x.array.ndim > 2:
            raise ValueError(f"{function}: {name} must have at most two axes, got shape {x.shape}.")
        table = x if x.array.ndim == 2 else shaping.reshape(x, shape=(1, x.array.size))
        in_columns = not rowvar and x.array.ndim == 2 and (name == "m" or table.array.shape[0] != 1)
        rows.append(
            inexact(
                converted(
                    shaping.matrix_transpose(table) if in_columns else table,
                    dtype_of(dtype, x.array.dtype),
                )
            )
        )
    return rows[0] if len(rows) == 1 else shaping.concat(*rows, axis=0)


def _weights(given: Any, observed: int, x: Tensor, argument: str) -> Any:
    """A weight for each observation, as a real number of the precision of the variables."""
    if given is None:
        return None
    weights = converted(tensor_of(given, "cov", argument), real_dtype(x.array.dtype))
    if weights.array.ndim > 1 or weights.array.shape != (observed,):
        raise RuntimeError(
            f"cov: {argument} must be {observed} numbers, one for each observation, got shape "
            f"{weights.shape}."
        )
    if certainly(arithmetic.less(weights, 0)):
        raise ValueError(f"cov: {argument} must not be negative.")
    if argument == "fweights" and certainly(
        arithmetic.not_equal(weights, arithmetic.floor(weights))
    ):
        raise TypeError("cov: fweights must be integers: give other weights as aweights.")
    return weights


def _adjoint(x: Tensor) -> Tensor:
    return broadcasting.conj(x.mT) if x.array.dtype.kind == "c" else x.mT


def _squeezed(x: Tensor) -> Tensor:
    """The covariance of a single variable as a scalar."""
    return shaping.reshape(x, shape=()) if x.array.shape == (1, 1) else x


@published("numpy.corrcoef")
def corrcoef(
    x: TensorLike, y: Any = None, rowvar: bool = True, *, dtype: DTypeLike = None
) -> Tensor:
    """The correlations of variables: their covariances divided by both standard deviations;
    see `cov`.

    >>> import gradtape as tf
    >>> tf.numpy.corrcoef([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]).numpy()
    array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.array.ndim:
        return c / c
    deviations = elementary.sqrt(broadcasting.real(matrix.diagonal(c)))
    found = c / converted(deviations[:, None] * deviations[None, :], c.array.dtype)
    if found.array.dtype.kind != "c":
        return _between_minus_one_and_one(found)
    parts = (
        _between_minus_one_and_one(part(found)) for part in (broadcasting.real, broadcasting.imag)
    )
    return broadcasting.complex_from_parts(*parts)


def _between_minus_one_and_one(x: Tensor) -> Any:
    """Rounding can carry a correlation beyond its limits."""
    return arithmetic.minimum(arithmetic.maximum(x, -1), 1)
