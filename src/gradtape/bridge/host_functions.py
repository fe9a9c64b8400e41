"""Functions of NumPy arrays that nothing is known of, their Jacobians and their derivatives along a
direction, which are such functions again.

All of them take and give arrays with a batch as first axis.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.bridge.differences import (
    Estimate,
    Many,
    Move,
    complex_steps,
    differences,
    first_step,
    joined,
    move_along,
    move_of_all,
    moves_of_elements,
    one_by_one,
)
from gradtape.core.thread import here

COMPLEX_STEP, FINITE_DIFFERENCE = "complex-step", "finite-difference"


class HostFunction(ABC):
    """A function of batches of arrays. `elementwise` ones keep the elements of their arguments,
    which are of one shape, apart.
    """

    who: str
    method: Any = FINITE_DIFFERENCE
    elementwise = False
    tolerance = 1e-3
    chosen_step: float | None = None
    precision: float | None = None
    """The relative precision of its values, where it is known."""

    @abstractmethod
    def many(self, args: list[Any]) -> list[Any]:
        """Its results for a batch."""

    def jacobian(self, place: int) -> HostFunction:
        """The Jacobian by an argument: for each result an array of its shape and the argument's,
        or of one shape for an elementwise function.
        """
        return Jacobian(self, place)

    def along(self, places: Sequence[int]) -> HostFunction:
        """The derivatives along tangents of some arguments, which follow the arguments."""
        return Along(self, tuple(places))

    def estimates(self, args: list[Any], place: int) -> list[Estimate]:
        """The Jacobian by an argument, with its error."""
        args = in_double(args)
        make: Callable[..., Any] = move_of_all if self.elementwise else moves_of_elements
        moves = make(args, place, self._step(args))
        if self.elementwise:
            found = [Estimate(*(a[:, 0] for a in e)) for e in self._derived(args, moves)]
        else:
            shape = args[place].shape[1:]
            parts = joined([self._derived(args, move) for move in moves])
            found = [Estimate(*(_as_jacobian(a, shape) for a in e)) for e in parts]
        self._warn(found, f"by argument {place}")
        return found

    def estimates_along(self, args: list[Any], tangents: Mapping[int, Any]) -> list[Estimate]:
        args = in_double(args)
        found = self._derived(args, move_along(args, tangents, self._step(args)))
        found = [Estimate(*(a[:, 0] for a in e)) for e in found]
        self._warn(found, "along a direction")
        return found

    def _step(self, args: list[Any]) -> float | None:
        if self.method == COMPLEX_STEP:
            return None
        return self.chosen_step or first_step(self.precision_at(args))

    def precision_at(self, args: list[Any]) -> float:
        """The precision of its values; that of their dtype if it is not known."""
        if self.precision is None:
            found = self.many([a[:1] for a in args])
            floats = [v.dtype for v in found if v.dtype.kind == "f"]
            self.precision = max([float(np.finfo(d).eps) for d in floats], default=1e-16)
        return self.precision

    def _derived(self, args: list[Any], move: Move) -> list[Estimate]:
        if self.method == COMPLEX_STEP:
            return quietly(complex_steps, self.many, args, move, self.who)
        return quietly(differences, self.many, args, move, self.precision_at(args))

    def _warn(self, found: list[Estimate], what: str) -> None:
        for value, error in found:
            if not error.size:
                continue
            largest = np.max(np.where(np.isfinite(error), np.abs(value), 0))
            worst = np.max(error)
            if worst > self.tolerance * max(largest, 1e-12) + 1e-9:
                warnings.warn(
                    f"{self.who}: the derivative {what} may be off by {worst:.1e}, where it is at "
                    f"most {largest:.1e}: the function is not smooth there, or its values are less "
                    "precise than its dtype. Set `precision` to that of its values, `step` to "
                    "the scale on which it varies, or `tolerance` to what is good enough.",
                    RuntimeWarning,
                    stacklevel=2,
                )


class UserFunction(HostFunction):
    """What the user gave."""

    def __init__(self, f: Callable[..., Any], who: str, *, batched: bool, **options: Any) -> None:
        vars(self).update(options)
        self.who = who
        self.structure: Any = None
        self._checked = self.method != COMPLEX_STEP
        self._f = f
        self._many: Many = self._call_on_batch if batched else one_by_one(self._call)
        self._batched = batched

    def many(self, args: list[Any]) -> list[Any]:
        return self._many(args)

    def _call(self, *args: Any) -> list[Any]:
        result = self._f(*[np.array(a) for a in args])
        leaves = nest.flatten(result)
        found = [np.asarray(leaf) for leaf in leaves]
        for i, array in enumerate(found):
            if array.dtype.kind not in "biufcV":
                raise TypeError(
                    f"{self.who}: result {i} is {leaves[i]!r} of type {type(leaves[i]).__name__}: "
                    "the function must return an array or a number, or a structure of them."
                )
        self.structure = result
        return found

    def _call_on_batch(self, args: list[Any]) -> list[Any]:
        found = self._call(*args)
        for i, array in enumerate(found):
            if array.shape[:1] != args[0].shape[:1]:
                raise ValueError(
                    f"{self.who}: result {i} has shape {array.shape} for a batch of "
                    f"{len(args[0])}: with batched=True the function gets arguments with a batch "
                    "as first axis, and must return results with it."
                )
        return found

    def jacobian(self, place: int) -> HostFunction:
        return GivenJacobian(self, place) if callable(self.method) else Jacobian(self, place)

    def along(self, places: Sequence[int]) -> HostFunction:
        return GivenAlong(self, tuple(places)) if callable(self.method) else super().along(places)

    def estimates(self, args: list[Any], place: int) -> list[Estimate]:
        self._check(args, {place: np.ones(args[place].shape)})
        return super().estimates(args, place)

    def estimates_along(self, args: list[Any], tangents: Mapping[int, Any]) -> list[Estimate]:
        self._check(args, tangents)
        return super().estimates_along(args, tangents)

    def given(self, args: list[Any]) -> list[list[Any]]:
        """The Jacobians that the user's function gives, for each result those by each argument."""
        results = self.many([a[:1] for a in args])
        places = [i for i, a in enumerate(args) if a.dtype in dtypes.TRAINABLE]
        flat: Many = lambda rows: [np.asarray(j) for j in nest.flatten(self.method(*rows))]
        many = flat if self._batched else one_by_one(lambda *row: flat(list(row)))
        found = many(args)
        if len(found) != len(results) * len(places):
            raise ValueError(
                f"{self.who}: derivative must return {len(results) * len(places)} arrays, one for "
                f"each result and each floating argument, got {len(found)}."
            )
        jacobians = iter(found)
        every: list[list[Any]] = []
        for result in results:
            by_argument: list[Any] = [None] * len(args)
            for i in places:
                by_argument[i] = next(jacobians)
                own = () if self.elementwise else args[i].shape[1:]
                wanted = (len(args[i]), *result.shape[1:], *own)
                if by_argument[i].shape != wanted:
                    batch = int(not self._batched)
                    raise ValueError(
                        f"{self.who}: derivative must return an array of shape {wanted[batch:]} "
                        f"by argument {i}, got {by_argument[i].shape[batch:]}."
                    )
            every.append(by_argument)
        return every

    def _check(self, args: list[Any], tangents: Mapping[int, Any]) -> None:
        """Once: the complex step is wrong, and does not show it, where a function takes apart what
        is complex, as `abs` does. Differences do show it.
        """
        if self._checked:
            return
        self._checked = True
        first = in_double([a[:1] for a in args])
        some = {i: np.asarray(t[:1]) for i, t in tangents.items()}
        exact = quietly(complex_steps, self.many, first, move_along(first, some, None), self.who)
        precision = self.precision_at(first)
        move = move_along(first, some, first_step(precision))
        rough = quietly(differences, self.many, first, move, precision)
        for (value, _), (other, error) in zip(exact, rough, strict=True):
            off = np.abs(value - other)
            if np.any(off > 10 * error + 1e-3 * np.abs(other)):
                warnings.warn(
                    f"{self.who}: the complex step gives a derivative of {_some(value)} where "
                    f"differences give {_some(other)}: the function is not analytic (it may take "
                    "an absolute value, a real part or a comparison of complex numbers). Use "
                    "derivative='finite-difference'.",
                    RuntimeWarning,
                    stacklevel=2,
                )


