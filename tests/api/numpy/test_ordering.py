"""Sorting from the largest down, which NumPy itself has since 2.5, on every NumPy."""

import math

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp

NAN = math.nan
CASES = {
    "float64": [1.5, NAN, -1.5, 3.0, 1.5, NAN, math.inf, -math.inf, 0.0, -0.0],
    "float32": [2.0, NAN, 2.0, -3.0, NAN],
    "bfloat16": [2.0, NAN, 2.0, -3.0, NAN],
    "int8": [-128, 127, 0, -1, 127, -128],
    "int64": [-(2**63), 2**63 - 1, 0, -(2**63)],
    "uint8": [0, 255, 7, 255],
    "bool": [True, False, True, False],
    "complex128": [1 + 2j, complex(1, NAN), 1 - 2j, 2 + 0j, complex(NAN, 0), 1 + 2j],
}


def places(values):
    """Where the elements come from: the largest first, equal ones in their order, NaN last."""
    parts = [(v.real, v.imag) for v in values]
    numbers = [i for i, v in enumerate(values) if v == v]
    unknown = [i for i, v in enumerate(values) if v != v]
    unknown.sort(key=lambda i: parts[i][0] != parts[i][0])  # those with a real part first
    return sorted(numbers, key=lambda i: parts[i], reverse=True) + unknown


def assert_equal(found, expected):
    """In a dtype of NumPy's own, since only there NaN is taken for equal to NaN."""
    wide = [x.astype("complex128" if x.dtype.kind == "V" else x.dtype) for x in (found, expected)]
    np.testing.assert_array_equal(*wide)


def compiled(function):
    return tf.function(function, autograph=False)


@pytest.mark.parametrize("dtype", CASES)
@pytest.mark.parametrize("call", [lambda f: f, compiled], ids=["eager", "compiled"])
def test_from_the_largest_down(dtype, call):
    values = CASES[dtype]
    x, expected = tf.constant(values, dtype), places(values)
    in_order = x.numpy()[expected]
    found = call(lambda t: tnp.sort(t, descending=True))(x)
    assert found.dtype == dtype
    assert_equal(found.numpy(), in_order)
    assert call(lambda t: tnp.argsort(t, descending=True))(x).numpy().tolist() == expected
    assert call(lambda t: t.argsort(descending=True))(x).numpy().tolist() == expected
    if x.dtype.is_floating:
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = tnp.sort(x, descending=True)
        weights = tf.range(len(values), dtype=dtype)
        gradient = tape.gradient(found, x, weights)
        assert_equal(found.numpy(), in_order)
        assert gradient.numpy()[expected].tolist() == weights.numpy().tolist()


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_along_an_axis(axis):
    x = tf.constant(np.random.default_rng(0).permutation(12).reshape(3, 4))
    falling = -np.sort(-x.numpy(), axis)
    np.testing.assert_array_equal(tnp.sort(x, axis, descending=True).numpy(), falling)
    found = tnp.argsort(x, axis, descending=True).numpy()
    np.testing.assert_array_equal(found, np.argsort(-x.numpy(), axis))


@pytest.mark.parametrize("direction", [False, None])
def test_from_the_smallest_up(direction):
    x = tf.constant([2.0, NAN, 1.0])
    np.testing.assert_array_equal(tnp.sort(x, descending=direction).numpy(), [1, 2, NAN])
    assert tnp.argsort(x, descending=direction).numpy().tolist() == [2, 0, 1]
