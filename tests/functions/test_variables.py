"""Variables in a function are the program's: whatever reads one gets the value that it has at that
point of the program.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf


def test_a_condition_that_is_a_variable():
    flag, number = tf.Variable(True), tf.Variable(1)
    f = tf.function(lambda x: tf.cond(flag, lambda: x + 1, lambda: x - 1))
    g = tf.function(lambda x: tf.switch_case(number, [lambda: x, lambda: x * 2, lambda: x * 3]))
    assert (float(f(tf.constant(1.0))), float(g(tf.constant(1.0)))) == (2.0, 2.0)
    flag.assign(False)
    number.assign(2)
    assert (float(f(tf.constant(1.0))), float(g(tf.constant(1.0)))) == (0.0, 3.0)


def test_a_variable_has_no_value_while_it_is_traced():
    v = tf.Variable(3)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"int\(\)"):
        tf.function(lambda: tf.zeros([int(v)]), autograph=False)()
    with pytest.raises(AttributeError, match=r"numpy\(\) is not available"):
        tf.function(lambda: v.numpy())()


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_a_variable_written_with_another(method):
    def run(wrap):
        v, w = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])

        @wrap
        def step(x):
            v.assign_add(x)
            getattr(w, method)(v)
            w.scatter_add(tf.IndexedSlices(v[:1], [1]))
            return v * w

        return [step(tf.constant([1.0, 1.0])) for _ in range(3)]

    np.testing.assert_array_equal(run(tf.function), run(lambda f: f))
