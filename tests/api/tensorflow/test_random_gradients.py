"""Gradients of samples by the parameters of their distributions, of every order:
the quantile of a sample stays what it is.
"""

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
    (first,) = derivatives(
        lambda b: tf.random.stateless_gamma([], [1, 2], 2.0, b, tf.float64), 1.0, 1
    )
    np.testing.assert_allclose(first, -float(sample))


def test_gamma_of_many():
    """The mean of gamma numbers is alpha, so that its derivative is 1."""
    alpha = tf.Variable([0.5, 2.0, 30.0])
    tf.random.set_seed(0)
    with tf.GradientTape() as tape:
        mean = tf.reduce_mean(tf.random.gamma([40000], alpha), axis=0)
    np.testing.assert_allclose(tape.gradient(mean, alpha).numpy(), [1, 1, 1], atol=0.05)


def test_beta_from_gammas():
    """The mean of a beta variable is a / (a + b),
    and so is that of x / (x + y) with gamma variables x and y.
    """
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
    """Every example gets numbers of its own shape; a stateless one,
    those that it would get alone.
    """
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
    drawn = tf.vmap(lambda alpha: tf.random.gamma([2000], alpha))(
        tf.constant([5.0, 5.0, 50.0])
    ).numpy()
    np.testing.assert_allclose(drawn.mean(1), [5, 5, 50], rtol=0.05)
    assert not np.array_equal(drawn[0], drawn[1])
    nested = tf.vmap(
        lambda b: tf.vmap(lambda a: tf.random.gamma([500], a, b))(tf.constant([1.0, 10.0]))
    )(tf.constant([1.0, 2.0]))
    np.testing.assert_allclose(nested.numpy().mean(-1), [[1, 10], [0.5, 5]], rtol=0.2)


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize(
    "params", [(0.0, 1.0, -1.0, 1.5), (0.5, 2.0, 3.0, 5.0), (1.0, 0.5, -2.0, 0.0)]
)
def test_truncated_normal(params, index):
    def sample(p):
        given = [p if i == index else value for i, value in enumerate(params)]
        return tf.random.stateless_parameterized_truncated_normal(
            [], [3, 4], *[tf.cast(g, tf.float64) for g in given]
        )

    def quantile(mean, deviation, low, high):
        a, b = scipy.special.ndtr((np.array([low, high]) - mean) / deviation)
        return mean + deviation * scipy.special.ndtri(a + probability * (b - a))

    mean, deviation, low, high = params
    a, b, at = scipy.special.ndtr(
        (np.array([low, high, float(sample(params[index]))]) - mean) / deviation
    )
    probability = (at - a) / (b - a)
    expected = differences(
        lambda p: quantile(*[p if i == index else value for i, value in enumerate(params)]),
        params[index],
    )
    np.testing.assert_allclose(
        derivatives(sample, params[index], 2), expected, rtol=1e-5, atol=1e-5
    )


def test_truncated_normal_numbers():
    sample = tf.random.stateless_parameterized_truncated_normal(
        [20000, 2], [1, 2], [0.0, 10.0], 2.0, [-1.0, 8.0], [3.0, 100.0]
    )
    assert sample.dtype == tf.float32
    for column, (mean, low, high) in zip(sample.numpy().T, [(0, -1, 3), (10, 8, 100)], strict=True):
        assert low <= column.min()
        assert column.max() <= high
        expected = scipy.stats.truncnorm((low - mean) / 2, (high - mean) / 2, mean, 2)
        np.testing.assert_allclose(
            [column.mean(), column.std()], [expected.mean(), expected.std()], atol=0.03
        )


@pytest.mark.parametrize(
    ("shape", "params"),
    [
        ([2], (0.0, -1.0, -1.0, 1.0)),
        ([2], (0.0, 1.0, 1.0, -1.0)),
        ([3], ([0.0, 1.0], 1.0, -1.0, 1.0)),
        ([2], (0, 1, -1, 1)),
    ],
)
def test_truncated_normal_refuses(shape, params):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="stateless_parameterized_truncated_normal"
    ):
        tf.random.stateless_parameterized_truncated_normal(shape, [1, 2], *params)


# Every distribution with parameters, however it is drawn

SEED = [5, 6]


def _truncated(mean, stddev):
    return scipy.stats.truncnorm(-2.0, 2.0, mean, stddev)


