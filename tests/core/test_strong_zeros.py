"""Strong zeros as users meet them: masked branches and losses of functions made of many ops, in
every way to differentiate them.
"""

import numpy as np
import pytest

import gradtape as tf

ROWS = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0], [3.0, 1.0, -1.0]])


def by_angle(x):
    return tf.reduce_sum(x * ROWS[:, ::-1], axis=1) / (
        tf.norm(x, axis=1) * tf.norm(tf.constant(ROWS), axis=1)
    )


# Each gives one number for each of three rows, and has no derivative where a row is all zeros.
OF_ROWS = {
    "norm": lambda x: tf.norm(x, axis=1),
    "norm of order 3": lambda x: tf.norm(x, ord=3, axis=1),
    "root of a sum of squares": lambda x: tf.sqrt(tf.reduce_sum(tf.square(x), axis=1)),
    "reduce_euclidean_norm": lambda x: tf.math.reduce_euclidean_norm(x, axis=1),
    "reduce_std": lambda x: tf.math.reduce_std(x, axis=1),
    "logarithm of the variance": lambda x: tf.math.log(tf.math.reduce_variance(x, axis=1)),
    "l2_normalize": lambda x: tf.reduce_sum(tf.math.l2_normalize(x, axis=1, epsilon=0.0), axis=1),
    "distance": lambda x: tf.norm(x - 2 * x, axis=1),
    "cosine": by_angle,
    "arc cosine": lambda x: tf.acos(tf.clip_by_value(by_angle(x) / 2, -1.0, 1.0)),
    "geometric mean": lambda x: tf.exp(tf.reduce_mean(tf.math.log(tf.abs(x)), axis=1)),
    "product of logarithms": lambda x: tf.reduce_prod(tf.math.log(tf.abs(x)), axis=1),
    "running product": lambda x: tf.reduce_sum(tf.math.cumprod(1 / x, axis=1), axis=1),
    "logsumexp of logarithms": lambda x: tf.reduce_logsumexp(tf.math.log(tf.abs(x)), axis=1),
    "softmax of logarithms": lambda x: tf.nn.softmax(tf.math.log(tf.abs(x)), axis=1)[:, 0],
    "log_softmax of logarithms": lambda x: tf.nn.log_softmax(tf.math.log(tf.abs(x)), axis=1)[:, 0],
    "harmonic mean": lambda x: 1 / tf.reduce_mean(1 / x, axis=1),
    "entropy": lambda x: (
        -tf.reduce_sum(x / tf.reduce_sum(x, axis=1, keepdims=True) * tf.math.log(tf.abs(x)), axis=1)
    ),
    "maximum of quotients": lambda x: tf.reduce_max(x / x, axis=1) + tf.reduce_max(x, axis=1),
    "power": lambda x: tf.reduce_sum(tf.abs(x) ** 0.3, axis=1),
    "power of tensors": lambda x: tf.reduce_sum(tf.abs(x) ** x, axis=1),
    "angle": lambda x: tf.atan2(x[:, 0], x[:, 1]),
    "complex": lambda x: tf.abs(tf.sqrt(tf.complex(x[:, 0], x[:, 1]))),
}
LAST_TWO = np.array([0.0, 1.0, 1.0])

MASKS = {
    "where": lambda y: tf.reduce_sum(tf.where(LAST_TWO > 0, y, 0.0)),
    "slice": lambda y: tf.reduce_sum(y[1:]),
    "boolean_mask": lambda y: tf.reduce_sum(tf.boolean_mask(y, LAST_TWO > 0)),
    "gather": lambda y: tf.reduce_sum(tf.gather(y, [2, 1])),
    "split": lambda y: tf.reduce_sum(tf.split(y, [1, 2])[1]),
    "unstack": lambda y: tf.add_n(tf.unstack(y)[1:]),
    "multiply_no_nan": lambda y: tf.reduce_sum(tf.math.multiply_no_nan(y, LAST_TWO)),
    "product": lambda y: tf.reduce_sum(y * LAST_TWO),
}


