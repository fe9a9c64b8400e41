"""The workloads in PyTorch, eager, on the CPU."""

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.libraries import Step, named
from benchmarks.libraries.derivatives_in_torch import DERIVATIVES
from benchmarks.libraries.networks_in_torch import NETWORKS, gradients
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, RATE, Inputs


def _gradient_by_x(function: Callable[..., Any], inputs: Inputs) -> Step:
    def step(x):
        z = function(x)
        return torch.autograd.grad(z, x, grad_outputs=torch.ones_like(z))

    return Step(step, (torch.tensor(inputs.x, requires_grad=True),))


def small_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3 = weights
        h = torch.tanh(x @ w1 + b1)
        h = torch.tanh(h @ w2 + b2)
        return torch.mean(torch.square(h @ w3 + b3 - y))

    return gradients(loss, inputs)


def chain(inputs: Inputs) -> Step:
    def links(z):
        for _ in range(CHAIN_LENGTH):
            z = torch.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return z

    return _gradient_by_x(links, inputs)


def large_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = torch.relu(x @ w1 + b1)
        h = torch.relu(h @ w2 + b2)
        return torch.nn.functional.cross_entropy(h @ w3 + b3, labels)

    return gradients(loss, inputs)


def elementwise(inputs: Inputs) -> Step:
    return _gradient_by_x(
        lambda x: torch.sum(torch.sqrt(torch.exp(torch.sigmoid(torch.tanh(x))))), inputs
    )


def embedding(inputs: Inputs) -> Step:
    table = torch.tensor(inputs.weights[0], requires_grad=True)

    def step(ids, y):
        rows = torch.nn.functional.embedding(ids, table, sparse=True)
        loss = 0.5 * torch.sum(torch.square(rows - y))
        (gradient,) = torch.autograd.grad(loss, table)
        with torch.no_grad():
            table.add_(gradient, alpha=-RATE)
        return [loss]

    ids = torch.tensor(inputs.x, dtype=torch.int64)
    return Step(step, (ids, torch.tensor(inputs.y)), read=lambda: [table.detach()])


def gaussian_process(inputs: Inputs) -> Step:
    def step(scales, points, values):
        scaled = points / torch.exp(scales[:3])
        squares = torch.sum(torch.square(scaled), dim=1)
        distances = squares[:, None] + squares[None, :] - 2 * scaled @ scaled.T
        noise = torch.exp(scales[4]) * torch.eye(len(points), dtype=torch.float64)
        root = torch.linalg.cholesky(torch.exp(scales[3] - 0.5 * distances) + noise)
        white = torch.linalg.solve_triangular(root, values, upper=False)
        loss = 0.5 * torch.sum(torch.square(white)) + torch.sum(torch.log(torch.diagonal(root)))
        return torch.autograd.grad(loss, [scales])

    scales = torch.tensor(inputs.x, requires_grad=True)
    return Step(step, (scales, *map(torch.tensor, inputs.y)))


def adds(inputs: Inputs) -> Step:
    y = torch.tensor(inputs.y)

    def total(z):
        for _ in range(ADDS):
            z = z + y
        return z

    return _gradient_by_x(total, inputs)


STEPS = (
    named(small_mlp, chain, large_mlp, elementwise, embedding, gaussian_process, adds)
    | NETWORKS
    | DERIVATIVES
)
