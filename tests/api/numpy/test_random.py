"""`tf.experimental.numpy.random`, and the names beside it."""

import numpy as np
import pytest

import gradtape as tf
import gradtape.experimental.numpy as tnp

CALLS = {
    "rand": lambda: tnp.random.rand(1000, 2),
    "random": lambda: tnp.random.random((1000, 2)),
    "uniform": lambda: tnp.random.uniform(0, 1, (1000, 2)),
    "randn": lambda: tnp.random.randn(1000, 2),
    "standard_normal": lambda: tnp.random.standard_normal([1000, 2]),
    "randint": lambda: tnp.random.randint(2, 5, (1000, 2)),
    "poisson": lambda: tnp.random.poisson(4.0, (1000, 2)),
}
MEANS = {"randn": 0.0, "standard_normal": 0.0, "randint": 3.0, "poisson": 4.0}


@pytest.mark.parametrize("name", CALLS)
def test_shape_dtype_mean_and_seed(name):
    tnp.random.seed(3)
    first = CALLS[name]()
    tnp.random.seed(3)
    assert np.array_equal(first.numpy(), CALLS[name]().numpy())
    assert first.shape == [1000, 2]
    assert first.dtype == (tf.int64 if name in ("randint", "poisson") else tf.float32)
    assert first.numpy().mean() == pytest.approx(MEANS.get(name, 0.5), abs=0.2)


def test_without_a_size():
    assert tnp.random.rand().shape == tnp.random.random().shape == tnp.random.randint(3).shape == []
    assert tnp.random.poisson([1.0, 2.0, 3.0]).shape == [3]
    assert tnp.random.uniform([0.0, 5.0], [[1.0], [6.0]]).shape == [2, 2]
    assert tnp.random.rand(0, 3).shape == [0, 3]


def test_gradients_reach_the_bounds():
    low = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_mean(tnp.random.uniform(low, 3.0, [1000]))
    assert float(tape.gradient(y, low)) == pytest.approx(0.5, abs=0.1)


def test_names_of_types():
    assert tnp.float_ is np.float64
    assert tnp.string_ is np.bytes_
    assert tnp.experimental_enable_numpy_behavior(prefer_float32=True) is None
    assert tnp.flatten([[1, 2], [3, 4]]).shape == [4]
