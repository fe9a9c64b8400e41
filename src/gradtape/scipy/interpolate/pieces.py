"""Piecewise polynomials, which is what all interpolating functions of one variable become."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.numpy.shaping import moveaxis
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.convert import is_tensor_like
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic
from gradtape.ops.counting import searchsorted
from gradtape.ops.indexing import take
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape, stack
from gradtape.scipy.arguments import real_tensors


class PiecewisePolynomial:
    """A function of one variable: `coefficients` has the polynomials' in falling powers of the
    distance from the left end, the pieces, and then the shape of a value, in which the axis
    of the points was `axis`.
    """

    def __init__(
        self, who: str, breaks: Any, coefficients: Tensor, extrapolate: Any, axis: int
    ) -> None:
        if extrapolate not in (True, False, None, "periodic"):
            raise ValueError(
                f"{who}: extrapolate must be True, False, None or 'periodic', got {extrapolate!r}."
            )
        self._who, self._breaks, self._extrapolate = who, breaks, extrapolate
        self._coefficients, self._axis = coefficients, axis

    def __call__(self, x: TensorLike, nu: int = 0, extrapolate: Any = None) -> Tensor:
        """The values at `x`, or those of the derivative of order `nu`."""
        (at,) = real_tensors(self._who, x=x if is_tensor_like(x) else np.asarray(x, np.float64))
        extrapolate = self._extrapolate if extrapolate is None else extrapolate
        kind = self._coefficients.array.dtype
        known = np.asarray(self._breaks, np.float64)
        left, right = float(known[0]), float(known[-1])
        place = at if at.array.dtype == np.float64 else needed.cast(at, dtype=np.float64)
        if extrapolate == "periodic":
            place = left + arithmetic.floormod(place - left, right - left)
        pieces = searchsorted(known[1:-1], reshape(place, shape=(-1,)), side="right")
        distance = reshape(place, shape=(-1,)) - take(
            Tensor(known[:-1]), pieces, axis=0, sparse=False
        )
        if distance.array.dtype != kind:
            distance = needed.cast(distance, dtype=kind)
        found = self._at(pieces, distance, nu)
        shape = tuple(self._coefficients.array.shape[2:])
        found = reshape(found, shape=(*at.array.shape, *shape))
        if extrapolate is False:
            outside = arithmetic.logical_or(
                arithmetic.less(place, left), arithmetic.greater(place, right)
            )
            outside = reshape(outside, shape=(*at.array.shape, *(1 for _ in shape)))
            found = where(outside, math.nan, found)
        rank = at.array.ndim
        return moveaxis(found, range(rank), range(self._axis, self._axis + rank))

    def _at(self, pieces: Tensor, distance: Tensor, nu: int) -> Tensor:
        """Horner's scheme for the pieces that are asked for, a row each."""
        rank = len(self._coefficients.array.shape) - 2
        distance = reshape(distance, shape=(-1, *(1 for _ in range(rank))))
        degree = self._coefficients.array.shape[0] - 1
        total: Any = None
        for i in range(degree + 1 - nu):
            factor = float(math.perm(degree - i, nu))
            term = take(self._coefficients[i], pieces, axis=0, sparse=False) * factor
            total = term if total is None else total * distance + term
        if total is None:  # a higher derivative than the polynomials have
            return take(self._coefficients[0], pieces, axis=0, sparse=False) * 0
        if degree == nu:
            return total + distance * 0
        return total


def cubic_pieces(x: Any, y: Tensor, slopes: Tensor) -> Tensor:
    """The coefficients of the cubic polynomials with the values and slopes at the points."""
    kind = y.array.dtype
    widths = np.diff(x).reshape(-1, *(1 for _ in y.array.shape[1:])).astype(kind)
    secants = (y[1:] - y[:-1]) / widths
    bend = (slopes[:-1] + slopes[1:] - 2 * secants) / widths
    return stack(
        bend / widths, (secants - slopes[:-1]) / widths - bend, slopes[:-1], y[:-1], axis=0
    )
