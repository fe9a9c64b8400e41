"""Arrays in every memory layout, in every way that they enter: what is computed from them does not
depend on where their numbers lie.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.tensor import Tensor
from tests.ops import checks

ARRAYS = {
    "matrix": np.random.default_rng(0).normal(size=(4, 3)),
    "single": np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32),
    "half": np.random.default_rng(2).normal(size=(4, 3)).astype(np.float16),
    "complex": np.random.default_rng(3).normal(size=(4, 3, 2)) @ np.array([1.0, 1.0j]),
    "nothing": np.zeros((0, 3)),
    "one row": np.random.default_rng(4).normal(size=(1, 3)),
    "cube": np.random.default_rng(5).normal(size=(2, 4, 3)),
}
ENTRANCES = {
    "as it is": Tensor,
    "constant": tf.constant,
    "convert_to_tensor": tf.convert_to_tensor,
    "Variable": tf.Variable,
}


def step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.matmul(x, x, adjoint_a=True) * 2.0 + tf.reduce_sum(x, -2, keepdims=True)
        total = tf.reduce_sum(tf.math.real(tf.sin(y) * y))
    return [y, tape.gradient(total, x)]


def same(found, right):
    for a, b in zip(found, right, strict=True):
        rtol = {2: 1e-2, 4: 1e-5}.get(b.numpy().real.dtype.itemsize, 1e-10)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=rtol)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("layout", checks.LAYOUTS, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("name", ARRAYS)
def test_eager_and_compiled(name, entrance, layout):
    array = ARRAYS[name]
    before = layout(array)
    kept = before.copy()
    right = step(tf.constant(array))
    compiled = tf.function(step, autograph=False)
    same(step(ENTRANCES[entrance](before)), right)
    same(compiled(ENTRANCES[entrance](before)), right)
    np.testing.assert_array_equal(before, kept)


@pytest.mark.parametrize("layout", checks.LAYOUTS, ids=lambda layout: layout.__name__)
def test_arrays_as_arguments_of_a_function(layout):
    array = ARRAYS["matrix"]
    compiled = tf.function(lambda x, y: x @ tf.transpose(y), autograph=False)
    np.testing.assert_allclose(
        compiled(layout(array), tf.constant(layout(array))).numpy(), array @ array.T, rtol=1e-12
    )


@pytest.mark.parametrize("layout", checks.LAYOUTS, ids=lambda layout: layout.__name__)
def test_assignment_slices_and_jacobians(layout):
    array = ARRAYS["matrix"]
    v = tf.Variable(np.zeros_like(array))
    v.assign(layout(array))
    v.assign_add(Tensor(layout(array)))
    np.testing.assert_array_equal(v.numpy(), array * 2)
    v[1:3].assign(layout(array)[1:3])
    np.testing.assert_array_equal(v.numpy()[1:3], array[1:3])
    x = Tensor(layout(array))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(x**3, axis=1)
    np.testing.assert_allclose(
        tape.jacobian(y, x).numpy(), np.eye(4)[:, :, None] * (3 * array**2)[None], rtol=1e-12
    )
    mapped = tf.vectorized_map(lambda row: row * tf.reduce_sum(row), x)
    np.testing.assert_allclose(mapped.numpy(), array * array.sum(1, keepdims=True), rtol=1e-12)


def test_a_variable_has_memory_of_its_own():
    for layout in checks.LAYOUTS:
        array = layout(ARRAYS["matrix"].copy())
        v = tf.Variable(array)
        before = np.array(array)
        v.assign_add(np.ones_like(before))
        v[0].assign(np.zeros(3))
        np.testing.assert_array_equal(array, before)
