"""`tf.gradients` inside a function, with what TensorFlow 2.21 gives; outside there is no graph,
and it is refused.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf

THREE, TWO = 3.0, 2.0


def run(f, *values):
    """What a function gives for numbers, as numbers, lists of them and None."""
    return plain(tf.function(f)(*map(tf.constant, values)))


def plain(result):
    if isinstance(result, (list, tuple)):
        return [plain(each) for each in result]
    return None if result is None else result.numpy().tolist()


def third_derivative(x):
    y = x**4
    for _ in range(3):
        (y,) = tf.gradients(y, x)
    return [y]


def intermediate(x):
    a = x * x
    return tf.gradients(a * a, a)


def partly_stopped(x):
    a = 2.0 * x
    b = 3.0 * x + a
    return tf.gradients(a + b, [x, a, b], stop_gradients=[a, b]) + tf.gradients(a + b, [x, a, b])


def stopped_at_a_source(x):
    a = 2.0 * x
    return tf.gradients(a + (a + x), [x, a], stop_gradients=[x, a])


def of_a_branch(x):
    y = tf.cond(x > 0.0, lambda: x * x, lambda: x)
    return tf.gradients(y, x)


def of_a_loop(x):
    y = x
    for _ in tf.range(3):
        y = y * x
    return tf.gradients(y, x)


def in_a_branch(x):
    return tf.cond(x > 0.0, lambda: tf.gradients(x**3, x)[0], lambda: x)


def in_a_loop(x):
    y = tf.zeros([])
    for _ in tf.range(3):
        y = y + tf.gradients(x**3, x)[0]
    return y


square = tf.function(lambda q: q * q)


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        (lambda x: tf.gradients(x * x, x), [THREE], [6.0]),
        (lambda x: tf.gradients(x * x, [x]), [THREE], [6.0]),
        (lambda x: tf.gradients([x * x], x), [THREE], [6.0]),
        (lambda x, y: tf.gradients(x * x * y, [x, y]), [THREE, TWO], [12.0, 9.0]),
        (lambda x, y: tf.gradients([x * x, x * y], [x, y]), [THREE, TWO], [8.0, 3.0]),
        (lambda x: tf.gradients(x * x, x), [[1.0, 2.0]], [[2.0, 4.0]]),
        (lambda x: tf.gradients(tf.gradients(x**3, x)[0], x), [THREE], [18.0]),
        (third_derivative, [THREE], [72.0]),
        (intermediate, [THREE], [18.0]),
        (
            lambda x: tf.gradients(x * x, x, grad_ys=tf.constant([1.0, 2.0, 3.0])),
            [[1.0, 2.0, 3.0]],
            [[2.0, 8.0, 18.0]],
        ),
        (
            lambda x: tf.gradients([x * x, x], x, grad_ys=[tf.constant(2.0), tf.constant(10.0)]),
            [THREE],
            [22.0],
        ),
        (lambda x: tf.gradients([x * x, x], x, grad_ys=[None, tf.constant(10.0)]), [THREE], [16.0]),
        (lambda x, g: tf.gradients(tf.gradients(x * x, x, grad_ys=g), g), [THREE, TWO], [6.0]),
        (partly_stopped, [THREE], [None, 1.0, 1.0, 7.0, 2.0, 1.0]),
        (stopped_at_a_source, [THREE], [1.0, 2.0]),
        (lambda x, y: tf.gradients(x * x, [x, y]), [THREE, TWO], [6.0, None]),
        (
            lambda x, y: tf.gradients(x * x, [x, y], unconnected_gradients="none"),
            [THREE, TWO],
            [6.0, None],
        ),
        (
            lambda x, y: tf.gradients(x * x, [x, y], unconnected_gradients="zero"),
            [THREE, [1.0, 2.0]],
            [6.0, [0.0, 0.0]],
        ),
        (
            lambda x, y: tf.gradients(
                x * x, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO
            ),
            [THREE, TWO],
            [6.0, 0.0],
        ),
        (lambda x: tf.gradients(tf.stop_gradient(x) * x, x), [THREE], [3.0]),
        (lambda x: tf.gradients(tf.cast(x, tf.float32), x), [3], [None]),
        (
            lambda x: tf.gradients(x * x + x, x, aggregation_method=tf.AggregationMethod.ADD_N),
            [THREE],
            [7.0],
        ),
        (of_a_branch, [THREE], [6.0]),
        (of_a_branch, [-THREE], [1.0]),
        (of_a_loop, [THREE], [108.0]),
        (in_a_branch, [THREE], 27.0),
        (in_a_loop, [THREE], 81.0),
        (lambda x: tf.gradients(square(x), x), [THREE], [6.0]),
        (lambda x: tf.gradients(tf.gradients(square(x), x), x), [THREE], [2.0]),
        (lambda x: tf.hessians(tf.reduce_sum(x**3), x), [[1.0, 2.0]], [[[6.0, 0.0], [0.0, 12.0]]]),
    ],
)
def test_as_in_tensorflow(f, values, expected):
    found = run(f, *values)
    assert str(found) == str(expected)


def test_captured_tensors():
    captured = tf.constant(5.0)
    f = tf.function(lambda x: tf.gradients(x * captured * captured, [x, captured]))
    assert plain(f(tf.constant(3.0))) == [25.0, 30.0]


def test_variables():
    V = tf.Variable(4.0)
    f = tf.function(lambda x: tf.gradients(x * V * V, [x, V]))
    assert plain(f(tf.constant(3.0))) == [16.0, 24.0]
    V.assign(1.0)
    assert plain(f(tf.constant(3.0))) == [1.0, 6.0]


def test_what_was_read_of_a_variable():
    V = tf.Variable(4.0)

    @tf.function
    def f(x):
        value = V.read_value()
        return tf.gradients(x * value * value, [x, value])

    assert plain(f(tf.constant(3.0))) == [16.0, 24.0]


def test_indexed_slices():
    f = tf.function(lambda table: tf.gradients(tf.gather(table, [0, 0]), table)[0])
    result = f(tf.constant([1.0, 2.0]))
    assert isinstance(result, tf.IndexedSlices)
    np.testing.assert_array_equal(tf.convert_to_tensor(result), [2.0, 0.0])


def test_a_tape_outside():
    f = tf.function(lambda x: tf.gradients(x**3, x)[0])
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        second = tape.gradient(y, x)
    assert [float(y), float(second), float(outer.gradient(second, x))] == [27.0, 18.0, 6.0]


def test_a_tape_beside_it():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            (first,) = tf.gradients(x**3, x)
        return tape.gradient(first, x)

    assert float(f(tf.constant(3.0))) == 18.0


def test_forward_mode():
    f = tf.function(lambda x: tf.gradients(x**3, x)[0])
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(2.0)) as accumulator:
        y = f(x)
    assert float(accumulator.jvp(y)) == 36.0


def test_a_rule_runs_once():
    runs = []

    @tf.custom_gradient
    def op(q):
        def rule(g):
            runs.append(1)
            return g * 2.0 * q

        return q * q, rule

    f = tf.function(lambda x: tf.gradients(op(x), x))
    for x in (3.0, 4.0):
        assert plain(f(tf.constant(x))) == [2.0 * x]
    assert len(runs) == 1


def test_python_runs_once():
    runs = []

    @tf.function
    def f(x):
        runs.append("function")
        y = tf.cond(
            x > 0.0, lambda: runs.append("taken") or x**3, lambda: runs.append("other") or x
        )
        (first,) = tf.gradients(y, x)
        return [first, *tf.gradients(first, x)]

    assert plain(f(tf.constant(3.0))) == [27.0, 18.0]
    assert plain(f(tf.constant(-3.0))) == [1.0, 0.0]
    assert sorted(runs) == ["function", "other", "taken"]


def test_a_model_trains_with_it():
    V = tf.Variable(2.0)

    @tf.function
    def step(x):
        loss = (x * V - 1.0) ** 2
        (gradient,) = tf.gradients(loss, [V])
        V.assign_sub(0.1 * gradient)
        return loss

    assert [float(step(tf.constant(1.0))) for _ in range(3)] == pytest.approx([1.0, 0.64, 0.4096])


def test_is_refused_in_eager_code():
    x = tf.constant(3.0)
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(x * x, x)


def test_is_refused_for_a_wrong_number_of_grad_ys():
    f = tf.function(lambda x: tf.gradients([x * x, x], x, grad_ys=[tf.constant(1.0)]))
    with pytest.raises(ValueError):
        f(tf.constant(3.0))


def by_a_mask(x):
    return tf.gradients(tf.boolean_mask(x, x > 0.0), x)[0]


def hessian_of_a_mask(x):
    return tf.hessians(tf.boolean_mask(x, x > 0.0), x)[0]


def in_a_called_function(x):
    return 2.0 * tf.function(by_a_mask)(x)


@pytest.mark.parametrize("f", [by_a_mask, hessian_of_a_mask, in_a_called_function])
def test_a_function_that_runs_op_by_op_says_why_it_has_no_gradients(f):
    function = tf.function(f)
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            function(tf.constant([1.0, -2.0]))
        text = str(caught.value)
        assert text.count("runs op by op, because of boolean_mask: mask, at") == 1
        assert f"{__file__}:" in text


@pytest.mark.parametrize("source", ["argument", "size"])
def test_a_size_that_is_followed_is_named_where_gradients_are_asked_for(source):
    size = tf.constant(4.0)

    @tf.function
    def f(x):
        y = size * x * x * tf.reduce_sum(tf.ones([tf.cast(size, tf.int32)]))
        return tf.gradients(y, x if source == "argument" else size)[0]

    x = tf.constant(3.0)
    with tf.GradientTape() as tape, pytest.raises(RuntimeError, match="ones: shape, at"):
        tape.watch(size)
        f(x)
    if source == "argument":  # the values of all constants are known as long as nothing follows one
        assert float(f(x)) == 96.0
