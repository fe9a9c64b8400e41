"""The estimate of what compiling a program takes, and what it saves."""

import pytest

import gradtape as tf
from gradtape.functions.worth import Worth


def program_of(function, *shapes):
    f = tf.function(function)
    return f.get_concrete_function(*[tf.TensorSpec(shape) for shape in shapes])


def test_large_arrays_pay_earlier_than_small_ones():
    small, large = [
        program_of(lambda x: tf.tanh(x) * 2.0 + 1.0, [n]).worth().pays_in_call()
        for n in (10, 10**8)
    ]
    assert large <= 2 < small


def test_steps_of_a_loop_count_as_often_as_they_run():
    short, long = [
        program_of(lambda x: tf.scan(lambda s, row: tf.sin(s * row), x), [n, 2]).worth()
        for n in (10, 1000)
    ]
    assert short.equations == long.equations
    assert 50 * short.steps < long.steps < 200 * short.steps
    assert long.pays_in_call() < short.pays_in_call()


def test_a_program_without_work_never_pays():
    assert Worth(0, 0.0, 0.0, frozenset(), 0).pays_in_call() >= 1000


def test_what_is_inside_counts():
    inner = tf.function(lambda x: tf.sin(tf.cos(tf.tanh(x))))
    alone = program_of(lambda x: tf.sin(tf.cos(tf.tanh(x))), [3]).worth()
    called = program_of(lambda x: inner(x), [3]).worth()
    assert called.steps >= alone.steps >= 3
    assert called.elements >= alone.elements >= 9


@pytest.mark.parametrize(
    ("function", "replayed"),
    [
        (lambda x: tf.sin(x) @ tf.ones([3, 2]), True),
        (lambda x: tf.map_fn(tf.sin, x), True),
        (lambda x: tf.cond(x[0, 0] > 0.0, lambda: x, lambda: -x), True),
        (lambda x: tf.while_loop(lambda y: y[0, 0] < 9.0, lambda y: (y + 1.0,), (x,)), True),
        (lambda x: x + tf.random.normal([2, 3]), True),
        (lambda x: tf.py_function(lambda y: y, [x], tf.float32), False),
    ],
    ids=["ops", "loop", "branch", "while", "random", "host"],
)
def test_what_the_host_does_is_not_replayed(function, replayed):
    assert program_of(function, [2, 3]).worth().can_be_replayed() == replayed


def test_a_branch_and_a_loop_of_unknown_length_pay_at_once():
    branch = lambda x: tf.cond(x[0] > 0.0, lambda: x, lambda: -x)
    loop = lambda x: tf.while_loop(lambda y: y[0] < 9.0, lambda y: (y + 1.0,), (x,))
    assert [program_of(f, [3]).worth().pays_in_call() for f in (branch, loop)] == [1, 1]
