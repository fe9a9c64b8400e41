"""The quick way forward, on plain arrays: the same Jacobian,
and what it cannot do goes the general way.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape.transforms.jacobians import pushes

rng = np.random.default_rng(11)


def forward(f, x):
    """Forward and reverse Jacobian of f at x."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x, mode="forward").numpy(), tape.jacobian(y, x, mode="reverse").numpy()


W = tf.constant(rng.standard_normal((4, 5)))
COLUMN = tf.constant(rng.standard_normal((3, 1)))

SHORT = {
    "elementwise": lambda x: tf.exp(x) * x - tf.sin(x) / (x * x + 1.0),
    "broadcast by what is saved": lambda x: x[0] * COLUMN * tf.ones([1, 2], tf.float64),
    "broadcast by each other": lambda x: x[:, None] + x[None, :] * 2.0,
    "products": lambda x: tf.tanh(tf.reshape(x, [1, 4]) @ W) @ tf.transpose(W),
    "a product on the right": lambda x: W @ (tf.ones([5, 4], tf.float64) * x),
    "matrix times vector": lambda x: tf.linalg.matvec(tf.transpose(W), x),
    "moves": lambda x: (
        tf.transpose(tf.reshape(x, [2, 2]))[::-1, 1:] * tf.reduce_sum(x, axis=0, keepdims=True)
    ),
    "sums": lambda x: tf.reduce_sum(x[:, None] * x, axis=0) - tf.reduce_sum(x),
    "two paths": lambda x: (tf.square(x) + x) * tf.cos(x),
}
LONG = {
    "an op with a rule of its own": lambda x: tf.nn.softmax(x) * x,
    "broadcast by what is not saved": lambda x: x[0] + COLUMN,
    "an infinite derivative": lambda x: tf.sqrt(x - tf.stop_gradient(x)) * 2.0,
    "a batch of matrices": lambda x: tf.reshape(x, [2, 1, 2]) @ tf.ones([2, 2, 3], tf.float64),
}


@pytest.fixture
def recorded(monkeypatch):
    """Notes whether a walk had to be recorded."""
    taken = []
    walk = pushes.RecordedWalk
    monkeypatch.setattr(pushes, "RecordedWalk", lambda *args: taken.append(True) or walk(*args))
    return taken


@pytest.mark.parametrize("name", SHORT)
def test_the_short_way_gives_the_same(name, recorded):
    found, expected = forward(SHORT[name], tf.constant(rng.standard_normal(4)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert not recorded


@pytest.mark.parametrize("name", LONG)
def test_what_the_short_way_cannot_do_goes_the_long_way(name, recorded):
    found, expected = forward(LONG[name], tf.constant(rng.standard_normal(4)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert recorded
