"""Numbers and arrays that follow from sizes are recognised, and others are not."""

from fractions import Fraction

import numpy as np
import pytest

from gradtape.functions.open_numbers import (
    NotOpenError,
    Term,
    counting,
    diagonal,
    extremes,
    fitted,
    samples,
    value_of,
)


def test_samples_change_each_size_and_each_pair_and_then_all():
    assert samples(0) == [()]
    assert samples(1) == [(11,), (13,), (17,)]
    assert samples(2) == [(11, 11), (13, 11), (11, 13), (13, 13), (17, 17)]
    assert len(samples(4)) == 12
    assert (extremes(0), extremes(2)) == ([], [(4, 4), (100, 100)])
    assert np.prod(extremes(6)[1]) < 10**8


@pytest.mark.parametrize(
    ("function", "terms"),
    [
        (lambda m, n: 3, [Term(Fraction(3), ())]),
        (lambda m, n: 2 * m - 1, [Term(Fraction(-1), ()), Term(Fraction(2), (0,))]),
        (lambda m, n: m * n, [Term(Fraction(1), (0, 1))]),
        (lambda m, n: (m + 1) * (n + 2), [
            Term(Fraction(2), ()), Term(Fraction(2), (0,)), Term(Fraction(1), (1,)),
            Term(Fraction(1), (0, 1)),
        ]),
    ],
)  # fmt: skip
def test_polynomials(function, terms):
    sizes = [*samples(2), *extremes(2)]
    found = fitted([function(*one) for one in sizes], sizes, 0.0)
    assert found == terms
    assert value_of(found, (3, 7)) == function(3, 7)


@pytest.mark.parametrize(
    "function",
    [
        lambda n: n * n, lambda n: n // 2, lambda n: n % 2, lambda n: min(n, 12), np.sqrt,
        lambda n: n / (n - 1), lambda n: max(n, 5), np.log, lambda n: np.inf,
    ],
)  # fmt: skip
@pytest.mark.parametrize("error", [0.0, 2e-7, 2e-3, 1.6e-2])
def test_other_numbers(function, error):
    sizes = [*samples(1), *extremes(1)]
    with pytest.raises(NotOpenError):
        fitted([function(*one) for one in sizes], sizes, error)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rounded_numbers(dtype):
    sizes = [*samples(1), *extremes(1)]
    rounded = [float(np.asarray(0.1 * n + 3, dtype)) for (n,) in sizes]
    found = fitted(rounded, sizes, 2 * float(np.finfo(dtype).eps))
    assert found == [Term(Fraction(3), ()), Term(Fraction(1, 10), (0,))]


def test_numbers_that_are_not_known():
    sizes = [*samples(1), *extremes(1)]
    assert fitted([11, 13, 17, None, 100], sizes, 0.0) == [Term(Fraction(1), (0,))]
    with pytest.raises(NotOpenError):
        fitted([None, 13, 17, 4, 100], sizes, 0.0)


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.arange(4), [0, 1]),
        (np.arange(6.0)[::-1], [5.0, -1.0]),
        (np.add.outer(np.arange(3), 5 * np.arange(4)), [0, 1, 5]),
        (np.full((2, 1), True), [True, False, None]),
        (np.zeros((0, 3)), [None, None, None]),
        (np.array(7), [7]),
        (np.array([1, 2, 4]), None),
        (np.array([True, False]), None),
    ],
)
def test_arrays_that_count(array, found):
    assert counting(array) == found


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.eye(4), ((0, 1), 0.0, 1.0, 0.0)),
        (np.tri(5, 3, dtype=bool)[None, :, None], ((1, 3), True, True, False)),
        (np.triu(np.ones((3, 3)), 1), ((0, 1), 0.0, 0.0, 1.0)),
        (np.tri(4, k=1), None),
        (np.arange(4), None),
        (np.eye(3)[::-1], None),
    ],
)
def test_arrays_along_a_diagonal(array, found):
    assert diagonal(array) == found
