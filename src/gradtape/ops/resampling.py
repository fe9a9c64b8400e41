"""Resampling along one axis: every element of the result is a weighted sum of a few elements of the
input.

The weights are constants, so `resample` is linear, and its transpose is a resampling too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gradtape.engines.numpy.threads import each
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
_BLOCK = 2**16  # elements of the result that are computed at once, so that they stay in the cache


def _resample(xp: Any, x: Any, *, taps: Taps, axis: int) -> Any:
    """A sum of gathers. A weight of 0 is left out, so that what is not finite stays where it is."""
    count, before, behind = len(taps.places), x.shape[:axis], x.shape[axis + 1 :]
    inner = math.prod(behind)
    given = x.reshape(math.prod(before), x.shape[axis], inner)
    weights = taps.weights.astype(x.real.dtype)[:, :, None]
    if 1 < inner < _SHORT:  # so that NumPy multiplies long rows
        weights = np.repeat(weights, inner, axis=2)
    columns = []
    for k in range(taps.places.shape[1]):
        rows = np.flatnonzero(taps.weights[:, k])
        places = taps.places[rows, k]
        every = len(rows) == count
        columns.append(
            (slice(None) if every else _steps(rows), _steps(places), weights[rows, k], every)
        )
    out = np.empty((len(given), count, inner), np.result_type(x.dtype, weights.dtype))
    many = max(1, _BLOCK // max(1, count * inner))

    def work(begin: int) -> None:
        part = slice(begin, begin + many)
        _add_up(given[part], columns, out[part])

    each(work, range(0, len(given), many))
    return out.reshape(*before, count, *behind)


def _add_up(x: Any, columns: list[tuple[Any, Any, Any, bool]], out: Any) -> None:
    """Writes the weighted sum, a column of the taps after the other."""
    if not (columns and columns[0][3]):
        out[...] = 0
    space = None
    for k, (rows, places, weights, every) in enumerate(columns):
        if every and not k:
            if isinstance(places, slice):
                np.multiply(x[:, places], weights, out=out)
            else:
                x.take(places, 1, out, "clip")
                out *= weights
            continue
        if isinstance(places, slice):
            found = x[:, places] * weights
        else:
            space = np.empty_like(out) if space is None else space
            found = space[:, : len(places)] if every or len(places) == out.shape[1] else None
            found = x.take(places, 1, found, "clip")
            found *= weights
        if every:
            out += found
        else:
            out[:, rows] += found


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
