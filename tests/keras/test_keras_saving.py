"""Files: models and weights that come back the same, training that is interrupted and goes on, and
files written on TensorFlow.

`data/tensorflow.zip` was made by `data/make.py` with Keras on TensorFlow.
"""

import importlib.util
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
import keras
from keras import layers

DATA = Path(__file__).parent / "data"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 6)).astype("float32")
Y = np.tanh(X @ RNG.normal(size=(6, 2))).astype("float32")

spec = importlib.util.spec_from_file_location("small_models", DATA / "small_models.py")
small_models = importlib.util.module_from_spec(spec)
spec.loader.exec_module(small_models)


def network(dropout=0.0):
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Dropout(dropout),
            layers.Dense(2),
        ]
    )


def compiled(eager=False, optimizer=None):
    keras.utils.set_random_seed(1)
    model = network()
    model.compile(optimizer or keras.optimizers.Adam(0.01), "mse", run_eagerly=eager)
    return model


def train(model, epochs, **more):
    return model.fit(X, Y, batch_size=16, epochs=epochs, shuffle=False, verbose=0, **more).history[
        "loss"
    ]


def assert_same(first, second):
    for a, b in zip(first.variables, second.variables, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=a.path)
    for a, b in zip(first.optimizer.variables, second.optimizer.variables, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=a.path)


# Files of gradtape's own


def schedule():
    return keras.optimizers.schedules.ExponentialDecay(0.02, 3, 0.7)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: keras.optimizers.SGD(schedule(), momentum=0.9),
        lambda: keras.optimizers.AdamW(schedule(), clipnorm=1.0),
        lambda: keras.optimizers.Adam(0.02, use_ema=True, gradient_accumulation_steps=2),
        lambda: keras.optimizers.LossScaleOptimizer(
            keras.optimizers.RMSprop(0.01), initial_scale=64.0, dynamic_growth_steps=4
        ),
    ],
    ids=["sgd", "adamw", "adam-ema", "scaled-rmsprop"],
)
def test_a_model_that_was_saved_learns_on_as_if_it_had_not_been(tmp_path, eager, optimizer):
    whole = compiled(eager, optimizer())
    train(whole, 1)
    whole.save(tmp_path / "half.keras")
    resumed = keras.saving.load_model(tmp_path / "half.keras")
    resumed.run_eagerly = eager
    assert_same(resumed, whole)
    assert train(resumed, 2) == train(whole, 2)
    assert_same(resumed, whole)


def test_weights_alone_go_into_a_model_of_the_same_layers(tmp_path):
    model, fresh = compiled(), network()
    train(model, 1)
    model.save_weights(tmp_path / "model.weights.h5")
    assert not np.allclose(fresh.predict(X, verbose=0), model.predict(X, verbose=0))
    fresh.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(fresh.predict(X, verbose=0), model.predict(X, verbose=0))
    wider = keras.Sequential([keras.Input((6,)), layers.Dense(9), layers.Dense(2)])
    with pytest.raises(
        ValueError, match=r"variable\.shape=\(6, 9\), Received: value\.shape=\(6, 8\)"
    ):
        wider.load_weights(tmp_path / "model.weights.h5")


def test_the_best_epoch_is_the_one_that_is_kept(tmp_path):
    model = compiled()
    path = tmp_path / "best.keras"
    keep = keras.callbacks.ModelCheckpoint(path, monitor="loss", save_best_only=True)
    losses = train(model, 4, callbacks=[keep])
    assert losses[-1] == min(losses)
    assert_same(keras.saving.load_model(path), model)
    model.optimizer.learning_rate = 50.0  # now it only gets worse
    assert min(train(model, 1, callbacks=[keep])) > losses[-1]
    assert int(keras.saving.load_model(path).optimizer.iterations) == 12


class MachineGoneError(Exception):
    """Stands for a machine that goes away."""


