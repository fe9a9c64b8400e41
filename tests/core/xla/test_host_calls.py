"""What a function does on the host: prints, assertions and Python functions,
in every call and in the program's order.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.errors import InvalidArgumentError


class Lines(list):
    """A stream that keeps what is written."""

    def write(self, text):
        self.append(text)


def test_prints_in_every_call_as_eager_code_does(capsys):
    v = tf.Variable([1.5, 2.0])

    def f(x):
        tf.print("x =", x, "v =", v, {"list": [x[0], 3]}, tf.constant("text"), sep="|")
        v.assign_add(x)
        tf.print(v, output_stream=sys.stdout, summarize=1)
        return x * 2

    eager = tf.Variable([1.5, 2.0])
    compiled = tf.function(f)
    for _ in range(2):
        compiled(tf.constant([1.0, 2.0]))
    found = capsys.readouterr()
    v, eager = eager, v
    for _ in range(2):
        f(tf.constant([1.0, 2.0]))
    expected = capsys.readouterr()
    assert found.err == expected.err
    assert found.out == expected.out
    assert found.err.count("x =") == 2


def test_a_print_of_nothing_traced_runs_in_every_call():
    lines = Lines()

    @tf.function
    def f():
        tf.print("here", output_stream=lines)

    f()
    f()
    assert lines == ["here\n"] * 2


def test_the_program_decides_the_order():
    lines = Lines()

    @tf.function
    def f(n):
        tf.print("begin", output_stream=lines, end="")

        def body(i, total):
            tf.print(i, output_stream=lines, end="")
            tf.cond(
                i % 2 == 0,
                lambda: tf.print("even", output_stream=lines, end=""),
                lambda: tf.print("odd", output_stream=lines, end=""),
            )
            return i + 1, total + i

        _, total = tf.while_loop(lambda i, _: i < n, body, (0, 0))
        tf.print("end", output_stream=lines, end="")
        return total

    assert int(f(tf.constant(3))) == 3
    assert lines == ["begin", "0", "even", "1", "odd", "2", "even", "end"]
    lines.clear()
    f(tf.constant(0))
    assert lines == ["begin", "end"]


def test_prints_once_when_gradients_are_taken():
    lines = Lines()

    @tf.function
    def f(x):
        tf.print("once", output_stream=lines)
        y = tf.scan(lambda a, b: a * b, tf.stack([x, x]), initializer=x)
        return y[-1]

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x), 12.0)
    assert lines == ["once\n"]
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(first, x), 12.0)
    assert lines == ["once\n"] * 2
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = f(x)
    np.testing.assert_allclose(accumulator.jvp(y), 12.0)
    assert lines == ["once\n"] * 3


def test_a_loop_with_a_gradient_prints_each_step_once():
    lines = Lines()

    @tf.function
    def f(x):
        def body(i, y):
            tf.print(i, y, output_stream=lines, end="")
            return i + 1, y * x

        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(lambda i, _: i < 3, body, (0, x))
        return tape.gradient(y, x)

    np.testing.assert_allclose(f(tf.constant(2.0)), 4 * 2.0**3)
    assert lines == ["0 2", "1 4", "2 8"]


def test_bad_streams_are_refused_while_tracing():
    with pytest.raises(ValueError, match="print: output_stream must be a file object"):
        tf.function(lambda x: tf.print(x, output_stream=3))(tf.constant(1.0))


COMPARISONS = {
    "assert_equal": (lambda x: tf.debugging.assert_equal(x, 1.0, "no"), 1.0),
    "assert_none_equal": (lambda x: tf.debugging.assert_none_equal(x, 2.0), 1.0),
    "assert_less": (lambda x: tf.debugging.assert_less(x, 2.0), 1.0),
    "assert_less_equal": (lambda x: tf.debugging.assert_less_equal(x, 1.5), 1.0),
    "assert_greater": (lambda x: tf.debugging.assert_greater(-x, -2.0), 1.0),
    "assert_greater_equal": (lambda x: tf.debugging.assert_greater_equal(-x, -1.5), 1.0),
    "assert_positive": (lambda x: tf.debugging.assert_positive(1.5 - x), 1.0),
    "assert_near": (lambda x: tf.debugging.assert_near(x, 1.0, message="far"), 1.0),
    "assert_all_finite": (lambda x: tf.debugging.assert_all_finite(1 / (2.0 - x), "infinite"), 1.0),
    "check_numerics": (
        lambda x: tf.debugging.check_numerics(tf.sqrt(1.5 - x), "not a number"),
        1.0,
    ),
    "Assert": (lambda x: tf.debugging.Assert(x[0] < 2.0, ["x is", x]), 1.0),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_an_assertion_raises_what_eager_code_raises(name):
    check, _ = COMPARISONS[name]

    @tf.function
    def f(x):
        found = check(x)
        return x + 1 if found is None else found

    f(tf.constant([1.0, 1.0]))
    with pytest.raises(InvalidArgumentError) as eager:
        check(tf.constant([2.0, 1.0]))
    with pytest.raises(InvalidArgumentError) as compiled:
        f(tf.constant([2.0, 1.0]))
    assert str(compiled.value) == str(eager.value)
    f(tf.constant([1.0, 1.0]))


def test_a_failed_assertion_ends_the_program_and_leaves_variables_as_they_were(caplog):
    v, lines = tf.Variable(1.0), Lines()

    @tf.function
    def f(x):
        tf.print("before", output_stream=lines)
        v.assign_add(1.0)
        tf.debugging.assert_less(x, 5.0)
        tf.print("after", output_stream=lines)
        v.assign_add(x)
        return v * x

    f(tf.constant(1.0))
    assert float(v) == 3.0
    with pytest.raises(
        InvalidArgumentError, match="assert_less: x < y does not hold for 1 of 1 elements"
    ):
        f(tf.constant(7.0))
    assert float(v) == 3.0
    assert lines == ["before\n", "after\n", "before\n"]
    f(tf.constant(2.0))
    assert float(v) == 6.0
    assert not caplog.records


def test_an_assertion_in_a_loop_names_the_step():
    @tf.function
    def f(limit):
        def body(i):
            tf.debugging.assert_less(i, limit, message="too many steps")
            return (i + 1,)

        return tf.while_loop(lambda i: i < 10, body, (tf.constant(0),))

    with pytest.raises(
        InvalidArgumentError, match=r"too many steps assert_less: x < y .* x = \[3\] and y = \[3\]"
    ):
        f(tf.constant(3))


def test_an_assertion_about_every_example():
    def one(x):
        tf.debugging.assert_less(x, 5.0)
        return x * 2

    for f in (
        lambda x: tf.vmap(one)(x),
        tf.function(lambda x: tf.vmap(one)(x)),
        lambda x: tf.vmap(tf.function(one))(x),
    ):
        np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])), [2.0, 4.0])
        with pytest.raises(InvalidArgumentError, match="does not hold for 1 of 3 elements"):
            f(tf.constant([1.0, 7.0, 2.0]))


def test_an_assertion_with_a_tape_outside():
    f = tf.function(lambda x: (tf.debugging.assert_positive(x), x * x)[1])
    for value in (2.0, -2.0):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            if value < 0:
                with pytest.raises(InvalidArgumentError, match="assert_positive"):
                    f(x)
            else:
                assert float(tape.gradient(f(x), x)) == 4.0


def test_what_is_known_while_tracing_is_checked_at_once():
    with pytest.raises(InvalidArgumentError, match="assert_equal"):
        tf.function(lambda x: (tf.debugging.assert_equal(1, 2), x)[1])(tf.constant(1.0))
    with pytest.raises(ValueError, match="assert_rank"):
        tf.function(lambda x: (tf.debugging.assert_rank(x, 2), x)[1])(tf.constant(1.0))


# Python functions


def test_a_numpy_function_runs_in_every_call():
    seen = []

    def reverse(x):
        seen.append(x)
        return x[::-1]

    f = tf.function(
        lambda x: tf.numpy_function(reverse, [x * 2], tf.TensorSpec([3], tf.float64)) + 1
    )
    for _ in range(2):
        np.testing.assert_array_equal(f(tf.constant([1.0, 2.0, 3.0], tf.float64)), [7.0, 5.0, 3.0])
    assert len(seen) == 2
    assert all(type(x) is np.ndarray and x.dtype == np.float64 for x in seen)


def test_the_shapes_of_results_are_told_by_a_run_on_ones():
    seen = []

    def halves(x):
        seen.append(x.tolist())
        return x[: len(x) // 2], np.int64(len(x))

    f = tf.function(lambda x: tf.numpy_function(halves, [x], [tf.float32, tf.int64]))
    half, count = f(tf.constant([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(half, [1.0, 2.0])
    assert int(count) == 4
    assert seen == [[1.0] * 4, [1.0, 2.0, 3.0, 4.0]]


def test_a_run_on_ones_that_fails_asks_for_shapes():
    def picky(x):
        if x[0] == 1:
            raise KeyError("one")
        return x

    def f(x):
        return tf.numpy_function(picky, [x], tf.float32)

    assert float(tf.function(f)(tf.constant([2.0]))[0]) == 2.0  # it runs op by op then
    with pytest.raises(
        BeyondXlaError,
        match=r"numpy_function: in a gradtape.function the shapes .* give Tout as a TensorSpec",
    ):
        tf.function(f, jit_compile=True)(tf.constant([2.0]))
    f = tf.function(lambda x: tf.numpy_function(picky, [x], tf.TensorSpec([1], tf.float32)))
    assert float(f(tf.constant([2.0]))[0]) == 2.0


def test_a_py_function_has_gradients_of_two_orders():
    v = tf.Variable(3.0)

    def cube(x, n):
        assert type(x) is tf.Tensor
        return x**3 * float(n), n + 1

    @tf.function
    def f(x):
        y, n = tf.py_function(
            cube, [x * v, 2], [tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32)]
        )
        return y * tf.cast(n, tf.float32)

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        by_x, by_v = inner.gradient(y, [x, v])
    assert float(y) == 6 * 216
    np.testing.assert_allclose(by_x, 18 * 36 * 3)
    np.testing.assert_allclose(by_v, 18 * 36 * 2)
    np.testing.assert_allclose(outer.gradient(by_x, x), 36 * 6 * 9)


def test_py_functions_and_prints_keep_their_order():
    lines = Lines()

    @tf.function
    def f(x):
        tf.print("first", output_stream=lines, end="")
        tf.py_function(lambda x: lines.append(f"then {x.numpy()}"), [x], [])
        tf.print("last", output_stream=lines, end="")

    f(tf.constant(1))
    f(tf.constant(2))
    assert lines == ["first", "then 1", "last", "first", "then 2", "last"]


def test_an_exception_in_python_is_that_of_eager_code():
    def fail(x):
        raise ZeroDivisionError("because")

    f = tf.function(lambda x: tf.py_function(fail, [x], tf.TensorSpec([], tf.float32)))
    with pytest.raises(tf.errors.UnknownError, match="because") as found:
        f(tf.constant(1.0))
    assert isinstance(found.value.__cause__, ZeroDivisionError)
    g = tf.function(lambda x: tf.numpy_function(fail, [x], tf.TensorSpec([], tf.float32)))
    with pytest.raises(ZeroDivisionError, match="because"):
        g(tf.constant(1.0))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, TimeoutError])
@pytest.mark.parametrize("place", ["python", "jax"])
def test_what_a_signal_handler_raises_during_a_call_arrives(kind, place, monkeypatch):
    """In the Python function, and in JAX's own code around it, where XLA keeps but the text."""
    written, fails = tf.Variable(0.0), []

    def on_host(x):
        if fails and place == "python":
            raise kind("of a handler")
        return x + 1.0

    @tf.function
    def step():
        written.assign_add(1.0)
        return tf.numpy_function(on_host, [written], tf.float32)

    assert float(step()) == 2.0
    if place == "jax":
        callback = import_module("jax._src.callback")
        device_put = callback.api.device_put

        def interrupted(*args, **kwargs):
            if fails:
                raise kind("of a handler")
            return device_put(*args, **kwargs)

        monkeypatch.setattr(callback.api, "device_put", interrupted)
    fails.append(True)
    with pytest.raises(kind, match="of a handler"):
        step()
    assert float(written) == 1.0
    fails.clear()
    assert float(step()) == 3.0


def test_python_code_sees_no_tape_and_may_call_functions():
    v = tf.Variable(1.0)
    count = tf.function(lambda: v.assign_add(1.0))
    w = tf.Variable(0.0)

    def python(x):
        count()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    @tf.function
    def f(x):
        w.assign_add(1.0)
        return tf.py_function(python, [x], tf.TensorSpec([], tf.float32))

    with tf.GradientTape() as tape:
        assert float(f(tf.constant(3.0))) == 6.0
    assert v not in [*map(id, tape.watched_variables())]
    assert (float(v), float(w)) == (2.0, 1.0)


def test_threads_see_their_own_errors():
    f = tf.function(lambda x: (tf.debugging.assert_less(x, 5.0, message="too large"), x * 2)[1])
    f(tf.constant(1.0))
    found = {}

    def call(value):
        try:
            found[value] = float(f(tf.constant(value)))
        except InvalidArgumentError as error:
            found[value] = str(error)

    threads = [threading.Thread(target=call, args=(float(value),)) for value in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value, result in found.items():
        assert result == 2 * value if value < 5 else f"x = [{int(value)}]" in result
