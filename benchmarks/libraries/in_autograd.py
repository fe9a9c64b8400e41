"""The workloads in HIPS autograd, which records NumPy as gradtape does."""

import autograd
import autograd.numpy as np

from benchmarks.libraries import Step
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, HIDDEN, VISCOSITY, Inputs


def small_mlp(inputs: Inputs) -> Step:
    x, y = inputs.x, inputs.y

    def loss(w1, b1, w2, b2, w3, b3):
        h = np.tanh(np.dot(x, w1) + b1)
        h = np.tanh(np.dot(h, w2) + b2)
        return np.mean(np.square(np.dot(h, w3) + b3 - y))

    gradient = autograd.grad(loss, argnum=tuple(range(6)))
    return lambda: gradient(*inputs.weights)


def chain(inputs: Inputs) -> Step:
    def total(z):
        for _ in range(CHAIN_LENGTH):
            z = np.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return z

    gradient = autograd.elementwise_grad(total)
    return lambda: [gradient(inputs.x)]


def large_mlp(inputs: Inputs) -> Step:
    x, labels = inputs.x, inputs.y
    rows = np.arange(len(labels))

    def loss(w1, b1, w2, b2, w3, b3):
        h = np.maximum(np.dot(x, w1) + b1, 0)
        h = np.maximum(np.dot(h, w2) + b2, 0)
        logits = np.dot(h, w3) + b3
        logits = logits - np.max(logits, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(logits), axis=1)) - logits[rows, labels])

    gradient = autograd.grad(loss, argnum=tuple(range(6)))
    return lambda: gradient(*inputs.weights)


def adds(inputs: Inputs) -> Step:
    def total(z):
        for _ in range(ADDS):
            z = z + inputs.y
        return z

    gradient = autograd.elementwise_grad(total)
    return lambda: [gradient(inputs.x)]


def jacobian(inputs: Inputs) -> Step:
    w1, w2 = inputs.weights
    of = autograd.jacobian(lambda x: np.dot(np.tanh(np.dot(x, w1)), w2))
    return lambda: [of(inputs.x)]


def hessian(inputs: Inputs) -> Step:
    x, y = inputs.y

    def loss(theta):
        w1 = np.reshape(theta[: 8 * HIDDEN], (8, HIDDEN))
        b1, w2 = theta[8 * HIDDEN : 9 * HIDDEN], np.reshape(theta[9 * HIDDEN :], (HIDDEN, 1))
        return np.mean(np.square(np.dot(np.tanh(np.dot(x, w1) + b1), w2) - y))

    of = autograd.hessian(loss)
    return lambda: [of(inputs.x)]


def burgers(inputs: Inputs) -> Step:
    x, t = inputs.x[:, :1], inputs.x[:, 1:]

    def u(x, t, weights):
        h = np.concatenate([x, t], axis=1)
        *layers, w, b = weights
        for i in range(0, len(layers), 2):
            h = np.tanh(np.dot(h, layers[i]) + layers[i + 1])
        return np.dot(h, w) + b

    u_x, u_t = autograd.elementwise_grad(u, 0), autograd.elementwise_grad(u, 1)
    u_xx = autograd.elementwise_grad(u_x, 0)

    def loss(weights):
        at = x, t, weights
        return np.mean(np.square(u_t(*at) + u(*at) * u_x(*at) - VISCOSITY * u_xx(*at)))

    gradient = autograd.grad(loss)
    return lambda: gradient(list(inputs.weights))
