"""Maxima and averages over windows, channels last.

A maximum passes its cotangent to the first element of the window that attains it, so `max_pool` is
a gather at constant indices: `max_unpool` puts values at those indices and `max_pick` takes them
from there, and each is the transpose of the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.ops import jets, links, pooling_on_xla
from gradtape.ops.batching import every_mapped
from gradtape.ops.convolution import (
    Overlap,
    Shape,
    Windows,
    overlaps,
    overlaps_along,
    window_pattern,
)
from gradtape.ops.declare import op
from gradtape.ops.selection import keep_array
from gradtape.ops.shaping import reshape

if TYPE_CHECKING:
    from gradtape.ops.op import Op


def _along_axes(
    windows: Windows, sizes: Sequence[int]
) -> Iterator[tuple[int, int, int, list[Overlap]]]:
    """For each spatial axis: its number, its size, how many windows lie on it, and where."""
    counts = windows.outputs(sizes)
    for axis, (size, count, *along) in enumerate(
        zip(sizes, counts, *windows, strict=True), start=1
    ):
        yield axis, size, count, overlaps_along(size, *along)


def _at(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)


def _folded(x: Any, windows: Windows, combine: Any, initial: Any) -> Any:
    """The elements of each window combined, one axis after the other."""
    for axis, _, count, places in _along_axes(windows, x.shape[1:-1]):
        x = _folded_along(x, axis, count, places, combine, initial)
    return x


def _folded_along(
    x: Any, axis: int, count: int, places: list[Overlap], combine: Any, initial: Any
) -> Any:
    """Slices of `x` combined: first those that reach all windows, then those that meet padding."""
    whole = slice(0, count)
    reaching = [x[_at(axis, inner)] for outer, inner in places if outer == whole]
    others = [place for place in places if place[0] != whole]
    if len(reaching) > 1:
        out = combine(reaching[0], reaching[1])
        for part in reaching[2:]:
            combine(out, part, out=out)
    elif reaching:
        out = reaching[0].copy() if others else reaching[0]
    else:
        out = np.full((*x.shape[:axis], count, *x.shape[axis + 1 :]), initial, x.dtype)
    for outer, inner in others:
        target = out[_at(axis, outer)]
        combine(target, x[_at(axis, inner)], out=target)
    return out


def _max_pool(xp: Any, x: Any, *, windows: Windows) -> Any:
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -math.inf
    return _folded(x, windows, np.maximum, lowest)


def _attained(
    x: Any, top: Any, windows: Windows
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...], Any]]:
    """For each place of the kernel, which windows have their first maximum there."""
    undecided = np.ones(top.shape, bool)
    for _, outer, inner in overlaps(windows, x.shape[1:-1]):
        pending = undecided[outer]
        here = x[inner] == top[outer]
        here &= pending
        pending ^= here
        yield outer, inner, here


def _max_unpool(xp: Any, y: Any, x: Any, top: Any, *, windows: Windows) -> Any:
    out = np.zeros(x.shape, y.dtype)
    disjoint = _are_disjoint(windows)
    for outer, inner, here in _attained(x, top, windows):
        kept = keep_array(xp, y[outer], here)
        if disjoint:
            out[inner] = kept
        else:
            out[inner] += kept
    return out


def _max_pick(xp: Any, values: Any, x: Any, top: Any, *, windows: Windows) -> Any:
    out = np.zeros(top.shape, values.dtype)
    for outer, inner, here in _attained(x, top, windows):
        out[outer] += keep_array(xp, values[inner], here)
    return out


def _are_disjoint(windows: Windows) -> bool:
    return all(
        stride > (kernel - 1) * dilation
        for kernel, stride, _, dilation in zip(*windows, strict=True)
    )


def _counts(windows: Windows, sizes: Sequence[int], dtype: Any) -> Any:
    """How many elements of the input are in each window: padding does not count."""
    if not any(itertools.chain(*windows.padding)):
        return dtype.type(math.prod(windows.kernel))
    total = np.ones((1,) * (len(sizes) + 2), dtype)
    for axis, _, count, places in _along_axes(windows, sizes):
        along = np.zeros(count, dtype)
        for outer, _ in places:
            along[outer] += 1
        total = total * along.reshape(*(1,) * axis, count, *(1,) * (len(sizes) + 1 - axis))
    return total


def _over_counts(x: Any, windows: Windows, sizes: Sequence[int]) -> Any:
    """The sums over how many elements each has. NumPy divides long rows: all channels of all
    windows of an example in one.
    """
    counts = _counts(windows, sizes, x.dtype)
    if counts.ndim:
        counts = np.repeat(counts, x.shape[-1], axis=-1)
    return x / counts


def _avg_pool(xp: Any, x: Any, *, windows: Windows) -> Any:
    return _over_counts(_folded(x, windows, np.add, 0), windows, x.shape[1:-1])


def _avg_unpool(xp: Any, y: Any, *, windows: Windows, sizes: Shape) -> Any:
    """The last axis first, whose rows are short, while there are few of them."""
    y = _over_counts(y, windows, sizes)
    disjoint = _are_disjoint(windows)
    for axis, size, _, places in reversed(list(_along_axes(windows, sizes))):
        out = np.zeros((*y.shape[:axis], size, *y.shape[axis + 1 :]), y.dtype)
        for outer, inner in places:
            if disjoint:
                out[_at(axis, inner)] = y[_at(axis, outer)]
            else:
                out[_at(axis, inner)] += y[_at(axis, outer)]
        y = out
    return y


def _batched(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """A batch of batches is a larger batch."""
    args = every_mapped(size, args, mapped)
    count = args[0].array.shape[1]
    out = op.call(
        *[reshape(arg, shape=(size * count, *arg.array.shape[2:])) for arg in args], **params
    )
    return reshape(out, shape=(size, count, *out.array.shape[1:]))


def _avg_pool_on_xla(xp: Any, x: Any, *, windows: Windows) -> Any:
    return pooling_on_xla.avg_pool(
        xp, x, windows=windows, counted=_counts(windows, x.shape[1:-1], x.dtype)
    )


def _avg_unpool_on_xla(xp: Any, y: Any, *, windows: Windows, sizes: Shape) -> Any:
    return pooling_on_xla.avg_unpool(
        xp, y, windows=windows, sizes=sizes, counted=_counts(windows, sizes, y.dtype)
    )


def _max_pool_jet(step: jets.JetCall) -> jets.Partials:
    x, out = step.input(0)(()), step.output(())
    return jets.through(step, lambda moved: max_pick(moved, x, out, **step.params))


def _links(call: links.LinkedCall, index: int) -> links.Link:
    batch, *sizes, channels = call.inputs[index]
    return links.Link(window_pattern(call.params["windows"], tuple(sizes), batch, channels))


max_pool = op(
    "max_pool",
    _max_pool,
    [lambda g, x, out, windows: max_unpool(g, x, out, windows=windows)],
    batch=_batched,
    xla=pooling_on_xla.max_pool,
    jet=_max_pool_jet,
)
max_unpool = op(
    "max_unpool",
    _max_unpool,
    [lambda g, x, top, windows: max_pick(g, x, top, windows=windows), None, None],
    apart=["x", "top"],
    linear=True,
    batch=_batched,
    xla=pooling_on_xla.max_unpool,
)
max_pick = op(
    "max_pick",
    _max_pick,
    [lambda g, x, top, windows: max_unpool(g, x, top, windows=windows), None, None],
    apart=["x", "top"],
    linear=True,
    batch=_batched,
    xla=pooling_on_xla.max_pick,
    links=_links,
)
avg_pool = op(
    "avg_pool",
    _avg_pool,
    [lambda g, x_shape, windows: avg_unpool(g, windows=windows, sizes=x_shape[1:-1])],
    linear=True,
    batch=_batched,
    xla=_avg_pool_on_xla,
    links=_links,
)
avg_unpool = op(
    "avg_unpool",
    _avg_unpool,
    [lambda g, windows: avg_pool(g, windows=windows)],
    linear=True,
    batch=_batched,
    xla=_avg_unpool_on_xla,
)
