"""Derivatives of functions that nothing is known of, from their values: central differences with
an estimate of their error, and the complex step. NumPy alone.

Arrays have a batch as their first axis here. A `Many` takes and gives such arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Many = Callable[[list[Any]], list[Any]]

_SHRINKING = [16.0**-i for i in range(7)]
"""The steps that are tried, as parts of the first one, until a derivative is good or gets worse."""
_GOOD = 1e-9  # the error of a good derivative, beside the largest one
_AT_ONCE = 1 << 22  # numbers that are passed to a function at once
_COMPLEX_STEP = 1e-20


class Estimate(NamedTuple):
    """A derivative, and about how far off it may be, element by element."""

    value: np.ndarray[Any, Any]
    error: np.ndarray[Any, Any]


class Move(NamedTuple):
    """Some ways to move arguments: for each that moves, an array with the batch, the ways, and then
    its own axes; and how wide the moves are, to be divided by.
    """

    shifts: Mapping[int, Any]
    widths: Any


def first_step(precision: float) -> float:
    """A step, as a part of an argument's size, for a function whose values have this relative
    precision: the truncation error of the extrapolated difference grows with the fourth power of
    the step, and that of rounding falls with it.
    """
    return float(2.0 ** np.round(np.log2(precision) / 5))


def moves_of_elements(args: Sequence[Any], place: int, step: float | None) -> Iterator[Move]:
    """The moves of an argument along each of its elements, as many at once as memory allows. A
    complex step needs no step of its own.
    """
    x = args[place]
    batch, shape = len(x), x.shape[1:]
    size = int(np.prod(shape, dtype=np.int64))
    flat = np.reshape(x, (batch, size))
    count = max(1, _AT_ONCE // max(1, 4 * batch * size))
    for first in range(0, max(size, 1), count):
        ways = np.arange(first, min(first + count, size))
        widths = _sizes(flat[:, ways]) * step if step else np.ones((batch, len(ways)))
        shifts = np.zeros((batch, len(ways), size))
        shifts[:, np.arange(len(ways)), ways] = widths
        yield Move({place: shifts.reshape((batch, len(ways), *shape))}, widths)


def move_of_all(args: Sequence[Any], place: int, step: float | None) -> Move:
    """The move of all elements of an argument at once, for functions that keep them apart."""
    x = args[place]
    widths = (_sizes(x) * step if step else np.ones(x.shape))[:, None]
    return Move({place: widths}, widths)


def move_along(args: Sequence[Any], tangents: Mapping[int, Any], step: float | None) -> Move:
    """The move of several arguments along their tangents."""
    batch = len(args[0])
    widths = np.ones(batch)
    if step:
        widths = np.full(batch, np.inf)
        for i, t in tangents.items():
            size = np.abs(t).reshape(batch, -1)
            room = _sizes(args[i]).reshape(batch, -1) / np.where(size > 0, size, np.nan)
            if room.size:
                widths = np.fmin(widths, np.fmin.reduce(room, axis=1))
        widths = np.where(np.isfinite(widths), widths, 1.0) * step
    shifts = {
        i: (t * widths.reshape(-1, *(1,) * (t.ndim - 1)))[:, None] for i, t in tangents.items()
    }
    return Move(shifts, widths[:, None])


def _sizes(x: Any) -> Any:
    return np.maximum(np.abs(x), 1.0)


def differences(many: Many, args: list[Any], move: Move, precision: float) -> list[Estimate]:
    """Central differences of all outputs, one for each way to move, extrapolated from two steps."""
    best: list[Estimate] = []
    latest: list[Estimate] = []
    for factor in _SHRINKING:
        points = [factor, -factor, factor / 2, -factor / 2]
        values = _at(many, args, move, points)
        found = [_extrapolated(v, move.widths * factor, precision) for v in values]
        if latest:  # noise may make two differences agree, and hardly four
            found = [_apart(*pair) for pair in zip(latest, found, strict=True)]
        latest = found
        pairs = list(zip(best or found, found, strict=True))
        best = [_better(*pair) for pair in pairs]
        if all(_is_done(*pair) for pair in pairs):
            break
    return best


def _extrapolated(values: Any, widths: Any, precision: float) -> Estimate:
    """From the values of an output at a step forward and back, and at half of it."""
    forward, back, half_forward, half_back = np.moveaxis(values, 2, 0)
    widths = widths.reshape(widths.shape + (1,) * (forward.ndim - widths.ndim))
    whole = (forward - back) / (2 * widths)
    half = (half_forward - half_back) / widths
    value = half + (half - whole) / 3
    noise = precision * np.max(np.abs(values), axis=2, initial=0) / widths
    error = np.abs(value - half) + noise
    return Estimate(value, np.where(np.isfinite(error), error, np.inf))


def _apart(before: Estimate, now: Estimate) -> Estimate:
    """An estimate that is no surer than it is near the one before."""
    apart = np.abs(now.value - before.value)
    return Estimate(now.value, np.fmax(now.error, np.where(np.isfinite(apart), apart, 0)))


def _better(one: Estimate, other: Estimate) -> Estimate:
    is_better = other.error < one.error
    return Estimate(
        np.where(is_better, other.value, one.value), np.where(is_better, other.error, one.error)
    )


def _is_done(before: Estimate, now: Estimate) -> bool:
    """Whether a smaller step would not be better, for any element."""
    error = np.minimum(before.error, now.error)
    is_known = np.isfinite(error)
    largest = np.max(np.abs(now.value), where=is_known, initial=1e-300)
    is_good = error <= _GOOD * largest
    return bool(np.all(is_good | (is_known & (now.error > before.error))))


def complex_steps(many: Many, args: list[Any], move: Move, who: str) -> list[Estimate]:
    """The imaginary parts after a tiny imaginary step: no difference is taken, so that nothing
    cancels.
    """
    try:
        values = _at(many, args, move, [1j * _COMPLEX_STEP])
    except TypeError as error:
        raise TypeError(
            f"{who}: the function does not take the complex arguments of the complex step "
            f"({error}): use derivative='finite-difference'."
        ) from error
    for i, v in enumerate(values):
        if v.dtype.kind != "c":
            raise TypeError(
                f"{who}: result {i} has dtype {v.dtype} where an argument is complex, so that the "
                "complex step has no derivative: write the function so that complex numbers pass "
                "through it, or use derivative='finite-difference'."
            )
    eps = np.finfo(np.float64).eps
    return [
        Estimate(found := v[:, :, 0].imag / _COMPLEX_STEP, 4 * eps * np.abs(found)) for v in values
    ]


def _at(many: Many, args: list[Any], move: Move, points: Sequence[complex]) -> list[Any]:
    """The outputs for every way to move and every point along it, which are their second and their
    third axis.
    """
    batch = len(args[0])
    ways = next(iter(move.shifts.values())).shape[1]
    lead = (batch, ways, len(points))
    given = []
    for i, arg in enumerate(args):
        spread = np.broadcast_to(arg[:, None, None], (*lead, *arg.shape[1:]))
        if i in move.shifts:
            along = np.reshape(points, (-1, *(1,) * (arg.ndim - 1)))
            spread = spread + move.shifts[i][:, :, None] * along
        given.append(spread.reshape((batch * ways * len(points), *arg.shape[1:])))
    return [v.reshape((*lead, *v.shape[1:])) for v in many(given)]


def joined(parts: list[list[Estimate]]) -> list[Estimate]:
    """The estimates of several groups of moves, one after another."""
    return [
        Estimate(
            np.concatenate([e.value for e in group], axis=1),
            np.concatenate([e.error for e in group], axis=1),
        )
        for group in zip(*parts, strict=True)
    ]


def one_by_one(f: Callable[..., list[Any]]) -> Many:
    """A function of single examples as one of batches."""

    def many(args: list[Any]) -> list[Any]:
        rows = [f(*row) for row in zip(*args, strict=True)] if args else []
        if not rows:
            like = f(*[np.ones(a.shape[1:], a.dtype) for a in args])
            return [np.zeros((0, *np.shape(v)), np.asarray(v).dtype) for v in like]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return many
