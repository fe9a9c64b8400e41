"""Convolution on XLA: its own, or matrix products where its own is slow on the CPU.

It is slow for few filters, for the derivative with respect to the input of a convolution with
strides or few channels, and for that with respect to the filter for a single image or small
windows: products take half to a tenth of the time, and so does a convolution without strides for
each phase of the input of one with strides. There the windows are unrolled into the rows of
a matrix, as on NumPy, but by slices of the whole input (XLA bounds its own memory); or each
position of the kernel has its columns in one product, and the results are added up. Windows of one
element need no unrolling, and for small windows the sum is written out; the derivative with respect
to the filter is computed with filters and channels exchanged where there are fewer filters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gradtape.ops.convolution import Shape, Windows


_FEW_ELEMENTS = 36  # of a window, in all its channels
_FEW_COLUMNS = 64  # of a product with a column for each filter at each place of the kernel


def _few(windows: Windows, found: int, given: int) -> bool:
    """Whether a convolution finds so few channels, in those that are given, that products with all
    places of the kernel at once pay.
    """
    return (
        found < given
        and math.prod(windows.kernel) * found <= _FEW_COLUMNS
        and set(windows.strides) == {1}
    )


def _reach_beyond(windows: Windows, sizes: Sequence[int]) -> bool:
    """Whether the kernel is longer than the input along an axis. XLA's own convolution then leaves
    its library for a loop over single elements: 3 x 3 over 2 x 2 with 512 channels and as many
    filters, 8 images, took 42 ms and its derivative by the input 200, the products 4 and 12.
    """
    return any(
        (kernel - 1) * dilation >= size
        for size, kernel, dilation in zip(sizes, windows.kernel, windows.dilations, strict=True)
    )


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
    """For each place of the kernel, in row-major order,
    what all windows of a fitted input have there.
    """
    for places in itertools.product(*map(range, windows.kernel)):
        starts = [
            place * dilation for place, dilation in zip(places, windows.dilations, strict=True)
        ]
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
    """The transpose of `seen` and `fitted`: one part for each place of the kernel,
    added up where the input is.
    """
    total: Any = None
    for places, part in zip(itertools.product(*map(range, windows.kernel)), parts, strict=True):
        config = [(0, 0, 0)]
        for place, size, count, stride, (low, _), dilation in zip(
            places, sizes, part.shape[1:-1], *windows[1:], strict=True
        ):
            start = place * dilation - low
            config.append((start, size - start - (count - 1) * stride - 1, stride - 1))
        placed = xp.lax.pad(_wide(part), xp.zeros((), _wide(part).dtype), [*config, (0, 0, 0)])
        total = placed if total is None else total + placed
    return total.astype(parts[0].dtype)


def _wide(x: Any) -> Any:
    """Numbers to be added up: half precision in single."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


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
    return xp.concatenate(
        list(seen(fitted(xp, x, windows, 0), windows, windows.outputs(x.shape[1:-1]))), axis=-1
    )


def _sum_of_elements(xp: Any, x: Any, w: Any, windows: Windows) -> Any:
    """The convolution with windows of few elements: a loop over the outputs,
    with that sum written out.
    """
    parts = seen(fitted(xp, _wide(x), windows, 0), windows, windows.outputs(x.shape[1:-1]))
    rows = _wide(w).reshape(-1, *w.shape[-2:])
    terms = [
        part[..., c : c + 1] * row[c]
        for part, row in zip(parts, rows, strict=True)
        for c in range(x.shape[-1])
    ]
    total = sum(terms[1:], terms[0]).astype(x.dtype)
    return xp.lax.optimization_barrier(total)  # or XLA would compute it again wherever it is used


def _by_few_elements(xp: Any, x: Any, y: Any, windows: Windows) -> Any:
    """The derivative by the filter, with a row of the matrix for each element of a window:
    copied in long runs.
    """
    parts = seen(fitted(xp, x, windows, 0), windows, y.shape[1:-1])
    rows = xp.stack([part[..., c].reshape(-1) for part in parts for c in range(x.shape[-1])])
    return rows @ y.reshape(-1, y.shape[-1])


