"""The functions of large float32 arrays, against SciPy and NumPy in float64: how many units in the
last place they are off, over all of float32 and where they are used most.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import special

import gradtape as tf
from gradtape.engines.numpy.engine import Quiet
from gradtape.ops import float32, float32_integrals
from gradtape.ops.activations import normal_cdf
from gradtape.ops.special_bessel import (
    bessel_i,
    bessel_ie,
    bessel_j,
    bessel_k,
    bessel_ke,
    bessel_y,
)
from gradtape.ops.special_gamma import digamma, polygamma, zeta

SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 0.5, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38,
        3.95, 8, 10.3, 12, 14.5, 20, 88, 89, 92, -3, -4.5],
    np.float32,
)  # fmt: skip


def named(name):
    """SciPy's function, which for the order 2 is a general one."""
    general = {"i2": partial(special.iv, 2), "i2e": scaled_bessel_of_order_2}
    return general.get(name) or getattr(special, name)


def scaled_bessel_of_order_2(x):
    """SciPy has no values from 1e9 on."""
    size = np.abs(x)
    return np.where(size > 1e8, 1 / np.sqrt(2 * np.pi * size), special.ive(2, x))


def trigamma(x):
    return special.zeta(2, x)


def tetragamma(x):
    return -2 * special.zeta(3, x)


def log_ratio(x):
    at_one = x == 1
    return np.where(at_one, 1.0, np.log(x) / np.where(at_one, 1.0, x - 1))


# The function, its reference, and the units in the last place that it may be off.
TABLE = {
    **{name: (function, named(name)) for name, function in float32.FUNCTIONS.items()},
    **{name: (function, named(name)) for name, function in float32_integrals.FUNCTIONS.items()},
    **{name: (function, getattr(np, name)) for name, function in float32.ELEMENTARY.items()},
    "normal_cdf": (float32.normal_cdf, special.ndtr),
    "digamma": (float32.digamma, special.digamma),
    "trigamma": (float32.trigamma, trigamma),
    "tetragamma": (float32_integrals.tetragamma, tetragamma),
    "fresnel_sin": (float32_integrals.fresnel(0), lambda x: special.fresnel(x)[0]),
    "fresnel_cos": (float32_integrals.fresnel(1), lambda x: special.fresnel(x)[1]),
    "log_ratio": (float32_integrals.log_ratio, log_ratio),
}
UNITS = {
    "arctan": 6, "arcsin": 6, "arccos": 7, "erfc": 9, "normal_cdf": 9, "trigamma": 7, "digamma": 7,
    "i0": 8, "i1": 8, "i2": 9, "i2e": 7, "ndtri": 7,
    "k0": 6, "k0e": 7, "k1": 6, "k1e": 6, "dawsn": 7, "expi": 8, "spence": 10, "tetragamma": 7,
    "fresnel_cos": 10,
}  # fmt: skip
ODD = ["erf", "erfinv", "i1", "i1e", "expm1", "log1p", "arctan", "arcsin", "arctanh",
    "dawsn", "fresnel_sin", "fresnel_cos"]  # fmt: skip
SLOW = {"digamma", "trigamma", "tetragamma"}  # their references


