"""`Programs`: the compiled programs of one function; the least recently used are dropped when there
are too many.

A program takes about two megabytes, so a function that is called with ever new shapes would
eventually use up all memory.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gradtape.core.messages import log_warning
from gradtape.core.settings import settings
from gradtape.engines.numpy.allocator import give_back

if TYPE_CHECKING:
    from gradtape.functions.concrete_function import ConcreteFunction

_FEW = 16  # so many programs are dropped before their memory is looked for


class Programs:
    """A function's programs by the keys of the calls that they are for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._by_key: OrderedDict[Any, ConcreteFunction] = OrderedDict()
        self._dropped = 0
        self._once: set[int] = set()  # the hashes of the keys of those that were dropped

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_key)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def values(self) -> list[ConcreteFunction]:
        return list(self._by_key.values())

    def get(self, key: Any) -> ConcreteFunction | None:
        return self._by_key.get(key)

    def has_dropped(self, key: Any) -> bool:
        """Whether there was a program for this key once."""
        return hash(key) in self._once

    def use(self, key: Any) -> None:
        """Notes that a program has been used; another thread may have dropped it."""
        if 2 * len(self._by_key) > settings.programs_per_function:
            with suppress(KeyError):
                self._by_key.move_to_end(key)

    def put(self, key: Any, program: ConcreteFunction, what_changes: str) -> list[ConcreteFunction]:
        """Keeps a program; returns those that are dropped for it."""
        self._by_key[key] = program
        self._by_key.move_to_end(key)
        dropped = []
        while len(self._by_key) > settings.programs_per_function:
            gone, unused = self._by_key.popitem(last=False)
            self._once.add(hash(gone))
            unused.forget()
            dropped.append(unused)
        if dropped:
            self._note(len(dropped), what_changes)
        return dropped

    def _note(self, count: int, what_changes: str) -> None:
        if not self._dropped:
            log_warning(
                "%s has been traced for more than %s kinds of arguments: the programs that were "
                "used least recently are dropped, and "
                "traced again when they are needed. The last time, %s. Pad what is passed to a few "
                "shapes, pass tensors instead of "
                "Python numbers, or raise the limit with "
                "gradtape.config.set_programs_per_function.",
                self._name, settings.programs_per_function, what_changes,
            )  # fmt: skip
        before, self._dropped = self._dropped, self._dropped + count
        if before // _FEW < self._dropped // _FEW:
            gc.collect()  # programs hold each other
            give_back()
