"""Tangents pushed along a recording, against the transposes of what the tape pulls."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.transforms.jacobians.pushes import RecordedWalk

rng = np.random.default_rng(11)


def dense_network(x, w):
    return tf.tanh(tf.reshape(x, [2, 3]) @ w) * tf.reduce_sum(x)


def reverse_jacobian(tape, y, x):
    rows = [
        tape.gradient(y, x, output_gradients=e.reshape(y.shape)) for e in np.eye(int(tf.size(y)))
    ]
    return np.stack([np.asarray(tf.convert_to_tensor(row)) for row in rows])


def pushed_by(tape, y, x, tangents):
    return RecordedWalk(tape, tape.scope, y, [x]).push(0, tangents)


CASES = {
    "matmul": lambda x: dense_network(x, tf.constant(rng.standard_normal((3, 4)))),
    "used twice": lambda x: tf.exp(x) * x + x,
    "gather": lambda x: tf.gather(x, [5, 0, 0, 2]),
    "reductions": lambda x: tf.stack([tf.reduce_max(x), tf.reduce_logsumexp(x), tf.reduce_prod(x)]),
    "linear algebra": lambda x: tf.linalg.inv(
        tf.reshape(x[:4], [2, 2]) + 3 * tf.eye(2, dtype=tf.float64)
    ),
    "cumulative": lambda x: tf.math.cumprod(x) + tf.cumsum(x, reverse=True),
    "broadcast": lambda x: x[:, None] * x[None, :],
    "sort": lambda x: tf.sort(x),
    "several outputs": lambda x: tf.linalg.eigh(tf.linalg.diag(x) + 0.1)[0],
    "where": lambda x: tf.where(x > 0, x * x, -x),
}


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_push_is_the_transpose_of_the_pull(name, loop):
    x = tf.constant(rng.standard_normal(6))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = CASES[name](x)
    tangents = rng.standard_normal((3, 6))
    expected = tangents @ reverse_jacobian(tape, y, x).T
    walk = RecordedWalk(tape, tape.scope, y, [x])
    pushed = walk.push(0, tangents, loop=loop)
    assert pushed.shape == (3, *y.shape)
    np.testing.assert_allclose(pushed.numpy().reshape(3, -1), expected, rtol=1e-9, atol=1e-12)


def test_each_source_has_tangents_of_its_own():
    x, v = tf.constant([1.0, 2.0]), tf.Variable([[3.0, 4.0]])
    other = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * v + tf.stop_gradient(other)
    walk = RecordedWalk(tape, tape.scope, y, [x, v, other])
    assert walk.push(0, np.float32([[1.0, 0.0]])).numpy().tolist() == [[[3.0, 0.0]]]
    assert walk.push(1, np.float32([[[0.0, 1.0]]])).numpy().tolist() == [[[0.0, 2.0]]]
    assert walk.push(2, np.float32([1.0])) is None


def test_the_target_itself_and_a_batch_of_none():
    x, one = tf.constant([1.0, 2.0]), np.eye(2, dtype=np.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert pushed_by(tape, x, x, one).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert pushed_by(tape, y, y, one).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert pushed_by(tape, y, x, one[:0]).shape == (0, 2)


def test_what_records_around_a_push_records_it():
    x, t = tf.constant([1.0, 2.0]), tf.constant([[1.0, 10.0]])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, t])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        pushed = pushed_by(tape, y, x, t)
    assert pushed.numpy().tolist() == [[3.0, 120.0]]
    assert outer.gradient(pushed, x).numpy().tolist() == [6.0, 120.0]
    assert outer.gradient(pushed, t).numpy().tolist() == [[3.0, 12.0]]


def test_a_gradient_function_that_ignores_its_cotangent_pushes_zeros():
    @tf.custom_gradient
    def flat(x):
        return x * x, lambda g: tf.zeros_like(x)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = flat(x)
    pushed = pushed_by(tape, y, x, np.eye(2, dtype=np.float32))
    assert pushed.numpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]
