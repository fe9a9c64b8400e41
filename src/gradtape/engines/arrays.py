"""Helpers of rules and kernels for plain arrays of any engine, written with methods that all array
libraries share.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gradtape.engines.numpy import products

_LARGE = 4096
_BESIDE = 512
_LONG = 256  # BLAS adds up in fewer partial sums than NumPy, which matters for long rows


def sum_array_to(array: Any, shape: tuple[int, ...]) -> Any:
    """`array` summed over the axes that broadcasting `shape` to its shape had added or
    stretched.
    """
    found = array.shape
    # The commonest case: the gradient of a bias.
    if found[1:] == shape and type(array) is np.ndarray:
        if len(shape) == 1 and array.dtype.char in "fd":
            return (
                _few_ones(found[0], array.dtype).dot(array)
                if found[0] <= _LARGE
                else _sum_rows(array)
            )
        return np.add.reduce(array, 0)
    added = len(found) - len(shape)
    if added and found[added:] == shape:
        if (
            type(array) is np.ndarray
            and shape
            and array.size >= _LARGE
            and array.dtype.char in "fd"
            and array.flags.c_contiguous
        ):
            rows = array.reshape(-1, math.prod(shape))
            return _sum_rows(rows).reshape(shape)
        axes = 0 if added == 1 else tuple(range(added))
        return np.add.reduce(array, axes) if type(array) is np.ndarray else array.sum(axes)
    stretched = tuple(
        [i + added for i, size in enumerate(shape) if size == 1 and found[i + added] != 1]
    )
    axes = tuple(range(added)) + stretched
    return (array.sum(axes) if axes else array).reshape(shape)


def _sum_rows(rows: Any) -> Any:
    """The sum of all rows by BLAS, which takes a third to a tenth of the time of NumPy's own.

    BLAS adds one row after the other, as NumPy does over the first axis, so with very many rows
    rounding errors accumulate: many rows are added in two steps, each of which rounds less often.
    """
    count, width = rows.shape
    if count <= _LARGE or not rows.flags.c_contiguous:
        return _ones(count, rows.dtype).dot(rows)
    blocks = count // _BESIDE
    total = _ones(blocks, rows.dtype).dot(rows[: blocks * _BESIDE].reshape(blocks, _BESIDE * width))
    total = _ones(_BESIDE, rows.dtype).dot(total.reshape(_BESIDE, width))
    rest = rows[blocks * _BESIDE :]
    return total + _ones(len(rest), rows.dtype).dot(rest)


def spread_number(array: Any) -> Any:
    """The value of a large, fully broadcast array, such as the cotangent that a sum passes back;
    else None.
    """
    if type(array) is not np.ndarray or array.size <= _LARGE or any(array.strides):
        return None
    return array[(0,) * array.ndim]


def product(a: Any, b: Any) -> Any:
    """`a @ b` for matrices, or batches of them: for NumPy arrays in the form in which BLAS is
    fastest.
    """
    return products.matmul(a, b) if type(b) is np.ndarray and type(a) is np.ndarray else a @ b


def in_place(function: Any, array: Any) -> Any:
    """`function(array)` for an array that nothing else holds, which NumPy may overwrite."""
    return function(array, out=array) if type(array) is np.ndarray else function(array)


def at_least(xp: Any, x: Any, number: float) -> Any:
    """The maximum of `x` and a number that is not NaN: of NumPy's functions, `clip` computes it in
    vectors, three to five times as fast as `maximum`.
    """
    if type(x) is np.ndarray and x.size >= _LARGE and x.dtype.char in "fd":
        return np.clip(x, number, math.inf)
    return xp.maximum(x, number)


def at_most(xp: Any, x: Any, number: float) -> Any:
    """The same for the minimum."""
    if type(x) is np.ndarray and x.size >= _LARGE and x.dtype.char in "fd":
        return np.clip(x, -math.inf, number)
    return xp.minimum(x, number)


def sum_last_axis(array: Any) -> Any:
    """The sums over the last axis, which is kept with length 1, or None where NumPy's own sum is as
    fast or more accurate: for few or long rows.
    """
    length = array.shape[-1]
    if (
        array.size < _LARGE
        or length > _LONG
        or array.dtype.char not in "fd"
        or not array.flags.c_contiguous
    ):
        return None
    return array.reshape(-1, length).dot(_ones(length, array.dtype)).reshape(*array.shape[:-1], 1)


def _ones(length: int, dtype: Any) -> Any:
    """A vector of ones: BLAS sums rows by multiplying with it."""
    return _few_ones(length, dtype) if length <= _LARGE else np.ones(length, dtype)


@lru_cache(64)
def _few_ones(length: int, dtype: Any) -> Any:
    ones = np.ones(length, dtype)
    ones.flags.writeable = False
    return ones


def divides(product: Any) -> bool:
    """Whether it is known of products that their factors divide them without loss: none is zero, so
    small that it has lost digits, or too large.
    """
    if type(product) is not np.ndarray or product.dtype.kind != "f":
        return False
    sizes = np.abs(product)
    return bool((sizes >= np.finfo(product.dtype).tiny).all() and (sizes < math.inf).all())
