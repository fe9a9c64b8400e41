"""The workloads in HIPS autograd, which records NumPy as gradtape does.

It has no convolution that a user would wait for.
"""

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as np
from autograd.scipy.linalg import solve_triangular

from benchmarks.libraries import Step, named
from benchmarks.workloads import (
    ADDS,
    CHAIN_FACTOR,
    CHAIN_LENGTH,
    CHAIN_SUMMAND,
    EPSILON,
    HEADS,
    HIDDEN,
    RATE,
    VISCOSITY,
    Inputs,
)


def _gradients(loss: Callable[..., Any], inputs: Inputs) -> Step:
    """The gradients of `loss(weights, x, y)` by all weights."""
    return Step(autograd.grad(loss), (list(inputs.weights), inputs.x, inputs.y))


def _gradient_by_x(function: Callable[..., Any], inputs: Inputs) -> Step:
    gradient = autograd.elementwise_grad(function)
    return Step(lambda x: [gradient(x)], (inputs.x,))


def small_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3 = weights
        h = np.tanh(np.dot(x, w1) + b1)
        h = np.tanh(np.dot(h, w2) + b2)
        return np.mean(np.square(np.dot(h, w3) + b3 - y))

    return _gradients(loss, inputs)


def chain(inputs: Inputs) -> Step:
    def links(z):
        for _ in range(CHAIN_LENGTH):
            z = np.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return z

    return _gradient_by_x(links, inputs)


def large_mlp(inputs: Inputs) -> Step:
    rows = np.arange(len(inputs.y))

    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = np.maximum(np.dot(x, w1) + b1, 0)
        h = np.maximum(np.dot(h, w2) + b2, 0)
        logits = np.dot(h, w3) + b3
        logits = logits - np.max(logits, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(logits), axis=1)) - logits[rows, labels])

    return _gradients(loss, inputs)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def elementwise(inputs: Inputs) -> Step:
    return _gradient_by_x(lambda x: np.sum(np.sqrt(np.exp(_sigmoid(np.tanh(x))))), inputs)


def lstm(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w, u, b = weights
        h = c = np.zeros((x.shape[1], u.shape[0]), x.dtype)
        outputs = []
        for entry in x:
            i, f, g, o = np.split(np.dot(entry, w) + np.dot(h, u) + b, 4, axis=1)
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
            h = _sigmoid(o) * np.tanh(c)
            outputs.append(h)
        return np.mean(np.square(np.stack(outputs) - y))

    return _gradients(loss, inputs)


def transformer(inputs: Inputs) -> Step:
    def normalised(x, scale, shift):
        centred = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(np.square(centred), axis=-1, keepdims=True)
        return centred / np.sqrt(variance + EPSILON) * scale + shift

    def softmax(x):
        exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return exponentials / np.sum(exponentials, axis=-1, keepdims=True)

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def loss(weights, h, y):
        batch, length, width = h.shape
        for layer in range(0, len(weights), 8):
            scale1, shift1, qkv, out, scale2, shift2, up, down = weights[layer : layer + 8]
            n = np.reshape(
                np.matmul(normalised(h, scale1, shift1), qkv),
                (batch, length, 3, HEADS, width // HEADS),
            )
            n = np.transpose(n, (2, 0, 3, 1, 4))
            scores = np.matmul(n[0], np.swapaxes(n[1], -1, -2)) * (width // HEADS) ** -0.5
            mixed = np.transpose(np.matmul(softmax(scores), n[2]), (0, 2, 1, 3))
            h = h + np.matmul(np.reshape(mixed, (batch, length, width)), out)
            h = h + np.matmul(gelu(np.matmul(normalised(h, scale2, shift2), up)), down)
        return np.mean(np.square(h - y))

    return _gradients(loss, inputs)


def embedding(inputs: Inputs) -> Step:
    table = inputs.weights[0].copy()
    gradient = autograd.grad(lambda table, ids, y: 0.5 * np.sum(np.square(table[ids] - y)))

    def step(ids, y):
        table[...] -= RATE * gradient(table, ids, y)
        return []

    return Step(step, (inputs.x, inputs.y), read=lambda: [table])


def gaussian_process(inputs: Inputs) -> Step:
    def loss(scales, points, values):
        scaled = points / np.exp(scales[:3])
        squares = np.sum(np.square(scaled), axis=1)
        distances = squares[:, None] + squares[None, :] - 2 * np.dot(scaled, scaled.T)
        noise = np.exp(scales[4]) * np.eye(len(points))
        root = np.linalg.cholesky(np.exp(scales[3] - 0.5 * distances) + noise)
        white = solve_triangular(root, values, lower=True)
        logs = np.log(np.diagonal(root, axis1=-1, axis2=-2))
        return 0.5 * np.sum(np.square(white)) + np.sum(logs)

    gradient = autograd.grad(loss)
    return Step(lambda *given: [gradient(*given)], (inputs.x, *inputs.y))


def adds(inputs: Inputs) -> Step:
    def total(z):
        for _ in range(ADDS):
            z = z + inputs.y
        return z

    return _gradient_by_x(total, inputs)


def jacobian(inputs: Inputs) -> Step:
    of = autograd.jacobian(lambda x, w1, w2: np.dot(np.tanh(np.dot(x, w1)), w2))
    return Step(lambda *given: [of(*given)], (inputs.x, *inputs.weights))


def hessian(inputs: Inputs) -> Step:
    def loss(theta, x, y):
        w1 = np.reshape(theta[: 8 * HIDDEN], (8, HIDDEN))
        b1, w2 = theta[8 * HIDDEN : 9 * HIDDEN], np.reshape(theta[9 * HIDDEN :], (HIDDEN, 1))
        return np.mean(np.square(np.dot(np.tanh(np.dot(x, w1) + b1), w2) - y))

    of = autograd.hessian(loss)
    return Step(lambda *given: [of(*given)], (inputs.x, *inputs.y))


def burgers(inputs: Inputs) -> Step:
    def u(x, t, weights):
        h = np.concatenate([x, t], axis=1)
        *layers, w, b = weights
        for i in range(0, len(layers), 2):
            h = np.tanh(np.dot(h, layers[i]) + layers[i + 1])
        return np.dot(h, w) + b

    u_x, u_t = autograd.elementwise_grad(u, 0), autograd.elementwise_grad(u, 1)
    u_xx = autograd.elementwise_grad(u_x, 0)

    def loss(weights, x, t):
        at = x, t, weights
        return np.mean(np.square(u_t(*at) + u(*at) * u_x(*at) - VISCOSITY * u_xx(*at)))

    return Step(autograd.grad(loss), (list(inputs.weights), inputs.x[:, :1], inputs.x[:, 1:]))


STEPS = named(
    small_mlp,
    chain,
    large_mlp,
    elementwise,
    lstm,
    transformer,
    embedding,
    gaussian_process,
    adds,
    jacobian,
    hessian,
    burgers,
)
