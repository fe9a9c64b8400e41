"""The workloads in gradtape."""

from functools import partial

import gradtape as tf
from benchmarks.libraries import Step, with_a_tape
from benchmarks.workloads import MEMORY_LIMIT, Inputs

small_mlp = partial(with_a_tape.small_mlp, tf)
chain = partial(with_a_tape.chain, tf)
large_mlp = partial(with_a_tape.large_mlp, tf)
adds = partial(with_a_tape.adds, tf)
jacobian = partial(with_a_tape.jacobian, tf)
batch_jacobian = partial(with_a_tape.batch_jacobian, tf)
hessian = partial(with_a_tape.hessian, tf)
curves = partial(with_a_tape.curves, tf)
burgers_nested = partial(with_a_tape.burgers_nested, tf)


def tall_jacobian(inputs: Inputs) -> Step:
    rates, times = tf.constant(inputs.x), tf.constant(inputs.y)

    def step():
        with tf.GradientTape() as tape:
            tape.watch(rates)
            y = with_a_tape.curve(tf, rates, times)
        return [tape.jacobian(y, rates)]

    return step


def burgers(inputs: Inputs) -> Step:
    x, t = tf.constant(inputs.x[:, :1]), tf.constant(inputs.x[:, 1:])
    variables = [tf.Variable(weight) for weight in inputs.weights]

    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                tape.watch([x, t])
                u = with_a_tape.network(tf, x, t, variables)
            d = tape.derivatives(u, {"x": x, "t": t}, ["x", "t", "xx"])
            loss = with_a_tape.residual(tf, u, d["x"], d["t"], d["xx"])
        return outer.gradient(loss, variables)

    return step


def sparse_jacobian(inputs: Inputs) -> Step:
    x = tf.constant(inputs.x)

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            near = tf.pad(x, [[1, 1]])
            y = near[:-2] - 2 * x + near[2:] * tf.exp(x)
        return [tape.jacobian(y, x, sparse=True).data]

    return step


def limited_jacobian(inputs: Inputs) -> Step:
    x, factors = tf.constant(inputs.x), tf.constant(inputs.y)

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reshape(tf.tanh(x[:, None] * factors), [2000, -1]), 1)
        return [tape.jacobian(y, x, mode="reverse", memory_limit=MEMORY_LIMIT)]

    return step
