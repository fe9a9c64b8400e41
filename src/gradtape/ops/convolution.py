"""Convolution over any number of spatial axes, channels last.

`conv` is one of three maps in which a convolution is linear: T(x, w, y) = <conv(x, w), y>. The
gradient of T in y, x and w is `conv`, `conv_by_input` and `conv_by_filter`, so each is the
derivative of the other two, and every order of derivative is one of them.

Shapes: x is (batch, *sizes, channels), w is (*kernel, channels / groups, filters), y is (batch,
*outputs, filters). The kernels are NumPy's own, since NumPy has no convolution: they copy windows
into the rows of a matrix, a block at a time, and leave the rest to BLAS.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradtape.ops import convolution_on_xla, jets, links
from gradtape.ops.batching import every_mapped
from gradtape.ops.declare import op
from gradtape.ops.shaping import reshape, transpose

if TYPE_CHECKING:
    from gradtape.ops.op import Op

Shape = tuple[int, ...]

BLOCK = 1 << 20
"""How many elements a block of unrolled windows has: large enough for BLAS, small enough to stay in
cache and to bound memory.
"""


class Windows(NamedTuple):
    """Where windows lie on the spatial axes, with one entry for each axis."""

    kernel: Shape
    strides: Shape
    padding: tuple[tuple[int, int], ...]
    dilations: Shape

    def outputs(self, sizes: Sequence[int]) -> Shape:
        """How many windows fit on axes of these sizes."""
        return tuple([
            max(0, (size + low + high - (kernel - 1) * dilation - 1) // stride + 1)
            for size, kernel, stride, (low, high), dilation in zip(sizes, *self, strict=True)
        ])  # fmt: skip


Overlap = tuple[slice, slice]
"""The windows whose element at one place of the kernel lies inside the input, and where in the
input those elements are.
"""


def overlaps_along(
    size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int
) -> list[Overlap]:
    """For each place of the kernel along one axis, which windows have an element of the input
    there, and which element.
    """
    (count,) = Windows((kernel,), (stride,), (padding,), (dilation,)).outputs((size,))
    found = []
    for place in range(kernel):
        start = place * dilation - padding[0]
        first = max(0, -(start // stride))
        last = min(count - 1, (size - 1 - start) // stride)
        if first > last:
            found.append((slice(0, 0), slice(0, 0)))
        else:
            found.append(
                (
                    slice(first, last + 1),
                    slice(start + first * stride, start + last * stride + 1, stride),
                )
            )
    return found


def overlaps(
    windows: Windows, sizes: Sequence[int]
) -> Iterator[tuple[Shape, tuple[slice, ...], tuple[slice, ...]]]:
    """For each place of the kernel, in row-major order: the place,
    a key for the windows and one for the input.
    """
    along = [overlaps_along(*axis) for axis in zip(sizes, *windows, strict=True)]
    every = slice(None)
    for places in itertools.product(*[enumerate(axis) for axis in along]):
        yield (
            tuple([place for place, _ in places]),
            (every, *[outer for _, (outer, _) in places]),
            (every, *[inner for _, (_, inner) in places]),
        )


def _padded(x: Any, windows: Windows) -> Any:
    if not any(itertools.chain(*windows.padding)):
        return x
    sizes = [
        low + size + high for (low, high), size in zip(windows.padding, x.shape[1:-1], strict=True)
    ]
    out = np.zeros((len(x), *sizes, x.shape[-1]), x.dtype)
    out[
        (
            slice(None),
            *[
                slice(low, low + size)
                for (low, _), size in zip(windows.padding, x.shape[1:-1], strict=True)
            ],
        )
    ] = x
    return out


def _blocks(count: int, outputs: Shape, width: int) -> Iterator[tuple[slice, slice]]:
    """Slices of the batch and of the first spatial axis that together cover all windows."""
    rows = max(1, outputs[0])
    row = max(1, math.prod(outputs[1:]) * width)
    images = max(1, BLOCK // (row * rows))
    step = rows if row * rows <= BLOCK else max(1, BLOCK // row)
    for image in range(0, count, images):
        for start in range(0, outputs[0], step):
            yield slice(image, image + images), slice(start, start + step)


def _unrolled(x: Any, windows: Windows) -> Iterator[tuple[tuple[slice, slice], Any]]:
    """Blocks of windows as matrices with one window in each row.

    A block lives until the next one is asked for.

    With many channels a window is copied in long runs. With few, the matrix is filled column by
    column, in runs along the last axis: for one channel that takes a third of the time.
    """
    outputs = windows.outputs(x.shape[1:-1])
    channels = x.shape[-1]
    width = math.prod(windows.kernel) * channels
    x = _padded(x, windows)
    steps = [stride * n for stride, n in zip(x.strides[1:-1], windows.strides, strict=True)]
    places = [stride * n for stride, n in zip(x.strides[1:-1], windows.dilations, strict=True)]
    view = as_strided(
        x,
        (len(x), *outputs, *windows.kernel, channels),
        (x.strides[0], *steps, *places, x.strides[-1]),
        writeable=False,
    )
    by_column = channels < 8 or x.strides[-1] != x.itemsize
    split = 1 + len(outputs)
    order = (*range(split, view.ndim), *range(split))
    buffer = None
    for block in _blocks(len(x), outputs, width):
        part = view[block]
        if width == channels:
            yield block, part.reshape(-1, width)
            continue
        if buffer is None:
            buffer = np.empty(part.size, x.dtype)
        part = part.transpose(order) if by_column else part
        filled = buffer[: part.size].reshape(part.shape)
        np.copyto(filled, part)
        yield block, filled.reshape(width, -1).T if by_column else filled.reshape(-1, width)


def _group(array: Any, groups: int, index: int) -> Any:
    """The channels of one group."""
    width = array.shape[-1] // groups
    return array if groups == 1 else array[..., index * width : (index + 1) * width]


def _joined(groups: Any) -> Any:
    """What products gave for groups, stacked along the first axis, side by side in the last one."""
    joined = np.moveaxis(groups, 0, -2)
    return joined.reshape(*joined.shape[:-2], joined.shape[-2] * joined.shape[-1])


def _conv(xp: Any, x: Any, w: Any, *, windows: Windows, groups: int) -> Any:
    if w.shape[-2] == 1 < groups:
        return _depthwise(x, w, windows)
    filters = w.shape[-1] // groups
    out = np.empty((groups, len(x), *windows.outputs(x.shape[1:-1]), filters), x.dtype)
    for index in range(groups):
        matrix = _group(w, groups, index).reshape(-1, filters)
        for block, unrolled in _unrolled(_group(x, groups, index), windows):
            np.matmul(unrolled, matrix, out=out[index][block].reshape(-1, filters))
    return _joined(out)


def _conv_by_input(xp: Any, w: Any, y: Any, *, windows: Windows, groups: int, sizes: Shape) -> Any:
    """One product for each place of the kernel, added where that place lies on the input: as fast
    as BLAS for all channels.
    """
    if w.shape[-2] == 1 < groups:
        return _depthwise_by_input(w, y, windows, groups, sizes)
    channels, filters = w.shape[-2], w.shape[-1] // groups
    out = np.zeros((groups, len(y), *sizes, channels), y.dtype)
    images = max(1, BLOCK // max(1, math.prod(y.shape[1:-1]) * max(channels, filters)))
    for index, start in itertools.product(range(groups), range(0, len(y), images)):
        part = _group(y[start : start + images], groups, index)
        rows = part.reshape(-1, filters)
        target = out[index, start : start + images]
        matrices = _group(w, groups, index)
        for place, outer, inner in overlaps(windows, sizes):
            target[inner] += (rows @ matrices[place].T).reshape(*part.shape[:-1], channels)[outer]
    return _joined(out)


def _conv_by_filter(xp: Any, x: Any, y: Any, *, windows: Windows, groups: int) -> Any:
    channels, filters = x.shape[-1] // groups, y.shape[-1] // groups
    if channels == 1 < groups:
        return _depthwise_by_filter(x, y, windows)
    out = np.zeros((groups, math.prod(windows.kernel) * channels, filters), x.dtype)
    for index in range(groups):
        part = _group(y, groups, index)
        for block, unrolled in _unrolled(_group(x, groups, index), windows):
            out[index] += unrolled.T @ part[block].reshape(-1, filters)
    return _joined(out.reshape(groups, *windows.kernel, channels, filters))


# With one channel in each group there is nothing for BLAS to do: products of whole arrays take half
# the time. Each channel is repeated for its filters, so that channel and filter go in pairs.


def _depthwise(x: Any, w: Any, windows: Windows) -> Any:
    sizes = x.shape[1:-1]
    x = _repeated(x, w.shape[-1] // x.shape[-1])
    out = np.zeros((len(x), *windows.outputs(sizes), w.shape[-1]), x.dtype)
    _add_products(out, x, w, [(place, o, i) for place, o, i in overlaps(windows, sizes)])
    return out


def _add_products(out: Any, x: Any, w: Any, pairs: list[tuple[Any, Any, Any]]) -> None:
    """Adds each place of the window times a part of `x` to a part of `out`, for a few examples at a
    time, which stay in the cache.

    The filter is repeated along the last of the lengths, so that NumPy multiplies long rows.
    """
    rows = [np.tile(w[place][0], (out[outer].shape[-2], 1)) for place, outer, _ in pairs]
    step = max(1, _IN_CACHE // max(1, out[:1].size))
    for begin in range(0, len(x), step):
        some, into = x[begin : begin + step], out[begin : begin + step]
        for row, (_, outer, inner) in zip(rows, pairs, strict=True):
            part = into[outer]
            part += some[inner] * row


def _depthwise_by_input(w: Any, y: Any, windows: Windows, groups: int, sizes: Shape) -> Any:
    out = np.zeros((len(y), *sizes, w.shape[-1]), y.dtype)
    _add_products(out, y, w, [(place, i, o) for place, o, i in overlaps(windows, sizes)])
    times = w.shape[-1] // groups
    return out if times == 1 else np.sum([out[..., i::times] for i in range(times)], axis=0)


def _depthwise_by_filter(x: Any, y: Any, windows: Windows) -> Any:
    sizes = x.shape[1:-1]
    x = _repeated(x, y.shape[-1] // x.shape[-1])
    out = np.empty((*windows.kernel, 1, y.shape[-1]), x.dtype)
    axes = list(range(x.ndim - 1))
    for place, outer, inner in overlaps(windows, sizes):
        # Length and channels as one axis: rows that are long enough for vectors.
        some, other = (
            part.reshape(*part.shape[:-2], part.shape[-2] * part.shape[-1])
            for part in (x[inner], y[outer])
        )
        sums = np.einsum(some, axes, other, axes, axes[-1:])
        out[place] = sums.reshape(-1, y.shape[-1]).sum(0)
    return out


_IN_CACHE = 2**16  # elements of the examples that are computed together


def _repeated(x: Any, times: int) -> Any:
    return x if times == 1 else np.repeat(x, times, axis=-1)


def _into_channels(x: Any) -> Any:
    """A batch of examples side by side in the last axis."""
    shape, last = x.array.shape, x.ndim - 1
    moved = transpose(x, perm=(*range(1, last), 0, last))
    return reshape(moved, shape=(*shape[1:-1], shape[0] * shape[-1]))


def _out_of_channels(x: Any, size: int) -> Any:
    """The inverse of `_into_channels`."""
    shape, last = x.array.shape, x.ndim
    apart = reshape(x, shape=(*shape[:-1], size, shape[-1] // size))
    return transpose(apart, perm=(last - 1, *range(last - 1), last))


def _batched(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """Examples that share a filter are a larger batch;
    those with filters of their own are groups of channels.
    """
    filters = {"conv": 1, "conv_by_input": 0}.get(op.name)
    if filters is not None and not mapped[filters]:
        images = args[1 - filters]
        shape = images.array.shape
        joined = reshape(images, shape=(shape[0] * shape[1], *shape[2:]))
        out = op.call(*[args[0], joined] if filters == 0 else [joined, args[1]], **params)
        return reshape(out, shape=(shape[0], shape[1], *out.array.shape[1:]))
    together = [_into_channels(arg) for arg in every_mapped(size, args, mapped)]
    out = op.call(*together, **{**params, "groups": params["groups"] * size})
    return _out_of_channels(out, size)


def window_pattern(windows: Windows, sizes: Shape, before: int, after: int) -> links.Pattern:
    """Windows linked with the elements of the spatial axes that they cover."""
    counts = windows.outputs(sizes)
    numbers, elements = (np.arange(math.prod(n)).reshape(n) for n in (counts, sizes))
    places = [
        (numbers[outer[1:]].ravel(), elements[inner[1:]].ravel())
        for _, outer, inner in overlaps(windows, sizes)
    ]
    outputs, inputs = (np.concatenate(part) for part in zip(*places, strict=True))
    return links.along(outputs, inputs, (numbers.size, elements.size), before, after)


def _conv_links(call: links.LinkedCall, index: int) -> links.Link:
    """By the input: a window's elements with the channels of one group.

    By the filter: all that lead to one output channel.
    """
    batch, *counts, filters = call.shape
    if index == 1:
        *kernel, channels, _ = call.inputs[1]
        return links.aligned(
            (batch * math.prod(counts), filters),
            "xf",
            (math.prod(kernel) * channels, filters),
            "kf",
        )
    groups = call.params["groups"]
    _, *sizes, channels = call.inputs[0]
    united = links.aligned(
        (batch * math.prod(sizes), groups),
        "xg",
        (batch * math.prod(sizes), groups, channels // groups),
        "xgc",
    )
    spread = links.aligned(
        (batch * math.prod(counts), groups, filters // groups),
        "xgf",
        (batch * math.prod(counts), groups),
        "xg",
    )
    return links.Link(
        *united.matrices,
        window_pattern(call.params["windows"], tuple(sizes), batch, groups),
        *spread.matrices,
    )


def _conv_by_input_links(call: links.LinkedCall, index: int) -> links.Link | None:
    """By the filter: all that lead to one input channel."""
    if index == 1:
        return None
    groups = call.params["groups"]
    *kernel, channels, filters = call.inputs[0]
    shape = (math.prod(call.shape[:-1]), groups, channels)
    return links.aligned(
        shape, "xgc", (math.prod(kernel), channels, groups, filters // groups), "kcgf"
    )


def _work(size: int, filters: int, channels: int, groups: int) -> int:
    """The channels of each group meet the filters of that group: one alone without BLAS."""
    return 0 if channels == 1 < groups else size * filters // groups


conv = op(
    "conv",
    _conv,
    [
        lambda g, w, x_shape, windows, groups: conv_by_input(
            w, g, windows=windows, groups=groups, sizes=x_shape[1:-1]
        ),
        lambda g, x, windows, groups: conv_by_filter(x, g, windows=windows, groups=groups),
    ],
    batch=_batched,
    native=True,
    xla=convolution_on_xla.conv,
    work=lambda x, w, groups, **_: _work(x.size, w.shape[-1], w.shape[-2], groups),
    jet=jets.bilinear,
    links=_conv_links,
)
conv_by_input = op(
    "conv_by_input",
    _conv_by_input,
    [
        lambda g, y, windows, groups: conv_by_filter(g, y, windows=windows, groups=groups),
        lambda g, w, windows, groups: conv(g, w, windows=windows, groups=groups),
    ],
    batch=_batched,
    native=True,
    xla=convolution_on_xla.conv_by_input,
    work=lambda w, y, groups, **_: _work(y.size, w.shape[-2], w.shape[-2], groups),
    jet=jets.bilinear,
    links=_conv_by_input_links,
)
conv_by_filter = op(
    "conv_by_filter",
    _conv_by_filter,
    [
        lambda g, y, x_shape, windows, groups: conv_by_input(
            g, y, windows=windows, groups=groups, sizes=x_shape[1:-1]
        ),
        lambda g, x, windows, groups: conv(x, g, windows=windows, groups=groups),
    ],
    batch=_batched,
    native=True,
    xla=convolution_on_xla.conv_by_filter,
    work=lambda x, y, groups, **_: _work(x.size, y.shape[-1], x.shape[-1] // groups, groups),
    jet=jets.bilinear,
)
