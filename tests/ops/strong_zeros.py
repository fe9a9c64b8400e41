"""The checker of strong zeros: what comes of an element whose cotangent, or tangent, is exactly
zero is zero, whatever the derivative.

For one element of one argument that is given a value where derivatives have no value (NaN, an
infinity, a pole):

- backward, every output that depends on the element has a zero cotangent: the gradients must be
  those of harmless arguments;
- forward, every argument that has a part in those outputs has a zero tangent there: so must the
  tangents be.

The walks can find out in several ways that zeros are in danger, so the zeros come about in several
ways: see BACKWARD.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradtape as tf
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor

from . import checks

Function = Callable[..., Any]
Arrays = list[Any]

BAD = (np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0)
TOLERANCE = {"rtol": 1e-6, "atol": 1e-7}


@dataclass
class Danger:
    """Arguments of which one element has a bad value, beside harmless ones."""

    what: str
    harmless: Arrays
    args: Arrays
    cotangents: Arrays  # zero for outputs that depend on the element
    tangents: Arrays  # of the wanted arguments: zero where they have a part in those outputs


@np.errstate(all="ignore")
def dangers(
    function: Function, args: Arrays, wanted: Sequence[int], bad: Sequence[float] = BAD
) -> list[Danger]:
    """One for each wanted argument and bad value, in turn at its elements;
    values that the op refuses are left out.
    """
    harmless = _values(function, args)
    if harmless is None or not all(np.isfinite(value).all() for value in harmless):
        return []
    reach = {
        i: [_reached(function, args, harmless, i, place) for place in np.ndindex(args[i].shape)]
        for i in wanted
    }
    found = []
    rng = np.random.default_rng(0)
    for i in wanted:
        places = list(np.ndindex(args[i].shape))
        for turn, value in enumerate(bad):
            if not places:
                continue
            number = turn % len(places)
            spoilt = _with(args, i, places[number], value)
            after = _values(function, spoilt)
            touched = reach[i][number]
            if (
                after is None
                or touched is None
                or any(a.shape != h.shape for a, h in zip(after, harmless, strict=True))
            ):
                continue
            dead = [t | _differs(a, h) for t, a, h in zip(touched, after, harmless, strict=True)]
            cotangents = [
                np.where(d, 0, checks.random_like(rng, h)).astype(h.dtype)
                for d, h in zip(dead, harmless, strict=True)
            ]
            tangents = []
            for k in wanted:
                now = [
                    _reached(function, spoilt, after, k, place)
                    for place in np.ndindex(args[k].shape)
                ]
                alive = [
                    not _touch(dead, before) and not _touch(dead, r)
                    for before, r in zip(reach[k], now, strict=True)
                ]
                if k == i:
                    alive[number] = False
                tangent = checks.random_like(rng, args[k])
                tangents.append(
                    np.where(np.reshape(alive, args[k].shape), tangent, 0).astype(args[k].dtype)
                )
            found.append(
                Danger(
                    f"argument {i} = {value} at {places[number]}",
                    args,
                    spoilt,
                    cotangents,
                    tangents,
                )
            )
    return found


def _touch(dead: list[Any], reached: list[Any] | None) -> bool:
    return reached is None or any((d & r).any() for d, r in zip(dead, reached, strict=True))


def _values(function: Function, args: Arrays) -> Arrays | None:
    """The outputs that have gradients; None if the function refuses the arguments."""
    try:
        return checks.values(function, args)
    except Exception:  # noqa: BLE001 - whatever a kernel says of such values
        return None


def _with(args: Arrays, i: int, place: tuple[int, ...], value: float) -> Arrays:
    changed = np.array(args[i])
    changed[place] = value
    return [changed if k == i else arg for k, arg in enumerate(args)]


def _differs(a: Any, b: Any) -> Any:
    return ~((a == b) | (np.isnan(a) & np.isnan(b)))


def _reached(
    function: Function, args: Arrays, harmless: Arrays, i: int, place: tuple[int, ...]
) -> list[Any] | None:
    """Which outputs depend on an element: those that change with it."""
    reached = [np.zeros(h.shape, bool) for h in harmless]
    known = False
    for value in (np.nan, args[i][place] * (1 + 1e-3) + 1e-3, args[i][place] * 0.5 + 0.25):
        after = _values(function, _with(args, i, place, value))
        if after is None or any(a.shape != h.shape for a, h in zip(after, harmless, strict=True)):
            continue
        known = True
        reached = [r | _differs(a, h) for r, a, h in zip(reached, after, harmless, strict=True)]
    return reached if known else None


# The ways to differentiate


def by_seeds(function: Function, args: Arrays, wanted: Sequence[int], cotangents: Arrays) -> Arrays:
    """Zeros among the cotangents that the user gives."""
    return _arrays(
        checks.pulled(function, checks.as_tensors(args), wanted, checks.as_tensors(cotangents)),
        args,
        wanted,
    )


def by_mask(function: Function, args: Arrays, wanted: Sequence[int], cotangents: Arrays) -> Arrays:
    """Zeros from `where`, which hides what the op gave."""
    return _of_loss(_masked(function, cotangents), args, wanted)


def by_factor(
    function: Function, args: Arrays, wanted: Sequence[int], cotangents: Arrays
) -> Arrays:
    """Zeros from factors that are zero: all that tells of danger are the processor's flags,
    or a loss that is NaN.
    """

    def loss(*tensors: Any) -> Any:
        return _sum(
            [
                _weighed(out, c)
                for out, c in zip(checks.outputs(function, tensors), cotangents, strict=True)
            ]
        )

    return _of_loss(loss, args, wanted)


def by_some(function: Function, args: Arrays, wanted: Sequence[int], cotangents: Arrays) -> Arrays:
    """The same, by some of what is watched: another walk."""
    found: Arrays = []
    for i in wanted:
        tensors = checks.as_tensors(args)
        with GradientTape() as tape:
            tape.watch([tensors[k] for k in wanted])
            value = _masked(function, cotangents)(*tensors)
        found += _arrays([tape.gradient(value, tensors[i])], args, [i])
    return found


def recorded(function: Function, args: Arrays, wanted: Sequence[int], cotangents: Arrays) -> Arrays:
    """A gradient that another tape records."""
    with GradientTape() as outer:
        tensors = checks.as_tensors(args)
        outer.watch([tensors[i] for i in wanted])
        found = checks.pulled(function, tensors, wanted, checks.as_tensors(cotangents))
    return _arrays(found, args, wanted)


def compiled(function: Function, wanted: Sequence[int]) -> Function:
    """A way with the tape in a compiled function; it is compiled once."""

    @tf.function
    def gradients(tensors: Any, cotangents: Any) -> Any:
        with GradientTape() as tape:
            tape.watch([tensors[i] for i in wanted])
            targets = checks.outputs(function, tensors)
        found = tape.gradient(targets, [tensors[i] for i in wanted], cotangents, "zero")
        return [tf.convert_to_tensor(g) for g in found]

    def way(function: Function, args: Arrays, wanted: Sequence[int], cotangents: Arrays) -> Arrays:
        return [
            g.numpy() for g in gradients(checks.as_tensors(args), checks.as_tensors(cotangents))
        ]

    return way


def around_compiled(function: Function, wanted: Sequence[int]) -> Function:
    """A way with the tape outside the compiled function."""
    program = tf.function(function)
    return lambda _, args, wanted, cotangents: by_seeds(program, args, wanted, cotangents)


BACKWARD = {
    "seeds": by_seeds,
    "mask": by_mask,
    "factor": by_factor,
    "some": by_some,
    "recorded": recorded,
}
ON_XLA = {"compiled": compiled, "around a compiled function": around_compiled}


def _masked(function: Function, cotangents: Arrays) -> Function:
    def loss(*tensors: Any) -> Any:
        outputs = zip(checks.outputs(function, tensors), cotangents, strict=True)
        return _sum(
            [_weighed(tf.where(c != 0, out, 0), np.where(c == 0, 1, c)) for out, c in outputs]
        )

    return loss


def _weighed(out: Any, cotangent: Any) -> Any:
    """A real number whose gradient by `out` is the cotangent."""
    return tf.reduce_sum(
        tf.math.real(out * np.conj(cotangent)) if cotangent.dtype.kind == "c" else out * cotangent
    )


def _sum(values: Sequence[Any]) -> Any:
    total, *others = values
    for value in others:
        total = total + value
    return total


def _of_loss(loss: Function, args: Arrays, wanted: Sequence[int]) -> Arrays:
    tensors = checks.as_tensors(args)
    sources = [tensors[i] for i in wanted]
    with GradientTape() as tape:
        tape.watch(sources)
        value = loss(*tensors)
    return _arrays(tape.gradient(value, sources), args, wanted)


def _arrays(found: Sequence[Any], args: Arrays, wanted: Sequence[int]) -> Arrays:
    return [
        np.zeros_like(args[i]) if g is None else checks.operand(tf.convert_to_tensor(g)).array
        for g, i in zip(found, wanted, strict=True)
    ]


# The checks


def check_backward(
    function: Function, danger: Danger, wanted: Sequence[int], way: Function
) -> None:
    """A bad element that only outputs without a cotangent depend on changes no gradient."""
    expected = by_seeds(function, danger.harmless, wanted, danger.cotangents)
    found = way(function, danger.args, wanted, danger.cotangents)
    for i, g, e in zip(wanted, found, expected, strict=True):
        checks.assert_close(
            g, e, f"strong zeros: {danger.what}: gradient by argument {i}", **TOLERANCE
        )


def check_nothing(function: Function, danger: Danger, wanted: Sequence[int], way: Function) -> None:
    """Cotangents that are all zero give gradients that are."""
    nothing = [np.zeros_like(c) for c in danger.cotangents]
    for i, g in zip(wanted, way(function, danger.args, wanted, nothing), strict=True):
        checks.assert_close(
            g,
            np.zeros_like(g),
            f"strong zeros: {danger.what}: all cotangents are 0, argument {i}",
            **TOLERANCE,
        )


def pushed(function: Function, wanted: Sequence[int], *, on_xla: bool = False) -> Function:
    """The tangents of a function's outputs, as a function of its arguments and their tangents."""
    push = lambda tensors, tangents: checks.pushed(function, tensors, wanted, tangents)
    return tf.function(push) if on_xla else push


