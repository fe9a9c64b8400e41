"""`all_pole`: the recursive half of a digital filter, as an op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import OnHost, Recorded, call
from gradtape.core.tensor import Tensor
from gradtape.ops.broadcasting import broadcast_to, conj
from gradtape.ops.convolution import Windows, conv
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.shaping import reshape, reverse, stack
from gradtape.scipy.arguments import padded


def all_pole(x: Tensor, a: Tensor) -> Tensor:
    """The signals y along the last axis of x with y[n] = x[n] - a[0] y[n-1] - a[1] y[n-2] - ..."""
    (result,) = call(_AllPole(), [x, a])
    return result


def moving_sums(x: Tensor, b: Tensor) -> Tensor:
    """The signals y along the last axis of x with y[n] = b[0] x[n] + b[1] x[n-1] + ..."""
    *lead, size = x.array.shape
    (taps,) = b.array.shape
    windows = Windows((taps,), (1,), ((taps - 1, 0),), (1,))
    if not x.array.size:
        return x
    rows = int(np.prod(lead, dtype=np.int64))
    kernel = reshape(reverse(b, axis=(0,)), shape=(taps, 1, 1))
    found = conv(reshape(x, shape=(rows, size, 1)), kernel, windows=windows, groups=1)
    return reshape(found, shape=tuple(x.array.shape))


class _AllPole(OnHost):
    """y = x / A, where A is the convolution with (1, a); its transpose runs backwards in time."""

    name = "lfilter"

    def first_kept(self, count: int) -> int:
        return 0

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        from scipy.signal import lfilter  # noqa: PLC0415

        x, a = arrays
        if not a.size or not x.size:
            return [x]
        return [np.asarray(lfilter([1.0], np.concatenate([[1], a]), x), x.dtype)]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        _, a = inputs
        last = (g[0].array.ndim - 1,)
        by_x = reverse(all_pole(reverse(g[0], axis=last), conj(a)), axis=last)
        return [by_x if i == 0 else _by_a(by_x, recorded.outputs()[0], a) for i in wanted]

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        _, a = inputs
        moved = tangents.get(0)
        if 1 in tangents:
            (y,) = outputs
            change = -_sums_before(y, tangents[1])
            moved = change if moved is None else moved + change
        assert moved is not None
        return {0: all_pole(moved, a)}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        x, a = inputs
        if not mapped[1]:
            return [all_pole(x, a)]
        rows = [all_pole(x[i] if mapped[0] else x, a[i]) for i in range(size)]
        if not rows:
            shape = (0, *x.array.shape[int(mapped[0]) :])
            return [broadcast_to(reduce_sum(x) * 0, shape=shape)]
        return [stack(*rows, axis=0)]


def _sums_before(y: Tensor, b: Tensor) -> Tensor:
    """y[n-1] b[0] + y[n-2] b[1] + ..."""
    return moving_sums(y, padded(b, 1, 0))


def _by_a(by_x: Tensor, y: Tensor, a: Tensor) -> Tensor:
    size = y.array.shape[-1]
    sums = [
        reduce_sum(by_x[..., k:] * conj(y[..., : max(size - k, 0)]))
        for k in range(1, a.array.size + 1)
    ]
    return -stack(*sums, axis=0) if sums else a
