"""`make_interp_spline` and `CubicSpline`: their coefficients are linear in the values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import axis_of
from gradtape.api.numpy.shaping import moveaxis
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops.shaping import concat, reshape, stack
from gradtape.published import published
from gradtape.scipy.arguments import fixed_array, real_tensors
from gradtape.scipy.interpolate.pieces import PiecewisePolynomial, cubic_pieces
from gradtape.scipy.linear_maps import linear_on_host, solves_with

CONDITIONS = {"natural": [(2, 0.0)], "clamped": [(1, 0.0)], "not-a-knot": [], None: []}


@published("scipy.interpolate.make_interp_spline")
def make_interp_spline(
    x: Any, y: TensorLike, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0
) -> InterpolatingSpline:
    """The spline of degree `k` through the values `y` at the points `x`, as
    `scipy.interpolate.make_interp_spline`: a function of where it is evaluated and of `y`. The
    points and knots are constants; periodic splines are made by `CubicSpline`.

    >>> import gradtape as tf
    >>> y = tf.Variable([0.0, 1.0, 4.0, 9.0])
    >>> with tf.GradientTape() as tape:
    ...     found = tf.scipy.interpolate.make_interp_spline([0.0, 1.0, 2.0, 3.0], y)(1.5)
    >>> found.numpy(), tape.gradient(found, y).numpy().round(4)
    (np.float32(2.25), array([-0.0625,  0.5625,  0.5625, -0.0625], dtype=float32))
    """
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415

    who = "make_interp_spline"
    points, values, axis = points_and_values(who, x, y, axis)
    if isinstance(bc_type, str) and bc_type == "periodic":
        raise NotImplementedError(
            f"{who}: bc_type='periodic' is not available: use CubicSpline(x, y, "
            "bc_type='periodic')."
        )
    shape = values.array.shape[1:]
    zeros = np.zeros(values.array.shape)
    knots = None if t is None else fixed_array(t, who, "t")
    conditions = _both_ends(bc_type, who)
    plain = make_interp_spline(points, zeros, k, knots, _without_values(bc_type, conditions))
    flat = reshape(values, shape=(len(points), -1))
    right = _with_conditions(flat, conditions, shape)
    matrix = _collocation(points, plain.t, k, conditions)
    coefficients = linear_on_host(who, *solves_with(matrix), right)
    return InterpolatingSpline(plain.t, coefficients, int(k), shape, axis)


class InterpolatingSpline(PiecewisePolynomial):
    """A spline with knots `t`, coefficients `c` and degree `k`.

    >>> import gradtape as tf
    >>> spline = tf.scipy.interpolate.make_interp_spline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], k=2)
    >>> spline(tf.constant([0.5, 3.0])).numpy(), spline(tf.constant(1.0), 1).numpy()
    (array([0.25, 9.  ], dtype=float32), np.float32(2.0))
    """

    def __init__(
        self, knots: Any, coefficients: Tensor, degree: int, shape: Any, axis: int
    ) -> None:
        self.t, self.k = knots, degree
        self.c = reshape(coefficients, shape=(coefficients.array.shape[0], *shape))
        breaks = np.unique(knots[degree : len(knots) - degree])
        to_pieces = _derivatives_at(knots, degree, breaks[:-1])
        pieces = linear_on_host(
            "make_interp_spline",
            lambda a: to_pieces @ a,
            lambda a: to_pieces.T @ a,
            coefficients,
        )
        pieces = reshape(pieces, shape=(degree + 1, len(breaks) - 1, *shape))
        super().__init__("make_interp_spline", breaks, pieces, True, axis)


@published("scipy.interpolate.CubicSpline")
class CubicSpline(PiecewisePolynomial):
    """The cubic spline through the values `y` at the points `x`, as
    `scipy.interpolate.CubicSpline`: a function of where it is evaluated and of `y`. The points are
    constants.

    >>> import gradtape as tf
    >>> x = tf.Variable([0.5, 1.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])(x)
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (array([0.125, 1.   ], dtype=float32), array([0.75, 3.  ], dtype=float32))
    """

    def __init__(
        self,
        x: Any,
        y: TensorLike,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: Any = None,
    ) -> None:
        who = "CubicSpline"
        points, values, axis = points_and_values(who, x, y, axis)
        if len(points) < 2:
            raise ValueError(f"{who}: x must have at least 2 points, got {len(points)}.")
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if periodic:
            slopes = _periodic_slopes(points, values)
        else:
            slopes = _slopes(points, values, _both_ends(bc_type, who))
        if extrapolate is None:
            extrapolate = "periodic" if periodic else True
        super().__init__(who, points, cubic_pieces(points, values, slopes), extrapolate, axis)


def points_and_values(who: str, x: Any, y: Any, axis: Any) -> tuple[Any, Tensor, int]:
    """The points, the values with their axis as the first, and which axis that was."""
    points = fixed_array(x, who, "x")
    (values,) = real_tensors(who, y=y)
    axis = axis_of(axis, values.array.ndim, who)
    values = moveaxis(values, axis, 0)
    if points.ndim != 1 or len(points) != values.array.shape[0]:
        raise ValueError(
            f"{who}: x must be a vector as long as y along axis {axis}, got shape {points.shape} "
            f"for {values.array.shape[0]} values."
        )
    if not (np.isfinite(points).all() and (np.diff(points) > 0).all()):
        raise ValueError(f"{who}: x must be finite and increase strictly, got {points}.")
    return points, values, axis


Ends = tuple[list[tuple[int, Any]], list[tuple[int, Any]]]


def _both_ends(bc_type: Any, who: str) -> Ends:
    """The derivatives that are given at each end: their orders and values."""
    pair = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else tuple(bc_type)
    if len(pair) != 2:
        raise ValueError(f"{who}: bc_type must be one condition or two, got {bc_type!r}.")
    left, right = (_conditions(end, bc_type, who) for end in pair)
    return left, right


def _conditions(end: Any, bc_type: Any, who: str) -> list[tuple[int, Any]]:
    if end is None or isinstance(end, str):
        if end not in CONDITIONS:
            raise ValueError(
                f"{who}: bc_type must be 'not-a-knot', 'natural', 'clamped', 'periodic', or pairs "
                f"of an order and a value, got {bc_type!r}."
            )
        return list(CONDITIONS[end])
    pairs = list(end) if isinstance(end[0], (list, tuple)) else [end]
    return [(int(order), fixed_array(value, who, "bc_type")) for order, value in pairs]


def _without_values(bc_type: Any, ends: Ends) -> Any:
    """The same conditions for a spline through zeros, which says where the knots are."""
    if bc_type is None or isinstance(bc_type, str):
        return bc_type
    return tuple([(order, np.zeros(np.shape(v))) for order, v in end] or None for end in ends)


def _with_conditions(values: Tensor, ends: Ends, shape: Any) -> Tensor:
    """The right-hand side: the values between what is given at the left and the right end."""
    kind = values.array.dtype
    rows = [
        [np.broadcast_to(value, shape).reshape(-1).astype(kind) for _, value in end] for end in ends
    ]
    parts: list[Any] = [Tensor(np.stack(end)) for end in rows[:1] if end]
    parts.append(values)
    parts.extend(Tensor(np.stack(end)) for end in rows[1:] if end)
    return concat(*parts, axis=0) if len(parts) > 1 else values


def _collocation(points: Any, knots: Any, degree: int, ends: Ends) -> Any:
    """The matrix from coefficients to what `_with_conditions` has."""
    from scipy import sparse  # noqa: PLC0415
    from scipy.interpolate import BSpline  # noqa: PLC0415

    count = len(knots) - degree - 1
    rows = []
    for end, x, near in (
        (ends[0], points[0], slice(degree + 1)),
        (ends[1], points[-1], slice(count - degree - 1, count)),
    ):
        unit = np.zeros((count, degree + 1))
        unit[near] = np.eye(degree + 1)
        part = np.zeros((len(end), count))
        for i, (order, _) in enumerate(end):
            part[i, near] = BSpline(knots, unit, degree)(x, order)
        rows.append(sparse.csr_array(part))
    values = BSpline.design_matrix(points, knots, degree)
    return sparse.vstack([rows[0], values, rows[1]])


def _derivatives_at(knots: Any, degree: int, x: Any) -> Any:
    """The sparse matrix from coefficients to derivatives divided by factorials, the highest first,
    at some points.
    """
    from scipy import sparse  # noqa: PLC0415
    from scipy.interpolate import BSpline  # noqa: PLC0415

    found = []
    change = sparse.eye_array(len(knots) - degree - 1, format="csr")
    for order in range(degree + 1):
        lower = degree - order
        inner = knots[order : len(knots) - order]
        found.append(BSpline.design_matrix(x, inner, lower) @ change / math.factorial(order))
        widths = inner[lower + 1 : -1] - inner[1 : -lower - 1]
        ratio = np.divide(lower, widths, out=np.zeros(len(widths)), where=widths > 0)
        step = sparse.diags_array(
            [-ratio, ratio], offsets=[0, 1], shape=(len(ratio), len(ratio) + 1)
        )
        change = step @ change
    return sparse.vstack(found[::-1]).tocsr()


def _column(y: Tensor, numbers: Any) -> Any:
    """Numbers for the first axis of `y`, in its dtype."""
    return np.asarray(numbers, y.array.dtype).reshape(-1, *(1 for _ in y.array.shape[1:]))


def _slopes(x: Any, y: Tensor, ends: Ends) -> Tensor:
    """The slopes of a cubic spline at its points."""
    widths = np.diff(x)
    shape = y.array.shape[1:]
    secants: Any = (y[1:] - y[:-1]) / _column(y, widths)
    free = [not end for end in ends]
    for end in ends:
        if len(end) > 1 or (end and end[0][0] not in (1, 2)):
            raise ValueError(
                "CubicSpline: bc_type must have a derivative of order 1 or 2 at each end, got "
                f"{end}."
            )
    if len(x) == 2 or (len(x) == 3 and all(free)):
        return _few_slopes(widths, secants, ends)
    size = len(x)
    diagonals = np.zeros((3, size))
    diagonals[1, 1:-1] = 2 * (widths[:-1] + widths[1:])
    diagonals[0, :-2], diagonals[2, 2:] = widths[1:], widths[:-1]
    inner = 3 * (_column(y, widths[1:]) * secants[:-1] + _column(y, widths[:-1]) * secants[1:])
    sides = []
    for end, (h, g), (first, second) in (
        (ends[0], widths[:2], (secants[0], secants[1])),
        (ends[1], widths[:-3:-1], (secants[-1], secants[-2])),
    ):
        sides.append(_end_row(end, h, g, first, second, 1.0 if end is ends[0] else -1.0, shape))
    (diagonals[1, 0], diagonals[2, 1], first), (diagonals[1, -1], diagonals[0, -2], last) = sides
    from scipy import sparse  # noqa: PLC0415

    matrix = sparse.dia_array((diagonals, [-1, 0, 1]), shape=(size, size))
    right = concat(
        reshape(first, shape=(1, *shape)), inner, reshape(last, shape=(1, *shape)), axis=0
    )
    return _solved(matrix, right)


def _end_row(
    end: list[tuple[int, Any]], h: float, g: float, first: Any, second: Any, sign: float, shape: Any
) -> tuple[float, float, Any]:
    """The equation of one end: the factors of its slope and of the next, and the right side. `h`
    and `g` are the widths from there, `first` and `second` the secants.
    """
    if not end:
        d = h + g
        return g, d, ((h + 2 * d) * g * first + h * h * second) / d
    ((order, value),) = end
    value = np.broadcast_to(value, shape)
    if order == 1:
        return 1.0, 0.0, first * 0 + value.astype(first.array.dtype)
    return 2 * h, h, 3 * h * first - (sign * 0.5 * h * h * value).astype(first.array.dtype)


def _few_slopes(widths: Any, secants: Tensor, ends: Ends) -> Tensor:
    """Those of a parabola through three points, or of a polynomial with conditions through two."""
    if len(widths) == 2:
        h, g = (float(w) for w in widths)
        middle = (g * secants[0] + h * secants[1]) / (h + g)
        return stack(2 * secants[0] - middle, middle, 2 * secants[1] - middle, axis=0)
    (h,), secant = widths, secants[0]
    matrix, rows = np.zeros((2, 2)), []
    for i, (end, sign) in enumerate(zip(ends, (1.0, -1.0), strict=True)):
        order, value = end[0] if end else (1, None)
        if order == 1:
            matrix[i, i] = 1
            given = 0 if value is None else np.asarray(value, secant.array.dtype)
            rows.append(secant if value is None else secant * 0 + given)
        else:
            matrix[i, i], matrix[i, 1 - i] = 2, 1
            rows.append(3 * secant - np.asarray(sign * 0.5 * h * value, secant.array.dtype))
    from scipy import sparse  # noqa: PLC0415

    return _solved(sparse.csc_array(matrix), stack(*rows, axis=0))


def _periodic_slopes(x: Any, y: Tensor) -> Tensor:
    from scipy import sparse  # noqa: PLC0415

    widths = np.diff(x)
    if len(x) == 2:
        return y * 0
    secants: Any = (y[1:] - y[:-1]) / _column(y, widths)
    before = np.roll(widths, 1)
    earlier = concat(secants[-1:], secants[:-1], axis=0)
    size = len(widths)
    places = np.arange(size)
    rows = np.concatenate([places] * 3)
    columns = np.concatenate([places, (places - 1) % size, (places + 1) % size])
    entries = np.concatenate([2 * (widths + before), widths, before])
    matrix = sparse.coo_array((entries, (rows, columns)), shape=(size, size))
    slopes = _solved(matrix, 3 * (_column(y, widths) * earlier + _column(y, before) * secants))
    return concat(slopes, slopes[:1], axis=0)


def _solved(matrix: Any, right: Tensor) -> Tensor:
    shape = tuple(right.array.shape)
    flat = reshape(right, shape=(shape[0], -1))
    return reshape(linear_on_host("CubicSpline", *solves_with(matrix), flat), shape=shape)