def check_forward(push: Function, danger: Danger) -> None:
    """A bad element, all of whose outputs have zero tangents from everywhere,
    changes no tangent.
    """

    def tangents(args: Arrays) -> Arrays:
        found = push(checks.as_tensors(args), checks.as_tensors(danger.tangents))
        return [None if t is None else t.numpy() for t in found]

    for k, (t, e) in enumerate(zip(tangents(danger.args), tangents(danger.harmless), strict=True)):
        assert (t is None) == (e is None)
        if t is not None:
            checks.assert_close(
                t, e, f"strong zeros: {danger.what}: tangent of output {k}", **TOLERANCE
            )


def check_second_order(
    function: Function, danger: Danger, wanted: Sequence[int], *, outer: str
) -> None:
    """The derivative of such a gradient: by the arguments, in reverse, or along directions that
    move the bad element too.
    """

    def gradients(*tensors: Any) -> list[Any]:
        with GradientTape() as tape:
            tape.watch([tensors[i] for i in wanted])
            loss = _masked(function, danger.cotangents)(*tensors)
        found = tape.gradient(loss, [tensors[i] for i in wanted], unconnected_gradients="zero")
        return [tf.convert_to_tensor(g) for g in found]

    def derivatives(args: Arrays) -> Arrays:
        rng = np.random.default_rng(1)
        tensors = checks.as_tensors(args)
        sources = [tensors[i] for i in wanted]
        if outer == "reverse":
            with GradientTape() as tape:
                tape.watch(sources)
                targets = gradients(*tensors)
            seeds = [Tensor(checks.random_like(rng, t.array)) for t in targets]
            return _arrays(tape.gradient(targets, sources, seeds), args, wanted)
        directions = [Tensor(checks.random_like(rng, args[i])) for i in wanted]
        with tf.autodiff.ForwardAccumulator(sources, directions) as accumulator:
            targets = gradients(*tensors)
        return _arrays(accumulator.jvp(targets), args, wanted)

    for i, d, e in zip(wanted, derivatives(danger.args), derivatives(danger.harmless), strict=True):
        checks.assert_close(
            d,
            e,
            f"strong zeros: {danger.what}: second order, {outer}, by argument {i}",
            **TOLERANCE,
        )


def check_moving_zeros(function: Function, args: Arrays, wanted: Sequence[int]) -> None:
    """A cotangent that is zero now has a derivative all the same:
    the gradient moves with it as it does with any other.
    """
    rng = np.random.default_rng(2)
    tensors = checks.as_tensors(args)
    cotangents = checks.as_tensors(
        [np.zeros_like(value) for value in checks.values(function, args)]
    )
    directions = checks.as_tensors([checks.random_like(rng, args[i]) for i in wanted])
    with GradientTape() as tape:
        tape.watch(cotangents)
        found = checks.pulled(function, tensors, wanted, cotangents)
    connected = [(g, d) for g, d in zip(found, directions, strict=True) if g is not None]
    moved = tape.gradient([g for g, _ in connected], cotangents, [d for _, d in connected], "zero")
    expected = checks.pushed(function, tensors, wanted, directions)
    for k, (m, e) in enumerate(zip(moved, expected, strict=True)):
        if e is not None:
            checks.assert_close(
                tf.convert_to_tensor(m).numpy(),
                e.numpy(),
                f"strong zeros: the derivative by cotangent {k}, which is 0",
                **TOLERANCE,
            )
