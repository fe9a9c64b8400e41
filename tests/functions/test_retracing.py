"""Why a function was traced again, and what the log says if that happens too often."""

import logging

import pytest

import gradtape as tf


def test_why_retraced():
    f = tf.function(lambda x, n, flag=False: x * n)
    f(tf.constant(1.0), 2)
    assert f.why_retraced() == []
    f(tf.constant([1.0]), 2)
    assert f.why_retraced() == ["'x' changed from float32[] to float32[1]"]
    f(tf.constant([1.0]), 3)
    assert f.why_retraced() == ["'n' changed from 2 to 3"]


def test_the_list_is_the_callers_own():
    f = tf.function(lambda x, n: x * n)
    f(tf.constant(1.0), 2), f(tf.constant(1.0), 3)
    f.why_retraced().clear()
    assert f.why_retraced() == ["'n' changed from 2 to 3"]


def test_a_dropped_program_is_the_reason():
    before = tf.config.get_programs_per_function()
    tf.config.set_programs_per_function(1)
    try:
        f = tf.function(lambda x, n: x * n)
        for n in (1, 2, 1):
            f(tf.constant(1.0), n)
    finally:
        tf.config.set_programs_per_function(before)
    (why,) = f.why_retraced()
    assert "was dropped, since the function had more than 1 programs" in why


def test_a_variable_that_the_function_also_reaches_is_the_reason():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    f = tf.function(lambda passed, x: passed * v * x)
    assert float(f(w, tf.constant(1.0))) == 6.0
    assert float(f(v, tf.constant(1.0))) == 4.0
    (why,) = f.why_retraced()
    assert why.startswith("a Variable that is passed")


def messages(caplog, call, *, times=9):
    with caplog.at_level(logging.WARNING, logger="gradtape"):
        for n in range(times):
            call(n)
    return [record.getMessage() for record in caplog.records]


def test_many_traces_warn_twice(caplog):
    f = tf.function(lambda x, n: x * n)
    said = messages(caplog, lambda n: f(tf.constant(1.0), n), times=30)
    assert len(said) == 2
    assert "was traced in 5 of its last 5 calls. Tracing is slow" in said[0]
    assert "'n' changed from" in said[0]


@pytest.mark.parametrize(
    ("options", "argument", "words"),
    [
        (
            {"reduce_retracing": True},
            lambda n: tf.ones([n + 1]),
            "pad what is passed to a few sizes",
        ),
        (
            {"input_signature": [tf.TensorSpec([None])]},
            lambda n: tf.ones([n + 1]),
            "pad what is passed to a few sizes",
        ),
        (
            {"reduce_retracing": True},
            lambda n: tf.constant(f"text {n}"),
            "pass numbers that stand for the strings",
        ),
    ],
    ids=["reduced", "signature", "strings"],
)
def test_what_is_one_kind_to_the_user_is_named(options, argument, words, caplog):
    f = tf.function(lambda x: tf.identity(x), **options)
    said = messages(caplog, lambda n: f(argument(n)))
    assert said
    assert words in said[-1]


def test_calls_that_are_not_traced_count(caplog):
    f = tf.function(lambda x, n: x * n)

    def call(n):
        for _ in range(5):
            f(tf.constant(1.0), n)

    assert messages(caplog, call) == []


def test_variables_of_a_tracing_that_is_given_up_count_too():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(2.0))
        return made[0] * tf.boolean_mask(x, x > 0.0)

    for _ in range(2):
        assert f(tf.constant([1.0, -1.0])).numpy().tolist() == [2.0]
        assert f.experimental_get_tracing_count() == 2
    assert len(made) == 1