def numbers(name):
    """Float32 numbers of all sizes, many from where the function changes, and special ones."""
    random = np.random.default_rng(0)
    count = 2_000 if name in SLOW else 50_000
    each = [
        random.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32).view(np.float32),
        *(random.uniform(low, high, count) for low, high in ((-12, 12), (-1, 1), (0, 1), (0, 30))),
        1 - np.logspace(-8, 0, count // 4),
        np.logspace(-45, 38, count // 4),
        np.linspace(1.46, 1.463, 1000),  # the root of the digamma function
        SPECIAL,
    ]
    return np.concatenate([part.astype(np.float32) for part in each])


def units(found, wanted, rounded):
    """How far apart they are, in steps from one number of float32 to the next."""
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    finite = np.isfinite(rounded) & np.isfinite(found)
    apart = np.abs(found.astype(np.float64) - np.where(finite, wanted, 0))
    return np.where(same, 0, np.where(finite, apart / np.spacing(np.abs(rounded)), np.inf))


@pytest.mark.parametrize("name", TABLE)
def test_values_are_those_of_double_precision(name):
    function, reference = TABLE[name]
    x = numbers(name)
    with Quiet():
        found, wanted = float32.in_blocks(function, x), reference(x.astype(np.float64))
        wanted[(name == "digamma") & (x <= 0) & (np.floor(x) == x)] = np.nan
        rounded = wanted.astype(np.float32)
        off = units(found, wanted, rounded)
    worst = int(np.argmax(off))
    assert off[worst] <= UNITS.get(name, 5), (x[worst], found[worst], wanted[worst])


@pytest.mark.parametrize("name", ODD)
def test_zero_keeps_its_sign(name):
    function, _ = TABLE[name]
    zeros = np.tile(np.array([0.0, -0.0], np.float32), float32.MANY)
    np.testing.assert_array_equal(np.signbit(function(zeros)), np.signbit(zeros))


@pytest.mark.parametrize("name", TABLE)
def test_no_element_depends_on_another(name):
    """Blocks, threads and batches give the same bits."""
    function, _ = TABLE[name]
    x = np.random.default_rng(1).uniform(0.01, 0.99, 3 * 2**15 + 77).astype(np.float32)
    whole = float32.in_blocks(function, x)
    np.testing.assert_array_equal(whole[1:], float32.in_blocks(function, x[1:]))
    shaped = float32.in_blocks(function, x[: 2**16].reshape(256, 256).T)
    np.testing.assert_array_equal(shaped, whole[: 2**16].reshape(256, 256).T)
    assert shaped.dtype == np.float32


@pytest.mark.parametrize(
    "op",
    [tf.math.erf, tf.math.erfc, tf.math.erfinv, tf.math.erfcinv, tf.math.ndtri, tf.math.bessel_i0,
        tf.math.bessel_i0e, tf.math.bessel_i1, tf.math.bessel_i1e, digamma, normal_cdf,
        lambda x: polygamma(1, x), lambda x: polygamma(tf.ones_like(x) * 2, x),
        lambda x: zeta(2.5, x),
        tf.math.special.bessel_k0, tf.math.special.bessel_k1e, tf.math.special.dawsn,
        tf.math.special.expint, tf.math.special.spence, tf.math.special.fresnel_sin,
        tf.math.special.fresnel_cos],
)  # fmt: skip
def test_ops_agree_between_large_and_small_arrays(op):
    """A small array is computed by SciPy."""
    x = np.linspace(0.05, 0.95, float32.MANY, dtype=np.float32)
    large = op(tf.constant(x)).numpy()
    small = np.concatenate([op(tf.constant(part)).numpy() for part in np.split(x, 8)])
    assert large.dtype == small.dtype == np.float32
    np.testing.assert_allclose(large, small, rtol=1e-6)


@pytest.mark.parametrize("name", float32.ELEMENTARY)
def test_where_numpy_is_slow_its_functions_are_replaced(name, monkeypatch):
    x = np.linspace(-0.9, 0.9, float32.MANY, dtype=np.float32)
    kernel = float32.elementary(name)
    for slow in (False, True):
        monkeypatch.setattr(float32, "numpy_is_slow", lambda asked, slow=slow: slow)
        expected = float32.ELEMENTARY[name](x) if slow else getattr(np, name)(x)
        np.testing.assert_array_equal(kernel(np, x), expected)
        wide = x.astype(np.float64)
        np.testing.assert_array_equal(kernel(np, wide), getattr(np, name)(wide))


@pytest.mark.parametrize(
    ("op", "general"),
    [(bessel_i, "iv"), (bessel_ie, "ive"), (bessel_j, "jv"), (bessel_y, "yv"), (bessel_k, "kv"),
        (bessel_ke, "kve")],
)  # fmt: skip
def test_bessel_functions_of_order_2(op, general):
    """Large arrays go by those of the orders 0 and 1."""
    x = np.concatenate([np.logspace(-6, 1.5, 4000), [0.0]]).astype(np.float32)
    with Quiet():
        wanted = getattr(special, general)(2, x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(op(tf.constant(x), order=2).numpy(), wanted, rtol=3e-6, atol=1e-7)


@pytest.mark.parametrize("exponent", [1.01, 2.5, 7.0, 12.0, 12.5, 40.0, 1.0, 0.5])
def test_the_zeta_function(exponent):
    random = np.random.default_rng(0)
    parts = random.uniform(0, 3, 2000), np.logspace(-30, 38, 2000), random.uniform(-5, 0, 200)
    x = np.concatenate([*parts, SPECIAL]).astype(np.float32)
    wide = np.float64(np.float32(exponent))
    with Quiet():
        wanted = special.zeta(wide, x.astype(np.float64))
        for order in (np.float32(exponent), np.full_like(x, exponent)):
            found = zeta(order, x)
            assert found.dtype == np.float32
            assert units(found, wanted, wanted.astype(np.float32)).max() <= 1


def test_numpy_says_which_functions_it_has_in_vectors():
    assert not float32.numpy_is_slow("exp")
    assert {float32.numpy_is_slow(name) for name in float32.ELEMENTARY} <= {True, False}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [3, float32.MANY])
@pytest.mark.parametrize("end", [np.inf, -np.inf])
@pytest.mark.parametrize("name", ["bessel_i0e", "bessel_i1e", "bessel_k0e", "bessel_k1e"])
def test_scaled_bessel_functions_vanish_at_infinity(name, end, size, dtype, compiled):
    """With their derivatives, in arrays of every size."""
    if "k" in name:
        end = abs(end)  # where they are defined
    x = tf.constant(np.full(size, end, dtype))

    def derivatives():
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = getattr(tf.math.special, name)(x)
            first = inner.gradient(y, x)
        return y, first, outer.gradient(first, x)

    for found in (tf.function(derivatives) if compiled else derivatives)():
        np.testing.assert_array_equal(found, np.zeros(size))
