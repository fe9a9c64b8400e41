"""NumPy's objects that are indexed instead of called: `mgrid` and `ogrid` make grids,
`r_` and `c_` join arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.joining import joined
from gradtape.api.numpy.operands import plain, tensors_of, with_defaults
from gradtape.api.numpy.sequences import arange, linspace
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping


class Grid:
    """Coordinates from slices, in which an imaginary step is a number of points.

    >>> import gradtape as tf
    >>> tf.numpy.mgrid[0:2, 0:2].numpy().tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def __getitem__(self, key: Any) -> Any:
        found = self._grid[_known(key)]
        if isinstance(found, tuple):
            return tuple(Tensor(_narrow(part)) for part in found)
        return Tensor(_narrow(found))


def _known(key: Any) -> Any:
    """A key with numbers in the place of Tensors."""
    if isinstance(key, tuple):
        return tuple(_known(part) for part in key)
    return (
        slice(*(plain(bound) for bound in (key.start, key.stop, key.step)))
        if isinstance(key, slice)
        else plain(key)
    )


def _narrow(values: Any) -> Any:
    return values.astype(with_defaults(values.dtype, []))


class Joiner:
    """Arrays, numbers and slices (as ranges) joined along an axis.

    Each has at least `ndmin` axes; `place` says where the own axes of one with fewer stand among
    them, -1 for the end. A string in front of the parts can say all three: "axis,ndmin,place".

    >>> import gradtape as tf
    >>> tf.numpy.r_[tf.constant([1.0, 2.0]), 0.0, 3:5].numpy()
    array([1., 2., 0., 3., 4.], dtype=float32)
    >>> tf.numpy.c_[[1, 2], [3, 4]].numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """

    def __init__(self, name: str, axis: int, ndmin: int, place: int) -> None:
        self._name = name
        self._defaults = (axis, ndmin, place)

    def __getitem__(self, key: Any) -> Tensor:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = (
            self._settings(parts.pop(0)) if parts and isinstance(parts[0], str) else self._defaults
        )
        tensors = tensors_of(
            [_range(part) if isinstance(part, slice) else part for part in parts], self._name, "key"
        )
        return joined([_with_axes(x, ndmin, place) for x in tensors], axis, self._name)

    def _settings(self, text: str) -> tuple[int, int, int]:
        try:
            given = [int(part) for part in text.split(",")]
        except ValueError as error:
            raise ValueError(
                f"{self._name}: {text!r} must be one to three integers separated by commas: axis, "
                "ndmin and the place of the axes."
            ) from error
        axis, ndmin, place, *_ = [*given, *self._defaults[len(given) :]]
        return axis, ndmin, place


def _range(part: slice) -> Tensor:
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


def _with_axes(x: Tensor, ndmin: int, place: int) -> Tensor:
    """New axes of size 1: those of `x` begin at `place` among them, or stand at the end."""
    missing = max(ndmin, 1) - x.array.ndim
    if missing <= 0:
        return x
    before = (
        missing if place == -1 or not x.array.ndim else place + (missing + 1 if place < 0 else 0)
    )
    return shaping.reshape(x, shape=(1,) * before + x.array.shape + (1,) * (missing - before))


mgrid = Grid(np.mgrid)
ogrid = Grid(np.ogrid)
r_ = Joiner("r_", 0, 1, -1)
c_ = Joiner("c_", -1, 2, 0)

PUBLISHED = {
    "numpy.c_": c_,
    "numpy.mgrid": mgrid,
    "numpy.ogrid": ogrid,
    "numpy.r_": r_,
}
