"""The workloads in NumPy, with the gradients derived by hand: what there is to gain on."""

import numpy as np
from scipy.sparse import diags_array

from benchmarks.libraries import Step
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, Inputs


def small_mlp(inputs: Inputs) -> Step:
    x, y = inputs.x, inputs.y
    w1, b1, w2, b2, w3, b3 = inputs.weights

    def step():
        h1 = np.tanh(x @ w1 + b1)
        h2 = np.tanh(h1 @ w2 + b2)
        error = h2 @ w3 + b3 - y
        np.square(error).mean()

        g = error * (2 / error.size)
        dw3, db3 = h2.T @ g, g.sum(axis=0)
        g = (g @ w3.T) * (1 - h2 * h2)
        dw2, db2 = h1.T @ g, g.sum(axis=0)
        g = (g @ w2.T) * (1 - h1 * h1)
        dw1, db1 = x.T @ g, g.sum(axis=0)
        return [dw1, db1, dw2, db2, dw3, db3]

    return step


def chain(inputs: Inputs) -> Step:
    x = inputs.x

    def step():
        z = x
        outputs = []
        for _ in range(CHAIN_LENGTH):
            z = np.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
            outputs.append(z)

        g = np.ones_like(z)
        for out in reversed(outputs):
            g = g * (1 - out * out) * CHAIN_FACTOR
        return [g]

    return step


def large_mlp(inputs: Inputs) -> Step:
    x, labels = inputs.x, inputs.y
    w1, b1, w2, b2, w3, b3 = inputs.weights
    rows = np.arange(len(labels))

    def step():
        h1 = np.maximum(x @ w1 + b1, 0)
        h2 = np.maximum(h1 @ w2 + b2, 0)
        logits = h2 @ w3 + b3
        logits -= logits.max(axis=1, keepdims=True)
        exponentials = np.exp(logits)
        sums = exponentials.sum(axis=1, keepdims=True)
        (np.log(sums[:, 0]) - logits[rows, labels]).mean()

        g = exponentials / sums
        g[rows, labels] -= 1
        g /= len(labels)
        dw3, db3 = h2.T @ g, g.sum(axis=0)
        g = (g @ w3.T) * (h2 > 0)
        dw2, db2 = h1.T @ g, g.sum(axis=0)
        g = (g @ w2.T) * (h1 > 0)
        dw1, db1 = x.T @ g, g.sum(axis=0)
        return [dw1, db1, dw2, db2, dw3, db3]

    return step


def adds(inputs: Inputs) -> Step:
    x, y = inputs.x, inputs.y

    def step():
        z = x
        for _ in range(ADDS):
            z = z + y
        return [np.ones_like(z)]

    return step


def jacobian(inputs: Inputs) -> Step:
    x, (w1, w2) = inputs.x, inputs.weights

    def step():
        h = np.tanh(x @ w1)
        return [(w2.T * (1 - h * h)) @ w1.T]

    return step


def batch_jacobian(inputs: Inputs) -> Step:
    x, (w1, w2) = inputs.x, inputs.weights

    def step():
        h = np.tanh(x @ w1)
        return [(w2.T * (1 - h * h)[:, None, :]) @ w1.T]

    return step


def curves(inputs: Inputs) -> Step:
    (a, b, c), times = inputs.x, inputs.y
    return lambda: [a * np.exp(-b * times) * np.sin(c * times)]


def tall_jacobian(inputs: Inputs) -> Step:
    (a, b, c), times = inputs.x, inputs.y

    def step():
        decay, sine = np.exp(-b * times), np.sin(c * times)
        return [np.stack([decay * sine, -times * a * decay * sine, a * decay * times * np.cos(c * times)], axis=1)]

    return step


def sparse_jacobian(inputs: Inputs) -> Step:
    x = inputs.x

    def step():
        slope = np.exp(x)
        above = np.append(x[1:], np.float32(0))
        return [diags_array([np.ones_like(x[1:]), above * slope - 2, slope[:-1]], offsets=[-1, 0, 1], format="csr").data]

    return step
