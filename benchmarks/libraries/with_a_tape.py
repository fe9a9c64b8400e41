"""Training steps as a user of `tf.GradientTape` writes them: the same code runs on gradtape and on
TensorFlow, passed as `tf`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.libraries import Maker, Step, named
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, RATE, Inputs


def gradients(tf, loss: Callable[..., Any], inputs: Inputs) -> Step:
    """The gradients of `loss(variables, x, y)` by all variables."""
    variables = [tf.Variable(weight) for weight in inputs.weights]

    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(variables, x, y)
        return tape.gradient(value, variables)

    return Step(step, (tf.constant(inputs.x), tf.constant(inputs.y)))


def gradient_by_x(tf, function: Callable[..., Any], inputs: Inputs) -> Step:
    """The gradient of `function(x)` by x."""

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = function(x)
        return [tape.gradient(value, x)]

    return Step(step, (tf.constant(inputs.x),))


def small_mlp(tf, inputs: Inputs) -> Step:
    def loss(variables, x, y):
        w1, b1, w2, b2, w3, b3 = variables
        h = tf.tanh(tf.matmul(x, w1) + b1)
        h = tf.tanh(tf.matmul(h, w2) + b2)
        return tf.reduce_mean(tf.square(tf.matmul(h, w3) + b3 - y))

    return gradients(tf, loss, inputs)


def chain(tf, inputs: Inputs) -> Step:
    def links(z):
        for _ in range(CHAIN_LENGTH):
            z = tf.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return z

    return gradient_by_x(tf, links, inputs)


def large_mlp(tf, inputs: Inputs) -> Step:
    def loss(variables, x, labels):
        w1, b1, w2, b2, w3, b3 = variables
        h = tf.nn.relu(tf.matmul(x, w1) + b1)
        h = tf.nn.relu(tf.matmul(h, w2) + b2)
        logits = tf.matmul(h, w3) + b3
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )

    return gradients(tf, loss, inputs)


def elementwise(tf, inputs: Inputs) -> Step:
    return gradient_by_x(
        tf, lambda x: tf.reduce_sum(tf.sqrt(tf.exp(tf.sigmoid(tf.tanh(x))))), inputs
    )


def embedding(tf, inputs: Inputs) -> Step:
    table = tf.Variable(inputs.weights[0])

    def step(ids, y):
        with tf.GradientTape() as tape:
            loss = 0.5 * tf.reduce_sum(tf.square(tf.gather(table, ids) - y))
        rows = tape.gradient(loss, table)
        table.scatter_sub(tf.IndexedSlices(RATE * rows.values, rows.indices))
        return [loss]

    return Step(step, (tf.constant(inputs.x), tf.constant(inputs.y)), read=lambda: [table])


def gaussian_process(tf, inputs: Inputs) -> Step:
    def step(scales, points, values):
        with tf.GradientTape() as tape:
            tape.watch(scales)
            scaled = points / tf.exp(scales[:3])
            squares = tf.reduce_sum(tf.square(scaled), axis=1)
            products = tf.matmul(scaled, scaled, transpose_b=True)
            distances = squares[:, None] + squares[None, :] - 2 * products
            noise = tf.exp(scales[4]) * tf.eye(points.shape[0], dtype=tf.float64)
            root = tf.linalg.cholesky(tf.exp(scales[3] - 0.5 * distances) + noise)
            white = tf.linalg.triangular_solve(root, values)
            logs = tf.math.log(tf.linalg.diag_part(root))
            loss = 0.5 * tf.reduce_sum(tf.square(white)) + tf.reduce_sum(logs)
        return [tape.gradient(loss, scales)]

    return Step(step, tuple(map(tf.constant, (inputs.x, *inputs.y))))


def adds(tf, inputs: Inputs) -> Step:
    y = tf.constant(inputs.y)

    def total(z):
        for _ in range(ADDS):
            z = z + y
        return z

    return gradient_by_x(tf, total, inputs)


def update(tf, inputs: Inputs) -> Step:
    variable = tf.Variable(inputs.x)

    def step():
        variable.assign_sub(0.01 * variable)
        return [variable[:1]]

    return Step(step)


def calls(tf, inputs: Inputs) -> Step:
    return Step(lambda *xs: [x + 1 for x in xs], tuple(tf.constant(x) for x in inputs.x))


def steps(tf, makers: dict[str, Callable[..., Step]]) -> dict[str, Maker]:
    """The makers with `tf` filled in."""
    return {name: partial(make, tf) for name, make in makers.items()}


TRAINING = named(
    small_mlp, chain, large_mlp, elementwise, embedding, gaussian_process, adds, update, calls
)
