"""While a function is traced its Python runs once; what a body captures is its input, whatever
holds it, and derivatives follow.

The product of these is in `test_bodies.py`; here are programs as users write them, with what
TensorFlow 2.21 gives.
"""

# ruff: noqa: SIM108 - statements are what AutoGraph is to convert

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf


def derivatives(f, x):
    """The value, the gradient, the second derivative and the tangent of a function of one
    number.
    """
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, x)
    second = outer.gradient(first, x)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        z = f(x)
    return [
        each if each is None else each.numpy().tolist()
        for each in (y, first, second, accumulator.jvp(z))
    ]


def gradient(f, x, *sources):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, [x, *sources] if sources else x)


def pass_through(q):
    return tf.grad_pass_through(lambda q: q * q)(q)


@tf.custom_gradient
def with_rule(q):
    return q * q, lambda g: g * 2.0 * q


def through_python(q):
    return tf.ensure_shape(tf.py_function(lambda q: q * q, [q], tf.float32), [])


INNER = {
    "function": tf.function(lambda q: q * q),
    "custom_gradient": with_rule,
    "recompute_grad": tf.recompute_grad(lambda q: q * q),
    "py_function": through_python,
}


def in_if(inner):
    def f(x):
        if x > 0.0:
            y = inner(x)
        else:
            y = x
        return y

    return f


def in_for(inner):
    def f(x):
        y = tf.zeros([])
        for _ in tf.range(3):
            y = y + inner(x)
        return y / 3.0

    return f


def in_while(inner):
    def f(x):
        y, i = tf.zeros([]), tf.constant(0)
        while i < 3:
            y = y + inner(x)
            i += 1
        return y / 3.0

    return f


def in_while_loop(inner):
    return lambda x: (
        tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + inner(x)), (0, tf.zeros([])))[1]
        / 3.0
    )


def in_map_fn(inner):
    return lambda x: tf.reduce_sum(tf.map_fn(lambda q: inner(x) * q, tf.constant([0.5, 0.5])))


def in_vectorized_map(inner):
    return lambda x: tf.reduce_sum(
        tf.vectorized_map(lambda q: inner(x) * q, tf.constant([0.5, 0.5]))
    )


PLACES = [in_if, in_for, in_while, in_while_loop, in_map_fn, in_vectorized_map]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("inner", INNER)
def test_what_is_called_on_the_argument_itself(place, inner):
    f = tf.function(place(INNER[inner]))
    assert derivatives(f, tf.constant(3.0)) == pytest.approx([9.0, 6.0, 2.0, 6.0])
    assert derivatives(f, tf.constant(2.0)) == pytest.approx([4.0, 4.0, 2.0, 4.0])


@pytest.mark.parametrize("place", PLACES)
def test_grad_pass_through(place):
    f = tf.function(place(pass_through))
    y, first, second, tangent = derivatives(f, tf.constant(3.0))
    assert (y, first, tangent) == pytest.approx((9.0, 1.0, 1.0))
    assert not second


def test_a_local_variable_that_is_bound_again():
    @tf.function
    def f(x):
        c = x * x
        c = tf.case([(x > 9.0, lambda: x)], default=lambda: c * 0.5)
        return c

    assert derivatives(f, tf.constant(3.0)) == pytest.approx([4.5, 3.0, 1.0, 3.0])


def test_a_dict_that_is_written_to():
    @tf.function
    def f(x):
        d = {"c": x * x}
        d["c"] = tf.cond(x > 1.0, lambda: d["c"] * 0.5, lambda: x)
        return d["c"]

    assert derivatives(f, tf.constant(3.0)) == pytest.approx([4.5, 3.0, 1.0, 3.0])
    assert derivatives(f, tf.constant(0.5))[:2] == pytest.approx([0.5, 1.0])


def test_a_list_that_is_written_to():
    @tf.function
    def f(x):
        states = [x * x]
        states[0] = tf.cond(x > 1.0, lambda: states[0] * 0.5, lambda: x)
        return states.pop()

    assert derivatives(f, tf.constant(3.0)) == pytest.approx([4.5, 3.0, 1.0, 3.0])


