"""Keras models under a tape with a memory limit: BatchNormalization writes its state, Dropout draws
random numbers.
"""

import numpy as np
import pytest

import gradtape as tf
import keras


def trained(limit):
    """The weights after three steps, and what the tape dropped in the last one."""
    keras.utils.set_random_seed(1)
    tf.random.set_seed(1)
    model = keras.Sequential([keras.layers.Input((64,))])
    for _ in range(6):
        model.add(keras.layers.Dense(64, activation="gelu"))
        model.add(keras.layers.BatchNormalization())
        model.add(keras.layers.Dropout(0.2))
    model.add(keras.layers.Dense(4))
    random = np.random.default_rng(0)
    x = random.standard_normal((128, 64)).astype(np.float32)
    y = random.integers(0, 4, 128)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(1e-3)
    for _ in range(3):
        with tf.GradientTape(memory_limit=limit) as tape:
            loss = loss_of(y, model(x, training=True))
        dropped = tape.memory().dropped
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return model.get_weights(), dropped


@pytest.mark.parametrize("limit", [1, "400kB"])
def test_weights_are_those_without_a_limit(limit):
    expected, nothing = trained(None)
    found, dropped = trained(limit)
    assert nothing == 0
    assert dropped > 400_000
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
