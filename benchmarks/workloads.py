"""The workloads: what is computed, and its inputs as NumPy arrays. `libraries/` writes each of them in every library."""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Inputs:
    """What a workload starts from. Gradients are those of all `weights`, or of `x` if there are none; Jacobians are by `x`."""

    x: Any
    y: Any = None
    weights: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Workload:
    name: str  # of the function that a library's module has for it
    title: str
    inputs: Inputs
    tolerance: float = 1e-4  # of the largest gradient, for the check that libraries agree


def _mlp(rng: np.random.Generator, *sizes: int) -> tuple[Any, ...]:
    """A matrix and a bias for each layer."""
    weights = []
    for fan_in, fan_out in pairwise(sizes):
        weights.append((rng.standard_normal((fan_in, fan_out)) / np.sqrt(fan_in)).astype(np.float32))
        weights.append((0.1 * rng.standard_normal(fan_out)).astype(np.float32))
    return tuple(weights)


def timed() -> list[Workload]:
    """The workloads whose time is taken."""
    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    labels = rng.integers(0, 10, size=256).astype(np.int32)
    return [
        Workload("small_mlp", "small MLP, 32-64-64-1, batch 16", Inputs(normal(16, 32), normal(16, 1), _mlp(rng, 32, 64, 64, 1))),
        Workload("chain", "chain of 300 elementwise ops, 16 × 32", Inputs(normal(16, 32))),
        Workload(
            "large_mlp",
            "large MLP, 784-1024-1024-10, batch 256",
            Inputs(normal(256, 784), labels, _mlp(rng, 784, 1024, 1024, 10)),
        ),
    ]


def measured_in_memory() -> Workload:
    """The workload whose memory is measured: to an array of 4 MB another is added 50 times."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1024, 1024)).astype(np.float32)
    return Workload("adds", f"memory of {ADDS} additions, 1024 × 1024", Inputs(x, y))


def of_derivatives() -> list[Workload]:
    """Jacobians and derivatives of higher order. Not every library has all of them."""
    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    scaled = lambda fan_in, fan_out: normal(fan_in, fan_out) / np.float32(np.sqrt(fan_in))
    rates, times = np.array([1.0, 0.5, 0.3], np.float32), np.linspace(0, 5, 10_000, dtype=np.float32)
    points = rng.uniform(-1, 1, (10_000, 2)).astype(np.float32)
    network = _mlp(rng, 2, 20, 20, 20, 20, 1)
    return [
        Workload(
            "jacobian",
            "Jacobian, 256 × 256, of a 256-256-256 network",
            Inputs(normal(256), None, (scaled(256, 256), scaled(256, 256))),
        ),
        Workload(
            "batch_jacobian",
            "batch Jacobian, 64-256-64 network, batch 32",
            Inputs(normal(32, 64), None, (scaled(64, 256), scaled(256, 64))),
        ),
        Workload("hessian", "Hessian, 300 parameters, batch 64", Inputs(normal(300) / 4, (normal(64, 8), normal(64, 1)))),
        Workload("curves", "10,000 values of a function of 3 parameters", Inputs(rates, times)),
        Workload("tall_jacobian", "Jacobian of these values, 10,000 × 3", Inputs(rates, times)),
        Workload("burgers", "Burgers' equation, 10,000 points: loss and gradients", Inputs(points, None, network)),
        Workload("burgers_nested", "the same with nested tapes", Inputs(points, None, network)),
        Workload("sparse_jacobian", "tridiagonal Jacobian, 20,000 × 20,000", Inputs(normal(20_000))),
    ]


def limited_in_memory() -> Workload:
    """A Jacobian of 2,000 by 4,000 elements, over a million in between: 8 GB for all cotangents at once."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(4000).astype(np.float32), rng.standard_normal(250).astype(np.float32)
    return Workload("limited_jacobian", "memory of a Jacobian, 8 GB if done at once, limit 500 MB", Inputs(x, y))


def compiled() -> list[Workload]:
    """What is compared compiled: the cost of a call, and gradient steps."""
    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    scaled = lambda *shape: normal(*shape) / np.float32(np.sqrt(np.prod(shape[:-1])))
    labels = rng.integers(0, 10, size=64).astype(np.int32)
    small, _, large = timed()
    width, layers, hidden = 128, 2, 128
    blocks = [
        part
        for _ in range(layers)
        for part in (
            *(np.ones(width, np.float32), np.zeros(width, np.float32), scaled(width, 3 * width), scaled(width, width)),
            *(np.ones(width, np.float32), np.zeros(width, np.float32), scaled(width, 4 * width), scaled(4 * width, width)),
        )
    ]
    cells = (scaled(64, 4 * hidden), scaled(hidden, 4 * hidden), normal(4 * hidden) / 10)
    filters = (
        scaled(3, 3, 1, 32),
        normal(32) / 10,
        scaled(3, 3, 32, 64),
        normal(64) / 10,
        scaled(7 * 7 * 64, 10),
        normal(10) / 10,
    )
    return [
        Workload("calls", "a call with 8 arrays and 8 results, 4 × 4", Inputs(normal(8, 4, 4))),
        small,
        large,
        Workload("elementwise", "tanh, sigmoid, exp, sqrt, sum of 2,000,000", Inputs(normal(2_000_000))),
        Workload("lstm", "LSTM, 50 steps, 64-128, batch 32", Inputs(normal(50, 32, 64), normal(50, 32, hidden), cells)),
        Workload(
            "transformer",
            "transformer, 2 layers of 128, batch 8, length 64",
            Inputs(normal(8, 64, width), normal(8, 64, width), tuple(blocks)),
        ),
        Workload(
            "cnn",
            "CNN, 28 × 28, 3 × 3 to 32 and 64 channels, batch 64",
            Inputs(normal(64, 28, 28, 1), labels, filters),
            tolerance=1e-2,  # rounding decides to which of two nearly equal pixels of a window a gradient goes
        ),
    ]


def updated() -> Workload:
    """The step whose memory is measured in a process of its own: a Variable of 256 MB from which a part of itself is taken."""
    return Workload("update", "memory of a variable of 256 MB and its update", Inputs(np.ones(64 * 2**20, np.float32)))