class Recurrent:
    """A cell that keeps its state on itself while it runs, and nothing afterwards."""

    def __init__(self, how):
        self.how = how
        self.state = None
        self.weight = tf.Variable(0.5)

    def __call__(self, x):
        self.state = x * x
        self.state = self.how(self, x)
        result = self.state
        self.state = None
        return result


LOOPS = {
    "cond": lambda self, x: tf.cond(x > 1.0, lambda: self.state * self.weight, lambda: x),
    "while_loop": lambda self, x: tf.while_loop(
        lambda i, y: i < 2, lambda i, y: (i + 1, y + self.state * self.weight),
        (0, tf.zeros([])))[1] / 2.0,
    "map_fn": lambda self, x: tf.reduce_sum(tf.map_fn(lambda q: self.state * self.weight * q,
        tf.constant([0.25, 0.75]))),
    "foldl": lambda self, x: tf.foldl(lambda y, q: y + self.state * self.weight * q,
        tf.constant([0.25, 0.75]), tf.zeros([])),
    "scan": lambda self, x: tf.scan(lambda y, q: y + self.state * self.weight * q,
        tf.constant([0.25, 0.75]), tf.zeros([]))[1],
}  # fmt: skip


@pytest.mark.parametrize("how", LOOPS)
def test_state_on_an_object(how):
    cell = Recurrent(LOOPS[how])
    f = tf.function(cell.__call__)
    assert derivatives(f, tf.constant(3.0)) == pytest.approx([4.5, 3.0, 1.0, 3.0])
    by_x, by_weight = gradient(f, tf.constant(3.0), cell.weight)
    assert (float(by_x), float(by_weight)) == pytest.approx((3.0, 9.0))
    cell.weight.assign(1.0)
    assert derivatives(f, tf.constant(3.0)) == pytest.approx([9.0, 6.0, 2.0, 6.0])


def scaled_by(V):
    @tf.custom_gradient
    def scaled(u):
        return u * 1.0, lambda g: g * V

    return scaled


def test_a_variable_that_only_a_rule_reads():
    V = tf.Variable(2.0)
    scaled = scaled_by(V)
    f = tf.function(lambda x: scaled(x * x))
    x = tf.constant(3.0)
    assert float(gradient(f, x)) == 12.0
    assert derivatives(f, x) == pytest.approx([9.0, 12.0, 4.0, 12.0])
    V.assign(5.0)
    assert float(gradient(f, x)) == 30.0
    assert derivatives(f, x) == pytest.approx([9.0, 30.0, 10.0, 30.0])
    assert f.experimental_get_tracing_count() == 1


def test_the_derivative_by_a_variable_that_only_a_rule_reads():
    V = tf.Variable(2.0)
    scaled = scaled_by(V)
    f = tf.function(lambda x: scaled(x * x))
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        first = gradient(f, x)
    assert float(outer.gradient(first, V)) == 6.0


def test_a_variable_that_only_a_rule_reads_with_the_tape_inside():
    V = tf.Variable(2.0)
    scaled = scaled_by(V)
    f = tf.function(lambda x: gradient(lambda x: scaled(x * x), x))
    x = tf.constant(3.0)
    assert float(f(x)) == 12.0
    V.assign(5.0)
    assert float(f(x)) == 30.0
    assert float(gradient(f, x)) == 10.0


@pytest.mark.parametrize("place", PLACES)
def test_a_variable_that_only_a_rule_in_a_body_reads(place):
    V = tf.Variable(2.0)
    scaled = scaled_by(V)
    f = tf.function(place(lambda q: scaled(q) * q))
    assert derivatives(f, tf.constant(3.0)) == pytest.approx([9.0, 9.0, 4.0, 9.0])
    V.assign(5.0)
    assert derivatives(f, tf.constant(3.0)) == pytest.approx([9.0, 18.0, 10.0, 18.0])


def test_a_rule_that_reads_a_tensor_of_the_function():
    """What a rule captures is traced too: `c` is bound again before the rule runs."""

    @tf.function
    def f(x):
        c = x * 2.0

        @tf.custom_gradient
        def op(q):
            held = c
            return q * 1.0, lambda g: g * held

        y = op(x)
        c = x * 100.0
        return y + 0.0 * c

    assert float(gradient(f, tf.constant(3.0))) == 6.0


