"""The networks that are compiled, in JAX as a user writes them."""

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.libraries import Step
from benchmarks.workloads import HEADS, Inputs


def calls(inputs: Inputs) -> Step:
    add_one = jax.jit(lambda *xs: [x + 1 for x in xs])
    arrays = [jnp.asarray(x) for x in inputs.x]
    return lambda: add_one(*arrays)


def elementwise(inputs: Inputs) -> Step:
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(jnp.sqrt(jnp.exp(jax.nn.sigmoid(jnp.tanh(x)))))))
    x = jnp.asarray(inputs.x)
    return lambda: [jax.block_until_ready(gradient(x))]


def _step(loss, inputs: Inputs) -> Step:
    """The gradients of `loss(weights, x, y)` by all weights."""
    gradient = jax.jit(jax.grad(loss))
    weights = [jnp.asarray(weight) for weight in inputs.weights]
    x, y = jnp.asarray(inputs.x), jnp.asarray(inputs.y)
    return lambda: jax.block_until_ready(gradient(weights, x, y))


def lstm(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w, u, b = weights
        zeros = jnp.zeros((x.shape[1], u.shape[0]))

        def cell(state, entry):
            h, c = state
            i, f, g, o = jnp.split(entry @ w + h @ u + b, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        _, h = lax.scan(cell, (zeros, zeros), x)
        return jnp.mean(jnp.square(h - y))

    return _step(loss, inputs)


def transformer(inputs: Inputs) -> Step:
    def normalised(x, scale, shift):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift

    def loss(weights, h, y):
        batch, length, width = h.shape
        for layer in range(0, len(weights), 8):
            scale1, shift1, qkv, out, scale2, shift2, up, down = weights[layer : layer + 8]
            n = (normalised(h, scale1, shift1) @ qkv).reshape(batch, length, 3, HEADS, width // HEADS)
            query, key, value = n.transpose(2, 0, 3, 1, 4)
            scores = query @ key.mT * (width // HEADS) ** -0.5
            mixed = (jax.nn.softmax(scores) @ value).transpose(0, 2, 1, 3)
            h = h + mixed.reshape(batch, length, width) @ out
            h = h + jax.nn.gelu(normalised(h, scale2, shift2) @ up) @ down
        return jnp.mean(jnp.square(h - y))

    return _step(loss, inputs)


def cnn(inputs: Inputs) -> Step:
    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pooled(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = pooled(jax.nn.relu(conv(x, w1) + b1))
        h = pooled(jax.nn.relu(conv(h, w2) + b2))
        log_probabilities = jax.nn.log_softmax(h.reshape(h.shape[0], -1) @ w3 + b3)
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return _step(loss, inputs)


def update(inputs: Inputs) -> Step:
    state = [jnp.array(inputs.x)]
    updated = jax.jit(lambda value: value - 0.01 * value, donate_argnums=0)

    def step():
        state[0] = jax.block_until_ready(updated(state[0]))

    return step
