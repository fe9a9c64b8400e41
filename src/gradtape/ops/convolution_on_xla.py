"""Convolution on XLA: its own where there is an accelerator, products of matrices on the CPU.

XLA's own convolution is slow on the CPU by the filter and by the input. There the windows are unrolled into the rows of a matrix, as
on NumPy, but by slices of the whole input: XLA bounds its own memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradtape.ops.convolution import Shape, Windows


def _has_own_convolutions(xp: Any) -> bool:
    """Whether the device that programs are compiled for computes convolutions, and their gradients, at full speed."""
    return xp.jax.default_backend() != "cpu"


# Windows as slices


def fitted(xp: Any, x: Any, windows: Windows, value: Any) -> Any:
    """`x` with just as much padding, or none and cut off, as the windows reach over."""
    config = [(0, 0, 0)]
    for size, count, kernel, stride, (low, _), dilation in zip(
        x.shape[1:-1], windows.outputs(x.shape[1:-1]), *windows, strict=True
    ):
        config.append((low, (count - 1) * stride + (kernel - 1) * dilation + 1 - low - size, 0))
    return xp.lax.pad(x, xp.asarray(value, x.dtype), [*config, (0, 0, 0)])


def seen(x: Any, windows: Windows, counts: Shape) -> Iterator[Any]:
    """For each place of the kernel, in row-major order, what all windows of a fitted input have there."""
    for places in itertools.product(*map(range, windows.kernel)):
        starts = [place * dilation for place, dilation in zip(places, windows.dilations, strict=True)]
        yield x[
            (
                slice(None),
                *[
                    slice(start, start + (count - 1) * stride + 1, stride)
                    for start, count, stride in zip(starts, counts, windows.strides, strict=True)
                ],
            )
        ]


def put_back(xp: Any, parts: Sequence[Any], windows: Windows, sizes: Sequence[int]) -> Any:
    """The transpose of `seen` and `fitted`: one part for each place of the kernel, added up where the input is."""
    total = None
    for places, part in zip(itertools.product(*map(range, windows.kernel)), parts, strict=True):
        config = [(0, 0, 0)]
        for place, size, count, stride, (low, _), dilation in zip(places, sizes, part.shape[1:-1], *windows[1:], strict=True):
            start = place * dilation - low
            config.append((start, size - start - (count - 1) * stride - 1, stride - 1))
        placed = xp.lax.pad(part, xp.zeros((), part.dtype), [*config, (0, 0, 0)])
        total = placed if total is None else total + placed
    return total


# XLA's own convolution and its transposes


def _own(xp: Any, x: Any, w: Any, windows: Windows, groups: int) -> Any:
    axes = "".join(chr(ord("0") + i) for i in range(len(windows.kernel)))
    return xp.lax.conv_general_dilated(
        x,
        w,
        windows.strides,
        windows.padding,
        rhs_dilation=windows.dilations,
        dimension_numbers=(f"N{axes}C", f"{axes}IO", f"N{axes}C"),
        feature_group_count=groups,
    )


def _transposed(xp: Any, linear: Any, shape: Shape, y: Any) -> Any:
    """The transpose of a linear function of an array of some shape, which JAX derives."""
    (found,) = xp.jax.linear_transpose(linear, xp.jax.ShapeDtypeStruct(shape, y.dtype))(y)
    return found


# Products of matrices


def _unrolled(xp: Any, x: Any, windows: Windows) -> Any:
    """One window in each row of the last axis."""
    return xp.concatenate(list(seen(fitted(xp, x, windows, 0), windows, windows.outputs(x.shape[1:-1]))), axis=-1)


def conv(xp: Any, x: Any, w: Any, *, windows: Windows, groups: int) -> Any:
    counts = windows.outputs(x.shape[1:-1])
    if not math.prod(counts):
        return xp.zeros((x.shape[0], *counts, w.shape[-1]), x.dtype)
    if _has_own_convolutions(xp) or groups > 1:
        return _own(xp, x, w, windows, groups)
    return _unrolled(xp, x, windows) @ w.reshape(-1, w.shape[-1])


def conv_by_input(xp: Any, w: Any, y: Any, *, windows: Windows, groups: int, sizes: Shape) -> Any:
    shape = (y.shape[0], *sizes, w.shape[-2] * groups)
    if not y.size:
        return xp.zeros(shape, y.dtype)
    if _has_own_convolutions(xp) or groups > 1:
        return _transposed(xp, lambda x: _own(xp, x, w, windows, groups), shape, y)
    matrices = w.reshape(-1, *w.shape[-2:])
    return put_back(xp, [y @ matrix.T for matrix in matrices], windows, sizes)


def conv_by_filter(xp: Any, x: Any, y: Any, *, windows: Windows, groups: int) -> Any:
    shape = (*windows.kernel, x.shape[-1] // groups, y.shape[-1])
    if not y.size or not x.size:
        return xp.zeros(shape, y.dtype)
    if _has_own_convolutions(xp) or groups > 1:
        return _transposed(xp, lambda w: _own(xp, x, w, windows, groups), shape, y)
    every = tuple(range(y.ndim - 1))
    return xp.lax.dot_general(_unrolled(xp, x, windows), y, ((every, every), ((), ()))).reshape(shape)
