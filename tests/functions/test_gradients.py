"""Tapes, accumulators and vmap over functions and inside them."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf


def network(x, w1, b1, w2):
    return tf.reduce_sum(tf.tanh(x @ w1 + b1) @ w2, axis=1)


def arguments(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return [
        tf.constant(rng.normal(size=shape).astype(dtype))
        for shape in [(5, 4), (4, 3), (3,), (3, 2)]
    ]


def gradients(f, args):
    with tf.GradientTape() as tape:
        tape.watch(args)
        y = f(*args)
    return tape.gradient(y, args)


def assert_close(actual, expected):
    for a, b in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


def test_a_tape_outside():
    f = tf.function(network)
    for seed in range(3):
        args = arguments(seed)
        assert_close(gradients(f, args), gradients(network, args))
    assert f.experimental_get_tracing_count() == 1


def test_a_tape_outside_after_a_call_without_one():
    f = tf.function(network)
    args = arguments()
    f(*args)
    assert_close(gradients(f, args), gradients(network, args))
    assert_close(f(*args), network(*args))


def test_a_call_is_one_node():
    f = tf.function(network)
    args = arguments()
    with tf.GradientTape() as tape:
        tape.watch(args)
        y = f(*args)
    call = y.node.parents[0]
    assert call.rule.name == "network"
    assert [parent.rule for parent in call.parents] == [None] * 4
    assert tape.gradient(y, args[0]) is not None


def residuals_of(f, args, watched):
    with tf.GradientTape() as tape:
        tape.watch(watched)
        y = f(*args)
    return [r.shape for r in y.node.parents[0].saved[2]]


def test_the_forward_program_returns_only_what_the_backward_program_uses():
    args = arguments()
    x, w2 = args[0], args[3]
    f = tf.function(network)
    assert residuals_of(f, args, [w2]) == [(5, 3)]  # the hidden layer
    assert residuals_of(f, args, args) == [(5, 3)]  # the rest is made of it and of the arguments
    assert residuals_of(tf.function(lambda x: tf.sin(x) + 1), [x], [x]) == []


@pytest.mark.parametrize("watched", [(0,), (1, 2), (3,)])
def test_only_some_arguments_are_followed(watched):
    args = arguments()
    chosen = [args[i] for i in watched]

    def run(f):
        with tf.GradientTape() as tape:
            tape.watch(chosen)
            y = f(*args)
        return tape.gradient(y, chosen)

    assert_close(run(tf.function(network)), run(network))


def test_several_outputs_and_output_gradients():
    def f(x):
        return {"a": x * 2, "b": [tf.exp(x), tf.cast(x, tf.int32)], "c": tf.constant(1.0)}

    x = tf.constant([1.0, 2.0])
    compiled = tf.function(f)

    def run(f, pick, seeds=None):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(pick(y), x, output_gradients=seeds)

    np.testing.assert_allclose(run(compiled, lambda y: y["b"][0]), np.exp([1.0, 2.0]), rtol=1e-6)
    both = run(
        compiled, lambda y: [y["a"], y["b"][0]], [tf.constant([1.0, 10.0]), tf.constant([2.0, 3.0])]
    )
    np.testing.assert_allclose(both, [2 + 2 * np.e, 20 + 3 * np.e**2], rtol=1e-6)
    assert run(compiled, lambda y: y["c"]) is None


def test_variables_that_a_function_reads():
    w, frozen = tf.Variable([1.0, 2.0]), tf.Variable(3.0, trainable=False)
    f = tf.function(lambda x: tf.reduce_sum(x * w * frozen))
    x = tf.constant([5.0, 7.0])
    with tf.GradientTape() as tape:
        y = f(x)
    dw, dfrozen, dx = tape.gradient(y, [w, frozen, x])
    assert dw.numpy().tolist() == [15.0, 21.0]
    assert dfrozen is None
    assert dx is None
    with tf.GradientTape() as tape:
        tape.watch(frozen)
        y = f(x)
    assert float(tape.gradient(y, frozen)) == 19.0


def test_tensors_that_a_function_takes_from_outside():
    c = tf.constant([2.0, 3.0])
    f = tf.function(lambda x: tf.reduce_sum(x * tf.square(c)))
    x = tf.constant([1.0, 1.0])
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(c)
            y = f(x)
        assert tape.gradient(y, c).numpy().tolist() == [4.0, 6.0]


def test_tensors_from_outside_computed_under_the_tape():
    x = tf.Variable(3.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x * x
            z = tf.function(lambda: tf.exp(y) * 2)()  # noqa: B023 - it runs at once
        np.testing.assert_allclose(tape.gradient(z, x), 2 * np.exp(9.0) * 6, rtol=1e-5)


def test_a_tape_inside():
    @tf.function
    def f(x, w1, b1, w2):
        return gradients(network, [x, w1, b1, w2])

    args = arguments()
    assert_close(f(*args), gradients(network, args))


def test_a_training_step():
    v = tf.Variable(np.zeros(3))
    target = tf.constant([1.0, -2.0, 3.0], tf.float64)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(v - target))
        v.assign_sub(0.25 * tape.gradient(loss, v))
        return loss

    losses = [float(step()) for _ in range(40)]
    assert losses[0] == 14.0
    assert losses[-1] < 1e-10
    np.testing.assert_allclose(v, target, atol=1e-6)


def test_none_and_slices_come_back_from_inside():
    table, other = tf.Variable(tf.ones([4, 2])), tf.Variable(1.0)

    @tf.function
    def f(rows):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, rows) * 3.0)
        return tape.gradient(y, [table, other])

    slices, nothing = f(tf.constant([1, 1, 3]))
    assert nothing is None
    assert isinstance(slices, tf.IndexedSlices)
    np.testing.assert_array_equal(slices.indices, [1, 1, 3])
    np.testing.assert_array_equal(tf.convert_to_tensor(slices), [[0, 0], [6, 6], [0, 0], [3, 3]])


def test_slices_cross_a_function_with_a_tape_outside():
    table = tf.Variable(tf.ones([4, 2]))
    f = tf.function(lambda rows: tf.reduce_sum(tf.gather(table, rows) ** 2))
    with tf.GradientTape() as tape:
        y = f(tf.constant([1, 1, 3]))
    gradient = tape.gradient(y, table)
    assert isinstance(gradient, tf.IndexedSlices)
    np.testing.assert_array_equal(tf.convert_to_tensor(gradient), [[0, 0], [4, 4], [0, 0], [2, 2]])


@pytest.mark.parametrize("inner_compiled", [True, False])
@pytest.mark.parametrize("outer_compiled", [True, False])
def test_second_and_third_order(inner_compiled, outer_compiled):
    def cube(x):
        return tf.reduce_sum(x**3 + tf.sin(x))

    f = tf.function(cube) if inner_compiled else cube

    def derivatives(x):
        with tf.GradientTape() as third:
            third.watch(x)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    y = f(x)
                g = first.gradient(y, x)
            h = second.gradient(g, x)
        return g, h, third.gradient(h, x)

    x = tf.constant([0.3, 1.2], tf.float64)
    run = tf.function(derivatives) if outer_compiled else derivatives
    v = x.numpy()
    for found, expected in zip(
        run(x), [3 * v**2 + np.cos(v), 6 * v - np.sin(v), 6 - np.cos(v)], strict=True
    ):
        np.testing.assert_allclose(found, expected)


def test_second_order_with_variables():
    v = tf.Variable([0.5, 2.0])
    f = tf.function(lambda x: tf.reduce_sum(tf.exp(v * x)))
    x = tf.constant([1.0, 3.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = f(x)
        g = inner.gradient(y, v)
        loss = tf.reduce_sum(g)
    np.testing.assert_allclose(outer.gradient(loss, v), [np.exp(0.5), 9 * np.exp(6.0)], rtol=1e-5)


def test_values_at_the_time_of_the_call_count():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v * v)
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape(persistent=True) as tape:
            y = f()
        v.assign(100.0)
        g = tape.gradient(y, v)
    assert float(g) == 6.0
    assert float(outer.gradient(g, v)) == 2.0


def test_forward_mode_over_and_inside():
    f = tf.function(network)
    args = arguments()
    tangents = [tf.ones_like(a) for a in args]

    def run(f):
        with tf.autodiff.ForwardAccumulator(args, tangents) as accumulator:
            y = f(*args)
        return accumulator.jvp(y)

    assert_close(run(f), run(network))

    @tf.function
    def inside(*args):
        with tf.autodiff.ForwardAccumulator(
            list(args), [tf.ones_like(a) for a in args]
        ) as accumulator:
            y = network(*args)
        return accumulator.jvp(y)

    assert_close(inside(*args), run(network))


def test_forward_over_reverse():
    f = tf.function(lambda x: tf.reduce_prod(x))
    x, v = tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, 0.0])
    assert_close(tf.hvp(f, x, v), tf.constant([0.0, 3.0, 2.0]))
    assert_close(tf.function(lambda x: tf.hvp(f, x, v))(x), tf.constant([0.0, 3.0, 2.0]))


def test_vmap_over_and_inside():
    f = tf.function(lambda x, w: tf.reduce_sum(tf.tanh(x) * w))
    xs, w = (
        tf.constant(np.random.default_rng(0).normal(size=(4, 3))),
        tf.constant([1.0, 2.0, 3.0], tf.float64),
    )
    expected = tf.reduce_sum(tf.tanh(xs) * w, axis=1)
    assert_close(tf.vmap(f, in_axes=(0, None))(xs, w), expected)
    assert_close(tf.function(tf.vmap(f, in_axes=(0, None)))(xs, w), expected)
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = tf.vmap(f, in_axes=(0, None))(xs, w)
    assert_close(tape.gradient(y, w), tf.reduce_sum(tf.tanh(xs), axis=0))


def test_per_example_gradients():
    w = tf.Variable([1.0, 2.0])
    f = tf.function(lambda x: tf.reduce_sum(x * w) ** 2)

    def one(x):
        with tf.GradientTape() as tape:
            y = f(x)
        return tape.gradient(y, w)

    xs = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(tf.vectorized_map(one, xs), [[2.0, 0.0], [0.0, 4.0], [6.0, 6.0]])
    np.testing.assert_array_equal(
        tf.function(lambda xs: tf.vectorized_map(one, xs))(xs), [[2.0, 0.0], [0.0, 4.0], [6.0, 6.0]]
    )


def test_jacobian_over_and_inside():
    f = tf.function(lambda x: tf.stack([x[0] * x[1], tf.sin(x[1])]))
    x = tf.constant([2.0, 3.0], tf.float64)

    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    expected = tf.constant([[3.0, 2.0], [0.0, np.cos(3.0)]], tf.float64)
    assert_close(jacobian(x), expected)
    assert_close(tf.function(jacobian)(x), expected)


def test_custom_gradients_inside():
    @tf.custom_gradient
    def clipped(x):
        return tf.exp(x), lambda g: tf.clip_by_value(g * tf.exp(x), -1.0, 1.0)

    f = tf.function(lambda x: clipped(x) * 2.0)
    x = tf.constant([0.0, 3.0])
    assert gradients(f, [x])[0].numpy().tolist() == [1.0, 1.0]


def test_stop_gradient_and_recompute_inside():
    f = tf.function(lambda x: tf.stop_gradient(x) * x)
    assert gradients(f, [tf.constant(3.0)])[0].numpy() == 3.0
    g = tf.function(tf.recompute_grad(lambda x: tf.sin(x) * x))
    np.testing.assert_allclose(
        gradients(g, [tf.constant(2.0)])[0], np.sin(2.0) + 2 * np.cos(2.0), rtol=3e-6
    )


def test_persistent_tape_and_two_functions():
    f, g = tf.function(lambda x: x**2), tf.function(lambda x: tf.sin(x))
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        z = g(y)
    np.testing.assert_allclose(tape.gradient(z, x), np.cos(4.0) * 4, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(y, x), 4.0)
    np.testing.assert_allclose(tape.gradient(z, y), np.cos(4.0), rtol=1e-6)


def test_an_outer_tape_asked_for_its_gradient_inside_a_function():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert float(tf.function(lambda: tape.gradient(y, x))()) == 6.0


def test_a_tape_made_outside_and_entered_inside_a_function_follows_only_what_is_inside():
    tape = tf.GradientTape(persistent=True)
    inside = []

    @tf.function(autograph=False)
    def f(x):
        with tape:
            tape.watch(x)
            y = x * x
        inside.append(1)
        return y, tape.gradient(y, x)

    x = tf.constant(3.0)
    y, gradient = f(x)
    assert float(gradient) == 6.0
    assert tape.gradient(y, x) is None
    assert inside == [1]


def test_complex_gradients():
    f = tf.function(lambda z: tf.abs(z * z))
    z = tf.constant(1.0 + 2.0j)
    assert_close(gradients(f, [z]), gradients(lambda z: tf.abs(z * z), [z]))