# name: SciPy's distribution of the parameters, the parameters, and the ways to draw it
DISTRIBUTIONS = {
    "normal": (
        scipy.stats.norm, (0.5, 2.0),
        {
            "normal": lambda shape, mean, stddev, dtype:
                tf.random.normal(shape, mean, stddev, dtype, seed=1),
            "stateless_normal": lambda shape, mean, stddev, dtype:
                tf.random.stateless_normal(shape, SEED, mean, stddev, dtype),
            "Generator.normal": lambda shape, mean, stddev, dtype:
                GENERATOR.normal(shape, mean, stddev, dtype),
        },
    ),
    "uniform": (
        lambda low, high: scipy.stats.uniform(low, high - low), (-1.0, 3.0),
        {
            "uniform": lambda shape, low, high, dtype:
                tf.random.uniform(shape, low, high, dtype, seed=1),
            "stateless_uniform": lambda shape, low, high, dtype:
                tf.random.stateless_uniform(shape, SEED, low, high, dtype),
            "Generator.uniform": lambda shape, low, high, dtype:
                GENERATOR.uniform(shape, low, high, dtype),
        },
    ),
    "truncated normal": (
        _truncated, (0.5, 2.0),
        {
            "truncated_normal": lambda shape, mean, stddev, dtype:
                tf.random.truncated_normal(shape, mean, stddev, dtype, seed=1),
            "stateless_truncated_normal": lambda shape, mean, stddev, dtype:
                tf.random.stateless_truncated_normal(shape, SEED, mean, stddev, dtype),
            "Generator.truncated_normal": lambda shape, mean, stddev, dtype:
                GENERATOR.truncated_normal(shape, mean, stddev, dtype),
        },
    ),
    "gamma": (
        lambda alpha, beta: scipy.stats.gamma(alpha, scale=1.0 / beta), (1.7, 2.5),
        {
            # Here the shape of the parameters comes behind that which is asked for.
            "gamma": lambda shape, alpha, beta, dtype:
                tf.random.gamma(_front(shape, alpha, beta), alpha, beta, dtype, seed=1),
            "stateless_gamma": lambda shape, alpha, beta, dtype:
                tf.random.stateless_gamma(shape, SEED, alpha, beta, dtype),
        },
    ),
    "parameterized truncated normal": (
        lambda mean, stddev, low, high:
            scipy.stats.truncnorm((low - mean) / stddev, (high - mean) / stddev, mean, stddev),
        (0.5, 2.0, -1.0, 3.0),
        {
            "stateless_parameterized_truncated_normal": lambda shape, *params_and_dtype: (
                tf.random.stateless_parameterized_truncated_normal(shape, SEED,
                    *params_and_dtype[:-1])
            ),
        },
    ),
}  # fmt: skip
GENERATOR = tf.random.Generator.from_seed(7)
SHAPES = {"numbers": (3,), "a row each": (4, 3), "a number and a row": (2, 3)}


def _front(shape, *params):
    joint = np.broadcast_shapes(*[tuple(p.shape) for p in params])
    return shape[: len(shape) - len(joint)]


def _params(values, shape_name):
    """The parameters, all numbers, all rows, or in turn; no two numbers are alike."""
    rows = [value + 0.1 * np.arange(3.0) for value in values]
    kinds = {
        "numbers": (),
        "a row each": range(len(values)),
        "a number and a row": range(0, len(values), 2),
    }[shape_name]
    return [rows[i] if i in kinds else np.float64(values[i]) for i in range(len(values))]


DRAWS = [
    pytest.param(distribution, values, draw, shape_name, id=f"{how}, {shape_name}")
    for distribution, values, ways in DISTRIBUTIONS.values()
    for how, draw in ways.items()
    for shape_name in SHAPES
]
every_draw = pytest.mark.parametrize(("distribution", "values", "draw", "shape_name"), DRAWS)


def _expected(distribution, params, sample, weights):
    """The gradient of the weighted sum by each parameter: central differences of the quantile at
    the samples' probabilities.
    """
    probabilities = distribution(*params).cdf(sample)
    gradients = []
    for i, param in enumerate(params):
        ends = [
            distribution(*[p + sign * STEP if j == i else p for j, p in enumerate(params)]).ppf(
                probabilities
            )
            for sign in (1, -1)
        ]
        slopes = weights * (ends[0] - ends[1]) / (2 * STEP)
        gradients.append(slopes.sum(axis=tuple(range(slopes.ndim - np.ndim(param)))))
    return gradients


