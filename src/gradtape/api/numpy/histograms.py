"""NumPy's histograms: `histogram`, `histogram2d`, `histogramdd` and their bin edges.

A count jumps where an element crosses an edge, so it has no derivative with respect to the data. A
weighted count is linear in the weights, edges taken from the range of the data depend on its ends,
and a density depends on both: these are recorded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import (
    converted,
    float_dtype,
    inexact,
    known_values,
    plain,
    promoted,
    tensor_of,
    tensors_of,
    values_of,
    widened,
)
from gradtape.api.numpy.ordering import counted, place_in
from gradtape.api.numpy.sequences import linspace
from gradtape.api.numpy.shaping import flat
from gradtape.api.tensorflow.arguments import TensorLike, as_int, as_list, has_axes
from gradtape.core.tensor import Tensor
from gradtape.ops import reductions, shaping
from gradtape.ops.arithmetic import equal, greater, minimum
from gradtape.ops.selection import where
from gradtape.published import published


@published("numpy.histogram")
def histogram(
    a: TensorLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[Tensor, Tensor]:
    """How many elements, or how much weight, each bin holds, and the edges of the bins;
    `density` makes it integrate to 1.

    >>> import gradtape as tf
    >>> counts, edges = tf.numpy.histogram([1.0, 2.0, 1.0, 4.0], bins=[0.0, 2.0, 4.0])
    >>> counts.numpy(), edges.numpy()
    (array([2, 2]), array([0., 2., 4.], dtype=float32))
    """
    x, given = _with_weights(a, weights)
    edges = _edges(x, bins, range, given, "histogram")
    found = counted(_bin_of(x, edges), given, edges.array.size - 1, "histogram")
    if not density:
        return found, edges
    return _density(found, [edges]), edges


@published("numpy.histogram_bin_edges")
def histogram_bin_edges(
    a: TensorLike, bins: Any = 10, range: Any = None, weights: TensorLike | None = None
) -> Tensor:
    """The edges of the bins that `histogram` uses.

    >>> import gradtape as tf
    >>> tf.numpy.histogram_bin_edges([0.0, 1.0, 2.0], bins=4).numpy()
    array([0. , 0.5, 1. , 1.5, 2. ], dtype=float32)
    """
    return _edges(_numbers(a, "histogram_bin_edges"), bins, range, weights, "histogram_bin_edges")


@published("numpy.histogram2d")
def histogram2d(
    x: TensorLike,
    y: TensorLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points, or how much weight, each rectangle of a grid holds,
    and the edges of the grid along both axes.

    >>> import gradtape as tf
    >>> counts, *_ = tf.numpy.histogram2d([0.0, 1.0, 1.0], [0.0, 1.0, 1.0], bins=2)
    >>> counts.numpy()
    array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    points = [flat(part) for part in tensors_of([x, y], "histogram2d", ["x", "y"])]
    if points[0].array.size != points[1].array.size:
        raise ValueError(
            f"histogram2d: x and y must have the same length, got {points[0].shape} and "
            f"{points[1].shape}."
        )
    given = bins
    if not _is_number(bins) and len(bins) not in (1, 2):  # one row of edges for both axes
        given = [bins, bins]
    found, edges = _on_grid(points, given, range, density, weights, "histogram2d")
    return found, edges[0], edges[1]


@published("numpy.histogramdd")
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """How many points, or how much weight, each cell of a grid holds,
    and the edges of the grid along each axis.

    `sample` has a row for each point, or is a list with the coordinates along each axis.

    >>> import gradtape as tf
    >>> counts, edges = tf.numpy.histogramdd(tf.constant([[0.0, 0.0], [1.0, 1.0]]), bins=2)
    >>> counts.numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if isinstance(sample, (list, tuple)):
        points = [flat(part) for part in tensors_of(sample, "histogramdd", "sample")]
    else:
        whole = tensor_of(sample, "histogramdd", "sample")
        points = shaping.unstack(whole, axis=1) if whole.array.ndim > 1 else [whole]
    return _on_grid(points, bins, range, density, weights, "histogramdd")


def _on_grid(
    points: Sequence[Tensor], bins: Any, range: Any, density: Any, weights: Any, function: str
) -> tuple[Tensor, list[Tensor]]:
    """A histogram over the grid of the bins of each axis: its cells are numbered row by row."""
    rank = len(points)
    if not rank:
        raise ValueError(f"{function}: sample must have at least one axis, got a scalar.")
    per_axis = [bins] * rank if _is_number(bins) else as_list(bins, f"{function}: bins")
    ranges = [None] * rank if range is None else as_list(range, f"{function}: range")
    if len(per_axis) != rank or len(ranges) != rank:
        raise ValueError(f"{function}: bins and range must have an entry for each of {rank} axes.")
    points = [inexact(x) for x in promoted(points)]
    edges = [
        _edges(x, b, r, None, function) for x, b, r in zip(points, per_axis, ranges, strict=True)
    ]
    sizes = [edge.array.size - 1 for edge in edges]
    ids: Any = 0
    for x, edge, size in zip(points, edges, sizes, strict=True):
        bin_of = _bin_of(x, edge)
        ids = where(greater(minimum(bin_of, ids), -1), ids * size + bin_of, -1)
    given = None if weights is None else flat(widened(tensor_of(weights, function, "weights")))
    found = counted(ids, given, math.prod(sizes), function)
    found = shaping.reshape(
        found if given is not None else converted(found, widened(points[0]).array.dtype),
        shape=tuple(sizes),
    )
    return (_density(found, edges) if density else found), edges


