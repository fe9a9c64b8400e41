"""The workloads: what is computed, and its inputs as NumPy arrays. `libraries/` writes each of them in every library."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

CHAIN_LENGTH = 100  # links of three ops: multiply, add, tanh
CHAIN_FACTOR = 1.01
CHAIN_SUMMAND = 0.1
ADDS = 50


@dataclass(frozen=True)
class Inputs:
    """What a workload starts from. The gradients are those of all `weights`, or of `x` if there are none."""

    x: Any
    y: Any = None
    weights: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Workload:
    name: str  # of the function that a library's module has for it
    title: str
    inputs: Inputs


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
