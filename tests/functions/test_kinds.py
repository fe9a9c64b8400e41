"""Sizes that a signature leaves open, and `reduce_retracing`: one kind of arguments to the user, a
program for each size to XLA.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest

import gradtape as tf


def counts(function, *calls):
    """The function's count of traces after each call."""
    found = []
    for args in calls:
        function(*args)
        found.append(function.experimental_get_tracing_count())
    return found


@pytest.mark.usefixtures("every_shape_is_compiled")
def test_a_signature_is_one_kind():
    seen = []
    f = tf.function(
        lambda x: seen.append(x.shape) or tf.reduce_sum(x, axis=0),
        input_signature=[tf.TensorSpec([None, 3])],
    )
    assert counts(f, *[(tf.ones([n, 3]),) for n in (1, 4, 0, 4, 1)]) == [1] * 5
    assert seen == [[1, 3], [4, 3], [0, 3]]  # the Python function knows the size
    for wrong in (tf.ones([4, 2]), tf.ones([3]), tf.ones([2, 3], tf.float64)):
        with pytest.raises(TypeError, match="does not fit"):
            f(wrong)


def test_any_rank():
    f = tf.function(lambda x: tf.size(x), input_signature=[tf.TensorSpec(None)])
    assert [int(f(tf.ones(shape))) for shape in ([], [2], [2, 3])] == [1, 2, 6]
    assert f.experimental_get_tracing_count() == 1


def test_gradients_for_each_size():
    w = tf.Variable([1.0, 2.0, 3.0])
    f = tf.function(
        lambda x: tf.reduce_mean(tf.square(x * w)), input_signature=[tf.TensorSpec([None, 3])]
    )
    for n in (2, 5):
        x = tf.constant(np.arange(3 * n, dtype=np.float32).reshape(n, 3))
        with tf.GradientTape(persistent=True) as tape:
            compiled, eager = f(x), f.python_function(x)
        np.testing.assert_allclose(tape.gradient(compiled, w), tape.gradient(eager, w), rtol=1e-6)
    assert f.experimental_get_tracing_count() == 1


def test_reduced_retracing():
    """After the second size of a dimension all of them are one kind;
    the counts are TensorFlow's.
    """
    f = tf.function(lambda x: x * 2.0, reduce_retracing=True)
    shapes = ([1], [2], [3], [2, 2], [3, 3], [1, 1, 1], [4])
    assert counts(f, *[(tf.ones(shape),) for shape in shapes]) == [1, 2, 2, 3, 3, 3, 3]
    f = tf.function(lambda x, n: x * n, reduce_retracing=True)
    calls = ((1, 1), (2, 1), (3, 1), (3, 2), (4, 2), (5, 2), (6, 1.0))
    assert counts(f, *[(tf.ones([size]), n) for size, n in calls]) == [1, 2, 2, 3, 4, 4, 4]
    f = tf.function(lambda batch: batch["a"] * tf.reduce_sum(batch["b"]), reduce_retracing=True)
    sizes = ((1, 1), (2, 1), (3, 1), (3, 2), (3, 3), (4, 4))
    assert counts(f, *[({"a": tf.ones([a]), "b": tf.ones([b])},) for a, b in sizes]) == [
        1,
        2,
        2,
        3,
        3,
        3,
    ]


def test_without_it_every_shape_counts():
    f = tf.function(lambda x: x * 2.0)
    assert counts(f, *[(tf.ones([n]),) for n in (1, 2, 3, 2)]) == [1, 2, 3, 3]


def test_a_gradient_that_is_asked_for_later_is_no_other_kind():
    f = tf.function(lambda x: x * x)
    x = tf.constant(3.0)
    f(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 6.0
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("from_argument", [False, True])
def test_variables_that_are_made_count_once_more(from_argument):
    made = []

    def body(x):
        if not made:
            made.append(tf.Variable(x if from_argument else 1.0))
        return made[0] * x

    f = tf.function(body, autograph=False)
    one = tf.constant(1.0)
    assert counts(f, (one,), (one,), (tf.ones([2]),)) == [2, 2, 3]


# Warnings


def messages(caplog, function, sizes):
    with caplog.at_level(logging.WARNING, logger="gradtape"):
        for n in sizes:
            function(tf.ones([n]))
    return [record.getMessage() for record in caplog.records]


@pytest.mark.usefixtures("every_shape_is_compiled")
def test_many_sizes_warn_of_compiling(caplog):
    f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([None])])
    found = messages(caplog, f, range(1, 9))
    assert len(found) == 2
    assert "compiles for each size" in found[0]
    assert "pad" in found[0]


def test_few_sizes_that_come_again_do_not_warn(caplog):
    f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([None])])
    assert not messages(caplog, f, [1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4])
