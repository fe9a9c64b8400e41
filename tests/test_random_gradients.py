"""Gradients of samples by the parameters of their distributions, of every order: the quantile of a sample stays what it is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

import gradtape as tf

STEP = 1e-4


def derivatives(function, x, order):
    """The derivatives of a function of one number, of the orders 1 to `order`, by nested tapes."""
    x = tf.constant(x, tf.float64)
    found = []

    def level(n):
        if n == 0:
            return function(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = level(n - 1)
        gradient = tape.gradient(y, x)
        found.append(float(gradient))
        return gradient

    level(order)
    return found


def differences(function, x):
    """Central differences of the orders 1 and 2."""
    below, here, above = (function(x + d) for d in (-STEP, 0, STEP))
    return [(above - below) / (2 * STEP), (above - 2 * here + below) / STEP**2]


@pytest.mark.parametrize("alpha", [0.2, 0.9, 3.0, 50.0])
def test_gamma(alpha):
    def sample(a):
        return tf.random.stateless_gamma([], seed=[1, 2], alpha=a, dtype=tf.float64)

    quantile = scipy.special.gammainc(alpha, float(sample(alpha)))
    expected = differences(lambda a: scipy.special.gammaincinv(a, quantile), alpha)
    np.testing.assert_allclose(derivatives(sample, alpha, 2), expected, rtol=1e-5, atol=1e-6)


def test_gamma_by_rate():
    sample = tf.random.stateless_gamma([], seed=[1, 2], alpha=2.0, beta=1.0, dtype=tf.float64)
    (first,) = derivatives(lambda b: tf.random.stateless_gamma([], [1, 2], 2.0, b, tf.float64), 1.0, 1)
    np.testing.assert_allclose(first, -float(sample))


def test_gamma_of_many():
    """The mean of gamma numbers is alpha, so that its derivative is 1."""
    alpha = tf.Variable([0.5, 2.0, 30.0])
    tf.random.set_seed(0)
    with tf.GradientTape() as tape:
        mean = tf.reduce_mean(tf.random.gamma([40000], alpha), axis=0)
    np.testing.assert_allclose(tape.gradient(mean, alpha).numpy(), [1, 1, 1], atol=0.05)


def test_beta_from_gammas():
    """The mean of a beta variable is a / (a + b), and so is that of x / (x + y) with gamma variables x and y."""
    a = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(a)
        x = tf.random.stateless_gamma([20000], seed=[1, 2], alpha=a)
        y = tf.random.stateless_gamma([20000], seed=[3, 4], alpha=3.0)
        mean = tf.reduce_mean(x / (x + y))
    np.testing.assert_allclose(float(tape.gradient(mean, a)), 3 / 25, atol=0.01)


def test_student_t_from_a_normal_and_a_gamma():
    """The mean of t**2 is n / (n - 2)."""
    freedom = tf.constant(12.0)
    with tf.GradientTape() as tape:
        tape.watch(freedom)
        scale = tf.random.stateless_gamma([100000], seed=[1, 2], alpha=freedom / 2) / (freedom / 2)
        mean = tf.reduce_mean(tf.random.stateless_normal([100000], seed=[3, 4]) ** 2 / scale)
    np.testing.assert_allclose(float(tape.gradient(mean, freedom)), -2 / 100, atol=0.005)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32])
def test_gamma_gradients_are_finite_in_every_dtype(dtype):
    alpha = tf.Variable([1e-3, 0.1, 1.0, 100.0], dtype=dtype)
    tf.random.set_seed(0)
    with tf.GradientTape() as tape:
        sample = tf.random.gamma([100], alpha, dtype=dtype)
    gradient = tape.gradient(sample, alpha)
    assert gradient.dtype == dtype
    assert np.isfinite(gradient.numpy().astype(np.float32)).all()


def test_gamma_under_vmap():
    """Every example gets numbers of its own shape; a stateless one, those that it would get alone."""
    alphas = tf.constant([0.1, 2.0, 100.0])

    def stateless(alpha):
        with tf.GradientTape() as tape:
            tape.watch(alpha)
            y = tf.random.stateless_gamma([4], seed=[1, 2], alpha=alpha)
        return y, tape.gradient(y, alpha)

    values, gradients = tf.vmap(stateless)(alphas)
    for i, alpha in enumerate(alphas):
        value, gradient = stateless(alpha)
        np.testing.assert_array_equal(values[i].numpy(), value.numpy())
        np.testing.assert_allclose(gradients[i].numpy(), gradient.numpy(), rtol=1e-5)
    tf.random.set_seed(0)
    drawn = tf.vmap(lambda alpha: tf.random.gamma([2000], alpha))(tf.constant([5.0, 5.0, 50.0])).numpy()
    np.testing.assert_allclose(drawn.mean(1), [5, 5, 50], rtol=0.05)
    assert not np.array_equal(drawn[0], drawn[1])
    nested = tf.vmap(lambda b: tf.vmap(lambda a: tf.random.gamma([500], a, b))(tf.constant([1.0, 10.0])))(tf.constant([1.0, 2.0]))
    np.testing.assert_allclose(nested.numpy().mean(-1), [[1, 10], [0.5, 5]], rtol=0.2)


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("params", [(0.0, 1.0, -1.0, 1.5), (0.5, 2.0, 3.0, 5.0), (1.0, 0.5, -2.0, 0.0)])
def test_truncated_normal(params, index):
    def sample(p):
        given = [p if i == index else value for i, value in enumerate(params)]
        return tf.random.stateless_parameterized_truncated_normal([], [3, 4], *[tf.cast(g, tf.float64) for g in given])

    def quantile(mean, deviation, low, high):
        a, b = scipy.special.ndtr((np.array([low, high]) - mean) / deviation)
        return mean + deviation * scipy.special.ndtri(a + probability * (b - a))

    mean, deviation, low, high = params
    a, b, at = scipy.special.ndtr((np.array([low, high, float(sample(params[index]))]) - mean) / deviation)
    probability = (at - a) / (b - a)
    expected = differences(lambda p: quantile(*[p if i == index else value for i, value in enumerate(params)]), params[index])
    np.testing.assert_allclose(derivatives(sample, params[index], 2), expected, rtol=1e-5, atol=1e-5)


def test_truncated_normal_numbers():
    sample = tf.random.stateless_parameterized_truncated_normal([20000, 2], [1, 2], [0.0, 10.0], 2.0, [-1.0, 8.0], [3.0, 100.0])
    assert sample.dtype == tf.float32
    for column, (mean, low, high) in zip(sample.numpy().T, [(0, -1, 3), (10, 8, 100)], strict=True):
        assert low <= column.min()
        assert column.max() <= high
        expected = scipy.stats.truncnorm((low - mean) / 2, (high - mean) / 2, mean, 2)
        np.testing.assert_allclose([column.mean(), column.std()], [expected.mean(), expected.std()], atol=0.03)


@pytest.mark.parametrize(
    ("shape", "params"),
    [([2], (0.0, -1.0, -1.0, 1.0)), ([2], (0.0, 1.0, 1.0, -1.0)), ([3], ([0.0, 1.0], 1.0, -1.0, 1.0)), ([2], (0, 1, -1, 1))],
)
def test_truncated_normal_refuses(shape, params):
    with pytest.raises(tf.errors.InvalidArgumentError, match="stateless_parameterized_truncated_normal"):
        tf.random.stateless_parameterized_truncated_normal(shape, [1, 2], *params)