def gradient(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def nested(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        d = gradient(function, x)
    return d, tape.gradient(d, x)


WAYS = [
    *[pytest.param(mask, False, id=f"{mask} eager") for mask in MASKS],
    *[
        pytest.param(
            mask, True, id=f"{mask} compiled", marks=() if mask == "where" else pytest.mark.slow
        )
        for mask in ("where", "slice", "multiply_no_nan", "product")
    ],
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("mask", "compiled"), WAYS)
@pytest.mark.parametrize("name", OF_ROWS)
def test_a_masked_row_does_not_count(name, mask, compiled):
    """The gradient, and its own, are those of the other rows."""
    masked = lambda x: MASKS[mask](OF_ROWS[name](x))
    found = (tf.function(nested, autograph=False) if compiled else nested)(
        masked, tf.constant(ROWS)
    )
    harmless = ROWS.copy()
    harmless[0] = [1.5, 2.5, 3.5]
    expected = nested(masked, tf.constant(harmless))
    for order, (f, e) in enumerate(zip(found, expected, strict=True), 1):
        np.testing.assert_array_equal(f[0], np.zeros(3), err_msg=f"order {order}")
        np.testing.assert_allclose(f[1:], e[1:], rtol=1e-9, atol=1e-9, err_msg=f"order {order}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", OF_ROWS)
def test_a_row_that_does_not_move_does_not_count(name, compiled):
    """Tangents, and the rows of a Jacobian in forward mode."""
    function = OF_ROWS[name]

    def tangent(x, t):
        with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
            y = function(x)
        return accumulator.jvp(y)

    still = np.array([[0, 0, 0], [1, -1, 0.5], [2, 1, 1]])
    moved = (tf.function(tangent) if compiled else tangent)(
        tf.constant(ROWS), tf.constant(still)
    ).numpy()
    assert moved[0] == 0
    assert np.isfinite(moved[1:]).all()
    assert moved[1:].any()


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_jacobian_behind_a_relu(mode):
    x = tf.constant([-1.0, 2.0, 0.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.special.expint(tf.nn.relu(x))
    expected = np.diag([0.0, np.exp(2.0) / 2, np.exp(0.5) / 0.5])
    np.testing.assert_allclose(tape.jacobian(y, x, mode=mode), expected, rtol=1e-5)


def test_derivatives_by_taylor_mode_behind_a_relu():
    x = tf.constant([-1.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.nn.relu(x)
        y = (
            tf.sqrt(z)
            + tf.math.log(z)
            + 1 / z
            + z**0.5
            + tf.math.special.expint(z)
            - tf.math.special.expint(z)
        )
    found = tape.derivatives(y, {"x": x}, ["x", "xx", "xxx"])
    for order, by in enumerate(["x", "xx", "xxx"], 1):
        slopes = [
            0.5 / 2 + 0.25 - 1 / 16 + 0.25,
            -1 / 32 - 1 / 16 + 2 / 64 - 1 / 32,
            3 / 256 + 2 / 64 - 6 / 256 + 3 / 256,
        ]
        np.testing.assert_allclose(found[by], [0.0, slopes[order - 1]], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_missing_data_is_left_out(compiled):
    """NaN in the data, which no flag of the processor tells of."""

    def step(w, x):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.reduce_sum(tf.where(tf.math.is_nan(x), 0.0, tf.square(tf.tanh(x * w) - 0.5)))
        return tape.gradient(loss, w)

    x = np.array([[np.nan, 1.0, 2.0], [0.5, np.nan, -1.0]])
    w = np.array([0.3, -0.2, 0.1])
    found = (tf.function(step) if compiled else step)(tf.constant(w), tf.constant(x))
    parts = 2 * (np.tanh(x * w) - 0.5) * (1 - np.tanh(x * w) ** 2) * x
    np.testing.assert_allclose(found, np.nansum(parts, axis=0), rtol=1e-9)


def test_a_derivative_that_is_not_finite_stays_so_where_it_counts():
    x = tf.constant([0.0, 0.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(x) * [0.0, 1.0, 1.0]
    np.testing.assert_array_equal(tape.gradient(y, x), [0.0, np.inf, 0.5])


def test_a_zero_that_moves_has_its_derivative():
    """At a pole too: the derivative of w / (2 sqrt(x)) by w."""
    w, x = tf.constant([0.0, 0.0]), tf.constant([4.0, 0.0])
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = w * tf.sqrt(x)
        d = inner.gradient(y, x)
    np.testing.assert_array_equal(d, [0.0, 0.0])
    np.testing.assert_array_equal(outer.gradient(d, w), [0.25, np.inf])


def test_a_custom_gradient_is_handed_the_zero():
    seen = []

    @tf.custom_gradient
    def spy(x):
        def grad(g):
            seen.append(g.numpy())
            return g

        return tf.identity(x), grad

    x = tf.constant([0.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.where(x > 0, tf.sqrt(spy(x)), 0.0)
    np.testing.assert_array_equal(tape.gradient(y, x), [0.0, 0.25])
    np.testing.assert_array_equal(seen[0], [0.0, 0.25])


def test_large_arrays_that_threads_share():
    values = np.ones(3_000_000, np.float32)
    values[[7, 2_500_000]] = 0.0
    x = tf.constant(values)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sqrt(x) * tf.constant(values))
    np.testing.assert_array_equal(tape.gradient(y, x), values / 2)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
def test_all_shapes_and_dtypes(shape, dtype):
    x = tf.zeros(shape, dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(x) * tf.zeros(shape, dtype)
    found = tape.gradient(y, x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(tf.cast(found, "complex128"), np.zeros(shape))


def test_embeddings_that_are_looked_up_sparsely():
    table = tf.Variable([[0.0], [4.0], [9.0]])
    with tf.GradientTape() as tape:
        rows = tf.gather(table, [0, 1])
        y = tf.reduce_sum(tf.sqrt(rows) * [[0.0], [1.0]])
    np.testing.assert_array_equal(
        tf.convert_to_tensor(tape.gradient(y, table)), [[0.0], [0.25], [0.0]]
    )


@pytest.mark.parametrize("value", [0, 2, -1.0, [0.0, 2.0], [0.0, 0.0]])
def test_powers_that_hide_nan(value):
    """Any number to the power of 0 is 1, so that a NaN before it does not show."""
    x, c = tf.constant([np.nan, 1.0]), tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(c)
        y = tf.reduce_sum((x * c) ** value * [0.0, 1.0])
    assert tape.gradient(y, c).numpy()[0] == 0