def _sum_of_places(xp: Any, x: Any, w: Any, windows: Windows) -> Any:
    """The convolution with few filters: all products of an element first, then their sums."""
    filters, counts = w.shape[-1], windows.outputs(x.shape[1:-1])
    products = _wide(x) @ xp.moveaxis(_wide(w), -2, 0).reshape(x.shape[-1], -1)
    places = seen(fitted(xp, products, windows, 0), windows, counts)
    total = sum(part[..., i * filters : (i + 1) * filters] for i, part in enumerate(places))
    return xp.lax.optimization_barrier(total.astype(x.dtype))


def _products_put_back(xp: Any, w: Any, y: Any, windows: Windows, sizes: Shape) -> Any:
    """The derivative by the input: the products of an output with the filters at each place,
    added up where the window was.
    """
    channels = w.shape[-2]
    if math.prod(windows.kernel) * channels > _FEW_COLUMNS:
        return put_back(
            xp, [y @ matrix.T for matrix in w.reshape(-1, *w.shape[-2:])], windows, sizes
        )
    products = _wide(y) @ _wide(w).reshape(-1, w.shape[-1]).T
    parts = [products[..., i : i + channels] for i in range(0, products.shape[-1], channels)]
    return put_back(xp, parts, windows, sizes).astype(y.dtype)


# Phases: of the elements of an axis, those whose number leaves the same rest when it is divided by
# the stride. Each meets the same places of the kernel in each window, so that the derivative by one
# phase of the input is a convolution without strides.


def _by_phases(xp: Any, w: Any, y: Any, windows: Windows, sizes: Shape, *phases: int) -> Any:
    """The derivative by the input of a convolution with strides: by each phase along each axis,
    side by side, or, where `phases` names some, by that along the first axes.

    Put back instead, the product for each place of the kernel was written over the whole input: a
    training step of an autoencoder for 28 x 28, with three such derivatives, took 113 ms, not 37.
    """
    axis = len(phases)
    if axis == len(sizes):
        return _by_phase(xp, w, y, windows, sizes, phases)
    parts = [
        _by_phases(xp, w, y, windows, sizes, *phases, phase)
        for phase in range(windows.strides[axis])
    ]
    shape = parts[0].shape
    together = xp.stack(parts, axis=axis + 2).reshape(
        *shape[: axis + 1], shape[axis + 1] * len(parts), *shape[axis + 2 :]
    )
    return xp.lax.slice_in_dim(together, 0, sizes[axis], axis=axis + 1)


