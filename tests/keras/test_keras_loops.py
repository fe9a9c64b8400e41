"""Loops of one's own around Keras's models, as TensorFlow's guides write them: tapes,
functions, layers that are frozen.
"""

import numpy as np
import pytest

import gradtape as tf
import keras
from keras import layers

RNG = np.random.default_rng(3)
X = RNG.normal(size=(12, 4)).astype("float32")
Y = (X @ RNG.normal(size=(4, 1))).astype("float32")


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(2)


def dense(units=1, **options):
    layer = layers.Dense(units, **options)
    layer.build((None, 4))
    return layer


def test_inputs_and_weights_in_one_call():
    layer, x = dense(), tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(layer(x))
    by_x, (by_kernel, by_bias) = tape.gradient(y, (x, layer.trainable_variables))
    np.testing.assert_allclose(
        by_x, np.broadcast_to(np.asarray(layer.kernel).T, X.shape), rtol=1e-5
    )
    np.testing.assert_allclose(by_kernel, X.sum(0)[:, None], rtol=1e-5)
    np.testing.assert_allclose(by_bias, [12.0])


def test_several_models_in_one_call():
    first, second = keras.Sequential([dense(3)]), keras.Sequential([layers.Dense(1)])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_mean(second(first(X)) ** 2)
    both = tape.gradient(
        y, {"first": first.trainable_variables, "second": second.trainable_variables}
    )
    assert [g.shape for g in both["first"] + both["second"]] == [(4, 3), (3,), (3, 1), (1,)]
    for name, model in (("first", first), ("second", second)):
        for a, b in zip(both[name], tape.gradient(y, model.trainable_weights), strict=True):
            np.testing.assert_allclose(a, b)


def test_a_frozen_layer_is_still_a_source_as_in_tensorflow():
    """Its variables leave `trainable_variables`; a tape that is asked for them by name gives what
    it watched when they were made.
    """
    model = keras.Sequential([dense(3), layers.Dense(1)])
    model(X)
    model.layers[0].trainable = False
    assert len(model.trainable_variables) == 2
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(model(X))
    gradients = tape.gradient(y, [*model.trainable_variables, model.layers[0].kernel])
    assert all(gradient is not None for gradient in gradients)


def test_what_a_tape_watches():
    layer, other = dense(), dense()
    with tf.GradientTape() as tape:
        layer(X)
    assert {id(v) for v in tape.watched_variables()} == {
        id(v.__gradtape_variable__) for v in layer.trainable_variables
    }
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(layer.trainable_variables)
        y = tf.reduce_sum(layer(X) * other(X))
    assert all(gradient is not None for gradient in tape.gradient(y, layer.trainable_variables))
    with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(layer.kernel)
        with tape.stop_recording():
            unseen = tf.reduce_sum(layer(X))
        y = tf.reduce_sum(layer(X))
    assert tape.gradient(unseen, layer.kernel) is None
    assert tape.gradient(y, [layer.kernel, layer.bias])[1] is None


def test_unconnected_weights_can_give_zeros():
    used, unused = dense(), dense(2)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(used(X))
    found = tape.gradient(y, [used.kernel, unused.kernel], unconnected_gradients="zero")
    np.testing.assert_array_equal(found[1], np.zeros((4, 2)))


def test_jacobians_of_a_model():
    layer, x = dense(2, activation="tanh"), tf.constant(X[:3])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = layer(x)
    kernel, slope = np.asarray(layer.kernel), 1 - np.asarray(y) ** 2
    np.testing.assert_allclose(
        tape.batch_jacobian(y, x), np.einsum("bo,io->boi", slope, kernel), rtol=1e-5
    )
    expected = np.einsum("bo,bi,op->boip", slope, X[:3], np.eye(2))
    np.testing.assert_allclose(tape.jacobian(y, layer.kernel), expected, rtol=1e-5, atol=1e-6)


