"""Keras's crossentropies after softmax and sigmoid: computed from the logits, as on TensorFlow,
wherever these can be found.
"""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf
import keras
from gradtape.core.tensor import Tensor

LOGITS = {
    "softmax": np.array([[30.0, 0.0, 0.0]], np.float32),
    "sigmoid": np.array([[-30.0, 40.0]], np.float32),
}
LOSSES = {
    "sparse": (
        "softmax",
        np.array([1]),
        keras.losses.SparseCategoricalCrossentropy,
        30.0,
        [[1.0, -1.0, 0.0]],
    ),
    "categorical": (
        "softmax",
        np.array([[0.0, 1.0, 0.0]]),
        keras.losses.CategoricalCrossentropy,
        30.0,
        [[1.0, -1.0, 0.0]],
    ),
    "binary": (
        "sigmoid",
        np.array([[1.0, 0.0]]),
        keras.losses.BinaryCrossentropy,
        35.0,
        [[-0.5, 0.5]],
    ),
}


def subclassed(activation):
    class Model(keras.Model):
        def call(self, x):
            return keras.layers.Activation(activation)(x)

    return Model()


def functional(activation):
    inputs = keras.Input((None,))
    return keras.Model(inputs, keras.layers.Activation(activation)(inputs))


WAYS = {
    "activation": lambda activation: getattr(keras.activations, activation),
    "op": lambda activation: getattr(keras.ops, activation),
    "layer": lambda activation: keras.layers.Activation(activation),
    "functional": functional,
    "sequential": lambda activation: keras.Sequential([keras.layers.Activation(activation)]),
    "subclassed": subclassed,
}
MODES = {
    "eager": lambda f: f,
    "function": lambda f: tf.function(f, autograph=False),
    "autograph": tf.function,
    "branch": lambda f: tf.function(
        lambda x: tf.cond(x[0, 1] < 100.0, lambda: f(x), lambda: (x[0, 0], x)), autograph=False
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_that_of_the_logits(name, way, mode):
    activation, targets, loss, expected, slope = LOSSES[name]
    activate, loss = WAYS[way](activation), loss()

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(targets, activate(x))
        return value, tape.gradient(value, x)

    value, gradient = MODES[mode](step)(tf.constant(LOGITS[activation]))
    assert float(value) == expected
    np.testing.assert_allclose(gradient.numpy(), slope, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("eagerly", [True, False])
def test_fit_learns_from_a_saturated_output(name, eagerly):
    activation, targets, loss, expected, _ = LOSSES[name]
    width = LOGITS[activation].shape[1]
    inputs = keras.Input((width,))
    dense = keras.layers.Dense(width, activation, kernel_initializer="identity")
    model = keras.Model(inputs, dense(inputs))
    model.compile("sgd", loss(), run_eagerly=eagerly)
    history = model.fit(LOGITS[activation], targets, epochs=2, verbose=0).history["loss"]
    assert history[0] == expected
    assert history[1] < expected - 5.0


def test_second_derivatives_and_forward_mode_are_those_of_the_logits():
    x = tf.constant([[2.0, 1.0, -1.0]])
    loss = keras.losses.SparseCategoricalCrossentropy()

    def from_probabilities(x):
        return loss(np.array([1]), keras.ops.softmax(x))

    def from_logits(x):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits([1], x))

    found = []
    for f in (from_probabilities, from_logits):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                value = f(x)
            slope = inner.gradient(value, x)
        with tf.autodiff.ForwardAccumulator(x, tf.constant([[1.0, 2.0, 3.0]])) as forward:
            value = f(x)
        found.append((outer.jacobian(slope, x).numpy(), forward.jvp(value).numpy()))
    for ours, reference in zip(*found, strict=True):
        np.testing.assert_allclose(ours, reference, atol=1e-6)


def test_vectorized_map_finds_the_logits_of_each_example():
    rows = tf.constant([[30.0, 0.0, 0.0], [0.0, 40.0, 0.0]])
    found = keras.ops.vectorized_map(
        lambda row: keras.ops.sparse_categorical_crossentropy(
            tf.constant(2), keras.ops.softmax(row)
        ),
        rows,
    )
    assert found.numpy().tolist() == [30.0, 40.0]


def test_what_has_been_computed_with_is_no_longer_of_logits():
    x = tf.constant(LOGITS["softmax"])
    share = keras.ops.softmax(x)
    for changed in (share * 1.0, tf.identity(share), tf.nn.softmax(x), tf.constant(share.numpy())):
        value = keras.losses.SparseCategoricalCrossentropy()(np.array([1]), changed)
        np.testing.assert_allclose(float(value), -np.log(keras.config.epsilon()), rtol=1e-4)


def test_tensorflows_functions_are_seen_through_in_a_function_alone_and_for_their_own_loss():
    loss = {name: row[2]() for name, row in LOSSES.items()}
    x = tf.constant([[30.0, 0.0, -30.0]])
    y = np.array([[0.0, 1.0, 0.0]])
    assert float(loss["categorical"](y, tf.nn.softmax(x))) < 17.0
    in_function = tf.function(lambda x: loss["categorical"](y, tf.nn.softmax(x)), autograph=False)
    assert float(in_function(x)) == 30.0
    crossed = tf.function(lambda x: loss["binary"](y, tf.nn.softmax(x)), autograph=False)
    np.testing.assert_allclose(
        float(crossed(x)), float(loss["binary"](y, tf.nn.softmax(x))), rtol=1e-6
    )
    sideways = tf.function(
        lambda x: keras.ops.categorical_crossentropy(y, tf.nn.softmax(x, axis=0)), autograph=False
    )
    np.testing.assert_allclose(
        sideways(x).numpy(),
        keras.ops.categorical_crossentropy(y, tf.nn.softmax(x, axis=0)).numpy(),
        rtol=1e-6,
    )


def test_logits_that_are_said_to_be_logits_are_not_taken_for_their_own_probabilities():
    x = tf.constant(LOGITS["softmax"])
    with pytest.warns(
        UserWarning,
        match="`from_logits=True`, but the `output` argument was produced by a softmax activation",
    ):
        value = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(
            np.array([1]), keras.ops.softmax(x)
        )
    assert float(value) == 30.0


def test_logits_live_as_long_as_the_probabilities_and_no_longer():
    logits = tf.constant(LOGITS["softmax"]) * 1.0
    kept = weakref.ref(logits)
    probabilities = keras.ops.softmax(logits)
    del logits
    assert kept() is not None
    del probabilities
    assert kept() is None


def test_a_tape_keeps_no_logits_of_gates():
    layer = keras.layers.LSTM(4)
    x = np.ones((2, 5, 3), np.float32)
    layer(x)
    gc.collect()
    with tf.GradientTape() as tape:
        out = layer(x)
    held = [
        t
        for t in gc.get_objects()
        if isinstance(t, Tensor) and getattr(t, "_keras_logits", None) is not None
    ]
    assert not held
    assert None not in tape.gradient(out, layer.trainable_variables)
