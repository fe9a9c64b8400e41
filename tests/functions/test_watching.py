"""Tapes inside a function that watch tensors from around it."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf

x = tf.constant([1.0, 2.0])
v = tf.Variable([3.0, 4.0])

BODIES = {
    "an operator": (lambda: x * v, [3.0, 4.0]),
    "a function of one tensor": (lambda: tf.square(x), [2.0, 4.0]),
    "that, and a Variable": (lambda: tf.square(x) * v, [6.0, 16.0]),
    "several tensors": (lambda: tf.concat([x, v, x], 0) * 2.0, [4.0, 4.0]),
    "both ways at once": (lambda: tf.square(x) + x * v, [5.0, 8.0]),
}


@pytest.mark.parametrize("name", BODIES)
def test_gradients_by_a_tensor_from_outside(name):
    body, expected = BODIES[name]

    @tf.function(autograph=False)
    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = body()
        return tape.gradient(y, x)

    for _ in range(2):
        np.testing.assert_array_equal(gradient(), expected)


def test_a_tangent_of_a_tensor_from_outside():
    t = tf.constant([1.0, 10.0])

    @tf.function(autograph=False)
    def tangent():
        with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
            y = tf.concat([x * v, tf.square(x)], 0)
        return accumulator.jvp(y)

    np.testing.assert_array_equal(tangent(), [3.0, 40.0, 2.0, 40.0])


def test_watched_by_a_tape_around_too():
    @tf.function(autograph=False)
    def slope():
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * v
        return inner.gradient(y, x)

    with tf.GradientTape() as outer:
        outer.watch(x)
        first = slope()
    np.testing.assert_array_equal(first, 2 * x.numpy() * v.numpy())
    np.testing.assert_array_equal(outer.gradient(first, x), 2 * v.numpy())


def test_attributes_of_an_object():
    class Model:
        def __init__(self):
            self.x = tf.constant([1.0, 2.0])

        @tf.function
        def gradient(self):
            with tf.GradientTape() as tape:
                tape.watch(self.x)
                y = tf.stack([self.x, self.x * v])
            return tape.gradient(y, self.x)

    model = Model()
    np.testing.assert_array_equal(model.gradient(), [4.0, 5.0])


def test_after_the_function_it_is_a_plain_tensor_again():
    @tf.function(autograph=False)
    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * v
        return tape.gradient(y, x)

    gradient()
    with tf.GradientTape() as tape:
        y = x * v
    assert tape.gradient(y, x) is None