def _is_number(value: Any) -> bool:
    return isinstance(value, str) or not np.ndim(
        getattr(value, "array", value) if not isinstance(value, (list, tuple)) else [0]
    )


def _numbers(a: TensorLike, function: str) -> Tensor:
    """The elements in one row; truth values count as 0 and 1."""
    x = flat(tensor_of(a, function, "a"))
    return converted(x, np.dtype(np.uint8)) if x.array.dtype.kind == "b" else x


def _with_weights(a: TensorLike, weights: TensorLike | None) -> tuple[Tensor, Tensor | None]:
    """The elements and their weights in a row each; integers beside weights keep their dtype, which
    tells their bins exactly.
    """
    if weights is None:
        return _numbers(a, "histogram"), None
    x, given = tensor_of(a, "histogram", "a"), tensor_of(weights, "histogram", "weights")
    if given.array.shape != x.array.shape:
        raise ValueError(
            f"histogram: weights of shape {given.shape} must have the shape of a, which is "
            f"{x.shape}."
        )
    if x.array.dtype.kind not in "biu":
        x, given = tensors_of([a, weights], "histogram", ["a", "weights"])
    return _numbers(x, "histogram"), flat(given)


def _edges(x: Tensor, bins: Any, range: Any, weights: Any, function: str) -> Tensor:
    """The edges that `bins` asks for: a number of equal bins, a rule's name,
    or the edges themselves.
    """
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                f"{function}: bins={bins!r} cannot be used with weights: give a number of bins."
            )
        bins = max(
            np.histogram_bin_edges(values_of(x, function, "a"), bins, plain(range)).size - 1, 1
        )
    if _is_number(bins):
        count = as_int(bins, f"{function}: bins")
        if count < 1:
            raise ValueError(f"{function}: bins must be at least 1, got {count}.")
        low, high = _ends(x, range, function)
        return linspace(low, high, count + 1)
    whole = x.array.dtype.kind in "biu"  # edges beside whole numbers keep their own dtype
    edges = (
        tensor_of(bins, function, "bins")
        if whole
        else tensors_of([x, bins], function, ["a", "bins"])[1]
    )
    if (
        edges.array.ndim != 1
        or edges.array.dtype.kind == "O"
        or (np.diff(values_of(edges, function, "bins")) < 0).any()
    ):
        raise ValueError(
            f"{function}: bins must be a number, a name or a vector of non-decreasing edges, got "
            f"shape {edges.shape}."
        )
    return edges


def _ends(x: Tensor, range: Any, function: str) -> tuple[Tensor, Tensor]:
    """Where the first bin begins and the last one ends."""
    if range is None and not x.array.size:
        dtype = float_dtype(x.array.dtype)
        return Tensor(dtype.type(0)), Tensor(dtype.type(1))
    if range is None:
        low, high = reductions.reduce_min(x), reductions.reduce_max(x)
    else:
        ends = as_list(range, f"{function}: range")
        if len(ends) != 2 or any(map(has_axes, ends)):
            raise ValueError(f"{function}: range must be two numbers, got {range!r}.")
        _, low, high = tensors_of([inexact(x), *ends], function, ["a", "range[0]", "range[1]"])
    if "O" in (low.array.dtype.kind, high.array.dtype.kind):
        raise TypeError(f"{function}: a and range must be numbers, got strings.")
    low, high = inexact(low), inexact(high)
    first, last = known_values(low), known_values(high)
    if first is not None and last is not None and not -np.inf < first <= last < np.inf:
        raise ValueError(
            f"{function}: range must be finite, its lower end first, got {first} to {last}."
        )
    alone = equal(low, high)
    return where(alone, low - 0.5, low), where(alone, high + 0.5, high)


def _bin_of(x: Tensor, edges: Tensor) -> Tensor:
    """The number of each element's bin, of which the last is closed on the right;
    -1 for an element that is in none.
    """
    x, edges = promoted([x, edges])
    last = edges.array.size - 2
    found = place_in(edges, x, "right") - 1
    found = where(equal(x, edges[-1]), last, found)
    return where(greater(found, last), -1, found)


def _density(found: Tensor, edges: Sequence[Tensor]) -> Tensor:
    """Counts divided by their sum and by the size of each cell."""
    rank = len(edges)
    density = widened(
        found if found.array.dtype.kind not in "biu" else converted(found, edges[0].array.dtype)
    )
    density = density / reductions.reduce_sum(density)
    for axis, edge in enumerate(edges):
        widths = edge[1:] - edge[:-1]
        density = density / shaping.reshape(
            widths, shape=tuple(widths.array.size if i == axis else 1 for i in np.arange(rank))
        )
    return density
