"""`Moment`: what the variables of Python functions held when they were handed over.

A body of a branch or a loop is run as Python again when its gradient is wanted, long after the user's code has gone on; it must
see its variables as they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any

from gradtape.core.node import caller, locate
from gradtape.core.xla_tensor import is_traced

_EMPTY = object()


class _Running(threading.local):
    blocks = 0


_running = _Running()


def inside_a_block() -> bool:
    """Whether this thread is tracing a part of a program that XLA runs by itself."""
    return _running.blocks > 0


class Moment:
    """What the variables hold, now, that functions see from where they were defined, and functions beside them that they call."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self._contents: dict[int, tuple[str, CellType, Any]] = {}
        own = [f for f in functions if isinstance(f, FunctionType)]
        homes = set(map(_home, own))
        self._own = called = self._add(own)
        while called:
            held = [self._contents[key][2] for key in called]
            called = self._add([f for f in held if isinstance(f, FunctionType) and _home(f) in homes])

    def _add(self, functions: Sequence[FunctionType]) -> set[int]:
        """Notes what the variables of functions hold; gives the identities of those cells that are new."""
        cells = {
            id(cell): (name, cell, _held(cell))
            for function in functions
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            if id(cell) not in self._contents
        }
        self._contents.update(cells)
        return set(cells)

    def run(self, function: Callable[[], Any]) -> Any:
        """What a function gives at that moment."""
        _running.blocks += 1
        try:
            return self._run(function)
        finally:
            _running.blocks -= 1

    def _run(self, function: Callable[[], Any]) -> Any:
        now = [_held(cell) for _, cell, _ in self._contents.values()]
        if all(held is then for held, (_, _, then) in zip(now, self._contents.values(), strict=True)):
            result = function()
            self._refuse_changes()
            return result
        for _, cell, held in self._contents.values():
            _hold(cell, held)
        try:
            return function()
        finally:
            for held, (_, cell, _) in zip(now, self._contents.values(), strict=True):
                _hold(cell, held)

    def _refuse_changes(self) -> None:
        """Called functions must not assign tensors: one of a part of the program that XLA runs by itself means nothing outside."""
        for key, (name, cell, held) in self._contents.items():
            found = _held(cell)
            if key not in self._own and found is not held and is_traced(found):
                _hold(cell, held)
                place = locate(*caller())
                raise ValueError(
                    f"{place.file}:{place.line}: '{name}' is assigned by a function that is called in a branch or loop on tensors: return the "
                    "value instead, and assign it there."
                )


def _home(function: FunctionType) -> tuple[str, str]:
    """The function of a module, or of a class, inside which a function was defined."""
    code = function.__code__
    return code.co_filename, code.co_qualname.partition(".<locals>")[0]


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _hold(cell: CellType, value: Any) -> None:
    if value is not _EMPTY:
        cell.cell_contents = value
    elif _held(cell) is not _EMPTY:
        del cell.cell_contents
