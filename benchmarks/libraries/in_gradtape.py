"""The workloads in gradtape, eager."""

import gradtape as tf
from benchmarks.libraries import (
    Step,
    derivatives_with_a_tape,
    named,
    networks_with_a_tape,
    with_a_tape,
)
from benchmarks.libraries.derivatives_with_a_tape import curve, network, residual
from benchmarks.workloads import MEMORY_LIMIT, Inputs


def tall_jacobian(inputs: Inputs) -> Step:
    def step(rates, times):
        with tf.GradientTape() as tape:
            tape.watch(rates)
            y = curve(tf, rates, times)
        return [tape.jacobian(y, rates)]

    return Step(step, (tf.constant(inputs.x), tf.constant(inputs.y)))


def burgers(inputs: Inputs) -> Step:
    variables = [tf.Variable(weight) for weight in inputs.weights]

    def step(x, t):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                tape.watch([x, t])
                u = network(tf, x, t, variables)
            d = tape.derivatives(u, {"x": x, "t": t}, ["x", "t", "xx"])
            loss = residual(tf, u, d["x"], d["t"], d["xx"])
        return outer.gradient(loss, variables)

    return Step(step, (tf.constant(inputs.x[:, :1]), tf.constant(inputs.x[:, 1:])))


def sparse_jacobian(inputs: Inputs) -> Step:
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            near = tf.pad(x, [[1, 1]])
            y = near[:-2] - 2 * x + near[2:] * tf.exp(x)
        return [tape.jacobian(y, x, sparse=True).data]

    return Step(step, (tf.constant(inputs.x),))


def limited_jacobian(inputs: Inputs) -> Step:
    def step(x, factors):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reshape(tf.tanh(x[:, None] * factors), [2000, -1]), 1)
        return [tape.jacobian(y, x, mode="reverse", memory_limit=MEMORY_LIMIT)]

    return Step(step, (tf.constant(inputs.x), tf.constant(inputs.y)))


COMPILABLE = with_a_tape.steps(
    tf, with_a_tape.TRAINING | derivatives_with_a_tape.DERIVATIVES
) | named(tall_jacobian, burgers)
STEPS = (
    COMPILABLE
    | with_a_tape.steps(tf, networks_with_a_tape.EAGER)
    | named(sparse_jacobian, limited_jacobian)
)
del STEPS["calls"], STEPS["update"]  # these say something of programs alone
