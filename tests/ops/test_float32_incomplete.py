"""The incomplete gamma and beta functions of large float32 arrays, against SciPy and the general
kernels in float64.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from gradtape.engines.numpy.engine import Quiet
from gradtape.ops import float32_incomplete
from gradtape.ops.special_distributions import betaincc, betainccinv, betaincinv
from gradtape.ops.special_integrals import (
    beta_density,
    betainc,
    gamma_density,
    igamma,
    igamma_by_a,
    igammac,
)

from .test_float32 import units

COUNT = 20_000
SHAPES = [0.0, -1.0, 1e-3, 0.01, 0.5, 1, 2, 3, 16, 24, 40, 41, 300, np.inf, np.nan]
POINTS = [0.0, -1.0, 1e-45, 1e-38, 0.5, 1, 2, 4, 4.0001, 17, 20, 41, 90, 1e4, 1e30, np.inf, np.nan]


def by_a(a, x):
    return igamma_by_a(a, x, order=1)


def by_a_over_density(a, x):
    return igamma_by_a(a, x, order=1, over_density=True)


def some_gamma_arguments():
    """Shapes and points of all sizes, many where a formula gives way to another one."""
    random = np.random.default_rng(0)
    shapes = [random.uniform(0.02, 45, COUNT), 10 ** random.uniform(-3, 2, COUNT)]
    pairs = [(a, a * random.uniform(0.5, 2.0, COUNT)) for a in shapes]
    pairs += [(a, 10 ** random.uniform(-4, 2.5, COUNT)) for a in shapes]
    pairs.append(tuple(np.meshgrid(SHAPES, POINTS)))
    return [np.concatenate([part.ravel() for part in side]).astype(np.float32)
        for side in zip(*pairs, strict=True)]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (igamma, igamma),
        (igammac, igammac),
        (gamma_density, gamma_density),
        (by_a, by_a),
        (by_a_over_density, by_a_over_density),
    ],
)
def test_values_are_those_of_double_precision(function, reference):
    a, x = some_gamma_arguments()
    with Quiet():
        found, wanted = function(a, x), reference(a.astype(np.float64), x.astype(np.float64))
        rounded = wanted.astype(np.float32)
        off = units(found, wanted, rounded)
    assert found.dtype == np.float32
    assert np.isfinite(found).sum() > 4 * COUNT * 0.95
    worst = int(np.argmax(off))
    assert off[worst] <= 1, (a[worst], x[worst], found[worst], wanted[worst])


def test_the_gamma_function_is_as_exact_as_double_precision():
    a = np.linspace(0.01, 40, 1001)
    gamma = float32_incomplete._gamma(a, with_slope=True)
    np.testing.assert_allclose(gamma.logarithm, special.gammaln(a + 1), rtol=1e-14, atol=1e-13)
    np.testing.assert_allclose(gamma.slope, special.digamma(a + 1), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("a", "b"),
    [(1.5, 2.5), (0.02, 0.02), (0.02, 100), (100, 100), (99, 0.02), (1, 1), (30, 2), (3, 50),
        (0, 1), (-1, 2), (1e-3, 2), (1e3, 2), (np.nan, 1), (np.inf, 1)],
)  # fmt: skip
@pytest.mark.parametrize("function", [betainc, beta_density])
def test_parameters_that_all_elements_share(function, a, b):
    random = np.random.default_rng(0)
    x = np.concatenate([
        random.uniform(0, 1, COUNT), 10 ** random.uniform(-30, 0, 2000),
        1 - 10 ** random.uniform(-7, 0, 2000), [0, 1, -1, 2, 1e-45, np.nan, np.inf],
    ]).astype(np.float32)  # fmt: skip
    first, second = np.float32(a), np.float32(b)
    with Quiet():
        found = function(np.full_like(x, a), np.full_like(x, b), x)
        np.testing.assert_array_equal(function(first, second, x), found)
        wanted = function(np.float64(first), np.float64(second), x.astype(np.float64))
        rounded = wanted.astype(np.float32)
        off = units(found, wanted, rounded)
    assert found.dtype == np.float32
    worst = int(np.argmax(off))
    assert off[worst] <= 1, (x[worst], found[worst], wanted[worst])


@pytest.mark.parametrize("count", [1, 1000, 20000])
@pytest.mark.parametrize("function", [betainc, betaincc, betaincinv, betainccinv])
def test_beta_functions_with_parameters_of_their_own(function, count):
    """Few elements, and many; SciPy computes some of them in float32, with 10 to 1e7 units."""
    random = np.random.default_rng(count)
    a, b = 10 ** random.uniform(-2, 3, (2, count)).astype(np.float32)
    x = 10 ** random.uniform(-6, 0, count).astype(np.float32)
    with Quiet():
        found = function(a, b, x)
        wanted = function(*[given.astype(np.float64) for given in (a, b, x)])
        off = units(found, wanted, wanted.astype(np.float32))
    assert found.dtype == np.float32
    worst = int(np.argmax(off))
    assert off[worst] <= 1, (a[worst], b[worst], x[worst], found[worst], wanted[worst])


def test_no_element_depends_on_another():
    """Blocks, threads and batches give the same bits."""
    random = np.random.default_rng(1)
    a, x = random.uniform(0.01, 45, (2, 2**16 + 77)).astype(np.float32)
    for function in (igamma, igammac, gamma_density, by_a, by_a_over_density):
        whole = function(a, x)
        np.testing.assert_array_equal(whole[1:], function(a[1:], x[1:]))
        np.testing.assert_array_equal(whole[-3000:], function(a[-3000:], x[-3000:]))
        shaped = function(a[: 2**16].reshape(256, 256).T, x[: 2**16].reshape(256, 256).T)
        np.testing.assert_array_equal(shaped, whole[: 2**16].reshape(256, 256).T)


def test_one_shape_for_all_points_and_one_point_for_all_shapes():
    many, one = np.linspace(0.1, 9, 5000, dtype=np.float32), np.float32(2.5)
    np.testing.assert_array_equal(igamma(one, many), igamma(np.full_like(many, 2.5), many))
    np.testing.assert_array_equal(igamma(many, one), igamma(many, np.full_like(many, 2.5)))
