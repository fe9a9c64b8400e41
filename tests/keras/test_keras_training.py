"""Custom loops with a tape, fit, evaluate and predict, eager and compiled."""

import warnings

import numpy as np
import pytest

import gradtape as tf
import keras
from keras import layers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 8)).astype("float32")
Y = np.tanh(X.sum(axis=1, keepdims=True)).astype("float32")


def dense_model(**compiled):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"], **compiled)
    return model


@pytest.mark.parametrize("compiled", [False, True])
def test_a_custom_loop_makes_the_loss_smaller(compiled):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        layers.Dense(32), layers.BatchNormalization(), layers.Activation("relu"),
        layers.Dropout(0.1), layers.Dense(1),
    ])  # fmt: skip
    optimizer, loss_of = keras.optimizers.Adam(0.03), keras.losses.MeanSquaredError()

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    run = tf.function(step) if compiled else step
    losses = [float(run(tf.constant(X), tf.constant(Y))) for _ in range(30)]
    assert losses[-1] < 0.3 * losses[0]
    assert int(optimizer.iterations) == 30
    assert not np.allclose(model.layers[1].moving_mean, 0.0)
    np.testing.assert_array_equal(model(X), model(X))  # without dropout


def test_eager_and_compiled_training_agree():
    eager, compiled = dense_model(run_eagerly=True), dense_model()
    for model in (eager, compiled):
        history = model.fit(
            X, Y, batch_size=24, epochs=3, shuffle=False, verbose=0, validation_data=(X, Y)
        )
        assert sorted(history.history) == ["loss", "mae", "val_loss", "val_mae"]
        assert len(history.history["loss"]) == 3
    for name, values in eager.history.history.items():
        np.testing.assert_allclose(values, compiled.history.history[name], rtol=1e-4)
    np.testing.assert_allclose(
        eager.evaluate(X, Y, verbose=0), compiled.evaluate(X, Y, verbose=0), rtol=1e-4
    )
    np.testing.assert_allclose(
        eager.predict(X, batch_size=24, verbose=0),
        compiled.predict(X, verbose=0),
        rtol=1e-3,
        atol=1e-5,
    )
    for a, b in zip(eager.optimizer.variables, compiled.optimizer.variables, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-5)


def test_a_compiled_step_is_traced_once_for_each_shape_of_batch():
    calls = []

    class Counted(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            calls.append(x.shape)
            return self.dense(x)

    model = Counted()
    model.compile("sgd", "mse")
    model.train_on_batch(X[:16], Y[:16])
    calls.clear()
    model.fit(X, Y, batch_size=24, epochs=3, verbose=0)  # 24, 24 and 16
    assert list(map(tuple, calls)) == [(24, 8), (16, 8)]


class OwnScale(keras.optimizers.SGD):
    """Its scale is a constant until it is built, and twice as large after every step."""

    scale = 2.0

    def build(self, variables):
        self.scale = self.add_variable((), initializer=keras.initializers.Constant(2.0))
        super().build(variables)

    def scale_loss(self, loss):
        return loss * self.scale

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(trainable_variables)
        super().apply([gradient / self.scale for gradient in grads], trainable_variables)
        self.scale.assign(2 * self.scale)


@pytest.mark.parametrize(
    ("optimizer", "traces"),
    [
        (lambda: keras.optimizers.Adam(0.1), 1),
        (lambda: keras.optimizers.SGD(0.1, momentum=0.9, use_ema=True), 1),
        (lambda: keras.optimizers.SGD(0.1, loss_scale_factor=8.0), 1),
        (lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)), 2),
        (lambda: OwnScale(0.1), 2),
    ],
)
def test_the_step_that_builds_the_optimizer_is_traced_again_where_the_loss_has_another_scale(
    optimizer, traces
):
    calls = []

    class Counted(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1, kernel_initializer="ones")

        def call(self, x):
            calls.append(x)
            return self.dense(x)

    weights = []
    for eager in (False, True):
        model = Counted()
        model.compile(optimizer(), "mse", run_eagerly=eager, auto_scale_loss=False)
        model(X[:1])
        calls.clear()
        model.fit(X, Y, batch_size=32, epochs=2, shuffle=False, verbose=0)
        assert len(calls) == (4 if eager else traces)
        weights.append(model.get_weights())
    for compiled, expected in zip(*weights, strict=True):
        np.testing.assert_allclose(compiled, expected, rtol=1e-5, atol=1e-6)


def test_a_step_that_makes_a_variable_of_a_batch_runs_eagerly_first():
    class Remembering(keras.Model):
        first = None

        def train_step(self, data):
            if self.first is None:
                self.first = keras.Variable(tf.reduce_mean(data[0]), trainable=False)
            return {"difference": tf.reduce_mean(data[0]) - self.first}

    model = Remembering()
    model.compile()
    history = model.fit(X, Y, batch_size=32, epochs=1, shuffle=False, verbose=0).history
    np.testing.assert_allclose(model.first, X[:32].mean(), rtol=1e-4)
    np.testing.assert_allclose(history["difference"], X[32:].mean() - X[:32].mean(), rtol=1e-4)


