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


def test_a_function_that_is_not_compiled_under_a_tape_says_so():
    f = tf.function(lambda x: tf.boolean_mask(x, x > 0.0))
    x = tf.constant([1.0, -1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        f(x)
    f(x)
    (why,) = f.why_retraced()
    assert why.startswith("it runs op by op while a tape or accumulator records")


def test_a_tracing_that_fails_is_no_reason():
    f = tf.function(lambda x, n: x * [1.0, 2.0][n])
    f(tf.constant(1.0), 0)
    f(tf.constant(1.0), 1)
    with pytest.raises(IndexError):
        f(tf.constant(1.0), 7)
    assert f.why_retraced() == ["'n' changed from 0 to 1"]


def under_a_tape(f, watched, *arguments):
    with tf.GradientTape() as tape:
        tape.watch(watched)
        y = f(*arguments)
    return tape.gradient(y, watched)


@pytest.mark.usefixtures("every_shape_is_compiled")
def test_a_tensor_that_is_an_input_is_one_for_all_kinds_of_arguments(caplog):
    runs, c = [], tf.constant(2.0)

    @tf.function
    def f(x):
        runs.append(1)
        return tf.reduce_sum(x) * c

    for size in range(1, 9):
        for _ in range(2):
            assert float(f(tf.ones([size]))) == 2.0 * size
            assert float(under_a_tape(f, c, tf.ones([size]))) == size
    assert len(runs) == 9
    assert "follow as arguments" not in caplog.text


def test_tensors_that_ever_other_tapes_follow_are_named(caplog):
    many = [tf.constant(float(n)) for n in range(8)]

    @tf.function
    def f(x, used):
        for n in range(used):
            x = x * tf.reduce_sum(tf.ones([tf.cast(many[n], tf.int32)])) + many[n]
        return x

    def call(n):
        f(tf.constant(1.0), 8)
        under_a_tape(f, many[n], tf.constant(1.0), 8)

    said = messages(caplog, call, times=8)
    assert any("pass Tensors that tapes follow as arguments" in text for text in said)


def test_an_error_of_the_users_runs_the_function_once():
    runs, c, fails = [], tf.constant(2.0), []

    @tf.function
    def f(x):
        runs.append(1)
        if fails:
            raise KeyError("mine")
        return x * c

    f(tf.constant(1.0))
    fails.append(1)
    for _ in range(2):
        before = len(runs)
        with pytest.raises(KeyError):
            under_a_tape(f, c, tf.constant(1.0))
        assert len(runs) == before + 1


def test_a_size_that_is_followed_is_a_note_where_a_function_must_compile():
    n = tf.constant(3.0)
    f = tf.function(lambda x: x * tf.reduce_sum(tf.ones([tf.cast(n, tf.int32)])), jit_compile=True)
    assert float(f(tf.constant(2.0))) == 6.0
    with pytest.raises(TypeError, match="ones: shape") as caught:
        under_a_tape(f, n, tf.constant(2.0))
    assert any("follows a Tensor that was a constant" in note for note in caught.value.__notes__)
    assert float(f(tf.constant(2.0))) == 6.0
