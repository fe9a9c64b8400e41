"""The workloads in tinygrad on the CPU, where it needs clang.

It is lazy: a step ends by realising the gradients.

Long chains and the networks are left out, since its search for kernels takes minutes there.
"""

from collections.abc import Callable
from typing import Any

from tinygrad import Device, Tensor

from benchmarks.libraries import Step, named
from benchmarks.workloads import Inputs


def _tensor(array: Any) -> Tensor:
    return Tensor(array).realize()


def _gradients(loss: Callable[..., Any], inputs: Inputs) -> Step:
    """The gradients of `loss(weights, x, y)` by all weights."""
    weights = [_tensor(weight) for weight in inputs.weights]

    def step(x, y):
        return realised(loss(weights, x, y).gradient(*weights))

    return Step(step, (_tensor(inputs.x), _tensor(inputs.y)))


def _gradient_by_x(function: Callable[..., Any], inputs: Inputs) -> Step:
    return Step(lambda x: realised(function(x).gradient(x)), (_tensor(inputs.x),))


def realised(found: list[Tensor]) -> list[Tensor]:
    Tensor.realize(*found)
    Device[Device.DEFAULT].synchronize()
    return found


def small_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3 = weights
        h = (x @ w1 + b1).tanh()
        h = (h @ w2 + b2).tanh()
        return (h @ w3 + b3 - y).square().mean()

    return _gradients(loss, inputs)


def large_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = (x @ w1 + b1).relu()
        h = (h @ w2 + b2).relu()
        return (h @ w3 + b3).sparse_categorical_crossentropy(labels)

    return _gradients(loss, inputs)


def elementwise(inputs: Inputs) -> Step:
    return _gradient_by_x(lambda x: x.tanh().sigmoid().exp().sqrt().sum(), inputs)


STEPS = named(small_mlp, large_mlp, elementwise)
