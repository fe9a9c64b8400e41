"""Jacobians, forward mode and nested tapes of small models in both libraries.

A model takes the library, a batch of inputs and two arrays of parameters, and gives an array with
one row for each input.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given
from compare import compared, plain

import gradtape


def dense(tf, x, w, b):
    """Two layers and a softmax."""
    return tf.nn.softmax(tf.matmul(tf.tanh(tf.matmul(x, w) + b), w, transpose_b=True))


def conv(tf, x, w, b):
    """Convolution, pooling by means and a smooth activation."""
    images = tf.reshape(x, [-1, 4, 3, 1])
    features = tf.nn.conv2d(images, tf.reshape(w, [2, 2, 1, -1]), 1, "SAME") + b
    return tf.reshape(tf.nn.avg_pool2d(tf.nn.softplus(features), 2, 2, "SAME"), [x.shape[0], -1])


def recurrent(tf, x, w, b):
    """A loop in Python over the steps of a sequence."""
    state = tf.zeros_like(x[:, :4])
    for step in range(3):
        state = tf.tanh(tf.matmul(state, w) + x[:, 4 * step : 4 * step + 4] * b)
    return state


def loop(tf, x, w, b):
    """The same with tf.while_loop."""

    def body(step, state):
        return step + 1, tf.sin(tf.matmul(state, w) + b)

    return tf.while_loop(lambda step, _: step < 3, body, [tf.constant(0), x])[1]


def gather(tf, x, w, b):
    """Rows of a table, picked twice, and a product of them."""
    rows = tf.gather(w, [2, 0, 2])
    return tf.matmul(x, tf.exp(-rows)) * tf.reduce_sum(tf.gather_nd(b, [[0], [1]]))


def choice(tf, x, w, b):
    """A branch for each element, and the largest of some."""
    y = tf.matmul(x, w)
    return tf.where(y > 0.0, y * y, tf.exp(y) - 1.0) + tf.reduce_max(
        x, axis=1, keepdims=True
    ) * tf.abs(b)


def linear_algebra(tf, x, w, b):
    """A Gaussian process in small: a Cholesky factor, a solve and a determinant."""
    size = w.shape[0]
    kernel = tf.matmul(w, w, transpose_b=True) + tf.eye(size, dtype=w.dtype) * (
        1.0 + tf.reduce_sum(b * b)
    )
    factor = tf.linalg.cholesky(kernel)
    return tf.transpose(tf.linalg.cholesky_solve(factor, tf.transpose(x))) + tf.linalg.logdet(
        kernel
    )


MODELS = {
    "dense": (dense, (3, 5), (5, 4), (4,)),
    "conv": (conv, (2, 12), (2, 6), (3,)),
    "recurrent": (recurrent, (2, 12), (4, 4), (4,)),
    "while_loop": (loop, (2, 4), (4, 4), (4,)),
    "gather": (gather, (2, 3), (4, 5), (3,)),
    "where": (choice, (3, 4), (4, 5), (5,)),
    "linear algebra": (linear_algebra, (2, 3), (3, 3), (4,)),
}


def jacobians(tf, model, inputs, tangents):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        out = model(tf, *inputs)
    return tape.jacobian(out, inputs)


def batch_jacobian(tf, model, inputs, tangents):
    x, w, b = inputs
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = model(tf, x, w, b)
    return [tape.batch_jacobian(out, x)]


def forward(tf, model, inputs, tangents):
    with tf.autodiff.ForwardAccumulator(inputs, tangents) as accumulator:
        out = model(tf, *inputs)
    return [out, accumulator.jvp(out)]


def forward_over_reverse(tf, model, inputs, tangents):
    """The product of the Hessian with a vector."""
    with tf.autodiff.ForwardAccumulator(inputs, tangents) as accumulator, tf.GradientTape() as tape:
        tape.watch(inputs)
        gradients = tape.gradient(tf.reduce_sum(model(tf, *inputs) ** 2), inputs)
        dense_gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    return [accumulator.jvp(gradient) for gradient in dense_gradients]


def reverse_over_reverse(tf, model, inputs, tangents):
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            total = tf.reduce_sum(model(tf, *inputs) ** 2)
        gradients = inner.gradient(total, inputs)
        slope = tf.add_n([tf.reduce_sum(g * t) for g, t in zip(gradients, tangents, strict=True)])
    return outer.gradient(slope, inputs)


def third_order(tf, model, inputs, tangents):
    x = inputs[0]
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as middle:
            middle.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                total = tf.reduce_sum(model(tf, *inputs) ** 3)
            first = tf.reduce_sum(inner.gradient(total, x) * tangents[0])
        second = tf.reduce_sum(middle.gradient(first, x) * tangents[0])
    return [outer.gradient(second, x)]


def tangents_through_jacobians(tf, model, inputs, tangents):
    products = [
        tf.tensordot(j, t, len(t.shape))
        for j, t in zip(jacobians(tf, model, inputs, tangents), tangents, strict=True)
    ]
    return [model(tf, *inputs), tf.add_n(products)]


def dense_products(tf, model, inputs, tangents):
    return [
        tf.convert_to_tensor(product)
        for product in reverse_over_reverse(tf, model, inputs, tangents)
    ]


# TensorFlow's forward mode fails on the sparse gradients of gather; it gets the same results in
# another way.
OTHER_WAYS = {
    ("gather", forward): tangents_through_jacobians,
    ("gather", forward_over_reverse): dense_products,
}


def results(tf, transform, name):
    model, *shapes = MODELS[name]
    rng = np.random.default_rng(3)
    inputs, tangents = (
        [tf.constant(rng.uniform(-1.0, 1.0, shape)) for shape in shapes] for _ in range(2)
    )
    return [plain(tf, result) for result in transform(tf, model, inputs, tangents)]


@pytest.mark.parametrize(
    "transform",
    [jacobians, batch_jacobian, forward, forward_over_reverse, reverse_over_reverse, third_order],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("name", MODELS)
def test_transform(name, transform):
    ours = results(gradtape, transform, name)
    theirs = results(tensorflow, OTHER_WAYS.get((name, transform), transform), name)
    found = [line for a, b in zip(ours, theirs, strict=True) for line in compared(a, b, 1e-9)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("name", "transform"), OTHER_WAYS)
def test_the_other_way_is_needed(name, transform):
    with pytest.raises(AttributeError, match="IndexedSlices"):
        results(tensorflow, transform, name)