class Jacobian(HostFunction):
    """The Jacobian of another function by one of its arguments."""

    def __init__(self, base: HostFunction, place: int) -> None:
        self.who, self.elementwise, self.tolerance = base.who, base.elementwise, base.tolerance
        self._base, self._place = base, place

    def many(self, args: list[Any]) -> list[Any]:
        return [e.value for e in self._base.estimates(args, self._place)]

    def precision_at(self, args: list[Any]) -> float:
        return _of_derivative(self._base, args)


class Along(HostFunction):
    """The derivatives of another function along tangents of some of its arguments."""

    def __init__(self, base: HostFunction, places: tuple[int, ...]) -> None:
        self.who, self.elementwise, self.tolerance = base.who, base.elementwise, base.tolerance
        self._base, self._places = base, places

    def many(self, args: list[Any]) -> list[Any]:
        count = len(args) - len(self._places)
        tangents = dict(zip(self._places, in_double(args[count:]), strict=True))
        return [e.value for e in self._base.estimates_along(args[:count], tangents)]

    def precision_at(self, args: list[Any]) -> float:
        return _of_derivative(self._base, args[: len(args) - len(self._places)])


class GivenJacobian(HostFunction):
    """The Jacobian that the user's function gives."""

    def __init__(self, base: UserFunction, place: int) -> None:
        self.who, self.elementwise, self.tolerance = base.who, base.elementwise, base.tolerance
        self._base, self._place = base, place

    def many(self, args: list[Any]) -> list[Any]:
        return [by_argument[self._place] for by_argument in self._base.given(args)]