def _step(draw, shape, weights, dtype=tf.float64):
    def step(*params):
        with tf.GradientTape() as tape:
            tape.watch(params)
            sample = draw(shape, *params, dtype)
            total = tf.reduce_sum(sample * tf.cast(weights, dtype))
        return [sample, *tape.gradient(total, params)]

    return step


@every_draw
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_parameter_of_every_draw(distribution, values, draw, shape_name, compiled):
    params, shape = _params(values, shape_name), SHAPES[shape_name]
    weights = np.arange(1.0, np.prod(shape) + 1.0).reshape(shape)
    step = _step(draw, shape, weights)
    tf.random.set_seed(3)
    sample, *gradients = (tf.function(step, autograph=False) if compiled else step)(
        *map(tf.constant, params)
    )
    assert tuple(sample.shape) == shape
    for found, right in zip(
        gradients, _expected(distribution, params, sample.numpy(), weights), strict=True
    ):
        np.testing.assert_allclose(found.numpy(), right, rtol=2e-5, atol=2e-5)


@every_draw
def test_single_precision_and_variables(distribution, values, draw, shape_name):
    params, shape = [p.astype(np.float32) for p in _params(values, shape_name)], SHAPES[shape_name]
    weights = np.arange(1.0, np.prod(shape) + 1.0).reshape(shape)
    tf.random.set_seed(3)
    variables = [tf.Variable(p) for p in params]
    sample, *gradients = _step(draw, shape, weights, tf.float32)(*variables)
    assert {t.dtype for t in (sample, *gradients)} == {tf.float32}
    wide = [p.astype(np.float64) for p in params]
    for found, right in zip(
        gradients,
        _expected(distribution, wide, sample.numpy().astype(np.float64), weights),
        strict=True,
    ):
        np.testing.assert_allclose(found.numpy(), right, rtol=5e-3, atol=5e-3)


@every_draw
def test_forward_mode_agrees(distribution, values, draw, shape_name):
    params, shape = [tf.constant(p) for p in _params(values, shape_name)], SHAPES[shape_name]
    tangents = [
        tf.constant(np.random.default_rng(i).normal(size=p.shape)) for i, p in enumerate(params)
    ]
    tf.random.set_seed(3)
    with tf.autodiff.ForwardAccumulator(params, tangents) as accumulator, tf.GradientTape() as tape:
        tape.watch(params)
        total = tf.reduce_sum(draw(shape, *params, tf.float64))
    gradients = tape.gradient(total, params)
    along = sum(float(tf.reduce_sum(g * t)) for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(float(accumulator.jvp(total)), along, rtol=1e-9)


@pytest.mark.parametrize(
    "draw",
    [
        lambda p: tf.random.poisson([4], p, seed=1),
        lambda p: tf.random.stateless_poisson([4], SEED, p, tf.float64),
        lambda p: tf.random.stateless_binomial([4], SEED, 10.0, p / 10.0, tf.float64),
        lambda p: tf.cast(tf.random.stateless_categorical([[p, 1.0]], 4, SEED), tf.float64),
    ],
)
def test_counts_and_choices_have_no_gradient(draw):
    p = tf.constant(2.5, tf.float64)
    for function in (draw, tf.function(draw, autograph=False)):
        with tf.GradientTape() as tape:
            tape.watch(p)
            y = function(p)
        assert tape.gradient(y, p) is None


@pytest.mark.parametrize("persistent", [False, True])
def test_a_new_sample_in_every_call_has_its_own_gradient(persistent):
    """A function that draws, called again and again under one tape:
    each gradient belongs to its own numbers.
    """
    scale = tf.Variable(2.0, dtype=tf.float64)

    @tf.function
    def sample():
        return tf.random.normal([3], dtype=tf.float64) * scale

    with tf.GradientTape(persistent=persistent) as tape:
        samples = [sample() for _ in range(3)]
    assert len({tuple(s.numpy()) for s in samples}) == 3
    if persistent:
        for s in samples:
            np.testing.assert_allclose(
                tape.gradient(s, scale).numpy(), s.numpy().sum() / 2.0, rtol=1e-12
            )
    else:
        np.testing.assert_allclose(
            tape.gradient(samples, scale).numpy(),
            sum(s.numpy().sum() for s in samples) / 2.0,
            rtol=1e-12,
        )
