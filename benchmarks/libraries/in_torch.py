"""The workloads in PyTorch, eager, on the CPU."""

import torch

from benchmarks.libraries import Step
from benchmarks.workloads import CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, Inputs


def small_mlp(inputs: Inputs) -> Step:
    x, y = torch.tensor(inputs.x), torch.tensor(inputs.y)
    weights = [torch.tensor(weight, requires_grad=True) for weight in inputs.weights]
    w1, b1, w2, b2, w3, b3 = weights

    def step():
        h = torch.tanh(x @ w1 + b1)
        h = torch.tanh(h @ w2 + b2)
        loss = torch.mean(torch.square(h @ w3 + b3 - y))
        return torch.autograd.grad(loss, weights)

    return step


def chain(inputs: Inputs) -> Step:
    x = torch.tensor(inputs.x, requires_grad=True)

    def step():
        z = x
        for _ in range(CHAIN_LENGTH):
            z = torch.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return torch.autograd.grad(z, x, grad_outputs=torch.ones_like(z))

    return step


def large_mlp(inputs: Inputs) -> Step:
    x, labels = torch.tensor(inputs.x), torch.tensor(inputs.y, dtype=torch.int64)
    weights = [torch.tensor(weight, requires_grad=True) for weight in inputs.weights]
    w1, b1, w2, b2, w3, b3 = weights

    def step():
        h = torch.relu(x @ w1 + b1)
        h = torch.relu(h @ w2 + b2)
        loss = torch.nn.functional.cross_entropy(h @ w3 + b3, labels)
        return torch.autograd.grad(loss, weights)

    return step
