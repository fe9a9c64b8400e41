"""`gradtape.experimental.scipy`: functions of SciPy that ask no protocol,
with SciPy's values and with gradients.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import gradtape as tf
import gradtape.experimental.scipy
from tests.ops import checks

X = np.random.default_rng(0).normal(size=(2, 3, 4))
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, (3, 1))
SPECIAL = np.array([[np.inf, 0.0], [-np.inf, -np.inf], [np.nan, 1.0], [1e4, 1e4]])

CALLS = {
    "logsumexp": lambda s, x: s.logsumexp(x),
    "logsumexp of rows": lambda s, x: s.logsumexp(x, axis=-1),
    "logsumexp of matrices": lambda s, x: s.logsumexp(x, axis=(0, 2), keepdims=True),
    "logsumexp, weights": lambda s, x: s.logsumexp(x, 1, WEIGHTS),
    "logsumexp, weights of everything": lambda s, x: s.logsumexp(x, b=WEIGHTS, keepdims=True),
    "logsumexp, signs": lambda s, x: s.logsumexp(x, axis=1, b=-WEIGHTS, return_sign=True)[0],
    "softmax": lambda s, x: s.softmax(x),
    "softmax of rows": lambda s, x: s.softmax(x, axis=-1),
    "softmax of matrices": lambda s, x: s.softmax(x, axis=(0, 2)),
    "log_softmax": lambda s, x: s.log_softmax(x),
    "log_softmax of columns": lambda s, x: s.log_softmax(x, 1),
    "log_softmax of matrices": lambda s, x: s.log_softmax(x, axis=(1, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives(name):
    def function(x):
        return CALLS[name](scipy.special, x)

    with tf.GradientTape(strict=True) as tape:
        variable = tf.Variable(X)
        found = function(variable)
    assert isinstance(found, tf.Tensor)
    assert tape.gradient(found, variable) is not None
    np.testing.assert_allclose(found.numpy(), function(X), rtol=1e-12, atol=1e-12)
    checks.check_gradient(function, [X], [0])
    checks.check_second_order(function, [X], [0], outer="reverse", inner_mode="reverse")
    np.testing.assert_allclose(
        tf.function(function)(tf.constant(X)).numpy(), function(X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_special_values(name, dtype):
    x = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(x, axis=1)
    found = getattr(scipy.special, name)(tf.constant(x), axis=1).numpy()
    assert found.dtype == expected.dtype
    certain = ~np.isposinf(x).any(axis=1)  # SciPy gives NaN for the softmax of infinity
    np.testing.assert_allclose(found[certain], expected[certain], rtol=1e-6)


def test_weights_are_differentiated_too():
    def function(x, weights):
        return scipy.special.logsumexp(x, axis=1, b=weights)

    checks.check_gradient(function, [X, np.broadcast_to(WEIGHTS, (3, 4)).copy()], [0, 1])


def test_signs_and_sums_that_are_negative():
    a, b = np.array([1.0, 2.0, 0.5]), np.array([1.0, -1.0, 0.0])
    expected, sign = scipy.special.logsumexp(a, b=b, return_sign=True)
    found, found_sign = scipy.special.logsumexp(tf.constant(a), b=b, return_sign=True)
    np.testing.assert_allclose([found.numpy(), found_sign.numpy()], [expected, sign], rtol=1e-12)
    assert np.isnan(scipy.special.logsumexp(tf.constant(a), b=b).numpy())


def test_arrays_are_left_to_scipy():
    assert type(scipy.special.softmax(X)) is np.ndarray
    assert scipy.special.softmax.__wrapped__(X).tolist() == scipy.special.softmax(X).tolist()
    assert scipy.special.logsumexp.__doc__ == scipy.special.logsumexp.__wrapped__.__doc__
    before = scipy.special.softmax
    gradtape.api.tensorflow.scipy_functions.record()
    assert scipy.special.softmax is before
