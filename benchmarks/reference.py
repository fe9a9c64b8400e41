"""What is right: results in float64 that NumPy computes by derivations of ours,
beside which every library is checked.

Where a gradient has been derived by hand (`libraries/in_numpy.py`), all its entries are compared.
The networks have their loss alone written here: along a random direction of each weight, the
gradient has to say how the loss changes. Then every library's entries are compared with those of
the first, so what holds of one holds of all.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.libraries import in_numpy
from benchmarks.workloads import EPSILON, HEADS, HIDDEN, VISCOSITY, Inputs, Workload

STEP = 1e-7  # of central differences: small, since maxima and relu have kinks


def check(workload: Workload, found: dict[str, list[Any]]) -> None:
    """Raises unless each contender's results of a workload are right."""
    wide = workload.inputs.each(
        lambda array: array.astype(np.float64) if array.dtype.kind == "f" else array
    )
    expected = _expected(workload.name, wide) or next(iter(found.values()))
    slopes = list(_slopes(LOSSES[workload.name], wide)) if workload.name in LOSSES else []
    for title, arrays in found.items():
        what = f"{workload.title} in {title}"
        _compare(what, arrays, expected, workload.tolerance)
        for i, (direction, slope) in enumerate(slopes):
            told, size = float((arrays[i] * direction).sum()), float(np.linalg.norm(arrays[i]))
            if not abs(told - slope) <= 1e-3 * size + 1e-9:
                raise AssertionError(
                    f"{what}: along a direction of weight {i} the loss changes by {slope}, "
                    f"not by {told}"
                )


def _expected(name: str, inputs: Inputs) -> list[Any] | None:
    """All entries, if they have been derived by hand."""
    if name == "hessian":
        return [_hessian(inputs)]
    if name == "calls":
        return [x + 1 for x in inputs.x]
    if name not in in_numpy.STEPS:
        return None
    step = in_numpy.STEPS[name](inputs)
    found = step.function(*step.arguments)
    return found if step.read is None else step.read()


def _compare(what: str, found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    if [g.shape for g in found] != [e.shape for e in expected]:
        raise AssertionError(
            f"{what}: results of shapes {[g.shape for g in found]}, expected "
            f"{[e.shape for e in expected]}"
        )
    for i, (g, e) in enumerate(zip(found, expected, strict=True)):
        error, size = float(np.abs(g - e).max()), float(np.abs(e).max())
        if not error <= tolerance * size:
            raise AssertionError(
                f"{what}: result {i} is off by {error:.1e}, where the largest entry is {size:.1e}"
            )


def _slopes(loss: Callable[..., Any], inputs: Inputs) -> Iterator[tuple[Any, float]]:
    """For each weight, a random direction and how fast the loss changes along it."""
    rng = np.random.default_rng(1)
    for i, weight in enumerate(inputs.weights):
        direction = rng.standard_normal(weight.shape)
        ahead, behind = (
            loss(
                [
                    w + sign * STEP * direction if i == j else w
                    for j, w in enumerate(inputs.weights)
                ],
                inputs.x,
                inputs.y,
            )
            for sign in (1, -1)
        )
        yield direction, (ahead - behind) / (2 * STEP)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _lstm(weights, x, y):
    w, u, b = weights
    h = c = np.zeros((x.shape[1], u.shape[0]))
    total = 0.0
    for entry, wanted in zip(x, y, strict=True):
        i, f, g, o = np.split(entry @ w + h @ u + b, 4, axis=1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        total += np.square(h - wanted).sum()
    return total / y.size


def _transformer(weights, h, y):
    batch, length, width = h.shape
    normalised = lambda x: (
        (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON)
    )
    for layer in range(0, len(weights), 8):
        scale1, shift1, qkv, out, scale2, shift2, up, down = weights[layer : layer + 8]
        parts = ((normalised(h) * scale1 + shift1) @ qkv).reshape(
            batch, length, 3, HEADS, width // HEADS
        )
        query, key, value = parts.transpose(2, 0, 3, 1, 4)
        attention = _softmax(query @ key.swapaxes(-1, -2) / np.sqrt(width // HEADS))
        h = h + (attention @ value).transpose(0, 2, 1, 3).reshape(batch, length, width) @ out
        z = (normalised(h) * scale2 + shift2) @ up
        h = h + (z * _sigmoid(2 * np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) @ down
    return np.square(h - y).mean()


def _cnn(weights, x, labels):
    w1, b1, w2, b2, w3, b3 = weights

    def layer(x, w, b):
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
        h = np.maximum(np.tensordot(windows, w.transpose(2, 0, 1, 3), 3) + b, 0)
        batch, height, width, channels = h.shape
        return h.reshape(batch, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))

    h = layer(layer(x, w1, b1), w2, b2)
    probabilities = _softmax(h.reshape(len(h), -1) @ w3 + b3)
    return -np.log(probabilities[np.arange(len(labels)), labels]).mean()


def _burgers(weights, points, _):
    """The network and its derivatives, carried forward together through every layer."""
    *layers, w, b = weights
    h, zeros = points, np.zeros_like(points)
    h_x, h_t, h_xx = zeros + np.array([1, 0]), zeros + np.array([0, 1]), zeros
    for i in range(0, len(layers), 2):
        z, z_x, z_t, z_xx = (
            h @ layers[i] + layers[i + 1],
            h_x @ layers[i],
            h_t @ layers[i],
            h_xx @ layers[i],
        )
        h = np.tanh(z)
        slope = 1 - h * h
        h_x, h_t, h_xx = slope * z_x, slope * z_t, slope * z_xx - 2 * h * slope * z_x * z_x
    return np.square(h_t @ w + (h @ w + b) * (h_x @ w) - float(VISCOSITY) * (h_xx @ w)).mean()


def _hessian(inputs: Inputs) -> Any:
    """The differences of a gradient that is derived by hand."""
    x, y = inputs.y

    def gradient(theta):
        w1, b1, w2 = (
            theta[: 8 * HIDDEN].reshape(8, HIDDEN),
            theta[8 * HIDDEN : 9 * HIDDEN],
            theta[9 * HIDDEN :, None],
        )
        h = np.tanh(x @ w1 + b1)
        error = 2 * (h @ w2 - y) / len(y)
        g = (error @ w2.T) * (1 - h * h)
        return np.concatenate([(x.T @ g).ravel(), g.sum(axis=0), (h.T @ error).ravel()])

    step = 1e-5
    directions = step * np.eye(len(inputs.x))
    return np.stack(
        [(gradient(inputs.x + d) - gradient(inputs.x - d)) / (2 * step) for d in directions]
    )


LOSSES: dict[str, Callable[..., Any]] = {
    "lstm": _lstm,
    "transformer": _transformer,
    "cnn": _cnn,
    "burgers": _burgers,
    "burgers_nested": _burgers,
}
