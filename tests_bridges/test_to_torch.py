"""`bridge.to_torch`: a gradtape function is a PyTorch function."""

import numpy as np
import pytest
import torch

import gradtape as tf
from gradtape.bridge import from_torch, to_torch


def inputs(*shapes, dtype=torch.float64):
    return tuple(torch.rand(s, dtype=dtype, requires_grad=True) + 0.5 for s in shapes)


FUNCTIONS = {
    "elementwise": (lambda x, y: tf.sin(x) * y**2, [(3,), (3,)]),
    "matrices": (
        lambda x, y: tf.linalg.solve(x + 5 * tf.eye(3, dtype=x.dtype), y), [(3, 3), (3, 2)]
    ),
    "several": (lambda x, y: [tf.reduce_sum(x) * y, {"a": tf.tanh(x)}], [(2, 2), (3,)]),
    "custom": (tf.custom_gradient(lambda x: (tf.exp(x), lambda g: g * tf.exp(x))), [(3,)]),
    "compiled": (tf.function(lambda x, y: tf.reduce_sum(x * y) ** 2), [(3,), (3,)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(name):
    f, shapes = FUNCTIONS[name]
    flat = lambda *args: tuple(tf.nest.flatten(to_torch(f)(*args)))
    args = tuple(x.detach().requires_grad_() for x in inputs(*shapes))
    assert torch.autograd.gradcheck(flat, args)
    assert torch.autograd.gradgradcheck(flat, args)


def test_complex_numbers():
    f = to_torch(lambda z: z * z * tf.math.conj(z))
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(f, (z,))


def test_third_order():
    f = to_torch(lambda x: tf.reduce_sum(tf.sin(x)))
    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    value = f(x)
    for _ in range(3):
        (gradient,) = torch.autograd.grad(value, x, create_graph=True)
        value = gradient.sum()
    np.testing.assert_allclose(gradient.detach(), -np.cos([0.5, 1.0]))


def test_backward_twice_and_in_a_network():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = to_torch(lambda x: x * x)(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [2, 4]
    layer = torch.nn.Linear(2, 2)
    loss = to_torch(lambda h: tf.reduce_sum(tf.math.special.dawsn(h)))(layer(x))
    loss.backward()
    assert layer.weight.grad.shape == (2, 2)
    assert (layer.weight.grad != 0).all()


def test_structures_integers_and_static_arguments():
    f = to_torch(lambda d, n, *, name: ({"y": d["x"] ** n, "i": tf.argmax(d["x"])}, name, None))
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    found, name, nothing = f({"x": x}, 2, name="text")
    assert (name, nothing) == ("text", None)
    assert found["i"].item() == 1
    assert not found["i"].requires_grad
    found["y"].sum().backward()
    assert x.grad.tolist() == [2, 6]


def test_what_is_not_connected_is_none():
    x = torch.tensor(1.0, requires_grad=True)
    y = torch.tensor(2.0, requires_grad=True)
    out = to_torch(lambda x, y: tf.stop_gradient(y) * x)(x, y)
    found = torch.autograd.grad(out, [x, y], allow_unused=True)
    assert found[0].item() == 2
    assert found[1] is None


def test_memory_is_shared():
    seen = []
    x = torch.ones(4)
    to_torch(lambda x: (seen.append(x.array.ctypes.data), x)[1] * 2)(x)
    assert seen == [x.data_ptr()]


def test_there_and_back():
    f = from_torch(to_torch(lambda x: tf.sin(x) * x))
    x = tf.constant([0.5, 1.0], tf.float64)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = f(x)
        gradient = first.gradient(y, x)
    found = second.gradient(gradient, x)
    np.testing.assert_allclose(found, 2 * np.cos(x) - x.numpy() * np.sin(x))


def test_no_grad_and_bfloat16():
    with torch.no_grad():
        y = to_torch(lambda x: x * 2)(torch.ones(2, dtype=torch.bfloat16, requires_grad=True))
    assert y.dtype == torch.bfloat16
    assert not y.requires_grad
    assert y.tolist() == [2, 2]


def test_other_arguments_are_refused():
    with pytest.raises(TypeError, match="f must be a function, got 3"):
        to_torch(3)
