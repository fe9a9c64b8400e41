"""The workloads in NumPy, with the gradients derived by hand: what there is to gain on, and the
reference that all are checked by.
"""

import numpy as np
from scipy.linalg.lapack import dpotri
from scipy.sparse import diags_array

from benchmarks.libraries import Step, named
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, RATE, Inputs


def small_mlp(inputs: Inputs) -> Step:
    w1, b1, w2, b2, w3, b3 = inputs.weights

    def step(x, y):
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

    return Step(step, (inputs.x, inputs.y))


def chain(inputs: Inputs) -> Step:
    def step(x):
        z = x
        outputs = []
        for _ in range(CHAIN_LENGTH):
            z = np.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
            outputs.append(z)

        g = np.ones_like(z)
        for out in reversed(outputs):
            g = g * (1 - out * out) * CHAIN_FACTOR
        return [g]

    return Step(step, (inputs.x,))


def large_mlp(inputs: Inputs) -> Step:
    w1, b1, w2, b2, w3, b3 = inputs.weights
    rows = np.arange(len(inputs.y))

    def step(x, labels):
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

    return Step(step, (inputs.x, inputs.y))


def elementwise(inputs: Inputs) -> Step:
    def step(x):
        t = np.tanh(x)
        s = 1 / (1 + np.exp(-t))
        root = np.sqrt(np.exp(s))
        root.sum()
        return [0.5 * root * s * (1 - s) * (1 - t * t)]

    return Step(step, (inputs.x,))


def embedding(inputs: Inputs) -> Step:
    table = inputs.weights[0].copy()

    def step(ids, y):
        error = table[ids] - y
        0.5 * np.square(error).sum()
        np.subtract.at(table, ids, RATE * error)
        return []

    return Step(step, (inputs.x, inputs.y), read=lambda: [table])


def gaussian_process(inputs: Inputs) -> Step:
    def step(scales, points, values):
        scaled = points / np.exp(scales[:3])
        squares = np.square(scaled)
        sums = squares.sum(axis=1)
        distances = sums[:, None] + sums[None, :] - 2 * scaled @ scaled.T
        signal, noise = np.exp(scales[3] - 0.5 * distances), np.exp(scales[4])
        covariance = signal.copy()
        covariance.flat[:: len(points) + 1] += noise
        root = np.linalg.cholesky(covariance)
        inverse = dpotri(root, lower=True, overwrite_c=True)[0]
        inverse += np.tril(inverse, -1).T
        solved = inverse @ values
        g = 0.5 * (inverse - solved @ solved.T)  # by the covariance
        by_signal = g * signal
        # By the log of a length: half the sum over all pairs of by_signal * (a - b)² / length².
        rows = by_signal.sum(axis=1)
        by_lengths = 2 * (rows @ squares - ((by_signal @ scaled) * scaled).sum(axis=0))
        return [np.concatenate([by_lengths, [by_signal.sum(), noise * np.trace(g)]])]

    return Step(step, (inputs.x, *inputs.y))


def adds(inputs: Inputs) -> Step:
    def step(x, y):
        z = x
        for _ in range(ADDS):
            z = z + y
        return [np.ones_like(z)]

    return Step(step, (inputs.x, inputs.y))


def jacobian(inputs: Inputs) -> Step:
    def step(x, w1, w2):
        h = np.tanh(x @ w1)
        return [(w2.T * (1 - h * h)) @ w1.T]

    return Step(step, (inputs.x, *inputs.weights))


def batch_jacobian(inputs: Inputs) -> Step:
    def step(x, w1, w2):
        h = np.tanh(x @ w1)
        return [(w2.T * (1 - h * h)[:, None, :]) @ w1.T]

    return Step(step, (inputs.x, *inputs.weights))


def curves(inputs: Inputs) -> Step:
    def step(rates, times):
        a, b, c = rates
        return [a * np.exp(-b * times) * np.sin(c * times)]

    return Step(step, (inputs.x, inputs.y))


def tall_jacobian(inputs: Inputs) -> Step:
    def step(rates, times):
        a, b, c = rates
        decay, sine = np.exp(-b * times), np.sin(c * times)
        return [
            np.stack(
                [decay * sine, -times * a * decay * sine, a * decay * times * np.cos(c * times)],
                axis=1,
            )
        ]

    return Step(step, (inputs.x, inputs.y))


def sparse_jacobian(inputs: Inputs) -> Step:
    def step(x):
        slope = np.exp(x)
        above = np.append(x[1:], np.float32(0))
        return [
            diags_array(
                [np.ones_like(x[1:]), above * slope - 2, slope[:-1]],
                offsets=[-1, 0, 1],
                format="csr",
            ).data
        ]

    return Step(step, (inputs.x,))


STEPS = named(
    *(small_mlp, chain, large_mlp, elementwise, embedding, gaussian_process, adds),
    *(jacobian, batch_jacobian, curves, tall_jacobian, sparse_jacobian),
)
