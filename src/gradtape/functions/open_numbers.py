"""How numbers and arrays in a program follow from its open sizes.

A function is traced for `samples` of its sizes. A number that differs between them is taken to be a
polynomial in the sizes, of which each term is a size or the product of two, or the reciprocal of
one, as in a mean. It is fitted to some samples, and has to agree with all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

Sizes = tuple[int, ...]

FIRST, SECOND, THIRD = 11, 13, 17
"""Sizes that all programs of a function are traced with: prime numbers, so that few others are like
them.
"""
_SMALL, _LARGE = 4, 100
_MOST_ELEMENTS = 10**8  # of a tensor with as many axes as there are open sizes


class NotOpenError(Exception):
    """The programs for different sizes differ in more than numbers that follow from the sizes."""


def samples(count: int) -> list[Sizes]:
    """The sizes to trace with, for `count` open ones: each alone and each pair is changed once, and
    in the end all of them.
    """
    changed = [(), *[c for n in (1, 2) for c in combinations(range(count), n)]]
    corners = [tuple(SECOND if i in c else FIRST for i in range(count)) for c in changed]
    return [*corners, (THIRD,) * count] if count else [()]


def extremes(count: int) -> list[Sizes]:
    """Further sizes, few and many and even, that show what a function decides by its sizes."""
    large = _LARGE if _LARGE**count <= _MOST_ELEMENTS else THIRD + 1
    return [(_SMALL,) * count, (large,) * count] if count else []


class Term(NamedTuple):
    """A factor, and the numbers of the sizes that it is multiplied with."""

    factor: Fraction
    sizes: Sizes


def fitted(found: Sequence[Any], sizes: Sequence[Sizes], relative_error: float) -> list[Term]:
    """The polynomial in the sizes whose values are `found`, one for each of `sizes`, of which the
    first are `samples`. Those that are None may be anything. NotOpenError if there is none.
    """
    count = len(sizes[0])
    at = dict(zip(sizes, found, strict=True))
    corners = [_fraction(at[one], relative_error) for one in samples(count)[:-1]]
    base, singles = corners[0], corners[1 : 1 + count]
    step = SECOND - FIRST
    products = {
        (i, j): (both - singles[i] - singles[j] + base) / step**2
        for (i, j), both in zip(combinations(range(count), 2), corners[1 + count :], strict=True)
    }
    factors = [
        (single - base) / step - FIRST * sum(f for pair, f in products.items() if i in pair)
        for i, single in enumerate(singles)
    ]
    rest = base - FIRST * sum(factors) - FIRST**2 * sum(products.values())
    terms = [Term(rest, ()), *[Term(f, (i,)) for i, f in enumerate(factors)]]
    terms += [Term(f, pair) for pair, f in products.items()]
    terms = [term for term in terms if term.factor]
    for one, number in at.items():
        if number is not None and not _is_near(value_of(terms, one), number, relative_error):
            raise NotOpenError("a number in it does not follow from the sizes in a simple way")
    return terms


def value_of(terms: Sequence[Term], sizes: Sizes) -> Fraction:
    """A polynomial's value."""
    total = Fraction(0)
    for factor, places in terms:
        for place in places:
            factor *= sizes[place]  # noqa: PLW2901 - the term, as far as it is computed
        total += factor
    return total


def _fraction(number: Any, relative_error: float) -> Fraction:
    """The simplest fraction that a number stands for."""
    if number is None or not np.isfinite(number):
        raise NotOpenError("a number in it is not finite for each size")
    exact = Fraction(number)
    for limit in (1, 10, 100, 1_000, 10_000):
        near = exact.limit_denominator(limit)
        if _is_near(near, exact, relative_error):
            return near
    raise NotOpenError("a number in it does not follow from the sizes in a simple way")


def _is_near(a: Fraction, b: Any, relative_error: float) -> bool:
    return bool(np.isfinite(float(b))) and abs(a - Fraction(b)) <= relative_error * abs(Fraction(b))


def counting(array: np.ndarray[Any, Any]) -> list[Any] | None:
    """The first element of an array and its steps along the axes, if all others follow from them
    exactly. One that the array does not show, since it is too small, is None.
    """
    if not array.size:
        return [None] * (1 + array.ndim)
    origin = (0,) * array.ndim
    start = array[origin]
    shown = [size > 1 for size in array.shape]
    if (array == start).all():
        return [start, *[array.dtype.type(0) if show else None for show in shown]]
    if array.dtype.kind not in "iuf":
        return None
    steps = [
        array[(*origin[:axis], 1, *origin[axis + 1 :])] - start if show else None
        for axis, show in enumerate(shown)
    ]
    whole = np.full(array.shape, start, array.dtype)
    for axis, step in enumerate(steps):
        if step is not None:
            line = np.arange(array.shape[axis]).astype(array.dtype) * step
            whole = whole + line.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return [start, *steps] if same(whole.astype(array.dtype), array) else None


class Diagonal(NamedTuple):
    """An array that has one value below the diagonal of two of its axes, one on it, and one above
    it: a mask, or an identity matrix.
    """

    axes: tuple[int, int]
    below: Any
    on: Any
    above: Any


def diagonal(array: np.ndarray[Any, Any]) -> Diagonal | None:
    """An array as such a one, if it is."""
    axes = [axis for axis, size in enumerate(array.shape) if size > 1]
    if len(axes) != 2:
        return None
    matrix = array.squeeze()
    below, on, above = matrix[1, 0], matrix[0, 0], matrix[0, 1]
    rows, columns = np.ogrid[: matrix.shape[0], : matrix.shape[1]]
    whole = np.where(rows > columns, below, np.where(rows == columns, on, above))
    return Diagonal((axes[0], axes[1]), below, on, above) if same(whole, matrix) else None


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether arrays are equal, NaN being equal to itself."""
    return a is b or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
