"""The workloads in JAX on the CPU, each step compiled as one program, as its users run it."""

from functools import partial

import jax
import jax.numpy as jnp

from benchmarks.libraries import Step, named
from benchmarks.libraries.derivatives_in_jax import DERIVATIVES
from benchmarks.libraries.networks_in_jax import NETWORKS
from benchmarks.libraries.programs_in_jax import gradients, program
from benchmarks.workloads import CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, RATE, Inputs


def small_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3 = weights
        h = jnp.tanh(x @ w1 + b1)
        h = jnp.tanh(h @ w2 + b2)
        return jnp.mean(jnp.square(h @ w3 + b3 - y))

    return gradients(loss, inputs)


def chain(inputs: Inputs) -> Step:
    def total(z):
        for _ in range(CHAIN_LENGTH):
            z = jnp.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return jnp.sum(z)

    return program(lambda x: [jax.grad(total)(x)], inputs.x)


def large_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        log_probabilities = jax.nn.log_softmax(h @ w3 + b3)
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return gradients(loss, inputs)


def elementwise(inputs: Inputs) -> Step:
    return program(
        lambda x: [jax.grad(lambda x: jnp.sum(jnp.sqrt(jnp.exp(jax.nn.sigmoid(jnp.tanh(x))))))(x)],
        inputs.x,
    )


def embedding(inputs: Inputs) -> Step:
    def loss(table, ids, y):
        return 0.5 * jnp.sum(jnp.square(table[ids] - y))

    @partial(jax.jit, donate_argnums=0)
    def updated(table, ids, y):
        value, gradient = jax.value_and_grad(loss)(table, ids, y)
        return table - RATE * gradient, value

    table = [jax.block_until_ready(jnp.array(inputs.weights[0]))]

    def step(ids, y):
        table[0], value = jax.block_until_ready(updated(table[0], ids, y))
        return [value]

    return Step(step, (jnp.asarray(inputs.x), jnp.asarray(inputs.y)), read=lambda: table)


def update(inputs: Inputs) -> Step:
    updated = jax.jit(lambda value: value - 0.01 * value, donate_argnums=0)
    variable = [jax.block_until_ready(jnp.array(inputs.x))]

    def step():
        variable[0] = jax.block_until_ready(updated(variable[0]))
        return [variable[0][:1]]

    return Step(step)


def calls(inputs: Inputs) -> Step:
    return Step(jax.jit(lambda *xs: [x + 1 for x in xs]), tuple(map(jnp.asarray, inputs.x)))


def gaussian_process(inputs: Inputs) -> Step:
    def loss(scales, points, values):
        scaled = points / jnp.exp(scales[:3])
        squares = jnp.sum(jnp.square(scaled), axis=1)
        distances = squares[:, None] + squares[None, :] - 2 * scaled @ scaled.T
        noise = jnp.exp(scales[4]) * jnp.eye(len(points))
        root = jnp.linalg.cholesky(jnp.exp(scales[3] - 0.5 * distances) + noise)
        white = jax.scipy.linalg.solve_triangular(root, values, lower=True)
        return 0.5 * jnp.sum(jnp.square(white)) + jnp.sum(jnp.log(jnp.diagonal(root)))

    # For this one alone: the others stay as JAX has them by default.
    with jax.enable_x64(True):
        inner = program(lambda *given: [jax.grad(loss)(*given)], inputs.x, *inputs.y)

    def step(*given):
        with jax.enable_x64(True):
            return inner.function(*given)

    return Step(step, inner.arguments)


STEPS = (
    named(small_mlp, chain, large_mlp, elementwise, embedding, gaussian_process, update, calls)
    | NETWORKS
    | DERIVATIVES
)