class GoesAway(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 2:
            raise MachineGoneError


@pytest.mark.parametrize("eager", [False, True])
def test_a_run_that_was_interrupted_ends_with_the_same_numbers(tmp_path, eager):
    whole = compiled(eager)
    losses = train(whole, 5)

    first = compiled(eager)
    with pytest.raises(MachineGoneError):
        train(first, 5, callbacks=[GoesAway(), keras.callbacks.BackupAndRestore(tmp_path)])

    second = compiled(eager)
    backup = keras.callbacks.BackupAndRestore(tmp_path)
    # The backup was made after the second epoch.
    assert train(second, 5, callbacks=[backup]) == losses[2:]
    assert_same(second, whole)


@pytest.mark.parametrize("compiled_step", [False, True])
def test_a_loop_of_ones_own_goes_on_with_the_same_numbers(tmp_path, compiled_step):
    """Also the random ones: a checkpoint has the seeds of dropout,
    which Keras's files leave out.
    """

    def start():
        keras.utils.set_random_seed(1)
        model, optimizer = network(dropout=0.3), keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        run = tf.function(step) if compiled_step else step
        return lambda: float(run(tf.constant(X), tf.constant(Y))), tf.train.Checkpoint(
            model=model, optimizer=optimizer
        )

    step, checkpoint = start()
    first = [step() for _ in range(3)]
    path = checkpoint.save(tmp_path / "run")
    expected = [step() for _ in range(3)]
    assert expected != first

    step, checkpoint = start()
    checkpoint.restore(path).assert_consumed()
    assert [step() for _ in range(3)] == expected


@keras.saving.register_keras_serializable("gradtape_tests")
class Scaled(layers.Layer):
    def __init__(self, factor, **more):
        super().__init__(**more)
        self.factor = factor

    def build(self, shape):
        self.offset = self.add_weight(shape=(shape[-1],), initializer="zeros", name="offset")

    def call(self, x):
        return self.factor * x + self.offset

    def get_config(self):
        return super().get_config() | {"factor": self.factor}


def test_a_layer_of_ones_own_in_half_precision_comes_back(tmp_path):
    model = keras.Sequential(
        [
            keras.Input((6,)),
            Scaled(2.0, dtype="mixed_float16"),
            layers.Dense(2, dtype="mixed_float16"),
        ]
    )
    model.layers[0].offset.assign(np.arange(6.0))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].factor == 2.0
    assert [layer.dtype_policy.name for layer in loaded.layers] == ["mixed_float16"] * 2
    np.testing.assert_array_equal(loaded.layers[0].offset, np.arange(6.0))
    np.testing.assert_array_equal(loaded(X), model(X))


# Files of Keras on TensorFlow


@pytest.fixture(scope="module")
def written_on_tensorflow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tensorflow")
    zipfile.ZipFile(DATA / "tensorflow.zip").extractall(folder)
    return folder


@pytest.fixture(scope="module")
def predicted_on_tensorflow(written_on_tensorflow):
    return dict(np.load(written_on_tensorflow / "predictions.npz"))


@pytest.mark.parametrize("kind", small_models.MODELS)
def test_weights_of_tensorflow_predict_the_same(
    written_on_tensorflow, predicted_on_tensorflow, kind
):
    keras.utils.set_random_seed(0)
    x, _ = small_models.batch_for(kind)
    model = small_models.MODELS[kind]()
    assert np.abs(model(x).numpy() - predicted_on_tensorflow[kind]).max() > 1e-3
    model.load_weights(written_on_tensorflow / f"{kind}.weights.h5")
    np.testing.assert_allclose(model(x), predicted_on_tensorflow[kind], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        model.predict(x, verbose=0), predicted_on_tensorflow[kind], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("kind", small_models.MODELS)
def test_a_model_of_tensorflow_learns_on(written_on_tensorflow, predicted_on_tensorflow, kind):
    """With the state that the optimizer had there: two more steps lead where they led there."""
    x, y = small_models.batch_for(kind)
    model = keras.saving.load_model(written_on_tensorflow / f"{kind}.keras")
    np.testing.assert_allclose(
        model.predict(x, verbose=0), predicted_on_tensorflow[kind], rtol=1e-5, atol=1e-6
    )
    assert int(model.optimizer.iterations) == 2
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    later = predicted_on_tensorflow[f"{kind}.later"]
    assert np.abs(later - predicted_on_tensorflow[kind]).max() > 1e-3
    np.testing.assert_allclose(model.predict(x, verbose=0), later, rtol=1e-4, atol=1e-5)
