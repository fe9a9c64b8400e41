"""Programs as TensorFlow's users write them, with only the import changed."""

import numpy as np

import gradtape as tf


def test_gradients_of_two_variables():
    x = tf.Variable(3.0)
    y = tf.Variable(4.0)

    with tf.GradientTape() as tape:
        z = x * x + y * y

    grad = tape.gradient(z, [x, y])
    assert [float(g) for g in grad] == [6.0, 8.0]


def test_jacobian_of_a_models_output_by_its_weights():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    x = tf.constant([[1.0, 1.0]])
    with tf.GradientTape(persistent=True) as tape:
        output = tf.nn.sigmoid(tf.matmul(x, w))
        loss = tf.reduce_mean(output)
    jacobian = tape.jacobian(output, w)
    gradient = tape.gradient(loss, w)
    assert jacobian.shape == (1, 2, 2, 2)
    np.testing.assert_allclose(tf.reduce_mean(jacobian, axis=[0, 1]), gradient, rtol=1e-6)


def test_a_linear_regression_with_clipped_gradients():
    tf.random.set_seed(1)
    inputs = tf.random.normal([200, 3])
    weights = tf.constant([[1.0], [-2.0], [0.5]])
    targets = inputs @ weights + 3.0
    w = tf.Variable(tf.zeros([3, 1]), name="w")
    b = tf.Variable(0.0, name="b")
    for _ in range(300):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(inputs @ w + b - targets))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, [w, b]), 5.0)
        for variable, gradient in zip([w, b], gradients, strict=True):
            variable.assign_sub(0.1 * gradient)
    np.testing.assert_allclose(w.numpy(), weights.numpy(), atol=1e-3)
    np.testing.assert_allclose(b.numpy(), 3.0, atol=1e-3)


def test_higher_orders_by_nesting():
    x = tf.Variable(2.0)
    with tf.GradientTape() as third, tf.GradientTape() as second, tf.GradientTape() as first:
        y = x**5
        dy = first.gradient(y, x)
        d2y = second.gradient(dy, x)
        d3y = third.gradient(d2y, x)
    assert [float(v) for v in (dy, d2y, d3y)] == [80.0, 160.0, 240.0]


def test_two_models_trained_together():
    class Scale(tf.Module):
        def __init__(self, start):
            super().__init__()
            self.factor = tf.Variable(start)

        def __call__(self, x):
            return x * self.factor

    first, second = Scale(1.0), Scale(1.0)
    x = tf.constant([1.0, 2.0])
    for _ in range(200):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(second(first(x)) - 6.0 * x))
        variables = first.trainable_variables + second.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.01 * gradient)
    np.testing.assert_allclose(float(first.factor) * float(second.factor), 6.0, rtol=1e-3)
