"""`tf.debugging.why_nonfinite` looks into a call op by op, and leaves everything as it was."""

import math

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.thread import here
from gradtape.errors import InvalidArgumentError
from tests.inspect.test_every_op import marked_line

nan = math.nan


@pytest.fixture
def checks():
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def test_arguments_of_all_kinds():
    @tf.function
    def f(x, n, *, scale):
        return {"out": (tf.reduce_sum(x["a"] / scale) * n, "text")[0]}  # here

    why = tf.debugging.why_nonfinite(f, {"a": np.float32([1.0, 2.0])}, 3, scale=tf.constant(0.0))
    assert (why.op, why.index, why.location.line) == (
        "divide",
        (0,),
        marked_line(f.python_function),
    )
    assert not tf.debugging.why_nonfinite(f, {"a": tf.constant(1.0)}, 3, scale=1.0)


def test_an_input_that_is_not_finite():
    why = tf.debugging.why_nonfinite(
        lambda x, y: tf.reduce_sum(x * y), tf.constant([1.0, 2.0]), tf.constant([1.0, nan])
    )
    assert (why.kind, why.op, why.index) == ("source", "input 1", (1,))


def test_a_variable_that_is_not_finite_or_not_trainable():
    v = tf.Variable([1.0, nan], trainable=False, name="moments")
    why = tf.debugging.why_nonfinite(lambda: v + 1.0)
    assert (why.kind, why.op, why.index) == ("source", "the Variable 'moments:0'", (1,))


def test_a_variable_that_the_call_assigns():
    v = tf.Variable([1.0, 0.0])

    @tf.function
    def step():
        v.assign(1.0 / v)
        return tf.reduce_sum(v)

    why = tf.debugging.why_nonfinite(step)
    assert why
    assert "which this code has assigned" in str(why)
    assert v.numpy().tolist() == [1.0, 0.0]


def test_a_method_and_functions_in_it():
    class Model:
        def __init__(self):
            self.w = tf.Variable([0.0, 4.0])

        @tf.function
        def root(self, x):
            return tf.sqrt(self.w * x)  # here

        @tf.function
        def step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(self.root(x))
            self.w.assign_sub(tape.gradient(loss, self.w))
            return loss

    model = Model()
    why = tf.debugging.why_nonfinite(model.step, tf.constant(1.0))
    assert (why.op, why.phase, why.index) == ("sqrt", "backward", (0,))
    assert why.location.line == marked_line(test_a_method_and_functions_in_it)
    assert model.w.numpy().tolist() == [0.0, 4.0]


def test_random_numbers_are_those_of_the_program():
    tf.random.set_seed(3)
    drawn = []

    @tf.function
    def noisy(x):
        noise = tf.random.normal([3])
        tf.py_function(lambda n: drawn.append(n.numpy()), [noise], [])
        return tf.reduce_sum(x / tf.zeros_like(noise))

    x = tf.constant(1.0)
    for _ in range(2):
        assert tf.debugging.why_nonfinite(noisy, x).op == "divide"
        noisy(x)
    first, compiled, second, again = drawn
    np.testing.assert_array_equal(first, compiled)
    np.testing.assert_array_equal(second, again)
    assert (first != second).all()


def test_random_numbers_of_eager_code_are_not_used_up():
    tf.random.set_seed(3)
    expected = tf.random.normal([2]).numpy()
    tf.random.set_seed(3)
    assert not tf.debugging.why_nonfinite(lambda: tf.random.normal([5]))
    np.testing.assert_array_equal(tf.random.normal([2]), expected)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_everything_is_as_it_was_after_an_error(error):
    v, state = tf.Variable([1.0, 2.0]), here.state
    before = state.run, state.checker, state.around_walk, state.op_by_op, state.recorders

    def step():
        v.assign(v / 0.0)
        raise error("stop")

    with pytest.raises(error):
        tf.debugging.why_nonfinite(step)
    assert v.numpy().tolist() == [1.0, 2.0]
    assert before == (
        state.run, state.checker, state.around_walk, state.op_by_op, state.recorders,
    )  # fmt: skip


def test_tapes_outside_are_left_alone():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        tf.debugging.why_nonfinite(lambda: x / 0.0)
        x_read = tf.constant(3.0)
    assert tape.gradient(y, x).numpy() == 4.0
    assert x_read.node is None
    assert x.numpy() == 2.0


def test_user_tensors_are_not_watched():
    x = tf.constant(0.0)
    tf.debugging.why_nonfinite(tf.math.log, x)
    assert x.node is None


def test_what_no_op_led_to():
    why = tf.debugging.why_nonfinite(lambda: tf.constant(nan))
    assert (why.kind, why.certain) == ("unknown", False)
    assert "No recorded op" in str(why)


def test_a_failed_check_says_more(checks):
    v = tf.Variable([1.0, 0.0])

    @tf.function
    def step(rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(v))  # here
        v.assign_sub(rate * tape.gradient(loss, v))
        return loss

    with pytest.raises(InvalidArgumentError, match="found by enable_check_numerics") as raised:
        step(tf.constant(0.1))
    (note,) = raised.value.__notes__
    assert f"{__file__}:{marked_line(step.python_function)}" in note
    assert "The gradient of sqrt" in note
    assert v.numpy().tolist() == [1.0, 0.0]
    assert here.state.checker is not None
    with pytest.raises(InvalidArgumentError):  # the checks go on
        tf.math.log(tf.constant(0.0))


def test_asking_while_checks_are_on(checks):
    why = tf.debugging.why_nonfinite(lambda x: tf.math.log(x), tf.constant(0.0))
    assert why.op == "log"


def test_what_it_refuses():
    with pytest.raises(TypeError, match=r"tape\.why_nonfinite"):
        tf.debugging.why_nonfinite(tf.constant(nan))
    f = tf.function(lambda x: tf.debugging.why_nonfinite(tf.math.log, x).value)
    with pytest.raises(RuntimeError, match="Ask outside"):
        f(tf.constant(1.0))


LINEAR = {
    "a number": lambda x: x - 100.0,
    "an array": lambda x: x + np.full([2], -100.0, np.float32),
    "a tensor": lambda x: tf.constant([1.0, 1.0]) * x - tf.constant([100.0, 100.0]),
    "a matrix": lambda x: tf.linalg.matvec(tf.constant([[-50.0, -50.0]] * 2), x),
    "several": lambda x: tf.reduce_sum(tf.stack([x, tf.constant([-100.0, -100.0])]), 0),
}


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize("compiled", [False, True])
def test_what_linear_ops_were_given_is_kept_so_that_the_answer_is_certain(kind, compiled):
    def run(x):
        return tf.sqrt(LINEAR[kind](x)) * 2.0

    found = tf.debugging.why_nonfinite(tf.function(run) if compiled else run, tf.constant([1.0, 2]))
    assert (found.op, found.phase, found.certain) == ("sqrt", "forward", True)
    assert found.inputs[0].value < 0.0
    assert "tf.debugging.why_nonfinite" not in found.advice


def test_a_constant_that_is_not_finite_is_named_also_where_nothing_saves_it():
    found = tf.debugging.why_nonfinite(lambda x: (x - np.inf) * 2.0, tf.constant([1.0, 2.0]))
    assert (found.kind, found.op, found.certain) == ("constant", "subtract", True)


def test_an_input_that_is_not_finite_is_from_nowhere():
    found = tf.debugging.why_nonfinite(tf.function(lambda x: x * 2.0), tf.constant([np.nan]))
    assert found.kind == "source"
    assert found.location is None
