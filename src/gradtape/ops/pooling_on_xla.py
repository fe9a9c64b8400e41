"""Pooling on XLA, by slices, comparisons and padding, which become one loop over the elements.

XLA's own windowed maximum, and above all its gradient, is several times slower than that on the
CPU.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from gradtape.ops.convolution import Shape, Windows
from gradtape.ops.convolution_on_xla import fitted, put_back, seen

_SMALL = 16  # elements of a window; slices of larger ones take longer to compile than they save


def _side_by_side(windows: Windows) -> bool:
    """Whether the windows cover the input without gaps and overlaps,
    so that they are blocks of a reshaped array.
    """
    return windows.kernel == windows.strides and set(windows.dilations) <= {1}


def _blocks(windows: Windows, counts: Shape, first: int, last: int) -> tuple[Shape, Shape]:
    """The shape with an axis of windows and one of their elements for each spatial axis,
    and which axes the latter are.
    """
    pairs = tuple(itertools.chain(*zip(counts, windows.kernel, strict=True)))
    return (first, *pairs, last), tuple(range(2, len(pairs) + 1, 2))


def _folded(xp: Any, x: Any, windows: Windows, combine: Any, reduce: Any, initial: Any) -> Any:
    counts = windows.outputs(x.shape[1:-1])
    if not math.prod(counts):
        return xp.zeros((x.shape[0], *counts, x.shape[-1]), x.dtype)
    x = fitted(xp, x, windows, initial)
    if _side_by_side(windows) and math.prod(windows.kernel) > _SMALL:
        shape, inner = _blocks(windows, counts, x.shape[0], x.shape[-1])
        return reduce(x.reshape(shape), inner)
    for axis, count in enumerate(counts):
        sizes = (*counts[:axis], count, *x.shape[axis + 2 : -1])
        x = functools.reduce(combine, seen(x, _along(windows, axis), sizes))
    return x


def _along(windows: Windows, axis: int) -> Windows:
    """The windows of one spatial axis alone, on an input that fits them."""

    def alone(sizes: Shape) -> Shape:
        return tuple([size if i == axis else 1 for i, size in enumerate(sizes)])

    padding = ((0, 0),) * len(windows.kernel)
    return Windows(alone(windows.kernel), alone(windows.strides), padding, alone(windows.dilations))


def max_pool(xp: Any, x: Any, *, windows: Windows) -> Any:
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -math.inf
    return _folded(xp, x, windows, xp.maximum, xp.max, lowest)


def _first_maximum(xp: Any, x: Any, top: Any, windows: Windows) -> Any:
    """The number of the first place of the kernel at which each window has its maximum;
    -1 if that is NaN.
    """
    found = xp.full(top.shape, -1, np.int32)
    parts = list(
        seen(
            fitted(xp, x, windows, math.nan if x.dtype.kind == "f" else 0), windows, top.shape[1:-1]
        )
    )
    for place, part in reversed(list(enumerate(parts))):
        found = xp.where(part == top, place, found)
    return found


def max_unpool(xp: Any, y: Any, x: Any, top: Any, *, windows: Windows) -> Any:
    if not top.size:
        return xp.zeros(x.shape, y.dtype)
    first, zero = _first_maximum(xp, x, top, windows), xp.zeros((), y.dtype)
    if not _side_by_side(windows):
        parts = [xp.where(first == place, y, zero) for place in range(math.prod(windows.kernel))]
        return put_back(xp, parts, windows, x.shape[1:-1])
    counts = top.shape[1:-1]
    shape, inner = _blocks(windows, counts, x.shape[0], x.shape[-1])
    numbers = np.arange(math.prod(windows.kernel), dtype=np.int32).reshape(
        [n if i in inner else 1 for i, n in enumerate(shape)]
    )
    blocks = xp.where(xp.expand_dims(first, inner) == numbers, xp.expand_dims(y, inner), zero)
    return _unfitted(
        xp,
        blocks.reshape(x.shape[0], *_covered(windows, counts), x.shape[-1]),
        windows,
        x.shape[1:-1],
    )


def _covered(windows: Windows, counts: Shape) -> Shape:
    return tuple([count * kernel for count, kernel in zip(counts, windows.kernel, strict=True)])


def _unfitted(xp: Any, x: Any, windows: Windows, sizes: Shape) -> Any:
    """The transpose of `fitted`."""
    config = [
        (-low, size + low - found, 0)
        for size, found, (low, _) in zip(sizes, x.shape[1:-1], windows.padding, strict=True)
    ]
    return xp.lax.pad(x, xp.zeros((), x.dtype), [(0, 0, 0), *config, (0, 0, 0)])


def max_pick(xp: Any, values: Any, x: Any, top: Any, *, windows: Windows) -> Any:
    if not top.size:
        return xp.zeros(top.shape, values.dtype)
    first, zero = _first_maximum(xp, x, top, windows), xp.zeros((), values.dtype)
    parts = seen(fitted(xp, values, windows, 0), windows, top.shape[1:-1])
    return sum(xp.where(first == place, part, zero) for place, part in enumerate(parts))


def avg_pool(xp: Any, x: Any, *, windows: Windows, counted: Any) -> Any:
    return _folded(xp, x, windows, xp.add, xp.sum, 0) / counted


def avg_unpool(xp: Any, y: Any, *, windows: Windows, sizes: Shape, counted: Any) -> Any:
    if not y.size:
        return xp.zeros((y.shape[0], *sizes, y.shape[-1]), y.dtype)
    y = y / counted
    counts = y.shape[1:-1]
    if _side_by_side(windows):
        shape, inner = _blocks(windows, counts, y.shape[0], y.shape[-1])
        blocks = xp.broadcast_to(xp.expand_dims(y, inner), shape)
        return _unfitted(
            xp, blocks.reshape(y.shape[0], *_covered(windows, counts), y.shape[-1]), windows, sizes
        )
    for axis, count in enumerate(counts):
        along = _along(windows, axis)
        reach = (
            (count - 1) * windows.strides[axis]
            + (windows.kernel[axis] - 1) * windows.dilations[axis]
            + 1
        )
        found = (*y.shape[1 : axis + 1], reach, *y.shape[axis + 2 : -1])
        y = put_back(xp, [y] * windows.kernel[axis], along, found)
    return _unfitted(xp, y, windows, sizes)
