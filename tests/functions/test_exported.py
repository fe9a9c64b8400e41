"""Exported programs inside other functions, under tapes that follow some of their inputs."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.functions.exported import ExportedProgram, LoadedLevel
from gradtape.functions.exporting import export

W = tf.Variable([[1.0, -2.0], [0.5, 3.0]])


def body(x, y):
    return tf.tanh(x @ W), tf.reduce_sum(y * y), tf.cast(tf.reduce_sum(x), tf.int32)


@pytest.fixture(scope="module")
def program():
    specs = tf.TensorSpec([None, 2]), tf.TensorSpec([None])
    levels = export(tf.function(body), specs, {}).levels
    return ExportedProgram("saved", [LoadedLevel(*level) for level in levels])


X, Y = tf.constant([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]]), tf.constant([1.0, 2.0])


def outcomes(call, watched):
    """Gradients by what is watched, some outputs being unused."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(watched)
        first, second, third = call(X, Y)
        target = tf.reduce_sum(first**2)
    found = [tape.gradient(t, [*watched, W]) for t in (target, second, [target, second])]
    return [third, *tf.nest.flatten(found)]


@pytest.mark.parametrize("watched", [[], [X], [Y], [X, Y]], ids=["none", "x", "y", "both"])
@pytest.mark.parametrize("nested", [False, True])
def test_gradients_by_some_inputs(program, watched, nested):
    call = tf.function(lambda x, y: program.call([x, y]), autograph=False)
    if nested:
        inner = call
        call = tf.function(lambda x, y: inner(x * 1.0, y), autograph=False)
    for found, expected in zip(outcomes(call, watched), outcomes(body, watched), strict=True):
        if expected is None:  # a program of TensorFlow's would have zeros here too
            assert found is None or not np.any(found.numpy())
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.waits
def test_a_tape_inside_a_function(program):
    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(program.call([x, Y])[0] ** 2)
        return tape.gradient(loss, W)

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(body(X, Y)[0] ** 2)
    np.testing.assert_allclose(step(X), tape.gradient(loss, W), rtol=1e-5)


def test_jacobians(program):
    call = tf.function(lambda x: program.call([x, Y])[0], autograph=False)
    found = []
    for run in (call, lambda x: body(x, Y)[0]):
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = run(X)
        found.append(tape.jacobian(y, X, experimental_use_pfor=False))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-7)
