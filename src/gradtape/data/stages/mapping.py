"""Functions of elements: map, filter, take_while, scan."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gradtape.core.thread import init_scope
from gradtape.data.calling import UsersFunction, spec_of_results
from gradtape.data.rows import Addressed, RowStream
from gradtape.data.stage import UNKNOWN, Run, Stage, StageIterator
from gradtape.data.structure import check_fits, normalised, spec_of
from gradtape.data.threads import AsItPays, InTurn, SideBySide
from gradtape.data.vectorising import MappedAddressed, MappedRows, Vectorised, vectorised

AUTOTUNE = -1


class Map(Stage):
    """A function of each element, called in turn or by `workers` threads."""

    name = "map"

    def __init__(
        self, source: Stage, function: UsersFunction, workers: int | None, *, in_order: bool
    ) -> None:
        super().__init__(source)
        self._function, self._workers, self._in_order = function, workers, in_order

    @property
    def computes(self) -> bool:
        return True

    @cached_property
    def spec(self) -> Any:
        return spec_of_results(self._function, self.input)

    @cached_property
    def _vectorised(self) -> Vectorised | None:
        """The function as one of many rows, if it can be."""
        with init_scope():
            return vectorised(self._function, self.input)

    def rows(self, run: Run) -> RowStream | None:
        rows = self.input.rows(run)
        if rows is None or self._vectorised is None:
            return None
        return MappedRows(rows, self._vectorised)

    def addressed(self) -> Addressed | None:
        source = self.input.addressed()
        if source is None or self._vectorised is None:
            return None
        return MappedAddressed(source, self._vectorised)

    def iterator(self, run: Run) -> StageIterator:
        source, call = self.input.iterator(run), self._function
        if self._workers is None or self._workers == 1:
            return InTurn(source, call)
        if self._workers == AUTOTUNE:
            return AsItPays(source, call, in_order=self._in_order)
        return SideBySide(source, call, self._workers, in_order=self._in_order)


class Filter(Stage):
    """The elements for which a function gives True; with `ends`, those before the first for which
    it gives False.
    """

    def __init__(self, source: Stage, predicate: UsersFunction, *, ends: bool) -> None:
        super().__init__(source)
        self.name = predicate.stage
        self._predicate, self._ends = predicate, ends

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Filtered(self.input.iterator(run), self._predicate, ends=self._ends)


class _Filtered(StageIterator):
    def __init__(self, source: StageIterator, predicate: UsersFunction, *, ends: bool) -> None:
        super().__init__(source)
        self._predicate, self._ends = predicate, ends
        self._at = 0
        self._ended = False

    def __next__(self) -> Any:
        while not self._ended:
            element = next(self.inputs[0])
            self._at += 1
            if self._predicate.predicate(element, self._at - 1):
                return element
            self._ended = self._ends
        raise StopIteration


class Scan(Stage):
    """A function of a state and each element, which gives the next state and an element."""

    name = "scan"

    def __init__(self, source: Stage, initial_state: Any, function: UsersFunction) -> None:
        super().__init__(source)
        self._state = normalised(initial_state, "scan: initial_state")
        self._function = function

    @property
    def function(self) -> UsersFunction:
        return self._function

    @cached_property
    def spec(self) -> Any:
        state = self._state

        def first(*element: Any) -> Any:
            given = element[0] if len(element) == 1 else element
            return _pair(self._function.function(state, given))[1]

        return spec_of_results(UsersFunction(first, self.name, "scan_func"), self.input)

    def iterator(self, run: Run) -> StageIterator:
        return _Scanned(self.input.iterator(run), self._state, self._function)


class _Scanned(StageIterator):
    def __init__(self, source: StageIterator, state: Any, function: UsersFunction) -> None:
        super().__init__(source)
        self._state, self._function = state, function
        self._wanted = spec_of(state)
        self._at = 0

    def __next__(self) -> Any:
        element = next(self.inputs[0])
        self._at += 1
        step = self._function.function
        bound = UsersFunction(lambda _: _pair(step(self._state, element)), "scan", "scan_func")
        state, found = bound((None,), self._at - 1)
        self._state = check_fits(state, self._wanted, "scan: the new state")
        return found


def _pair(result: Any) -> Any:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"scan: scan_func must give a pair of the new state and an element, got {result!r}."
        )
    return tuple(result)


PUBLISHED = {"data.AUTOTUNE": AUTOTUNE, "data.experimental.AUTOTUNE": AUTOTUNE}