def test_a_second_derivative_through_a_model():
    layer = dense(1, activation="tanh")
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(X))
        penalty = tf.reduce_sum(tape.gradient(y, layer.kernel) ** 2)
    found = outer.gradient(penalty, layer.kernel)
    step = 1e-2 * np.sign(np.asarray(found))

    def penalty_at(kernel):
        slope = 1 - np.tanh(X @ kernel) ** 2
        return np.sum((X.T @ slope) ** 2)

    kernel = np.asarray(layer.kernel, np.float64)
    np.testing.assert_allclose(
        np.sum(np.asarray(found) * step) * 2,
        penalty_at(kernel + step) - penalty_at(kernel - step),
        rtol=1e-2,
    )


def loop(step):
    """The losses of a loop over batches, for some epochs."""
    return [
        float(step(tf.constant(X[i : i + 6]), tf.constant(Y[i : i + 6])))
        for _ in range(8)
        for i in (0, 6)
    ]


def step_of(model, optimizer, accuracy=None):
    loss_fn = keras.losses.MeanSquaredError()

    def train_step(x, y):
        with tf.GradientTape() as tape:
            predicted = model(x, training=True)
            loss = loss_fn(y, predicted) + sum(model.losses)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply(gradients, model.trainable_weights)
        if accuracy is not None:
            accuracy.update_state(y, predicted)
        return loss

    return train_step


def small_model():
    keras.utils.set_random_seed(2)
    return keras.Sequential(
        [
            layers.Dense(5, activation="relu", kernel_regularizer="l2"),
            layers.BatchNormalization(),
            layers.Dense(1),
        ]
    )


def test_a_loop_compiled_is_the_loop_and_makes_its_variables_while_it_is_traced():
    metrics = [keras.metrics.MeanAbsoluteError() for _ in range(2)]
    eager = loop(step_of(small_model(), keras.optimizers.Adam(0.05), metrics[0]))
    compiled = loop(tf.function(step_of(small_model(), keras.optimizers.Adam(0.05), metrics[1])))
    np.testing.assert_allclose(eager, compiled, rtol=1e-3, atol=1e-5)
    assert eager[-1] < eager[0]
    np.testing.assert_allclose(metrics[0].result(), metrics[1].result(), rtol=1e-3)
    metrics[1].reset_state()
    assert float(metrics[1].result()) == 0.0


def test_a_model_with_a_loop_of_its_own_under_a_function():
    class Walker(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = layers.Dense(4, activation="tanh"), layers.Dense(1)
            self.steps = self.add_weight(
                shape=(), initializer="zeros", trainable=False, name="steps"
            )

        def call(self, x):
            return self.out(self.hidden(x))

        @tf.function
        def walk(self, x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x) - y) ** 2)
            variables = self.trainable_variables
            self.optimizer.apply_gradients(
                zip(tape.gradient(loss, variables), variables, strict=True)
            )
            self.steps.assign_add(1.0)
            return loss

    model = Walker()
    model.compile(keras.optimizers.SGD(0.1))
    losses = loop(model.walk)
    assert losses[-1] < losses[0]
    assert [float(model.steps), int(model.optimizer.iterations)] == [16.0, 16]


