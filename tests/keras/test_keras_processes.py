"""Keras in several processes: the same script gives what one process gives."""

import numpy as np
import pytest

from tests.many_processes import run

BEGIN = """
import keras
from keras import layers

together = int(os.environ["KERAS_DISTRIBUTION_NUM_PROCESSES"]) > 1
if together:
    keras.distribution.initialize()
random = np.random.default_rng(0)
x = random.normal(size=(45, 8)).astype("float32")  # the last batch has 13 rows
y = x.sum(axis=1, keepdims=True)
found["processes"] = keras.src.backend.distribution_lib.num_processes()
"""

FIT = (
    BEGIN
    + """
found["drawn"] = float(np.random.uniform())  # one seed, agreed
if together:
    keras.distribution.set_distribution(keras.distribution.DataParallel())
keras.utils.set_random_seed(0)
model = keras.Sequential([
    keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dropout(0.3),
    layers.BatchNormalization(), layers.Dense(1),
])
model.compile("adam", "mse", metrics=["mae"])
found["history"] = model.fit(x, y, batch_size=16, epochs=2, verbose=0).history
found["evaluated"] = model.evaluate(x[:43], y[:43], batch_size=43, verbose=0)
found["predicted"] = model.predict(x[:43], batch_size=43, verbose=0).tolist()
found["weights"] = [w.ravel().tolist() for w in model.get_weights()]
"""
)

SHORT = (
    FIT.replace("layers.BatchNormalization(), ", "")
    .replace('"adam"', '"sgd"')
    .replace("epochs=2", "epochs=1")
    .replace("batch_size=43", "batch_size=45")
    .replace("[:43]", "")
)

SHARDS = (
    BEGIN
    + """
if together:
    devices = keras.distribution.list_devices("cpu")
    mesh = keras.distribution.DeviceMesh((2, len(devices) // 2), ["batch", "model"], devices)
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*first.*kernel"] = (None, "model")
    layout[".*second.*kernel"] = ("batch", None)
    keras.distribution.set_distribution(
        keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")
    )
keras.utils.set_random_seed(0)
model = keras.Sequential([
    keras.Input((8,)), layers.Dense(16, activation="relu", name="first"),
    layers.Dense(8, name="second"), layers.Dense(1),
])
optimizer = keras.optimizers.SGD(0.02, momentum=0.9)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    weights = model.trainable_weights
    optimizer.apply(tape.gradient(loss, weights), weights)
    return loss


found["losses"] = [
    float(step(tf.constant(x[i:i + 16]), tf.constant(y[i:i + 16])))
    for _ in range(17) for i in (0, 16, 32)
]
model.compile(optimizer, "mse", metrics=["mae"])
found["history"] = model.fit(
    tf.data.Dataset.from_tensor_slices((x, y)).batch(16), epochs=2, verbose=0
).history
found["predicted"] = model.predict(x[:43], verbose=0).tolist()
found["weights"] = [w.ravel().tolist() for w in model.get_weights()]
path = f"{os.environ['FOLDER']}/{number}.keras"
model.save(path)
found["loaded"] = [w.ravel().tolist() for w in keras.models.load_model(path).get_weights()]
found["same"] = found["loaded"] == found["weights"]
"""
)


def close(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


def compare(alone, several):
    for found in several:
        for name, values in alone["history"].items():
            np.testing.assert_allclose(found["history"][name], values, rtol=1e-5)
        close(found["predicted"], alone["predicted"], rtol=1e-4, atol=1e-5)
        close(found["weights"], alone["weights"], rtol=1e-4, atol=1e-5)
        assert found["processes"] == len(several)


def test_fit_evaluate_and_predict_in_two_processes():
    (alone,) = run(SHORT, 1)
    several = run(SHORT, 2)
    compare(alone, several)
    assert several[0]["drawn"] == several[1]["drawn"]
    for found in several:
        np.testing.assert_allclose(found["evaluated"], alone["evaluated"], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "devices"), [(2, 1), (2, 2), (4, 1)])
def test_fit_in_more_processes(processes, devices):
    (alone,) = run(FIT, 1)
    compare(alone, run(FIT, processes, devices=devices))


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "devices"), [(2, 1), (2, 2)])
def test_divided_weights_and_a_loop_of_ones_own(processes, devices, tmp_path):
    (alone,) = run(SHARDS, 1, FOLDER=str(tmp_path))
    several = run(SHARDS, processes, devices=devices, FOLDER=str(tmp_path))
    compare(alone, several)
    for found in several:
        np.testing.assert_allclose(found["losses"], alone["losses"], rtol=1e-4, atol=1e-5)
        assert found["same"]
