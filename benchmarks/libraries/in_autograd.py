"""The workloads in HIPS autograd, which records NumPy as gradtape does."""

import autograd
import autograd.numpy as np

from benchmarks.libraries import Step
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, Inputs


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