@pytest.mark.parametrize("decorate", [lambda f: f, tf.function], ids=["eager", "compiled"])
class TestVectorizedMap:
    """Branches and loops in it, on values that differ from row to row."""

    X = np.array([1.0, -2.0, 3.0], np.float32)

    def check(self, decorate, body, value, slope):
        x = tf.constant(self.X)
        f = decorate(lambda x: tf.vectorized_map(body, x))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        np.testing.assert_allclose(y, value)
        np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(y, x)), slope)

    def test_cond(self, decorate):
        self.check(
            decorate,
            lambda q: tf.cond(q > 0.0, lambda: q * 2.0, lambda: q),
            [2.0, -2.0, 6.0],
            [2.0, 1.0, 2.0],
        )

    def test_switch_case(self, decorate):
        body = lambda q: tf.switch_case(
            tf.cast(q > 0.0, tf.int32), [lambda: q * 2.0, lambda: q * q]
        )
        self.check(decorate, body, [1.0, -4.0, 9.0], [2.0, 2.0, 6.0])

    def test_case(self, decorate):
        body = lambda q: tf.case(
            [(q > 2.0, lambda: q * 2.0), (q > 0.0, lambda: q * q)], default=lambda: q * q * q
        )
        self.check(decorate, body, [1.0, -8.0, 6.0], [2.0, 12.0, 2.0])

    def test_while_loop_of_equal_lengths(self, decorate):
        body = lambda q: tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * q), (tf.constant(0), q)
        )[1]
        self.check(decorate, body, [1.0, 16.0, 81.0], [4.0, -32.0, 108.0])

    def test_while_loop_of_lengths_that_differ(self, decorate):
        body = lambda q: tf.while_loop(
            lambda y: y < 10.0, lambda y: (y * 2.0 + 3.0,), (q,), maximum_iterations=10
        )[0]
        self.check(decorate, body, [13.0, 13.0, 21.0], [4.0, 16.0, 4.0])

    def test_cond_of_captured_values(self, decorate):
        captured = tf.constant([5.0, 6.0])
        body = lambda q: tf.cond(q > 0.0, lambda: q * captured[0], lambda: q * captured[1])
        self.check(decorate, body, [5.0, -12.0, 15.0], [5.0, 6.0, 5.0])

    def test_cond_on_a_value_that_all_rows_share(self, decorate):
        shared = tf.constant(1.0)
        body = lambda q: tf.cond(shared > 0.0, lambda: q * 2.0, lambda: q)
        self.check(decorate, body, [2.0, -4.0, 6.0], [2.0, 2.0, 2.0])

    def test_cond_without_a_fallback(self, decorate):
        x = tf.constant(self.X)
        f = decorate(
            lambda x: tf.vectorized_map(
                lambda q: tf.cond(q > 0.0, lambda: q * 2.0, lambda: q),
                x,
                fallback_to_while_loop=False,
            )
        )
        np.testing.assert_allclose(f(x), [2.0, -2.0, 6.0])

    def test_the_body_runs_once(self, decorate):
        runs = []

        def body(q):
            runs.append("body")
            return tf.cond(
                q > 0.0, lambda: runs.append("taken") or q * 2.0, lambda: runs.append("other") or q
            )

        f = decorate(lambda x: tf.vectorized_map(body, x))
        f(tf.constant(self.X))
        assert sorted(runs) == ["body", "other", "taken"]


