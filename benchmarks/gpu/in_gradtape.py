"""The steps in gradtape: a tape inside a compiled function."""

from __future__ import annotations

from collections.abc import Callable

import gradtape as tf
from benchmarks.gpu.models import BLOCKS, CLASSES, HEADS, RATE, STAGES, Task


def step(task: Task, loss_of: Callable) -> Callable[[], object]:
    variables = {name: tf.Variable(value, name=name) for name, value in task.parameters.items()}
    inputs = [tf.constant(value) for value in task.inputs]

    @tf.function
    def train(*inputs):
        with tf.GradientTape() as tape:
            loss = loss_of(variables, *inputs)
        gradients = tape.gradient(loss, variables)
        for name, variable in variables.items():
            variable.assign_sub(RATE * gradients[name])
        return loss

    return lambda: train(*inputs)


def ready(loss) -> float:
    """Waits for a step, and gives its loss."""
    return float(loss)


def _half(x):
    return tf.cast(x, tf.bfloat16)


def _normalised(x, scale, shift):
    x = tf.cast(x, tf.float32)
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return _half((x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + shift)


def transformer_loss(p, x, y):
    h = _half(x)
    batch, length, width = x.shape
    for layer in range(len(p) // 8):
        q = {
            name: p[f"{layer}.{name}"]
            for name in ("qkv", "out", "up", "down", "scale1", "scale2", "shift1", "shift2")
        }
        n = _normalised(h, q["scale1"], q["shift1"])
        qkv = tf.reshape(n @ _half(q["qkv"]), [batch, length, 3, HEADS, width // HEADS])
        query, key, value = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
        scores = tf.matmul(query, key, transpose_b=True) * (width // HEADS) ** -0.5
        weights = _half(tf.nn.softmax(tf.cast(scores, tf.float32)))
        mixed = tf.reshape(tf.transpose(weights @ value, [0, 2, 1, 3]), [batch, length, width])
        h = h + mixed @ _half(q["out"])
        n = _normalised(h, q["scale2"], q["shift2"])
        h = h + tf.nn.gelu(n @ _half(q["up"]), approximate=True) @ _half(q["down"])
    return tf.reduce_mean(tf.square(tf.cast(h, tf.float32) - y))


def _conv(x, kernel, stride=1):
    return tf.nn.conv2d(x, _half(kernel), stride, "SAME")


def _batch_normalised(x, scale, shift):
    x = tf.cast(x, tf.float32)
    mean, variance = tf.nn.moments(x, axes=[0, 1, 2])
    return _half((x - mean) * (tf.math.rsqrt(variance + 1e-5) * scale) + shift)


def residual_loss(p, x, labels):
    h = _conv(_half(x), p["stem"])
    for stage in range(len(STAGES)):
        for block in range(BLOCKS):
            name = f"{stage}.{block}"
            stride = 2 if stage and not block else 1
            n = tf.nn.relu(_batch_normalised(h, p[f"{name}.scale1"], p[f"{name}.shift1"]))
            short = _conv(n, p[f"{name}.short"], stride) if f"{name}.short" in p else h
            n = _conv(n, p[f"{name}.first"], stride)
            n = tf.nn.relu(_batch_normalised(n, p[f"{name}.scale2"], p[f"{name}.shift2"]))
            h = short + _conv(n, p[f"{name}.second"])
    logits = tf.reduce_mean(tf.cast(h, tf.float32), axis=[1, 2]) @ p["head"]
    return tf.reduce_mean(
        tf.reduce_sum(-tf.nn.log_softmax(logits) * tf.one_hot(labels, CLASSES), axis=1)
    )


LOSSES = {"transformer": transformer_loss, "residual": residual_loss}
