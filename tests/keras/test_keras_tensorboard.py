"""Keras's TensorBoard callback, without TensorFlow."""

import sys

import numpy as np
import pytest

import gradtape as tf
from tests.summary.test_recording import plugins, written

keras = tf.keras


def fitted(folder, epochs=2, model=None, **options):
    if model is None:
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    x = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    y = x.sum(axis=1, keepdims=True)
    callback = keras.callbacks.TensorBoard(folder, **options)
    history = model.fit(
        x, y, epochs=epochs, batch_size=4, validation_data=(x, y), verbose=0, callbacks=[callback]
    )
    assert "tensorflow" not in sys.modules
    return history.history


def steps(folder):
    return {tag: [step for step, _ in values] for tag, values in written(folder).items()}


def test_scalars_of_epochs(tmp_path):
    history = fitted(tmp_path)
    train, validation = written(tmp_path / "train"), written(tmp_path / "validation")
    np.testing.assert_allclose([v for _, v in train["epoch_loss"]], history["loss"], rtol=1e-6)
    found = [value for _, value in validation["epoch_mae"]]
    np.testing.assert_allclose(found, history["val_mae"], rtol=1e-6)
    assert steps(tmp_path / "train")["epoch_learning_rate"] == [0, 1]
    assert steps(tmp_path / "validation")["evaluation_loss_vs_iterations"] == [3, 6]
    assert plugins(tmp_path / "train")["keras"] == "graph_keras_model"


def test_batches_histograms_images_and_speed(tmp_path):
    fitted(tmp_path, update_freq="batch", histogram_freq=1, write_images=True, write_graph=False,
           write_steps_per_second=True)  # fmt: skip
    found = steps(tmp_path / "train")
    assert found["batch_loss"] == [1, 2, 3, 4, 5, 6]
    assert found["batch_steps_per_second"] == [1, 2, 3, 4, 5, 6]
    assert "keras" not in found
    kinds = plugins(tmp_path / "train")
    assert sum(kind == "histograms" for kind in kinds.values()) == 4
    assert sum(kind == "images" for kind in kinds.values()) >= 3


def test_every_second_batch(tmp_path):
    fitted(tmp_path, epochs=1, update_freq=2)
    assert steps(tmp_path / "train")["batch_loss"] == [2]


def test_summaries_in_a_model_have_the_steps_of_the_batches(tmp_path):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            tf.summary.histogram("inputs", x)
            return self.dense(x)

    fitted(tmp_path, epochs=1, model=Model(), update_freq=1)
    assert steps(tmp_path / "train")["inputs"] == [1, 2, 3]


@pytest.mark.parametrize("batches", [2, (2, 3), "2,3"])
def test_profiles(tmp_path, batches):
    fitted(tmp_path, epochs=1, profile_batch=batches)
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1


def test_arguments_by_place_and_wrong_ones(tmp_path):
    callback = keras.callbacks.TensorBoard(str(tmp_path), 3, False, True, False, 5, 0)
    assert (callback.histogram_freq, callback.write_images, callback.update_freq) == (3, True, 5)
    assert keras.callbacks.TensorBoard.__name__ == "TensorBoard"
    with pytest.raises(ValueError, match="profile_batch must be"):
        keras.callbacks.TensorBoard(str(tmp_path), profile_batch=-1)
    with pytest.raises(TypeError, match="unknown"):
        keras.callbacks.TensorBoard(str(tmp_path), unknown=1)
