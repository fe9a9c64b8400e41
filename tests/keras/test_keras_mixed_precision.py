"""Half precision: policies, and a loss scale in loops of one's own, in functions and in fit."""

import numpy as np
import pytest

import gradtape as tf
import keras
from keras import layers

RNG = np.random.default_rng(5)
X = RNG.normal(size=(16, 4)).astype("float32")
Y = (X @ RNG.normal(size=(4, 1))).astype("float32")


@pytest.fixture(params=["mixed_float16", "mixed_bfloat16"])
def policy(request):
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy(request.param)
    yield keras.mixed_precision.global_policy()
    keras.mixed_precision.set_global_policy("float32")


def half_model():
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(6, activation="tanh"),
            layers.Dense(1),
            layers.Activation("linear", dtype="float32"),
        ]
    )


def test_weights_and_their_gradients_are_float32(policy):
    model = half_model()
    with tf.GradientTape() as tape:
        hidden = model.layers[0](X)
        loss = tf.reduce_mean((model(X) - Y) ** 2)
    assert hidden.dtype.name == policy.compute_dtype
    assert loss.dtype == tf.float32
    assert {v.dtype for v in model.trainable_variables} == {"float32"}
    assert {g.dtype for g in tape.gradient(loss, model.trainable_variables)} == {tf.float32}


@pytest.mark.parametrize("eager", [False, True])
def test_fit_learns_in_half_precision(policy, eager):
    model = half_model()
    model.compile(keras.optimizers.Adam(0.02), "mse", run_eagerly=eager)
    losses = model.fit(X, Y, batch_size=8, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (policy.compute_dtype == "float16")


def by_scale_loss(optimizer, loss, tape, variables):
    with tape:
        scaled = optimizer.scale_loss(loss)
    optimizer.apply(tape.gradient(scaled, variables), variables)


def by_getters(optimizer, loss, tape, variables):
    with tape:
        scaled = optimizer.get_scaled_loss(loss)
    gradients = optimizer.get_unscaled_gradients(tape.gradient(scaled, variables))
    optimizer.apply_gradients(zip(gradients, variables, strict=True))


def by_clipped_getters(optimizer, loss, tape, variables):
    with tape:
        scaled = optimizer.get_scaled_loss(loss)
    gradients = optimizer.get_unscaled_gradients(tape.gradient(scaled, variables))
    gradients, _ = tf.clip_by_global_norm(gradients, 1e6)
    optimizer.apply(gradients, variables)


def by_looking_only(optimizer, loss, tape, variables):
    with tape:
        scaled = optimizer.get_scaled_loss(loss)
    gradients = tape.gradient(scaled, variables)
    optimizer.get_unscaled_gradients(gradients)
    optimizer.apply(gradients, variables)


def by_minimize(optimizer, loss, tape, variables):
    optimizer.minimize(loss, variables, tape=tape)


WAYS = [by_scale_loss, by_getters, by_clipped_getters, by_looking_only, by_minimize]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("compiled", [False, True])
def test_every_way_to_scale_gives_the_step_without_a_scale(way, compiled):
    """The optimizer is built in its first step, which a function traces."""
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.1), initial_scale=1024.0, dynamic_growth_steps=2
    )
    v = keras.Variable(np.array([1.0, -2.0], "float32"))

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v * x)
        way(optimizer, loss, tape, [v])

    step = tf.function(step) if compiled else step
    expected = np.array([1.0, -2.0])
    for _ in range(5):
        step(tf.constant(1.0))
        expected *= 0.8
    np.testing.assert_allclose(v, expected, rtol=1e-5)
    assert float(optimizer.dynamic_scale) == 4096.0  # doubled after every second step
    assert int(optimizer.iterations) == 5


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_that_overflows_is_left_out_and_halves_the_scale(way, compiled):
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.1), initial_scale=1024.0
    )
    v = keras.Variable(np.array([1.0, -2.0], "float32"))

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * x)
        way(optimizer, loss, tape, [v])

    step = tf.function(step) if compiled else step
    step(tf.constant(np.inf))
    step(tf.constant(np.nan))
    np.testing.assert_array_equal(v, [1.0, -2.0])
    assert float(optimizer.dynamic_scale) == 256.0
    assert int(optimizer.inner_optimizer.iterations) == 0
    step(tf.constant(1.0))
    np.testing.assert_allclose(v, [0.9, -2.1], rtol=1e-5)
    assert float(optimizer.dynamic_scale) == 256.0
    assert int(optimizer.inner_optimizer.iterations) == 1


def test_a_fixed_scale_can_be_taken_away_by_hand_too():
    optimizer, v = keras.optimizers.SGD(1.0, loss_scale_factor=8.0), keras.Variable(1.0)
    assert float(optimizer.get_scaled_loss(tf.constant(2.0))) == 16.0
    assert float(optimizer.get_scaled_loss(lambda: tf.constant(2.0))()) == 16.0
    optimizer.apply_gradients([(optimizer.get_unscaled_gradients([tf.constant(4.0)])[0], v)])
    assert float(v) == 0.5
    assert optimizer.get_unscaled_gradients([None]) == [None]


def test_an_optimizer_without_a_scale_leaves_all_as_it_is():
    optimizer, v = keras.optimizers.SGD(1.0), keras.Variable(1.0)
    loss = tf.constant(2.0)
    assert optimizer.get_scaled_loss(loss) is loss
    optimizer.apply_gradients(
        zip(optimizer.get_unscaled_gradients([tf.constant(0.5)]), [v], strict=True)
    )
    assert float(v) == 0.5


def test_fit_finds_a_scale_that_does_not_overflow():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1, dtype="mixed_float16")])
    inner = keras.optimizers.SGD(0.05)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**22)
    model.compile(optimizer, "mse", auto_scale_loss=False)
    model.fit(X, Y, batch_size=4, epochs=4, verbose=0)
    halved = round(22 - np.log2(float(optimizer.dynamic_scale)))
    assert 0 < halved < 16
    assert int(inner.iterations) == 16 - halved
