"""`Observer`: is called around the kernels, backward walks and function calls of a thread.

A thread without observers pays nothing for them. An observer replaces attributes that are read in
any case:

- `here.state.run`, the function through which a thread runs every kernel on NumPy, and
  `here.state.run_on_xla`, which does the same on XLA;
- `here.state.checker`, which sees the results of ops on XLA, and makes functions use programs of
  their own;
- `here.state.around_walk`, which is given every backward walk;
- `here.state.around_call`, which is given every call of a compiled function.

Observers begin and end in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gradtape.blocks import Block
from gradtape.core.thread import here
from gradtape.core.xla.placement import RunOnDevice
from gradtape.engines.engine import XLA

if TYPE_CHECKING:
    from gradtape.core.location import Location
    from gradtape.core.node import Node


class Observer:
    """Measures or checks what one thread computes.

    `around_...` is given what runs something, and runs it, or returns a function that does. Of
    several observers the first is the innermost, but one that `checks` is outside all others, so
    that they do not see its checks.
    """

    checks = False
    checker: Callable[..., Any] | None = None

    def around_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function that runs kernels on NumPy, given the one that has run them so far."""
        return run

    def around_run_on_xla(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The same on XLA."""
        return run

    def around_walk(self, walk: Callable[..., Any], *args: Any) -> Any:
        """Runs a backward walk."""
        return walk(*args)

    def around_rows(self, walk: Callable[..., Any], *args: Any) -> Any:
        """Runs the walk of many cotangents at once, as for the rows of a Jacobian."""
        return walk(*args)

    def around_call(self, function: Any, call: Callable[[], Any]) -> Any:
        """Runs a call of a compiled function."""
        return call()

    def traced(
        self, name: str, place: Location | None, start: int, end: int, why: Sequence[str]
    ) -> None:
        """A function was traced, from `start` to `end` in nanoseconds of `perf_counter`.

        `why` says what changed since earlier calls; it is empty the first time.
        """

    def section(self, name: str, start: int, end: int, about: dict[str, Any]) -> None:
        """A block that the user named has ended."""


class OtherRules(Block):
    """A block in which Nodes have other rules, which see what theirs do."""

    def __init__(self, nodes: Sequence[Node], other: Callable[[Any], Any]) -> None:
        self._before = [(node, node.rule) for node in nodes]
        self._other = other

    def enter(self) -> None:
        for node, rule in self._before:
            node.rule = self._other(rule)

    def leave(self) -> None:
        for node, rule in self._before:
            node.rule = rule


def begin(observer: Observer) -> None:
    """Adds `observer` to those of this thread."""
    observers = here.state.observers
    # Anew even if it is there: a signal may have come between.
    _become(observers if observer in observers else (*observers, observer))


def end(observer: Observer) -> None:
    """Removes `observer` from those of this thread, if it is one of them."""
    _become(tuple([other for other in here.state.observers if other is not observer]))


def _become(observers: tuple[Observer, ...]) -> None:
    state = here.state
    in_order = sorted(observers, key=lambda observer: observer.checks)
    run, run_on_xla = state.quiet_run, XLA.run
    for observer in in_order:
        run, run_on_xla = observer.around_run(run), observer.around_run_on_xla(run_on_xla)
    checker = next((o.checker for o in in_order if o.checker is not None), None)
    around_walk = partial(_walk, in_order) if observers else None
    around_call = partial(_call, in_order) if observers else None
    # All at once: nothing is called here, after which a signal would be answered.
    if state.run.__class__ is RunOnDevice:
        state.run.plain = run
    else:
        state.run = run
    state.observers, state.run_on_xla, state.checker = observers, run_on_xla, checker
    state.around_walk, state.around_call = around_walk, around_call


def _walk(observers: Sequence[Observer], walk: Callable[..., Any], *args: Any) -> Any:
    for observer in observers:
        walk = partial(observer.around_walk, walk)
    return walk(*args)


def walk_rows(walk: Callable[..., Any], *args: Any) -> Any:
    """Runs the walk of many cotangents at once, inside the `around_rows` of all observers."""
    for observer in here.state.observers:
        walk = partial(observer.around_rows, walk)
    return walk(*args)


def _call(
    observers: Sequence[Observer], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of a compiled function; what it calls in turn is part of it."""
    state = here.state
    before, inside = state.around_call, None if state.checker is None else _checked
    state.around_call = inside
    try:
        call: Callable[[], Any] = partial(function, *args, **kwargs)
        for observer in observers:
            call = partial(observer.around_call, function, call)
        return call()
    finally:
        if state.around_call is inside:  # or else an observer has begun or ended meanwhile
            state.around_call = before


def _checked(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The general way to call a function, which looks for the program with checks."""
    return function._call(args, kwargs)
