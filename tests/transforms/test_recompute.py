"""`recompute_grad`: the second run is the first one again, whatever has changed since."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf


def _compiled(f):
    return tf.function(f)


def _plain(f):
    return f


def _gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape


@pytest.mark.parametrize("inner", [_plain, _compiled])
@pytest.mark.parametrize("write", [_plain, _compiled])
def test_variables_are_as_they_were_and_keep_what_was_assigned_since(inner, write):
    w = tf.Variable(2.0)
    scaled = inner(lambda x: x * w)
    x = tf.constant(3.0)
    y, tape = _gradient(tf.recompute_grad(lambda x: scaled(x) ** 2), x)
    write(lambda: w.assign(5.0))()
    assert float(tape.gradient(y, x)) == 24.0
    assert float(w) == 5.0
    assert float(scaled(x)) == float(tf.function(lambda: x * w)()) == 15.0


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("own_seed", [None, 7])
@pytest.mark.parametrize("inner", [_plain, _compiled])
def test_random_numbers_are_drawn_again(inner, seed, own_seed):
    if seed is not None:
        tf.random.set_seed(seed)
    drop = inner(lambda x: tf.nn.dropout(x, 0.5, seed=own_seed) + x * tf.random.normal(x.shape))
    x = tf.ones(50)
    y, tape = _gradient(tf.recompute_grad(lambda x: drop(x) * drop(x)), x)
    between = tf.random.uniform([3])
    gradient = tape.gradient(y, x).numpy()
    np.testing.assert_allclose(gradient, 2 * y.numpy(), rtol=1e-5, atol=1e-6)
    assert not np.array_equal(between.numpy(), tf.random.uniform([3]).numpy())


def test_a_recomputed_function_inside_another_draws_the_same_numbers():
    inside = tf.recompute_grad(lambda x: tf.nn.dropout(x, 0.5))
    outside = tf.recompute_grad(lambda x: inside(tf.nn.dropout(x, 0.5)) + inside(x))
    x = tf.ones(64)
    y, tape = _gradient(outside, x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), y.numpy())


def test_the_backward_step_does_not_count_as_draws():
    def numbers(backward):
        tf.random.set_seed(1)
        x = tf.ones(5)
        y, tape = _gradient(tf.recompute_grad(lambda x: tf.nn.dropout(x, 0.5)), x)
        if backward:
            assert tape.gradient(y, x) is not None
        return tf.random.normal([4]).numpy()

    np.testing.assert_array_equal(numbers(True), numbers(False))
