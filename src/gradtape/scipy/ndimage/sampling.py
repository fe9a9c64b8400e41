"""`scipy.ndimage.map_coordinates`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.numpy.padding import pad
from gradtape.api.numpy.shaping import moveaxis
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic
from gradtape.ops.indexing import take
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape
from gradtape.published import published
from gradtape.scipy.arguments import real_tensors
from gradtape.scipy.linear_maps import linear_on_host, solves_with

MODES = ("constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap")
ORDERS = (0, 1, 3)
MARGIN = 12
"""How far an image is continued before a cubic spline is put through it, as in SciPy."""


@published("scipy.ndimage.map_coordinates")
def map_coordinates(
    input: TensorLike,
    coordinates: TensorLike,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Tensor:
    """The image between its pixels, at coordinates whose first axis is as long as the image has
    axes, by splines of order 0, 1 or 3; as `scipy.ndimage.map_coordinates`, without mode "wrap".

    >>> import gradtape as tf
    >>> at = tf.Variable([[0.5], [0.25]])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.ndimage.map_coordinates([[0.0, 1.0], [2.0, 5.0]], at, order=1)
    >>> y.numpy(), tape.gradient(y, at).numpy().tolist()
    (array([1.5], dtype=float32), [[2.5], [2.0]])
    """
    who = "map_coordinates"
    if order not in ORDERS:
        raise NotImplementedError(f"{who}: order must be 0, 1 or 3, got {order!r}.")
    if mode not in MODES:
        raise NotImplementedError(f"{who}: mode must be one of {', '.join(MODES)}, got {mode!r}.")
    image, at = real_tensors(who, input=input, coordinates=coordinates)
    sizes = tuple(image.array.shape)
    if not sizes or tuple(at.array.shape[:1]) != (len(sizes),) or not image.array.size:
        raise ValueError(
            f"{who}: coordinates must have {len(sizes)} numbers in the first axis, one for each "
            f"axis of an image that is not empty, got shapes {at.shape} and {sizes}."
        )
    mode = {"grid-mirror": "reflect"}.get(mode, mode)
    shape = tuple(at.array.shape[1:])
    flat = reshape(at, shape=(len(sizes), -1))
    places = [flat[i] for i in range(len(sizes))]
    inside: Any = None
    if mode in ("constant", "grid-constant"):
        if mode == "constant":
            inside = _inside(places, [(0.0, size - 1.0) for size in sizes])
        else:
            image = pad(image, _MARGINS[order], constant_values=cval)
            inside = _inside(
                places, [(-1.0 - order // 2, size + order // 2 + 0.0) for size in sizes]
            )
            places = [x + float(_MARGINS[order]) for x in places]
    elif mode == "nearest":
        if order == 3:
            image = pad(image, MARGIN, "edge")
            places = [x + float(MARGIN) for x in places]
        places = [
            _clipped(x, size) for x, size in zip(places, tuple(image.array.shape), strict=True)
        ]
    spline = image if order < 3 or not prefilter else _filtered(image, mode)
    found = _sampled(spline, places, order, mode)
    if inside is not None:
        found = where(inside, found, cval)
    return reshape(found, shape=shape)


_MARGINS = {0: 1, 1: 2, 3: MARGIN}


def _inside(places: Sequence[Tensor], bounds: Sequence[tuple[float, float]]) -> Any:
    found: Any = True
    for x, (low, high) in zip(places, bounds, strict=True):
        within = arithmetic.logical_and(
            arithmetic.greater_equal(x, low), arithmetic.less_equal(x, high)
        )
        found = within if found is True else arithmetic.logical_and(found, within)
    return found


def _clipped(x: Tensor, size: int) -> Any:
    return arithmetic.minimum(arithmetic.maximum(x, 0.0), size - 1.0)


def _sampled(image: Tensor, places: Sequence[Tensor], order: int, mode: str) -> Tensor:
    """The sum over the pixels around each place, with the weights of a spline."""
    sizes = tuple(image.array.shape)
    corners, weights = [], []
    for x, size in zip(places, sizes, strict=True):
        base = arithmetic.floor(x + 0.5) if order == 0 else arithmetic.floor(x)
        share = x - base
        first = needed.cast(base, dtype=np.int64)
        offsets = {0: (0,), 1: (0, 1), 3: (-1, 0, 1, 2)}[order]
        corners.append([_folded(first + o, size, mode) for o in offsets])
        weights.append(_weights(share, order))
    total: Any = None
    pixels = reshape(image, shape=(-1,))
    for corner in itertools.product(*(range(len(c)) for c in corners)):
        flat: Any = 0
        weight: Any = None
        for i, (part, size) in enumerate(zip(corner, sizes, strict=True)):
            flat = flat * size + corners[i][part]
            factor = weights[i][part]
            weight = factor if weight is None or factor is None else weight * factor
        taken = take(pixels, flat, axis=0, sparse=False)
        term = taken if weight is None else taken * weight
        total = term if total is None else total + term
    return total


def _weights(t: Tensor, order: int) -> list[Any]:
    """Those of the pixels around, where a place is `t` behind one of them."""
    if order == 0:
        return [None]
    if order == 1:
        return [1 - t, t]
    rest = 1 - t
    return [
        rest * rest * rest / 6,
        (t * t * (t - 2) * 3 + 4) / 6,
        (rest * rest * (rest - 2) * 3 + 4) / 6,
        t * t * t / 6,
    ]


def _folded(index: Any, size: int, mode: str) -> Any:
    """Pixels beyond the edges as those of the image that stand for them."""
    if size == 1:
        return index * 0
    if mode == "grid-wrap":
        return arithmetic.floormod(index, size)
    if mode == "reflect":
        within = arithmetic.floormod(index, 2 * size)
        return arithmetic.minimum(within, 2 * size - 1 - within)
    if mode in ("mirror", "constant"):
        within = arithmetic.floormod(index, 2 * size - 2)
        return arithmetic.minimum(within, 2 * size - 2 - within)
    return arithmetic.minimum(arithmetic.maximum(index, 0), size - 1)


def _filtered(image: Tensor, mode: str) -> Tensor:
    """The coefficients of the cubic spline through the pixels."""
    from scipy import sparse  # noqa: PLC0415

    for axis, size in enumerate(image.array.shape):
        if size == 1:
            continue
        rows, columns, entries = [], [], []
        for offset, weight in ((-1, 1 / 6), (0, 4 / 6), (1, 1 / 6)):
            rows.append(np.arange(size))
            columns.append(_folded(np.arange(size) + offset, size, _FILTER_EDGES.get(mode, mode)))
            entries.append(np.full(size, weight))
        places = np.concatenate(rows), np.concatenate(columns)
        matrix = sparse.coo_array((np.concatenate(entries), places), shape=(size, size))
        moved = moveaxis(image, axis, 0)
        rows_of_pixels = reshape(moved, shape=(size, -1))
        flat = linear_on_host("map_coordinates", *solves_with(matrix), rows_of_pixels)
        image = moveaxis(reshape(flat, shape=tuple(moved.array.shape)), 0, axis)
    return image


_FILTER_EDGES = {"constant": "mirror", "grid-constant": "mirror", "nearest": "mirror"}
