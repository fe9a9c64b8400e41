"""`tf.train.Checkpoint` over Keras's models, optimizers and seed generators:
training goes on with the same numbers.
"""

import numpy as np
import pytest

import gradtape as tf
import gradtape.train
import keras
from keras import layers

X = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


def model():
    made = keras.Sequential([
        keras.Input((4,)), layers.Dense(3), layers.BatchNormalization(), layers.Dropout(0.5),
        layers.Dense(1),
    ])  # fmt: skip
    made.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    made.optimizer.build(made.trainable_variables)
    return made


def values(made):
    return [np.asarray(v).tolist() for v in (*made.variables, *made.optimizer.variables)]


def test_a_compiled_model_goes_on_with_its_optimizer_and_its_dropout(tmp_path):
    first = model()
    first.fit(X, Y, epochs=1, verbose=0, shuffle=False)
    path = tf.train.Checkpoint(first).save(tmp_path / "model")
    second = model()  # whose layers Keras gives other names
    assert second.variables[0].path != first.variables[0].path
    tf.train.Checkpoint(second).restore(path).assert_consumed()
    for made in (first, second):
        made.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    assert values(first) == values(second)


def test_an_optimizer_that_was_not_built_is_named(tmp_path):
    built, unbuilt = (
        keras.optimizers.SGD(0.1, momentum=0.9),
        keras.optimizers.SGD(0.1, momentum=0.9),
    )
    weight = keras.Variable([1.0, 2.0], name="weight")
    built.build([weight])
    path = tf.train.Checkpoint(optimizer=built).write(tmp_path / "optimizer")
    checkpoint = tf.train.Checkpoint(optimizer=unbuilt)
    status = checkpoint.read(path)
    with pytest.raises(AssertionError, match=r"weight_momentum\n.*its values when it is built"):
        status.assert_consumed()
    status.assert_existing_objects_matched()
    unbuilt.build([weight])
    status.assert_consumed()


def test_a_variable_and_a_seed_generator_on_their_own(tmp_path):
    def program(value):
        return tf.train.Checkpoint(
            variable=keras.Variable(value), seed=keras.random.SeedGenerator(int(value))
        )

    saved, restored = program(3.0), program(0.0)
    restored.read(saved.write(tmp_path / "single")).assert_consumed()
    assert float(restored.variable.value) == 3.0
    drawn = [
        np.asarray(keras.random.normal([3], seed=checkpoint.seed)).tolist()
        for checkpoint in (saved, restored)
    ]
    assert drawn[0] == drawn[1]
