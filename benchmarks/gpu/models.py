"""The two networks: sizes, first parameters and data, the same for every library."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LAYERS, WIDTH, HEADS, BATCH, LENGTH = 12, 768, 12, 16, 512
STAGES, BLOCKS, IMAGES, SIDE, CLASSES = (64, 128, 256), 3, 128, 32, 10
RATE = 0.01


@dataclass(frozen=True)
class Task:
    """Named parameters, and the inputs of one step."""

    parameters: dict[str, np.ndarray]
    inputs: tuple[np.ndarray, ...]


def transformer(scale: float = 1.0) -> Task:
    rng = np.random.default_rng(0)
    layers = max(1, int(LAYERS * scale))
    parameters = {}
    for layer in range(layers):
        for name, shape in {
            "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH),
            "down": (4 * WIDTH, WIDTH)
        }.items():  # fmt: skip
            parameters[f"{layer}.{name}"] = rng.normal(0, shape[0] ** -0.5, shape).astype(
                np.float32
            )
        for name in ("scale1", "scale2"):
            parameters[f"{layer}.{name}"] = np.ones(WIDTH, np.float32)
        for name in ("shift1", "shift2"):
            parameters[f"{layer}.{name}"] = np.zeros(WIDTH, np.float32)
    batch = max(1, int(BATCH * scale))
    x, y = (rng.normal(size=(batch, LENGTH, WIDTH)).astype(np.float32) for _ in range(2))
    return Task(parameters, (x, y))


def residual(scale: float = 1.0) -> Task:
    rng = np.random.default_rng(0)
    parameters = {"stem": _kernel(rng, 3, 3, STAGES[0])}
    channels = STAGES[0]
    for stage, width in enumerate(STAGES):
        for block in range(BLOCKS):
            name = f"{stage}.{block}"
            parameters[f"{name}.first"] = _kernel(rng, 3, channels, width)
            parameters[f"{name}.second"] = _kernel(rng, 3, width, width)
            if channels != width:
                parameters[f"{name}.short"] = _kernel(rng, 1, channels, width)
            for part, size in (("1", channels), ("2", width)):
                parameters[f"{name}.scale{part}"] = np.ones(size, np.float32)
                parameters[f"{name}.shift{part}"] = np.zeros(size, np.float32)
            channels = width
    parameters["head"] = rng.normal(0, channels**-0.5, (channels, CLASSES)).astype(np.float32)
    images = max(2, int(IMAGES * scale))
    x = rng.normal(size=(images, SIDE, SIDE, 3)).astype(np.float32)
    return Task(parameters, (x, rng.integers(0, CLASSES, images).astype(np.int32)))


def _kernel(rng: np.random.Generator, size: int, channels: int, filters: int) -> np.ndarray:
    deviation = (2 / (size * size * channels)) ** 0.5
    return rng.normal(0, deviation, (size, size, channels, filters)).astype(np.float32)
