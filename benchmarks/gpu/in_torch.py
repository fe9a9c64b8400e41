"""The steps in PyTorch under `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everyone gives it

from benchmarks.gpu.models import BLOCKS, CLASSES, HEADS, RATE, STAGES, Task

torch.set_float32_matmul_precision("high")


def step(task: Task, loss_of: Callable) -> Callable[[], object]:
    parameters = {
        name: torch.tensor(_layout(value), device="cuda", requires_grad=True)
        for name, value in task.parameters.items()
    }
    inputs = [torch.tensor(_layout(value), device="cuda") for value in task.inputs]
    names = list(parameters)
    torch._dynamo.reset()  # or it takes the second network for the first one with other shapes
    compiled = torch.compile(
        lambda *given: loss_of(
            dict(zip(names, given[: len(names)], strict=True)), *given[len(names) :]
        )
    )
    values = list(parameters.values())

    def run():
        loss = compiled(*values, *inputs)
        gradients = torch.autograd.grad(loss, values)
        with torch.no_grad():
            torch._foreach_add_(values, gradients, alpha=-RATE)
        return loss

    return run


def _layout(value):
    """Images and kernels in the order that PyTorch has for them."""
    if value.ndim == 4 and value.shape[-1] == 3:
        return value.transpose(0, 3, 1, 2).copy()
    return value.transpose(3, 2, 0, 1).copy() if value.ndim == 4 else value


def ready(loss) -> float:
    return float(loss.detach())


def _half(x):
    return x.to(torch.bfloat16)


def transformer_loss(p, x, y):
    h = _half(x)
    batch, length, width = x.shape
    for layer in range(len(p) // 8):
        q = {
            name: p[f"{layer}.{name}"]
            for name in ("qkv", "out", "up", "down", "scale1", "scale2", "shift1", "shift2")
        }
        n = _half(F.layer_norm(h.float(), (width,), q["scale1"], q["shift1"], 1e-5))
        qkv = (
            (n @ _half(q["qkv"]))
            .reshape(batch, length, 3, HEADS, width // HEADS)
            .permute(2, 0, 3, 1, 4)
        )
        mixed = (
            F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
            .permute(0, 2, 1, 3)
            .reshape(batch, length, width)
        )
        h = h + mixed @ _half(q["out"])
        n = _half(F.layer_norm(h.float(), (width,), q["scale2"], q["shift2"], 1e-5))
        h = h + F.gelu(n @ _half(q["up"]), approximate="tanh") @ _half(q["down"])
    return torch.mean(torch.square(h.float() - y))


def _conv(x, kernel, stride=1):
    size = kernel.shape[-1]
    if stride == 2 and size == 3:  # the others pad an even side on its far end only
        return F.conv2d(F.pad(x, (0, 1, 0, 1)), _half(kernel), stride=2)
    return F.conv2d(x, _half(kernel), stride=stride, padding=size // 2)


def _batch_normalised(x, scale, shift):
    return _half(F.batch_norm(x.float(), None, None, scale, shift, training=True, eps=1e-5))


def residual_loss(p, x, labels):
    h = _conv(_half(x).to(memory_format=torch.channels_last), p["stem"])
    for stage in range(len(STAGES)):
        for block in range(BLOCKS):
            name = f"{stage}.{block}"
            stride = 2 if stage and not block else 1
            n = F.relu(_batch_normalised(h, p[f"{name}.scale1"], p[f"{name}.shift1"]))
            short = _conv(n, p[f"{name}.short"], stride) if f"{name}.short" in p else h
            n = _conv(n, p[f"{name}.first"], stride)
            n = F.relu(_batch_normalised(n, p[f"{name}.scale2"], p[f"{name}.shift2"]))
            h = short + _conv(n, p[f"{name}.second"])
    logits = h.float().mean((2, 3)) @ p["head"]
    return torch.mean(torch.sum(-F.log_softmax(logits, -1) * F.one_hot(labels.long(), CLASSES), 1))


LOSSES = {"transformer": transformer_loss, "residual": residual_loss}
