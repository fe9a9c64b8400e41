"""Jacobians and higher derivatives in PyTorch, by `torch.func`; Burgers' equation as
physics-informed networks are written.
"""

import torch
from torch.func import hessian as hessian_of
from torch.func import jacfwd, jacrev, vmap

from benchmarks.libraries import Step, named
from benchmarks.workloads import HIDDEN, VISCOSITY, Inputs


def _network(x, w1, w2):
    return torch.tanh(x @ w1) @ w2


def jacobian(inputs: Inputs) -> Step:
    return Step(
        lambda *given: [jacrev(_network)(*given)],
        tuple(map(torch.tensor, (inputs.x, *inputs.weights))),
    )


def batch_jacobian(inputs: Inputs) -> Step:
    each = vmap(jacrev(_network), in_dims=(0, None, None))
    return Step(
        lambda *given: [each(*given)], tuple(map(torch.tensor, (inputs.x, *inputs.weights)))
    )


def hessian(inputs: Inputs) -> Step:
    def loss(theta, x, y):
        w1 = theta[: 8 * HIDDEN].reshape(8, HIDDEN)
        b1, w2 = theta[8 * HIDDEN : 9 * HIDDEN], theta[9 * HIDDEN :].reshape(HIDDEN, 1)
        return torch.mean(torch.square(torch.tanh(x @ w1 + b1) @ w2 - y))

    return Step(
        lambda *given: [hessian_of(loss)(*given)], tuple(map(torch.tensor, (inputs.x, *inputs.y)))
    )


def _curve(rates, times):
    return rates[0] * torch.exp(-rates[1] * times) * torch.sin(rates[2] * times)


def curves(inputs: Inputs) -> Step:
    return Step(lambda *given: [_curve(*given)], (torch.tensor(inputs.x), torch.tensor(inputs.y)))


def tall_jacobian(inputs: Inputs) -> Step:
    return Step(
        lambda *given: [jacfwd(_curve)(*given)], (torch.tensor(inputs.x), torch.tensor(inputs.y))
    )


def burgers(inputs: Inputs) -> Step:
    weights = [torch.tensor(weight, requires_grad=True) for weight in inputs.weights]
    *layers, w, b = weights

    def step(x, t):
        h = torch.cat([x, t], dim=1)
        for i in range(0, len(layers), 2):
            h = torch.tanh(h @ layers[i] + layers[i + 1])
        u = h @ w + b
        u_x, u_t = torch.autograd.grad(u.sum(), [x, t], create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        loss = torch.mean(torch.square(u_t + u * u_x - float(VISCOSITY) * u_xx))
        found = torch.autograd.grad(loss, weights, allow_unused=True)
        return [
            torch.zeros_like(v) if g is None else g for g, v in zip(found, weights, strict=True)
        ]

    points = [torch.tensor(inputs.x[:, i : i + 1], requires_grad=True) for i in range(2)]
    return Step(step, tuple(points))


DERIVATIVES = named(jacobian, batch_jacobian, hessian, curves, tall_jacobian, burgers)
