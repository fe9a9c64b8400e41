"""Calls of a concrete function: the values that it was traced for may be left out."""

import numpy as np
import pytest

import gradtape as tf


class Line:
    def __init__(self):
        self.slope = tf.Variable(2.0)

    def __call__(self, x, shift=1.0):
        return self.slope * x + shift


@tf.function
def power(a, b):
    return a**b


@tf.function
def scaled(x, factor=1.0, *, negated=False):
    return -x * factor if negated else x * factor


@pytest.mark.parametrize("shape", [[], None, [None]])
def test_a_python_value_is_left_out(shape):
    square = power.get_concrete_function(a=tf.TensorSpec(shape, tf.float32), b=2)
    x = tf.constant(10.0 if shape == [] else [10.0])
    for found in (square(x), square(a=x), square(x, 2), square(x, b=2), square(a=x, b=2)):
        np.testing.assert_array_equal(found.numpy(), 100.0)


@pytest.mark.parametrize("shape", [[], [None]])
def test_another_python_value_is_refused(shape):
    square = power.get_concrete_function(tf.TensorSpec(shape, tf.float32), 2)
    x = tf.constant(10.0 if shape == [] else [10.0])
    for wrong in (3, 2.5, "2", None, tf.constant(2.0)):
        with pytest.raises(TypeError, match="'b' was 2 when the program was made"):
            square(x, wrong)


def test_nan_is_the_value_that_was_traced():
    program = power.get_concrete_function(tf.constant(1.0), float("nan"))
    assert np.isnan(program(tf.constant(2.0), float("nan")).numpy())


def test_what_was_traced_counts_and_not_the_default():
    x = tf.constant([1.0, 2.0])
    found = scaled.get_concrete_function(x, 3.0, negated=True)(x)
    np.testing.assert_array_equal(found.numpy(), [-3.0, -6.0])
    found = scaled.get_concrete_function(x, factor=tf.constant(1.0))(x, factor=tf.constant(4.0))
    np.testing.assert_array_equal(found.numpy(), [4.0, 8.0])


def test_an_object_is_left_out():
    def evaluate(model, x):
        return model(x)

    line, x = Line(), tf.constant(3.0)
    program = tf.function(evaluate).get_concrete_function(line, x)
    for found in (program(x), program(x=x), program(line, x)):
        assert found.numpy() == 7.0
    line.slope.assign(5.0)
    assert program(tf.constant(1.0)).numpy() == 6.0


def test_gradients_flow_through_a_call_of_tensors_alone():
    program = power.get_concrete_function(tf.constant(1.0), 3)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = program(x)
    assert tape.gradient(y, x).numpy() == 12.0


def test_arguments_that_do_not_fit_are_named():
    x = tf.constant(1.0)
    program = power.get_concrete_function(x, 2)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        program()
    with pytest.raises(TypeError, match="too many positional arguments"):
        program(x, 2, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        program(x, c=2)
    sums = tf.function(lambda *xs: tf.add_n(xs)).get_concrete_function(x, x)
    assert sums(x, x).numpy() == 2.0
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        sums(x)


def test_structures_and_ragged_tensors_are_not_left_out():
    x = tf.constant(1.0)
    program = tf.function(lambda d, k: d["x"] * k).get_concrete_function({"x": x}, 3.0)
    assert program({"x": x}).numpy() == 3.0
    rows = tf.ragged.constant([[1.0], [2.0, 3.0]])
    doubled = tf.function(lambda r, k: r * k).get_concrete_function(rows, 2.0)
    assert doubled(rows).to_list() == [[2.0], [4.0, 6.0]]
    with pytest.raises(TypeError, match="missing a required argument: 'r'"):
        doubled()
