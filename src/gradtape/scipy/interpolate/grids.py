"""`RegularGridInterpolator` and `interpn`: values on a grid of any number of axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import known_values
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.convert import is_tensor_like
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic
from gradtape.ops.counting import searchsorted
from gradtape.ops.indexing import take
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape, stack
from gradtape.published import published
from gradtape.scipy.arguments import fixed_array, real_tensors

METHODS = ("linear", "nearest")


@published("scipy.interpolate.RegularGridInterpolator")
class RegularGridInterpolator:
    """Values on a grid between its points, by `method` "linear" or "nearest", as
    `scipy.interpolate.RegularGridInterpolator`: a function of where it is evaluated and of
    `values`. The points of the grid are constants. Where coordinates are not known yet, in a
    compiled function or under vmap, those outside give NaN instead of an error.

    >>> import gradtape as tf
    >>> grid, values = ([0, 1], [0, 1]), [[0.0, 1.0], [2.0, 5.0]]
    >>> at = tf.Variable([[0.5, 0.25]])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.interpolate.RegularGridInterpolator(grid, values)(at)
    >>> y.numpy(), tape.gradient(y, at).numpy()
    (array([1.5], dtype=float32), array([[2.5, 2. ]], dtype=float32))
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: TensorLike,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: float | None = math.nan,
    ) -> None:
        self.grid = tuple(fixed_array(p, _WHO, f"points[{i}]") for i, p in enumerate(points))
        (self.values,) = real_tensors(_WHO, values=values)
        self._method, self._strict, self._fill = method, bounds_error, fill_value
        if method not in METHODS:
            raise ValueError(f"{_WHO}: method must be 'linear' or 'nearest', got {method!r}.")
        shape = self.values.array.shape
        sizes = tuple(len(p) if p.ndim == 1 else -1 for p in self.grid)
        if shape[: len(sizes)] != sizes:
            raise ValueError(
                f"{_WHO}: values must have the axes of the grid first, of lengths {sizes}, got "
                f"shape {shape}."
            )
        for i, p in enumerate(self.grid):
            if len(p) < 2 or not (np.isfinite(p).all() and (np.diff(p) > 0).all()):
                raise ValueError(
                    f"{_WHO}: points[{i}] must be 2 or more finite numbers that increase strictly, "
                    f"got {p}."
                )

    def __call__(self, xi: TensorLike, method: str | None = None) -> Tensor:
        """The values at coordinates, which the last axis of `xi` has."""
        method = self._method if method is None else method
        if method not in METHODS:
            raise ValueError(f"{_WHO}: method must be 'linear' or 'nearest', got {method!r}.")
        (at,) = real_tensors(_WHO, xi=_joined(xi))
        rank, shape = len(self.grid), tuple(at.array.shape)
        if not shape or shape[-1] != rank:
            raise ValueError(
                f"{_WHO}: xi must have {rank} coordinates in its last axis, got shape {shape}."
            )
        flat = reshape(at, shape=(-1, rank))
        inside = self._inside(flat)
        pieces, shares = zip(*(self._place(flat[:, i], i) for i in range(rank)), strict=True)
        corners = (self._nearest if method == "nearest" else self._linear)(pieces, shares)
        if self._fill is not None:
            axes = (1,) * (len(self.values.array.shape) - rank)
            corners = where(reshape(inside, shape=(-1, *axes)), corners, self._fill)
        return reshape(corners, shape=(*shape[:-1], *self.values.array.shape[rank:]))

    def _inside(self, flat: Tensor) -> Tensor:
        found: Any = None
        for i, points in enumerate(self.grid):
            x = flat[:, i]
            outside = arithmetic.logical_or(
                arithmetic.less(x, float(points[0])), arithmetic.greater(x, float(points[-1]))
            )
            known = known_values(outside)
            if self._strict and known is not None and known.any():
                values = np.asarray(x.array)[known]
                raise ValueError(
                    f"{_WHO}: coordinate {i} must be between {points[0]} and {points[-1]}, got "
                    f"{values[0]}: pass bounds_error=False and a fill_value, or None for "
                    "extrapolation."
                )
            found = outside if found is None else arithmetic.logical_or(found, outside)
        return arithmetic.logical_not(found)

    def _place(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """The cell of each coordinate, and how far through it that is."""
        points = self.grid[axis]
        doubles = x if x.array.dtype == np.float64 else needed.cast(x, dtype=np.float64)
        cell = searchsorted(points[1:-1], doubles, side="right")
        left = take(Tensor(points[:-1]), cell, axis=0)
        width = take(Tensor(np.diff(points)), cell, axis=0)
        share = (doubles - left) / width
        kind = self.values.array.dtype
        return cell, share if kind == np.float64 else needed.cast(share, dtype=kind)

    def _taken(self, cells: Sequence[Tensor]) -> Tensor:
        sizes = [len(p) for p in self.grid]
        flat: Any = cells[0]
        for cell, size in zip(cells[1:], sizes[1:], strict=True):
            flat = flat * size + cell
        shape = self.values.array.shape[len(sizes) :]
        return take(reshape(self.values, shape=(-1, *shape)), flat, axis=0, sparse=False)

    def _linear(self, cells: Sequence[Tensor], shares: Sequence[Tensor]) -> Tensor:
        axes = (1,) * (len(self.values.array.shape) - len(self.grid))
        total: Any = None
        for corner in itertools.product((0, 1), repeat=len(self.grid)):
            weight: Any = None
            for high, share in zip(corner, shares, strict=True):
                factor = share if high else 1 - share
                weight = factor if weight is None else weight * factor
            taken = self._taken([c + high for c, high in zip(cells, corner, strict=True)])
            term = taken * reshape(weight, shape=(-1, *axes))
            total = term if total is None else total + term
        return total

    def _nearest(self, cells: Sequence[Tensor], shares: Sequence[Tensor]) -> Tensor:
        up = [needed.cast(arithmetic.greater(share, 0.5), dtype=np.int64) for share in shares]
        return self._taken([c + u for c, u in zip(cells, up, strict=True)])


@published("scipy.interpolate.interpn")
def interpn(
    points: Sequence[Any],
    values: TensorLike,
    xi: TensorLike,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: float | None = math.nan,
) -> Tensor:
    """Values on a grid at coordinates: a `RegularGridInterpolator` that is used once.

    >>> import gradtape as tf
    >>> tf.scipy.interpolate.interpn(([0, 1, 2],), [0.0, 1.0, 4.0], [[0.5], [1.5]]).numpy()
    array([0.5, 2.5], dtype=float32)
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


_WHO = "RegularGridInterpolator"


def _joined(xi: Any) -> Any:
    """Coordinates that are given as a tuple of arrays, in one."""
    if not isinstance(xi, tuple) or not xi:
        return xi
    arrays = [x if is_tensor_like(x) else np.asarray(x, np.float64) for x in xi]
    tensors = real_tensors(_WHO, **{f"xi[{i}]": a for i, a in enumerate(arrays)})
    shape = np.broadcast_shapes(*(tuple(t.array.shape) for t in tensors))
    spread = [needed.broadcast_to(t, shape=shape) for t in tensors]
    return stack(*spread, axis=len(shape))
