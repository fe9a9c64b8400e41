"""The steps in JAX, written by hand: `jax.jit` of `jax.value_and_grad`, with donated parameters."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.gpu.models import BLOCKS, CLASSES, HEADS, RATE, STAGES, Task


def step(task: Task, loss_of: Callable) -> Callable[[], object]:
    state = {"parameters": {name: jnp.asarray(value) for name, value in task.parameters.items()}}
    inputs = [jnp.asarray(value) for value in task.inputs]

    def train(parameters, *inputs):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *inputs)
        return loss, {name: value - RATE * gradients[name] for name, value in parameters.items()}

    train = jax.jit(train, donate_argnums=0)

    def run():
        loss, state["parameters"] = train(state["parameters"], *inputs)
        return loss

    return run


def ready(loss) -> float:
    return float(loss)


def _half(x):
    return x.astype(jnp.bfloat16)


def _normalised(x, scale, shift):
    x = x.astype(jnp.float32)
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return _half((x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift)


def transformer_loss(p, x, y):
    h = _half(x)
    batch, length, width = x.shape
    for layer in range(len(p) // 8):
        q = {
            name: p[f"{layer}.{name}"]
            for name in ("qkv", "out", "up", "down", "scale1", "scale2", "shift1", "shift2")
        }
        n = _normalised(h, q["scale1"], q["shift1"])
        qkv = (n @ _half(q["qkv"])).reshape(batch, length, 3, HEADS, width // HEADS)
        query, key, value = qkv.transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2) * (width // HEADS) ** -0.5
        weights = _half(jax.nn.softmax(scores.astype(jnp.float32)))
        h = h + (weights @ value).transpose(0, 2, 1, 3).reshape(batch, length, width) @ _half(
            q["out"]
        )
        n = _normalised(h, q["scale2"], q["shift2"])
        h = h + jax.nn.gelu(n @ _half(q["up"])) @ _half(q["down"])
    return jnp.mean(jnp.square(h.astype(jnp.float32) - y))


def _conv(x, kernel, stride=1):
    return lax.conv_general_dilated(
        x, _half(kernel), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _batch_normalised(x, scale, shift):
    x = x.astype(jnp.float32)
    mean = jnp.mean(x, axis=(0, 1, 2))
    variance = jnp.mean(jnp.square(x - mean), axis=(0, 1, 2))
    return _half((x - mean) * (lax.rsqrt(variance + 1e-5) * scale) + shift)


def residual_loss(p, x, labels):
    h = _conv(_half(x), p["stem"])
    for stage in range(len(STAGES)):
        for block in range(BLOCKS):
            name = f"{stage}.{block}"
            stride = 2 if stage and not block else 1
            n = jax.nn.relu(_batch_normalised(h, p[f"{name}.scale1"], p[f"{name}.shift1"]))
            short = _conv(n, p[f"{name}.short"], stride) if f"{name}.short" in p else h
            n = _conv(n, p[f"{name}.first"], stride)
            n = jax.nn.relu(_batch_normalised(n, p[f"{name}.scale2"], p[f"{name}.shift2"]))
            h = short + _conv(n, p[f"{name}.second"])
    logits = jnp.mean(h.astype(jnp.float32), axis=(1, 2)) @ p["head"]
    return jnp.mean(jnp.sum(-jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, CLASSES), axis=1))


LOSSES = {"transformer": transformer_loss, "residual": residual_loss}
