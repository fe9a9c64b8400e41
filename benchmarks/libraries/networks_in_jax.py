"""Networks in JAX, as a user writes them."""

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.libraries import Step, named
from benchmarks.libraries.programs_in_jax import gradients
from benchmarks.workloads import EPSILON, HEADS, Inputs


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

    return gradients(loss, inputs)


def transformer(inputs: Inputs) -> Step:
    def normalised(x, scale, shift):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + EPSILON) * scale + shift

    def loss(weights, h, y):
        batch, length, width = h.shape
        for layer in range(0, len(weights), 8):
            scale1, shift1, qkv, out, scale2, shift2, up, down = weights[layer : layer + 8]
            n = (normalised(h, scale1, shift1) @ qkv).reshape(
                batch, length, 3, HEADS, width // HEADS
            )
            query, key, value = n.transpose(2, 0, 3, 1, 4)
            scores = query @ key.mT * (width // HEADS) ** -0.5
            mixed = (jax.nn.softmax(scores) @ value).transpose(0, 2, 1, 3)
            h = h + mixed.reshape(batch, length, width) @ out
            h = h + jax.nn.gelu(normalised(h, scale2, shift2) @ up) @ down
        return jnp.mean(jnp.square(h - y))

    return gradients(loss, inputs)


def cnn(inputs: Inputs) -> Step:
    def conv(x, w):
        return lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def pooled(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = pooled(jax.nn.relu(conv(x, w1) + b1))
        h = pooled(jax.nn.relu(conv(h, w2) + b2))
        log_probabilities = jax.nn.log_softmax(h.reshape(h.shape[0], -1) @ w3 + b3)
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return gradients(loss, inputs)


NETWORKS = named(lstm, transformer, cnn)
