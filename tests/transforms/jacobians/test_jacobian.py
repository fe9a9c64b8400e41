"""`jacobian` beyond the contract: against finite differences, nested,
through custom gradients and sparse rows.
"""

import numpy as np
import pytest

import gradtape as tf

rng = np.random.default_rng(3)


def finite_differences(f, x, step=1e-6):
    columns = []
    for i in range(x.size):
        shift = np.zeros(x.size)
        shift[i] = step
        shift = shift.reshape(x.shape)
        columns.append((f(x + shift) - f(x - shift)) / (2 * step))
    return np.stack(columns, -1).reshape(f(x).shape + x.shape)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("pfor", [False, True])
def test_every_element_by_every_element(persistent, pfor):
    x = tf.constant(rng.standard_normal((2, 3)))
    w = tf.Variable(rng.standard_normal((3, 4)))
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = tf.tanh(x @ w)
    by_x, by_w = tape.jacobian(y, (x, w), experimental_use_pfor=pfor)
    np.testing.assert_allclose(
        by_x, finite_differences(lambda v: np.tanh(v @ w.numpy()), x.numpy()), atol=1e-7
    )
    np.testing.assert_allclose(
        by_w, finite_differences(lambda v: np.tanh(x.numpy() @ v), w.numpy()), atol=1e-7
    )


def test_sparse_rows_come_dense():
    table = tf.Variable(rng.standard_normal((4, 2)))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [1, 3, 1]), axis=1)
    expected = np.zeros((3, 4, 2))
    expected[[0, 1, 2], [1, 3, 1]] = 1
    np.testing.assert_allclose(tape.jacobian(y, table), expected)


def test_a_custom_gradient_that_takes_no_batch_is_asked_one_by_one():
    @tf.custom_gradient
    def through_numpy(x):
        return x * x, lambda g: tf.constant(g.numpy() * 2) * x

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = through_numpy(x)
    np.testing.assert_allclose(tape.jacobian(y, x), np.diag([2.0, 4.0, 6.0]))


def test_an_error_in_a_rule_is_raised_and_named_afterwards():
    @tf.custom_gradient
    def broken(x):
        def grad(g):
            raise KeyError("broken rule")

        return x * x, grad

    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = broken(x)
    with pytest.raises(KeyError, match="broken rule"):
        tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match="broken rule"):
        tape.jacobian(y, x)


def test_a_hessian_by_a_tape_around_it():
    x = tf.constant(rng.standard_normal(3))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.exp(x) * tf.reverse(x, [0]))
        g = inner.gradient(y, x)
    e = np.exp(x.numpy())
    expected = np.diag(e * x.numpy()[::-1])
    for i in range(3):
        expected[i, 2 - i] += e[i]
        expected[2 - i, i] += e[i]
    np.testing.assert_allclose(outer.jacobian(g, x), expected)


def test_a_jacobian_is_itself_differentiable():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        j = inner.jacobian(y, x)
        total = tf.reduce_sum(j)
    assert outer.gradient(total, x).numpy().tolist() == [6.0, 12.0]


def test_a_slope_without_bound_behind_a_closed_gate_stays_out():
    x = tf.constant([-1.0, 0.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.linalg.matvec(
            tf.constant([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]), tf.sqrt(tf.nn.relu(x))
        )
    np.testing.assert_allclose(tape.jacobian(y, x), [[0.0, 0.0, 0.75], [0.0, 0.0, 0.25]])
