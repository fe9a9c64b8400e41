"""`ConvertedBlock`: a piece of the user's code that XLA runs, and the variables it changes.

malt turns the body of an `if` or a loop into functions. They take and return nothing, but read and
write the variables of the enclosing function; `get_state` and `set_state` read and write those that
they change. A program is traced by running each once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

GetState = Callable[[], tuple[Any, ...]]
SetState = Callable[[tuple[Any, ...]], None]


class ConvertedBlock:
    """The functions that malt has made from a statement, the `names` of the variables it changes,
    and their values `before` it.
    """

    def __init__(
        self, get_state: GetState, set_state: SetState, names: Sequence[str], *parts: Any
    ) -> None:
        self._get, self._set = get_state, set_state
        self.names = names
        self.before = get_state()

    def run(self, part: Callable[[], Any], values: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        """The result of a part when the variables hold `values`, and their values after it."""
        return in_a_block(lambda: self._run_on(part, values))

    def _run_on(
        self, part: Callable[[], Any], values: Sequence[Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        now = self._get()
        try:
            self._set(tuple(values))
            result = part()
            return result, self._get()
        finally:
            self._set(now)

    def finish(self, values: Sequence[Any]) -> None:
        """Gives the variables the values that they have after the statement."""
        self._set(tuple(values))


class _Running(threading.local):
    blocks = 0


_running = _Running()


def in_a_block(function: Callable[[], Any]) -> Any:
    """The result of a function that is part of a program which XLA runs by itself."""
    _running.blocks += 1
    try:
        return function()
    finally:
        _running.blocks -= 1


def list_append(values: Any, value: Any) -> Any:
    """`values.append(value)` and the list.

    In a part of a program it returns a new list, which the other branch must not see.
    """
    if type(values) is list and _running.blocks > 0:
        return [*values, value]
    values.append(value)
    return values