class GivenAlong(HostFunction):
    """The derivatives along tangents by the Jacobian that the user's function gives."""

    def __init__(self, base: UserFunction, places: tuple[int, ...]) -> None:
        self.who, self.elementwise, self.tolerance = base.who, base.elementwise, base.tolerance
        self._base, self._places = base, places

    def many(self, args: list[Any]) -> list[Any]:
        count = len(args) - len(self._places)
        tangents = dict(zip(self._places, args[count:], strict=True))
        found = []
        for by_argument in self._base.given(args[:count]):
            terms = [self._product(by_argument[i], t) for i, t in tangents.items()]
            found.append(np.sum(terms, axis=0))
        return found

    def _product(self, jacobian: Any, tangent: Any) -> Any:
        if self.elementwise:
            return jacobian * tangent
        batch, rank = len(tangent), jacobian.ndim - tangent.ndim + 1
        flat = jacobian.reshape(*jacobian.shape[:rank], -1)
        return np.einsum("b...i,bi->b...", flat, tangent.reshape(batch, -1))


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """A call without NumPy's warnings about points that are tried."""
    return here.state.quietly(function, *args)


def in_double(args: Sequence[Any]) -> list[Any]:
    """Floating arguments in double precision, in which derivatives are taken."""
    return [
        np.asarray(a, np.float64) if a.dtype in dtypes.TRAINABLE and a.dtype.kind != "c" else a
        for a in args
    ]


def _of_derivative(base: HostFunction, args: list[Any]) -> float:
    """The relative precision of a derivative."""
    precision = base.precision_at(in_double(args))
    return precision * 10 if base.method == COMPLEX_STEP else float(precision**0.8) * 10


def _as_jacobian(array: Any, shape: tuple[int, ...]) -> Any:
    """An array with the elements of an argument as second axis, with their axes as the last."""
    moved = np.moveaxis(array, 1, -1)
    return moved.reshape(*moved.shape[:-1], *shape)


def _some(values: Any) -> str:
    return np.array2string(values.reshape(-1)[:3], precision=4)
