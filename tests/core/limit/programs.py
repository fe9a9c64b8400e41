"""Programs made by chance, of many kinds of ops, that give the same numbers each time they run."""

from collections.abc import Callable
from typing import Any

import numpy as np

import gradtape as tf

ROWS, COLUMNS = 40, 16  # arrays large enough to be dropped
Pool = list[Any]


@tf.custom_gradient
def _clipped(x):
    values = tf.tanh(x)
    return values, lambda g: g * tf.clip_by_value(1.0 - values * values, 0.0, 0.9)


@tf.function
def _compiled(x, y):
    return tf.sin(x) * tf.sigmoid(y)


def _attention(x, y):
    return tf.nn.softmax(x @ tf.transpose(y) / 4.0) @ y


def _normalized(x):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(tf.math.reduce_variance(x, axis=-1, keepdims=True) + 1e-3)


def _parts(x):
    first, second, third = tf.split(x, [4, 8, 4], axis=1)
    return tf.concat([third, tf.tanh(second), first], axis=1)


def _convolved(x):
    image = tf.reshape(x, (1, ROWS, COLUMNS, 1))
    kernel = tf.reshape(tf.linspace(-0.5, 0.5, 9), (3, 3, 1, 1))
    return tf.reshape(tf.nn.conv2d(image, kernel, 1, "SAME"), x.shape)


def _scaled_by_numpy(x):
    factors = np.linspace(0.5, 1.5, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    scaled = tf.constant(factors) * factors  # recorded by nothing
    result = x * scaled
    factors[:] = np.nan  # which must not be seen again
    return result


def _from_python(x):
    return tf.py_function(lambda v: tf.abs(v) + 0.5, [x], tf.float32)


ONE: list[Callable[[Any], Any]] = [
    tf.tanh, tf.sigmoid, tf.nn.relu, tf.nn.gelu, tf.square, tf.sin, tf.nn.softplus, _clipped,
    _normalized, _parts, _convolved, _scaled_by_numpy, _from_python,
    lambda x: tf.exp(-tf.square(x)),
    lambda x: tf.where(x > 0.1, x, 0.2 * x),
    lambda x: tf.nn.dropout(x, 0.3),
    lambda x: x + tf.random.normal((ROWS, COLUMNS)),
    lambda x: x * tf.random.uniform((ROWS, COLUMNS)),
    lambda x: tf.nn.log_softmax(x),
    lambda x: tf.cumsum(x, axis=0) * 0.1,
    lambda x: tf.transpose(tf.reshape(tf.transpose(x), (COLUMNS, ROWS))),
    lambda x: tf.gather(x, [(7 * i) % ROWS for i in range(ROWS)]),
    lambda x: x[::-1] * x[:, ::-1],
    lambda x: tf.cast(tf.tanh(tf.cast(x, tf.float64)), tf.float32),
    lambda x: tf.cast(tf.tanh(tf.cast(x, tf.bfloat16)), tf.float32),
    lambda x: tf.reduce_max(x, axis=0) + x,
    lambda x: tf.sort(x, axis=0),
    lambda x: tf.math.real(tf.signal.ifft(tf.signal.fft(tf.cast(x, tf.complex64)))),
    lambda x: tf.linalg.matmul(x, tf.linalg.qr(x)[1]) * 0.1,
    lambda x: tf.stop_gradient(tf.tanh(x)) * x,
    lambda x: tf.recompute_grad(lambda v: tf.sin(v) * v)(x),
    lambda x: tf.einsum("ij,kj->ik", x, x) @ x * 0.01,
    lambda x: tf.identity(x),
]  # fmt: skip
TWO: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y, lambda x, y: x - 0.5 * y, lambda x, y: x * y, _attention, _compiled,
    lambda x, y: x / (1.0 + y * y), lambda x, y: tf.maximum(x, y),
    lambda x, y: tf.unstack(tf.stack([x, y]))[1],
    lambda x, y: tf.concat([x, y], axis=0)[ROWS // 2 : ROWS // 2 + ROWS],
]  # fmt: skip


class Program:
    """Computes a loss of Variables and a Tensor; the same numbers for the same seed."""

    def __init__(self, seed: int, length: int = 30) -> None:
        self.seed = seed
        self.length = length
        random = np.random.default_rng(seed)
        self.start = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
        shape = (COLUMNS, COLUMNS)
        self.weights = [random.standard_normal(shape).astype(np.float32) / 4 for _ in range(3)]

    def prepared(self) -> None:
        tf.random.set_seed(self.seed)
        self.x = tf.constant(self.start)
        self.variables = [tf.Variable(value) for value in self.weights]
        self.state = tf.Variable(self.start, trainable=False)

    def loss(self, tape: Any) -> Any:
        random = np.random.default_rng(self.seed)
        tape.watch(self.x)
        pool: Pool = [self.x]
        for _ in range(self.length):
            pool.append(self._made(random, pool, tape))
            if random.random() < 0.6 and len(pool) > 2:
                del pool[random.integers(len(pool) - 1)]
        return tf.add_n([tf.reduce_mean(tf.tanh(value)) for value in pool])

    def _made(self, random: Any, pool: Pool, tape: Any) -> Any:
        x, y = pool[-1], pool[random.integers(len(pool))]
        kind = random.random()
        if kind < 0.55:
            return ONE[random.integers(len(ONE))](x)
        if kind < 0.75:
            return TWO[random.integers(len(TWO))](x, y)
        variable = self.variables[random.integers(3)]
        if kind < 0.88:
            return tf.nn.relu(x @ variable + tf.reduce_mean(variable, axis=0))
        if kind < 0.91:
            result = tf.tanh(x) + self.state  # which does not keep it
            self.state.assign_add(tf.ones((ROWS, COLUMNS)))
            return result
        if kind < 0.94:
            result = x + self.state
            self.state.assign(tf.stop_gradient(result))
            return result * self.state
        if kind < 0.97:
            variable.assign(variable * 0.9)
            return x @ variable
        with tape.stop_recording():
            apart = tf.sin(x)
        return x * apart
