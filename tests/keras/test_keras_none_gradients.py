"""Optimizers that are given gradients which are None say why they are."""

import warnings
from pathlib import Path

import pytest
from keras.src.optimizers.base_optimizer import BaseOptimizer

import gradtape as tf
from gradtape import keras


class Frozen(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=shape[1:], name="scale")

    def call(self, x):
        return x + tf.stop_gradient(self.scale)  # here


def line_of(mark):
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def said_by_keras(optimizer, gradients, variables):
    """What Keras itself says."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            BaseOptimizer._filter_empty_gradients(optimizer, gradients, variables)
        return str(caught[0].message)
    except ValueError as error:
        return str(error)


def made(kind, name):
    if kind == "keras":
        return keras.Variable([1.0, 2.0], name=name)
    return tf.Variable([1.0, 2.0], name=name)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["keras", "tensorflow"])
def test_no_gradient_at_all(kind, compiled):
    variable, optimizer = made(kind, "a"), keras.optimizers.SGD(0.1)
    optimizer.build([variable])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.round(variable))  # rounds
        optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])

    with pytest.raises(ValueError, match="No gradients provided for any variable") as caught:
        (tf.function(step) if compiled else step)()
    said = str(caught.value)
    assert said.startswith(said_by_keras(optimizer, [None], [variable]))
    assert f"was None: round at {__file__}:{line_of('rounds')}, in" in said
    assert said.endswith("tape.explain(...) says more.")


def test_some_gradients_are_none():
    a, b, optimizer = made("keras", "a"), made("keras", "b"), keras.optimizers.SGD(0.1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.floor(a) * b)  # floors
    gradients = tape.gradient(loss, [a, b])
    with pytest.warns(UserWarning, match="Gradients do not exist for variables") as caught:
        optimizer.apply_gradients(zip(gradients, [a, b], strict=True))
    said = str(caught[0].message)
    assert said.startswith(said_by_keras(optimizer, gradients, [a, b]))
    assert f"floor at {__file__}:{line_of('floors')}, in" in said
    assert b.numpy().tolist() == pytest.approx([0.9, 1.8])


def test_none_that_no_tape_gave_is_said_as_keras_says_it():
    variable, optimizer = made("keras", "a"), keras.optimizers.SGD(0.1)
    with pytest.raises(ValueError, match=r"No gradients provided for any variable\.$"):
        optimizer.apply_gradients([(None, variable)])


def test_minimize_says_why():
    variable, optimizer = made("keras", "a"), keras.optimizers.SGD(0.1)
    with pytest.raises(ValueError, match="was None: ceil at"):
        optimizer.minimize(lambda: tf.reduce_sum(tf.math.ceil(variable)), [variable])


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_fit_says_why(run_eagerly):
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(2), Frozen()])
    model.compile("sgd", "mse", run_eagerly=run_eagerly)
    with pytest.warns(UserWarning, match="Gradients do not exist for variables") as caught:
        model.fit(tf.ones([4, 2]), tf.ones([4, 2]), verbose=0)
    said = str(caught[0].message)
    assert (
        f"/scale' was None: stop_gradient at {__file__}:{line_of('here')}, in Frozen.call" in said
    )


def test_fit_names_the_function_that_the_user_called():
    choose = keras.layers.Lambda(lambda x: keras.ops.one_hot(keras.ops.argmax(x, -1), 2))
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(2), choose])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="was None: argmax at"):
        model.fit(tf.ones([4, 2]), tf.ones([4, 2]), verbose=0)