def test_a_train_step_with_metrics_of_its_own_that_each_epoch_resets():
    class Tracked(keras.Model):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner
            self.loss_tracker, self.error = (
                keras.metrics.Mean("loss"),
                keras.metrics.MeanAbsoluteError("error"),
            )

        def call(self, x):
            return self.inner(x)

        @property
        def metrics(self):
            return [self.loss_tracker, self.error]

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = keras.losses.mean_squared_error(y, y_pred)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            self.loss_tracker.update_state(loss)
            self.error.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

        def test_step(self, data):
            x, y = data
            self.error.update_state(y, self(x, training=False))
            return {"error": self.error.result()}

    model = Tracked(layers.Dense(1))
    model.compile(optimizer="sgd")
    history = model.fit(X, Y, batch_size=6, epochs=3, validation_data=(X, Y), verbose=0).history
    assert set(history) == {"loss", "error", "val_error"}
    predicted = model.predict(X, verbose=0)
    np.testing.assert_allclose(history["val_error"][-1], np.abs(predicted - Y).mean(), rtol=1e-5)
    assert history["loss"][2] < history["loss"][0]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"clipnorm": 1.0}, [-0.6, -0.8]),
        ({"clipvalue": 0.5}, [-0.5, -0.5]),
        ({"global_clipnorm": 2.5}, [-1.5, -2.0]),
    ],
)
def test_gradients_are_clipped(how, expected, compiled):
    optimizer, v = keras.optimizers.SGD(1.0, **how), keras.Variable(np.zeros(2, "float32"))
    step = lambda g: optimizer.apply([g], [v])
    (tf.function(step) if compiled else step)(tf.constant([3.0, 4.0]))
    np.testing.assert_allclose(v, expected, rtol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_schedules_follow_the_steps(compiled):
    rates = keras.optimizers.schedules.PiecewiseConstantDecay([1, 3], [1.0, 0.5, 0.25])
    optimizer, v = keras.optimizers.SGD(rates), keras.Variable(0.0)
    step = lambda: optimizer.apply([tf.constant(1.0)], [v])
    step = tf.function(step) if compiled else step
    seen = []
    for _ in range(5):
        step()
        seen.append(float(v))
    np.testing.assert_allclose(np.diff([0.0, *seen]), [-1.0, -1.0, -0.5, -0.5, -0.25])
    assert float(optimizer.learning_rate) == 0.25


@pytest.mark.parametrize("compiled", [False, True])
def test_a_learning_rate_can_be_set_between_steps(compiled):
    optimizer, v = keras.optimizers.SGD(1.0), keras.Variable(0.0)
    step = lambda: optimizer.apply([tf.constant(1.0)], [v])
    step = tf.function(step) if compiled else step
    step()
    optimizer.learning_rate = 0.5
    step()
    assert float(v) == -1.5


@pytest.mark.parametrize("compiled", [False, True])
def test_averages_of_weights_replace_them_when_they_are_due(compiled):
    optimizer = keras.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2)
    v = keras.Variable(0.0)
    step = lambda: optimizer.apply([tf.constant(1.0)], [v])
    step = tf.function(step) if compiled else step
    for _ in range(2):
        step()
    assert float(v) == -1.5  # the averages: -1 at the first step, then (-1 - 2) / 2


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_are_gathered_over_steps(compiled):
    optimizer, v = keras.optimizers.SGD(1.0, gradient_accumulation_steps=2), keras.Variable(0.0)
    step = lambda g: optimizer.apply([g], [v])
    step = tf.function(step) if compiled else step
    seen = []
    for gradient in (1.0, 3.0, 5.0, 7.0):
        step(tf.constant(gradient))
        seen.append(float(v))
    np.testing.assert_allclose(seen, [0.0, -2.0, -2.0, -8.0])


def test_constraints_hold_after_a_step():
    layer = dense(2, kernel_constraint="non_neg")
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(np.abs(X)))
    keras.optimizers.SGD(10.0).apply(
        tape.gradient(y, layer.trainable_variables), layer.trainable_variables
    )
    np.testing.assert_array_equal(layer.kernel, np.zeros((4, 2)))


@pytest.mark.parametrize("compiled", [False, True])
def test_minimize_in_a_loop_and_in_a_function(compiled):
    model, optimizer = small_model(), keras.optimizers.Adam(0.05)
    model(X)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.minimize(loss, model.trainable_variables, tape=tape)
        return loss

    losses = loop(tf.function(step) if compiled else step)
    assert losses[-1] < losses[0]
    assert (
        int(optimizer.minimize(lambda: tf.reduce_mean(model(X) ** 2), model.trainable_variables))
        == 17
    )


def test_one_seed_for_keras_numpy_and_gradtape():
    drawn = []
    for _ in range(2):
        keras.utils.set_random_seed(11)
        drawn.append(
            np.stack([tf.random.normal([3]), keras.random.normal([3]), np.random.normal(size=3)])
        )
    np.testing.assert_array_equal(*drawn)
