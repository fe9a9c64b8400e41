"""The workloads: what is computed, and its inputs as NumPy arrays.

`libraries/` writes each of them in every library.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

CHAIN_LENGTH = 100  # links of three ops: multiply, add, tanh
CHAIN_FACTOR = 1.01
CHAIN_SUMMAND = 0.1
ADDS = 50
HIDDEN = 30  # of the network whose Hessian is computed: 8 inputs, 300 parameters in one vector
VISCOSITY = np.float32(0.01 / np.pi)
MEMORY_LIMIT = 500 * 2**20
HEADS = 4  # of the transformer
EPSILON = 1e-5  # of its normalisations
RATE = 0.1  # of gradient descent on the embedding

Random = np.random.Generator


@dataclass(frozen=True)
class Inputs:
    """What a workload starts from.

    Gradients are those of all `weights`, or of `x` if there are none; Jacobians are by `x`.
    """

    x: Any
    y: Any = None
    weights: tuple[Any, ...] = ()

    def each(self, change: Callable[[Any], Any]) -> "Inputs":
        """These inputs with every array changed."""
        return Inputs(*(_changed(part, change) for part in (self.x, self.y, self.weights)))

    def first(self, rows: int) -> "Inputs":
        """The same with a smaller batch."""
        return replace(self, x=self.x[:rows], y=None if self.y is None else self.y[:rows])


def _changed(part: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(part, tuple):
        return tuple(change(array) for array in part)
    return None if part is None else change(part)


@dataclass(frozen=True)
class Workload:
    name: str  # of the function that a library's module has for it
    title: str
    make: Callable[[Random], Inputs]
    unit: str = "ms"
    tolerance: float = 1e-4  # of the largest gradient, for the check that it is right
    # The same with next to nothing to compute, where memory is measured.
    tiny: Callable[[Random], Inputs] | None = None

    def make_inputs(self) -> Inputs:
        """The same in every process."""
        return self.make(np.random.default_rng(0))

    def make_tiny_inputs(self) -> Inputs:
        assert self.tiny is not None
        return self.tiny(np.random.default_rng(0))

    @cached_property
    def inputs(self) -> Inputs:
        return self.make_inputs()


def _normal(rng: Random, *shape: int) -> Any:
    return rng.standard_normal(shape, dtype=np.float32)


def _scaled(rng: Random, *shape: int) -> Any:
    """Weights that keep the size of what goes through them."""
    return _normal(rng, *shape) / np.float32(np.sqrt(np.prod(shape[:-1])))


def _mlp(rng: Random, *sizes: int) -> tuple[Any, ...]:
    """A matrix and a bias for each layer."""
    return tuple(
        part for a, b in pairwise(sizes) for part in (_scaled(rng, a, b), _normal(rng, b) / 10)
    )


def _labels(rng: Random, count: int) -> Any:
    return rng.integers(0, 10, size=count).astype(np.int32)


def _classifier(rng: Random, batch: int, *sizes: int) -> Inputs:
    return Inputs(_normal(rng, batch, sizes[0]), _labels(rng, batch), _mlp(rng, *sizes))


def _cnn(rng: Random, batch: int) -> Inputs:
    first, second = (
        (_scaled(rng, 3, 3, 1, 32), _normal(rng, 32) / 10),
        (_scaled(rng, 3, 3, 32, 64), _normal(rng, 64) / 10),
    )
    return Inputs(
        _normal(rng, batch, 28, 28, 1),
        _labels(rng, batch),
        (*first, *second, *_mlp(rng, 7 * 7 * 64, 10)),
    )


def _lstm(rng: Random) -> Inputs:
    steps, batch, size, hidden = 50, 32, 64, 128
    weights = (
        _scaled(rng, size, 4 * hidden),
        _scaled(rng, hidden, 4 * hidden),
        _normal(rng, 4 * hidden) / 10,
    )
    return Inputs(_normal(rng, steps, batch, size), _normal(rng, steps, batch, hidden), weights)


def _transformer(rng: Random) -> Inputs:
    width, layers = 128, 2
    ones, zeros = np.ones(width, np.float32), np.zeros(width, np.float32)
    weights: list[Any] = []
    for _ in range(layers):
        weights += [ones, zeros, _scaled(rng, width, 3 * width), _scaled(rng, width, width)]
        weights += [ones, zeros, _scaled(rng, width, 4 * width), _scaled(rng, 4 * width, width)]
    return Inputs(_normal(rng, 8, 64, width), _normal(rng, 8, 64, width), tuple(weights))


def _embedding(rng: Random) -> Inputs:
    ids = rng.integers(0, 100_000, size=1024).astype(np.int32)
    ids[:32] = ids[0]  # a word that comes often
    return Inputs(ids, _normal(rng, 1024, 64), (_normal(rng, 100_000, 64) / 10,))


def _curve(rng: Random) -> Inputs:
    return Inputs(
        np.array([1.0, 0.5, 0.3], np.float32), np.linspace(0, 5, 10_000, dtype=np.float32)
    )


def _burgers(rng: Random) -> Inputs:
    points = rng.uniform(-1, 1, (10_000, 2)).astype(np.float32)
    return Inputs(points, None, _mlp(rng, 2, 20, 20, 20, 20, 1))


def _gaussian_process(rng: Random) -> Inputs:
    points = rng.uniform(-3, 3, (600, 3))
    values = np.sin(points).sum(axis=1, keepdims=True) + rng.normal(size=(600, 1)) / 10
    scales = np.array([0.1, 0.0, -0.1, 0.3, -3.0])  # logs: of three lengths, the signal, the noise
    return Inputs(scales, (points, values))


TRAINING = [
    Workload(
        "small_mlp",
        "small MLP, 32-64-64-1, batch 16",
        lambda rng: Inputs(_normal(rng, 16, 32), _normal(rng, 16, 1), _mlp(rng, 32, 64, 64, 1)),
        "µs",
    ),
    Workload(
        "chain", "chain of 300 small ops, 16 × 32", lambda rng: Inputs(_normal(rng, 16, 32)), "µs"
    ),
    Workload(
        "large_mlp",
        "large MLP, 784-1024-1024-10, batch 256",
        lambda rng: _classifier(rng, 256, 784, 1024, 1024, 10),
        tiny=lambda rng: _classifier(rng, 2, 8, 16, 16, 10),
    ),
    Workload(
        "elementwise", "elementwise, 2,000,000 floats", lambda rng: Inputs(_normal(rng, 2_000_000))
    ),
    Workload(
        "cnn",
        "CNN, 28 × 28, 32 and 64 channels, batch 64",
        lambda rng: _cnn(rng, 64),
        # Rounding decides to which of two nearly equal pixels of a window a gradient goes.
        tolerance=1e-2,
        tiny=lambda rng: _cnn(rng, 2),
    ),
    Workload("lstm", "LSTM, 50 steps, 64-128, batch 32", _lstm),
    Workload("transformer", "transformer, 2 layers of 128, 8 × 64", _transformer, tolerance=5e-4),
    Workload("embedding", "embedding, 100,000 × 64, 1,024 ids", _embedding, "µs"),
    Workload("gaussian_process", "Gaussian process, 600 points, float64", _gaussian_process),
]
"""Steps of training: the loss and all its gradients; of the embedding, the update too."""

DERIVATIVES = [
    Workload(
        "jacobian",
        "Jacobian, 256 × 256",
        lambda rng: Inputs(
            _normal(rng, 256), None, (_scaled(rng, 256, 256), _scaled(rng, 256, 256))
        ),
    ),
    Workload(
        "batch_jacobian",
        "batch Jacobian, 64-256-64, batch 32",
        lambda rng: Inputs(
            _normal(rng, 32, 64), None, (_scaled(rng, 64, 256), _scaled(rng, 256, 64))
        ),
    ),
    Workload(
        "hessian",
        "Hessian, 300 parameters",
        lambda rng: Inputs(_normal(rng, 300) / 4, (_normal(rng, 64, 8), _normal(rng, 64, 1))),
    ),
    Workload("curves", "10,000 values, 3 parameters", _curve, "µs"),
    Workload("tall_jacobian", "their Jacobian, 10,000 × 3", _curve, "µs"),
    Workload("burgers", "Burgers' equation, 10,000 points", _burgers, tolerance=1e-3),
    Workload("burgers_nested", "the same by nested tapes", _burgers, tolerance=1e-3),
    Workload(
        "sparse_jacobian", "tridiagonal Jacobian, 20,000", lambda rng: Inputs(_normal(rng, 20_000))
    ),
]
"""Jacobians and derivatives of higher order."""

CALLS = Workload(
    "calls", "a call, 8 arrays and 8 results", lambda rng: Inputs(_normal(rng, 8, 4, 4)), "µs"
)
"""What it costs to call a compiled function."""

ADDITIONS = Workload(
    "adds",
    f"{ADDS} additions, 1024 × 1024",
    lambda rng: Inputs(_normal(rng, 1024, 1024), _normal(rng, 1024, 1024)),
    tiny=lambda rng: Inputs(_normal(rng, 2, 2), _normal(rng, 2, 2)),
)
UPDATE = Workload(
    "update",
    "update of a 256 MB variable",
    lambda _: Inputs(np.ones(64 * 2**20, np.float32)),
    tiny=lambda _: Inputs(np.ones(16, np.float32)),
)
LIMITED = Workload(
    "limited_jacobian",
    "Jacobian, 8 GB at once, limit 500 MB",
    lambda rng: Inputs(_normal(rng, 4000), _normal(rng, 250)),
    tiny=lambda rng: Inputs(_normal(rng, 8), _normal(rng, 250)),
)

TIMED = [*TRAINING, *DERIVATIVES, CALLS]
IN_MEMORY = [
    *(workload for workload in TRAINING if workload.name in ("large_mlp", "cnn")),
    ADDITIONS,
    UPDATE,
    LIMITED,
]
BY_NAME = {workload.name: workload for workload in (*TIMED, *IN_MEMORY)}
