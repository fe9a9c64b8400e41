"""Networks in PyTorch, eager, as a user writes them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.libraries import Step, named
from benchmarks.workloads import EPSILON, HEADS, Inputs


def gradients(loss: Callable[..., Any], inputs: Inputs) -> Step:
    """The gradients of `loss(weights, x, y)` by all weights."""
    weights = [torch.tensor(weight, requires_grad=True) for weight in inputs.weights]
    whole = inputs.y.dtype.kind == "i"  # PyTorch takes labels as int64 alone

    def step(x, y):
        return torch.autograd.grad(loss(weights, x, y), weights)

    return Step(
        step,
        (torch.tensor(inputs.x), torch.tensor(inputs.y.astype(np.int64) if whole else inputs.y)),
    )


def lstm(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w, u, b = weights
        h = c = torch.zeros(x.shape[1], u.shape[0])
        outputs = []
        for entry in torch.unbind(x):
            i, f, g, o = torch.chunk(entry @ w + h @ u + b, 4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.mean(torch.square(torch.stack(outputs) - y))

    return gradients(loss, inputs)


def transformer(inputs: Inputs) -> Step:
    def loss(weights, h, y):
        batch, length, width = h.shape
        for layer in range(0, len(weights), 8):
            scale1, shift1, qkv, out, scale2, shift2, up, down = weights[layer : layer + 8]
            n = functional.layer_norm(h, (width,), scale1, shift1, EPSILON)
            query, key, value = (
                (n @ qkv).reshape(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
            )
            mixed = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2)
            h = h + mixed.reshape(batch, length, width) @ out
            n = functional.layer_norm(h, (width,), scale2, shift2, EPSILON)
            h = h + functional.gelu(n @ up, approximate="tanh") @ down
        return torch.mean(torch.square(h - y))

    return gradients(loss, inputs)


def cnn(inputs: Inputs) -> Step:
    """Channels first, as PyTorch has them; the last weights and all gradients are brought into the
    order of the others.
    """

    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = functional.max_pool2d(torch.relu(functional.conv2d(x, w1, b1, padding=1)), 2)
        h = functional.max_pool2d(torch.relu(functional.conv2d(h, w2, b2, padding=1)), 2)
        return functional.cross_entropy(h.flatten(1) @ w3 + b3, labels)

    w1, b1, w2, b2, w3, b3 = inputs.weights
    first = lambda filters: np.ascontiguousarray(filters.transpose(3, 2, 0, 1))
    rows = np.ascontiguousarray(w3.reshape(7, 7, 64, 10).transpose(2, 0, 1, 3).reshape(-1, 10))
    ordered = Inputs(
        np.ascontiguousarray(inputs.x.transpose(0, 3, 1, 2)),
        inputs.y,
        (first(w1), b1, first(w2), b2, rows, b3),
    )
    step = gradients(loss, ordered)

    def read():
        d1, db1, d2, db2, d3, db3 = step.function(*step.arguments)
        rows = d3.reshape(64, 7, 7, 10).permute(1, 2, 0, 3).reshape(-1, 10)
        return [d1.permute(2, 3, 1, 0), db1, d2.permute(2, 3, 1, 0), db2, rows, db3]

    return Step(step.function, step.arguments, read)


NETWORKS = named(lstm, transformer, cnn)