def _by_phase(
    xp: Any, w: Any, y: Any, windows: Windows, sizes: Shape, phases: tuple[int, ...]
) -> Any:
    kept, axes, cut = [], [], [(0, 0, 0)]
    for phase, size, count, kernel, stride, (low, _), dilation in zip(
        phases, sizes, y.shape[1:-1], *windows, strict=True
    ):
        places = [k for k in range(kernel) if (phase + low - k * dilation) % stride == 0]
        elements = -(-size // stride)
        if not places:  # the windows step over it
            shape = [-(-n // step) for n, step in zip(sizes, windows.strides, strict=True)]
            return xp.zeros((len(y), *shape, w.shape[-2]), y.dtype)
        apart = dilation // math.gcd(stride, dilation)
        before = (places[-1] * dilation - phase - low) // stride
        after = elements - count - before + (len(places) - 1) * apart
        kept.append(slice(places[0], None, stride // math.gcd(stride, dilation)))
        axes.append((len(places), 1, (max(0, before), max(0, after)), apart))
        cut.append((min(0, before), min(0, after), 0))
    cut.append((0, 0, 0))
    if any(low or high for low, high, _ in cut):
        y = xp.lax.pad(y, xp.zeros((), y.dtype), cut)
    turned = type(windows)(*zip(*axes, strict=True))
    return conv(xp, y, _reflected(xp, w[tuple(kept)]), windows=turned, groups=1)


def _reflected(xp: Any, w: Any) -> Any:
    """The filter of the transpose of a convolution without strides."""
    return xp.flip(w, tuple(range(w.ndim - 2))).swapaxes(-1, -2)


def _by_filter_turned(xp: Any, x: Any, y: Any, windows: Windows) -> Any:
    """The derivative by the filter with the roles of x and y exchanged, which suits fewer filters
    than channels: without strides.
    """
    padding = tuple(
        [
            (k - 1 - low, k - 1 - high)
            for k, (low, high) in zip(windows.kernel, windows.padding, strict=True)
        ]
    )
    ones = (1,) * len(windows.kernel)
    turned = windows._replace(kernel=x.shape[1:-1], strides=ones, padding=padding, dilations=ones)
    found = _own(xp, xp.moveaxis(y, (-1, 0), (0, -1)), xp.moveaxis(x, 0, -2), turned, 1)
    return xp.moveaxis(xp.flip(found, tuple(range(1, x.ndim - 1))), 0, -1)


# Groups of channels, which XLA's own convolution takes 2 to 500 times as long for on the CPU: one
# at a time, or, with one channel in each, as products of whole arrays.

_MOST_GROUPS = 64  # that a program is written out for
_SUMS_AT_ONCE = 9


def _apart(xp: Any, groups: int) -> bool:
    return groups > 1 and xp.on_cpu


def _each_group(xp: Any, function: Any, groups: int, *arrays: Any) -> Any:
    """`function` of the channels of each group, side by side."""
    if groups <= _MOST_GROUPS:
        parts = [xp.split(array, groups, axis=-1) for array in arrays]
        return xp.concatenate([function(*group) for group in zip(*parts, strict=True)], axis=-1)
    stacked = [
        xp.moveaxis(a.reshape(*a.shape[:-1], groups, a.shape[-1] // groups), -2, 0) for a in arrays
    ]
    joined = xp.moveaxis(xp.lax.map(lambda group: function(*group), stacked), 0, -2)
    return joined.reshape(*joined.shape[:-2], joined.shape[-2] * joined.shape[-1])


# XLA would compute what a depthwise convolution reads anew for each place of the kernel, the
# normalization and activation before it included, and write an array of products for each sum: a
# block of MobileNetV2 with batch normalization, over 48 x 48 with 32 channels and 16 images, took
# 31 ms with its gradients, not 8.


def _depthwise(xp: Any, x: Any, w: Any, windows: Windows) -> Any:
    """Each channel repeated for its filters, so that channel and filter go in pairs."""
    repeated = xp.repeat(_wide(x), w.shape[-1] // x.shape[-1], axis=-1)
    parts = seen(
        xp.lax.optimization_barrier(fitted(xp, repeated, windows, 0)),
        windows,
        windows.outputs(x.shape[1:-1]),
    )
    return _sum_of_products(xp, parts, w).astype(x.dtype)


def _sum_of_products(xp: Any, parts: Iterable[Any], w: Any) -> Any:
    """The sum over the places of the kernel of each part times the filters there."""
    rows = _wide(w).reshape(-1, w.shape[-1])
    return xp.lax.optimization_barrier(
        sum(part * row for part, row in zip(parts, rows, strict=True))
    )


def _depthwise_by_input(
    xp: Any, w: Any, y: Any, windows: Windows, groups: int, sizes: Shape
) -> Any:
    """A depthwise convolution with the filter turned round, over `y` with zeros between its
    elements where there are strides.
    """
    config = [(0, 0, 0)]
    for size, count, kernel, stride, (low, _), dilation in zip(
        sizes, y.shape[1:-1], *windows, strict=True
    ):
        before = (kernel - 1) * dilation - low
        config.append((before, size + low - (count - 1) * stride - 1, stride - 1))
    spread = xp.lax.pad(_wide(y), xp.zeros((), _wide(y).dtype), [*config, (0, 0, 0)])
    parts = seen(
        xp.lax.optimization_barrier(spread), windows._replace(strides=(1,) * len(sizes)), sizes
    )
    found = _sum_of_products(xp, parts, xp.flip(w, tuple(range(w.ndim - 2))))
    return found.reshape(*found.shape[:-1], groups, w.shape[-1] // groups).sum(-1).astype(y.dtype)


def _depthwise_by_filter(xp: Any, x: Any, y: Any, windows: Windows) -> Any:
    """The sums for several places of the kernel in one pass over `x` and `y`, for each image."""
    repeated = xp.repeat(_wide(x), y.shape[-1] // x.shape[-1], axis=-1)
    given, factor = xp.lax.optimization_barrier((fitted(xp, repeated, windows, 0), _wide(y)))
    products = [part * factor for part in seen(given, windows, y.shape[1:-1])]
    zero, axes = xp.zeros((), factor.dtype), tuple(range(1, y.ndim - 1))
    sums: list[Any] = []
    for start in range(0, len(products), _SUMS_AT_ONCE):
        some = tuple(products[start : start + _SUMS_AT_ONCE])
        sums += xp.lax.reduce(some, (zero,) * len(some), _added, axes)
    return xp.stack(sums).sum(1).astype(y.dtype)


def _added(some: Sequence[Any], others: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([a + b for a, b in zip(some, others, strict=True)])


# The kernels


def conv(xp: Any, x: Any, w: Any, *, windows: Windows, groups: int) -> Any:
    counts = windows.outputs(x.shape[1:-1])
    if not math.prod(counts):
        return xp.zeros((x.shape[0], *counts, w.shape[-1]), x.dtype)
    if _apart(xp, groups):
        if w.shape[-2] == 1:
            return _depthwise(xp, x, w, windows)
        return _each_group(xp, partial(conv, xp, windows=windows, groups=1), groups, x, w)
    if xp.on_cpu:
        if math.prod(windows.kernel) == 1 or _reach_beyond(windows, x.shape[1:-1]):
            return _unrolled(xp, x, windows) @ w.reshape(-1, w.shape[-1])
        if math.prod(w.shape[:-1]) <= _FEW_ELEMENTS:
            return _sum_of_elements(xp, x, w, windows)
        if _few(windows, w.shape[-1], x.shape[-1]):
            return _sum_of_places(xp, x, w, windows)
    return _own(xp, x, w, windows, groups)


def conv_by_input(xp: Any, w: Any, y: Any, *, windows: Windows, groups: int, sizes: Shape) -> Any:
    shape = (y.shape[0], *sizes, w.shape[-2] * groups)
    if not y.size:
        return xp.zeros(shape, y.dtype)
    if _apart(xp, groups):
        if w.shape[-2] == 1:
            return _depthwise_by_input(xp, w, y, windows, groups, sizes)
        one = partial(conv_by_input, xp, windows=windows, groups=1, sizes=sizes)
        return _each_group(xp, one, groups, w, y)
    if xp.on_cpu:
        dense = set(windows.strides) == {1}
        if (
            math.prod(windows.kernel) == 1
            or (dense and _reach_beyond(windows, y.shape[1:-1]))
            or _few(windows, w.shape[-2], w.shape[-1])
        ):
            return _products_put_back(xp, w, y, windows, sizes)
        return _by_phases(xp, w, y, windows, sizes)
    return _transposed(xp, lambda x: _own(xp, x, w, windows, groups), shape, y)


def conv_by_filter(xp: Any, x: Any, y: Any, *, windows: Windows, groups: int) -> Any:
    shape = (*windows.kernel, x.shape[-1] // groups, y.shape[-1])
    if not y.size or not x.size:
        return xp.zeros(shape, y.dtype)
    if _apart(xp, groups):
        if shape[-2] == 1:
            return _depthwise_by_filter(xp, x, y, windows).reshape(shape)
        return _each_group(xp, partial(conv_by_filter, xp, windows=windows, groups=1), groups, x, y)
    if xp.on_cpu:
        # Or XLA would compute them once more, in the order in which its own convolution reads them.
        x, y = xp.lax.optimization_barrier(x), xp.lax.optimization_barrier(y)
        if 1 < math.prod(windows.kernel) and math.prod(shape[:-1]) <= _FEW_ELEMENTS:
            return _by_few_elements(xp, x, y, windows).reshape(shape)
        if math.prod(windows.kernel) == 1 or len(x) == 1 or _reach_beyond(windows, x.shape[1:-1]):
            every = tuple(range(y.ndim - 1))
            return xp.lax.dot_general(
                _unrolled(xp, x, windows), y, ((every, every), ((), ()))
            ).reshape(shape)
        if 2 * y.shape[-1] <= x.shape[-1] and {*windows.strides, *windows.dilations} == {1}:
            return _by_filter_turned(xp, x, y, windows)
    return _transposed(xp, lambda w: _own(xp, x, w, windows, groups), shape, y)