def test_run_eagerly_sees_values():
    seen = []

    class Looking(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            seen.append(float(tf.reduce_sum(x)))
            return self.dense(x)

    model = Looking()
    model.compile("sgd", "mse", run_eagerly=True)
    model.train_on_batch(X, Y)
    seen.clear()
    model.fit(X, Y, batch_size=32, shuffle=False, verbose=0)
    np.testing.assert_allclose(seen, [X[:32].sum(), X[32:].sum()], rtol=1e-5)


@pytest.mark.waits
def test_on_batch_methods_agree_with_the_loops():
    model = dense_model()
    loss, mae = model.test_on_batch(X, Y)
    np.testing.assert_allclose(
        [loss, mae], model.evaluate(X, Y, batch_size=64, verbose=0), rtol=1e-6
    )
    np.testing.assert_allclose(model.predict_on_batch(X), model.predict(X, verbose=0), rtol=1e-6)
    logs = model.train_on_batch(X, Y, return_dict=True)
    np.testing.assert_allclose(logs["loss"], loss, rtol=1e-6)
    assert model.test_on_batch(X, Y)[0] < loss


@pytest.mark.parametrize("eager", [False, True])
def test_several_steps_an_execution_give_the_same(eager):
    one, four = (
        dense_model(run_eagerly=eager),
        dense_model(run_eagerly=eager, steps_per_execution=4),
    )
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(batch)
    )
    one.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    four.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[callback])
    np.testing.assert_allclose(one.history.history["loss"], four.history.history["loss"], rtol=1e-5)
    assert seen == [3, 7, 3, 7]
    np.testing.assert_allclose(
        one.predict(X, batch_size=8, verbose=0), four.predict(X, batch_size=8, verbose=0), rtol=1e-4
    )


@pytest.mark.parametrize("eager", [False, True])
def test_a_train_step_of_ones_own(eager):
    class WithOwnStep(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=y_pred)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(loss)
                else:
                    metric.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

    keras.utils.set_random_seed(1)
    inputs = keras.Input((8,))
    model = WithOwnStep(inputs, layers.Dense(1)(inputs))
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=eager)
    losses = model.fit(X, Y, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_a_model_without_call_that_trains_two_networks():
    """As in the guides on adversarial networks: two optimizers, two tapes, metrics of its own,
    no `call`.
    """

    class Pair(keras.Model):
        def __init__(self, first, second):
            super().__init__()
            self.first, self.second = first, second
            self.seen = keras.metrics.Mean(name="seen")

        def compile(self, first_optimizer, second_optimizer):
            super().compile()
            self.first_optimizer, self.second_optimizer = first_optimizer, second_optimizer

        @property
        def metrics(self):
            return [self.seen]

        def train_step(self, x):
            noise = keras.random.normal((tf.shape(x)[0], 8))
            for network, optimizer in (
                (self.first, self.first_optimizer),
                (self.second, self.second_optimizer),
            ):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(network(x) - network(noise) - 1.0))
                gradients = tape.gradient(loss, network.trainable_weights)
                optimizer.apply_gradients(zip(gradients, network.trainable_weights, strict=True))
            self.seen.update_state(loss)
            return {"seen": self.seen.result()}

    keras.utils.set_random_seed(1)
    model = Pair(keras.Sequential([layers.Dense(4)]), keras.Sequential([layers.Dense(4)]))
    model.compile(keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.01))
    seen = model.fit(X, epochs=8, verbose=0).history["seen"]
    assert seen[-1] < seen[0]


def test_weights_classes_and_dictionaries_of_data():
    keras.utils.set_random_seed(1)
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    model = keras.Model(
        {"a": a, "b": b}, layers.Dense(2, activation="softmax")(layers.Concatenate()([a, b]))
    )
    model.compile("sgd", "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    labels = (Y[:, 0] > 0).astype("int64")
    data = {"a": X, "b": X[::-1].copy()}
    first = model.fit(data, labels, sample_weight=np.ones(64), epochs=1, verbose=0).history["loss"][
        0
    ]
    last = model.fit(data, labels, class_weight={0: 1.0, 1: 1.0}, epochs=5, verbose=0).history[
        "loss"
    ][-1]
    assert last < first


def test_steps_that_assign_and_draw_random_numbers_do_so_anew_each_time():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((8,)), layers.GaussianNoise(1.0)])
    noisy = tf.function(lambda x: model(x, training=True))
    assert not np.allclose(noisy(tf.constant(X)), noisy(tf.constant(X)))


@pytest.mark.parametrize("eager", [False, True])
def test_half_precision_with_a_loss_scale(eager):
    keras.utils.set_random_seed(1)
    policy = keras.mixed_precision.Policy("mixed_float16")
    model = keras.Sequential(
        [keras.Input((8,)), layers.Dense(8, dtype=policy), layers.Dense(1, dtype="float32")]
    )
    inner = keras.optimizers.SGD(0.05)
    optimizer = keras.optimizers.LossScaleOptimizer(
        inner, initial_scale=2.0**24, dynamic_growth_steps=3
    )
    model.compile(optimizer, "mse", run_eagerly=eager, auto_scale_loss=False)
    first = model.evaluate(X, Y, verbose=0)
    model.fit(X, Y, batch_size=8, epochs=3, verbose=0)
    assert float(optimizer.dynamic_scale) < 2.0**24  # 24 steps, the first of which overflow
    assert 0 < int(inner.iterations) < 24
    assert model.evaluate(X, Y, verbose=0) < first
    assert model.layers[0].kernel.dtype == "float32"
    assert model.layers[0](X).dtype == tf.float16


def test_a_saved_model_is_the_same_model(tmp_path):
    model = dense_model()
    model.fit(X, Y, epochs=1, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))
    for a, b in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(a, b)
    loaded.fit(X, Y, epochs=1, shuffle=False, verbose=0)
    model.fit(X, Y, epochs=1, shuffle=False, verbose=0)
    np.testing.assert_allclose(loaded.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-5)
    model.save_weights(tmp_path / "model.weights.h5")
    fresh = keras.models.clone_model(model)
    fresh.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(fresh.predict(X, verbose=0), model.predict(X, verbose=0))


def test_a_model_without_weights_to_train_warns():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
    model.trainable = False
    model.compile("sgd", "mse", run_eagerly=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y, verbose=0)
    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        model.train_on_batch(X, Y)
