"""The workloads in JAX on the CPU, each compiled as one program."""

import jax
import jax.numpy as jnp

from benchmarks.libraries import Step
from benchmarks.workloads import CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, Inputs


def small_mlp(inputs: Inputs) -> Step:
    x, y = jnp.asarray(inputs.x), jnp.asarray(inputs.y)

    def loss(weights):
        w1, b1, w2, b2, w3, b3 = weights
        h = jnp.tanh(x @ w1 + b1)
        h = jnp.tanh(h @ w2 + b2)
        return jnp.mean(jnp.square(h @ w3 + b3 - y))

    return _compiled(loss, [jnp.asarray(weight) for weight in inputs.weights])


def chain(inputs: Inputs) -> Step:
    def total(weights):
        (z,) = weights
        for _ in range(CHAIN_LENGTH):
            z = jnp.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return jnp.sum(z)

    return _compiled(total, [jnp.asarray(inputs.x)])


def large_mlp(inputs: Inputs) -> Step:
    x, labels = jnp.asarray(inputs.x), jnp.asarray(inputs.y)

    def loss(weights):
        w1, b1, w2, b2, w3, b3 = weights
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        log_probabilities = jax.nn.log_softmax(h @ w3 + b3)
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return _compiled(loss, [jnp.asarray(weight) for weight in inputs.weights])


def _compiled(loss, weights) -> Step:
    gradient = jax.jit(jax.value_and_grad(loss))
    return lambda: jax.block_until_ready(gradient(weights))[1]