class TestStoppedGradients:
    """What lies behind `stop_gradient` is not differentiated: its rules do not run."""

    @pytest.fixture
    def counted(self):
        runs = []

        @tf.custom_gradient
        def op(q):
            def rule(g):
                runs.append(1)
                return g

            return q * 1.0, rule

        return op, runs

    @pytest.mark.parametrize("decorate", [lambda f: f, tf.function], ids=["eager", "compiled"])
    def test_a_result_that_does_not_depend_on_the_source(self, counted, decorate):
        op, runs = counted
        f = decorate(lambda x: op(tf.stop_gradient(x) * 2.0))
        assert gradient(f, tf.constant(3.0)) is None
        assert not runs

    @pytest.mark.parametrize("decorate", [lambda f: f, tf.function], ids=["eager", "compiled"])
    def test_beside_one_that_depends(self, counted, decorate):
        op, runs = counted
        f = decorate(lambda x: op(tf.stop_gradient(x) * 2.0) + x * x)
        assert float(gradient(f, tf.constant(3.0))) == 6.0
        assert not runs

    def test_in_branches_and_loops(self, counted):
        op, runs = counted

        @tf.function
        def f(x):
            stopped = tf.stop_gradient(x)
            y = tf.cond(x > 0.0, lambda: op(stopped) * x, lambda: x)
            for _ in tf.range(2):
                y = y + op(stopped)
            return y

        assert float(gradient(f, tf.constant(3.0))) == 3.0
        assert not runs

    def test_a_pole_behind_it(self):
        f = tf.function(lambda x: tf.sqrt(tf.stop_gradient(x) - 3.0) + x)
        assert float(gradient(f, tf.constant(3.0))) == 1.0

    def test_branches_that_are_all_stopped(self):
        f = tf.function(
            lambda x: tf.cond(
                x > 0.0, lambda: tf.stop_gradient(x) * 2.0, lambda: tf.stop_gradient(x)
            )
        )
        assert gradient(f, tf.constant(3.0)) is None

    def test_one_branch_that_is_stopped(self):
        f = tf.function(lambda x: tf.cond(x > 0.0, lambda: tf.stop_gradient(x) * 2.0, lambda: x))
        assert float(gradient(f, tf.constant(3.0))) == 0.0
        assert float(gradient(f, tf.constant(-3.0))) == 1.0

    def test_a_loop_that_is_stopped(self):
        @tf.function
        def f(x):
            y = tf.stop_gradient(x)
            for _ in tf.range(3):
                y = y * 2.0
            return y

        assert gradient(f, tf.constant(3.0)) is None

    def test_a_loop_that_stops_in_its_body(self):
        @tf.function
        def f(x):
            y = x
            for _ in tf.range(3):
                y = tf.stop_gradient(y) * 2.0 + x
            return y

        assert float(gradient(f, tf.constant(3.0))) == 1.0


def test_python_runs_once_whatever_is_asked_for():
    """One function, asked with no tape, with one, with two, and in forward mode."""
    runs = []

    @tf.function
    def f(x):
        runs.append("function")
        y = x
        for _ in tf.range(3):
            runs.append("loop")
            y = tf.cond(
                y > 1.0,
                lambda: runs.append("taken") or y * y,  # noqa: B023
                lambda: runs.append("other") or y * 3.0,  # noqa: B023
            )
        return y

    x = tf.constant(0.5)
    assert float(f(x)) == pytest.approx(1.5**4)
    assert derivatives(f, x) == pytest.approx(
        [1.5**4, 12.0 * 1.5**3, 108.0 * 1.5**2, 12.0 * 1.5**3]
    )
    assert float(gradient(f, x)) == pytest.approx(12.0 * 1.5**3)
    assert sorted(runs) == ["function", "loop", "other", "taken"]
    assert f.experimental_get_tracing_count() == 1


def products(a, b):
    return (a[0] * b[0], a[1] + b[1] * a[0])


FOLDS = {
    "scan": lambda fn, x: tf.scan(fn, (x, x * 2.0)),
    "scan reversed": lambda fn, x: tf.scan(fn, (x, x * 2.0), reverse=True),
    "foldl": lambda fn, x: tf.foldl(fn, (x, x * 2.0)),
    "foldr": lambda fn, x: tf.foldr(fn, (x, x * 2.0)),
}


@pytest.mark.parametrize("length", [1, 2, 6])
@pytest.mark.parametrize("how", FOLDS)
def test_folds_that_begin_with_the_first_entry(how, length):
    runs = []

    def fn(a, b):
        runs.append(1)
        return products(a, b)

    x = tf.range(1.0, length + 1.0) / 3.0
    total = lambda f: tf.add_n([tf.reduce_sum(part) for part in FOLDS[how](f, x)])
    compiled = tf.function(lambda x: tf.add_n([tf.reduce_sum(part) for part in FOLDS[how](fn, x)]))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        eager, found = total(products), compiled(x)
    np.testing.assert_allclose(found, eager, rtol=1e-5)
    np.testing.assert_allclose(tape.gradient(found, x), tape.gradient(eager, x), rtol=1e-5)
    assert len(runs) == (length > 1)
