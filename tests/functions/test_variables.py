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


PARTS = {
    "a row": (lambda i: 1, [3.0, 4.0]),
    "rows": (lambda i: slice(1, 3), [[3.0, 4.0], [5.0, 6.0]]),
    "an element": (lambda i: (0, 1), 5.0),
    "a column": (lambda i: (slice(None), -1), [3.0, 4.0, 5.0, 6.0]),
    "every second row": (lambda i: (slice(None, None, 2), 0), [3.0, 4.0]),
    "a row of the program": (lambda i: i, [3.0, 4.0]),
    "an element of the program": (lambda i: (i, i - 1), 5.0),
}


@pytest.mark.parametrize("place", ["straight", "branch", "loop"])
@pytest.mark.parametrize("autograph", [True, False])
def test_parts_of_a_variable_are_assigned(autograph, place):
    def run(wrap):
        v = tf.Variable(tf.reshape(tf.range(8.0), [4, 2]))

        def read(i):
            return [v[key(i)] * 2.0 for key, _ in PARTS.values()]

        def write(i):
            for key, value in PARTS.values():
                part = v[key(i)]
                part.assign(tf.constant(value) + part)
            return read(i)

        @wrap
        def step(i):
            if place == "straight":
                return write(i)
            if place == "branch":
                return tf.cond(i > 0, lambda: write(i), lambda: read(i))
            return tf.while_loop(lambda n: n < 3, lambda n: (write(i), n + 1)[1:], [0]), v * 1.0

        return [*tf.nest.flatten([step(tf.constant(i)) for i in (1, 2)]), v]

    compiled = run(lambda f: tf.function(f, autograph=autograph, jit_compile=True))
    for found, wanted in zip(compiled, run(lambda f: f), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda part: part.numpy(), AttributeError),
        (np.asarray, NotImplementedError),
        (bool, tf.errors.OperatorNotAllowedInGraphError),
        (int, tf.errors.OperatorNotAllowedInGraphError),
        (float, tf.errors.OperatorNotAllowedInGraphError),
        (range, tf.errors.OperatorNotAllowedInGraphError),
    ],
)
def test_part_of_a_variable_has_no_value_while_it_is_traced(use, error):
    v = tf.Variable([3, 4])

    @tf.function(autograph=False)
    def f():
        use(v[0])

    with pytest.raises(error, match="not available for a tensor in a"):
        f()


def test_part_of_a_variable_is_shown_while_it_is_traced():
    v, shown = tf.Variable([3, 4]), []

    @tf.function(autograph=False)
    def f():
        shown.extend([repr(v[0]), str(v[:1]), f"{v[1]}"])

    f()
    assert all("being traced" in text for text in shown)
