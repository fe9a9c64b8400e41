"""Resampling along one axis: every element of the result is a weighted sum of a few elements of the
input.

The weights are constants, so `resample` is linear, and its transpose is a resampling too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gradtape.ops import links
from gradtape.ops.batching import shifted
from gradtape.ops.declare import op
from gradtape.ops.selection import keep_array


class Taps(NamedTuple):
    """For each element of the result, which of `size` elements of the input go into it,
    and with which weights.

    Both arrays have a row for each element of the result; rows are filled up with weights of 0.
    """

    places: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]
    size: int

    def transposed(self) -> Taps:
        """What each element of the input adds to elements of the result."""
        used = self.weights != 0
        sources, weights = self.places[used], self.weights[used]
        results = np.broadcast_to(np.arange(len(self.places))[:, None], self.places.shape)[used]
        order = np.argsort(sources, kind="stable")
        sources, results, weights = sources[order], results[order], weights[order]
        counts = np.bincount(sources, minlength=self.size)
        column = np.arange(len(sources)) - (np.cumsum(counts) - counts)[sources]
        shape = (self.size, max(1, counts.max(initial=0)))
        index, spread = np.zeros(shape, np.int64), np.zeros(shape)
        index[sources, column], spread[sources, column] = results, weights
        return Taps(index, spread, len(self.places))


_SHORT = 64


def _resample(xp: Any, x: Any, *, taps: Taps, axis: int) -> Any:
    """A sum of gathers. A weight of 0 is left out, so that what is not finite stays where it is."""
    count = len(taps.places)
    weights = taps.weights.astype(x.real.dtype).reshape(
        *taps.weights.shape, *(1,) * (x.ndim - axis - 1)
    )
    inner = x.shape[axis + 1 :]
    if 1 < math.prod(inner) < _SHORT:  # so that NumPy multiplies long rows
        weights = np.broadcast_to(weights, (*taps.weights.shape, *inner)).copy()
    before = (slice(None),) * axis
    out = None
    for k in range(taps.places.shape[1]):
        rows = np.flatnonzero(taps.weights[:, k])
        steps = _steps(taps.places[rows, k])
        part = x[(*before, steps)] if isinstance(steps, slice) else xp.take(x, steps, axis=axis)
        if isinstance(steps, slice):
            part = part * weights[rows, k]
        else:
            part *= weights[rows, k]
        if out is None and len(rows) == count:
            out = part
        elif len(rows) == count:
            out += part
        else:
            out = (
                np.zeros((*x.shape[:axis], count, *x.shape[axis + 1 :]), part.dtype)
                if out is None
                else out
            )
            out[(*before, _steps(rows))] += part
    return out


def _resample_on_xla(xp: Any, x: Any, *, taps: Taps, axis: int) -> Any:
    """The same for all rows: XLA writes nothing in place, and computes gathers,
    products and sums in one go.
    """
    weights = taps.weights.astype(x.real.dtype).reshape(
        *taps.weights.shape, *(1,) * (x.ndim - axis - 1)
    )
    parts = [
        xp.take(x, taps.places[:, k], axis=axis, mode="clip") * weights[:, k]
        for k in range(taps.places.shape[1])
    ]
    return sum(keep_array(xp, part, weights[:, k] != 0) for k, part in enumerate(parts))


def _steps(index: Any) -> Any:
    """Indices as a slice, which takes no copy, where they go up in equal steps."""
    if len(index) < 2:
        return index
    step = int(index[1] - index[0])
    if step < 1 or (np.diff(index) != step).any():
        return index
    return slice(int(index[0]), int(index[-1]) + 1, step)


def _links(call: links.LinkedCall, index: int) -> links.Link:
    axis, taps, shape = call.params["axis"], call.params["taps"], call.shape
    outputs, column = np.nonzero(taps.weights)
    sizes = len(taps.places), taps.size
    return links.Link(
        links.along(
            outputs,
            taps.places[outputs, column],
            sizes,
            math.prod(shape[:axis]),
            math.prod(shape[axis + 1 :]),
        )
    )


resample = op(
    "resample",
    _resample,
    [lambda g, taps, axis: resample(g, taps=taps.transposed(), axis=axis)],
    linear=True,
    batch=shifted("axis"),
    xla=_resample_on_xla,
    links=_links,
)
