"""Pooling of `tf.nn` over windows of varying size, so that an image can shrink by a factor that is
not an integer.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import REAL, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_int
from gradtape.api.tensorflow.random.sequence import source
from gradtape.core.tensor import Tensor
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.trace import inside_a_program
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic
from gradtape.ops.indexing import take
from gradtape.ops.resampling import Taps, resample
from gradtape.published import published


@published("nn.fractional_max_pool")
def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest element of each window, and where windows begin along the rows and the columns.

    Windows are about `pooling_ratio` pixels high and wide, in a random order, or a smoother
    pseudo-random one. With `overlapping`, the border between two windows belongs to both. A `seed`
    other than 0 makes the order reproducible.

    >>> import gradtape as tf
    >>> image = tf.reshape([[1.0, 2.0], [3.0, 4.0]], [1, 2, 2, 1])
    >>> pooled, rows, columns = tf.nn.fractional_max_pool(image, pooling_ratio=2.0)
    >>> pooled.numpy().tolist(), rows.numpy()
    ([[[[4.0]]]], array([0, 2]))
    """
    x, borders = _borders("fractional_max_pool", value, pooling_ratio, pseudo_random, seed)
    for axis, border in enumerate(borders, start=1):
        index = _members(border, overlapping, x.array.shape[axis])[0]
        best = take(x, index[:, 0], axis=axis, sparse=False)
        for k in range(1, index.shape[1]):
            best = arithmetic.maximum(best, take(x, index[:, k], axis=axis, sparse=False))
        x = best
    return (x, *[Tensor(border) for border in borders])  # type: ignore[return-value]


@published("nn.fractional_avg_pool")
def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The mean of each window of `fractional_max_pool`,
    and where windows begin along the rows and the columns.

    >>> import gradtape as tf
    >>> image = tf.reshape([[1.0, 2.0], [3.0, 4.0]], [1, 2, 2, 1])
    >>> tf.nn.fractional_avg_pool(image, pooling_ratio=2.0)[0].numpy().tolist()
    [[[[2.5]]]]
    """
    x, borders = _borders("fractional_avg_pool", value, pooling_ratio, pseudo_random, seed)
    for axis, border in enumerate(borders, start=1):
        size = x.array.shape[axis]
        index, inside = _members(border, overlapping, size)
        x = resample(
            x, taps=Taps(index, inside / inside.sum(axis=1, keepdims=True), size), axis=axis
        )
    return (x, *[Tensor(border) for border in borders])  # type: ignore[return-value]


def _borders(
    function: str, value: Any, pooling_ratio: Any, pseudo_random: bool, seed: Any
) -> tuple[Tensor, list[Any]]:
    """The images, and for rows and columns where each window begins,
    with the end of the last one behind them.
    """
    x = of_kind(value, REAL, function, "value")
    if x.ndim != 4:
        raise invalid_argument(f"{function}: value must have 4 dimensions, got shape {x.shape}.")
    given = [
        float(r)
        for r in (pooling_ratio if isinstance(pooling_ratio, (list, tuple)) else [pooling_ratio])
    ]
    ratios = {1: given * 2, 2: given, 4: given[1:3]}.get(len(given))
    if ratios is None or (len(given) == 4 and (given[0] != 1 or given[3] != 1)):
        raise ValueError(
            f"{function}: pooling_ratio must be a number or [1.0, height, width, 1.0], got "
            f"{pooling_ratio!r}."
        )
    if min(ratios) < 1:
        raise ValueError(f"{function}: pooling_ratio must be at least 1, got {pooling_ratio!r}.")
    if inside_a_program():
        raise BeyondXlaError(
            f"{function}: the random windows would be the same in every call of a "
            "gradtape.function, since they are drawn while it is traced: call it outside the "
            "function."
        )
    number = as_int(seed, f"{function}: seed")
    rng = source(function, number or None).rng
    spaced = _pseudo_random_borders if pseudo_random else _random_borders
    found = []
    for size, ratio in zip(x.array.shape[1:3], ratios, strict=True):
        count = math.floor(size / ratio)
        if not count:
            raise invalid_argument(
                f"{function}: an axis of {size} pixels is too short for a pooling_ratio of {ratio}."
            )
        found.append(spaced(rng, size, count))
    return x, found


def _random_borders(rng: Any, size: int, count: int) -> Any:
    """Windows of the two sizes nearest to the ratio, shuffled."""
    widths = np.full(count, size // count, np.int64)
    widths[: size % count] += 1
    return np.concatenate([[0], np.cumsum(rng.permutation(widths))])


def _pseudo_random_borders(rng: Any, size: int, count: int) -> Any:
    """Evenly spaced windows from a random start, rounded up to pixels."""
    step = size / count
    whole = size // count
    if size % count == 0:
        return np.arange(count + 1, dtype=np.int64) * whole
    most = min((whole + 2) / step - 1, (size + 1 - whole) / step - (count - 1))
    borders = np.ceil(step * (np.arange(count + 1) + rng.random() * most)).astype(np.int64) - 1
    borders[0], borders[-1] = 0, size
    return borders


def _members(borders: Any, overlapping: bool, size: int) -> tuple[Any, Any]:
    """For each window, its elements as a row filled up with the last,
    and which of them are not filling.
    """
    lengths = np.diff(borders) + bool(overlapping)
    lengths[-1] = min(lengths[-1], size - borders[-2])
    steps = np.arange(lengths.max())
    index = borders[:-1, None] + np.minimum(steps, lengths[:, None] - 1)
    return index, steps < lengths[:, None]
