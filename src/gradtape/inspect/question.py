"""`Question`: why one source has a gradient or none, and the facts from which it is answered: what
the tape recorded, and the statements around the call that asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any

from gradtape.core.departures import Departure
from gradtape.core.location import Location, locate
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.recording import Recording
from gradtape.inspect.code import CallSite, Statement, mentions
from gradtape.inspect.explanation import Cause, Reason, Step

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape

Place = tuple[CodeType, int]


# Functions of their own, in some versions of Python.
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Question:
    """Why one source has a gradient, or none."""

    def __init__(
        self,
        tape: GradientTape,
        targets: Sequence[Any],
        target_names: Sequence[str],
        source: Any,
        source_name: str,
        place: Place | None,
        site: CallSite | None,
        walked: bool,
    ) -> None:
        self.tape = tape
        self.walked = walked
        self.targets = targets
        self.target_names = target_names
        self.target = ", ".join(target_names)
        self.source = source
        self.name = source_name
        self.site = site
        self.here = None if place is None else locate(*place)
        self.file = None if self.here is None else self.here.file

    def reason(
        self,
        cause: Cause,
        message: str,
        advice: str = "",
        location: Location | None = None,
        path: Sequence[Step] = (),
    ) -> Reason:
        return Reason(self.name, self.target, cause, f"{message}.", advice, location, tuple(path))

    # What was recorded

    @cached_property
    def source_node(self) -> Node | None:
        return self.tape._node_of(self.source)

    @cached_property
    def target_nodes(self) -> list[Node]:
        found = [self.tape._node_of(t) for t in self.targets]
        return [node for node in found if node is not None]

    @cached_property
    def path(self) -> Path:
        return Path(self.target_nodes, [self.source_node], self.recording)

    @property
    def recording(self) -> Recording:
        assert self.tape.scope is not None
        return self.tape.scope

    def all(self) -> list[Node]:
        return [
            node for scope in self.recording.scopes() for node in scope.nodes if node is not None
        ]

    def is_used(self) -> bool:
        """Whether anything that was recorded uses the source."""
        return any(
            parent is self.source_node for node in self.all() for parent in node.parents
        ) or any(
            origin() is self.source_node
            for scope in {node.scope for node in self.all()} | {self.recording}
            for noted in scope.endings.values()
            for ended in noted.each()
            for origin in ended.origins
        )

    def where_used(self) -> str:
        lines = sorted({
            str(node.location())
            for node in self.all()
            if any(parent is self.source_node for parent in node.parents)
        })  # fmt: skip
        return f": {self.name} is used at {', '.join(lines[:3])}" if lines else ""

    def comes_from_source(self, departure: Departure) -> bool:
        """Whether values that left the tape were computed from the source, as far as it is
        known.
        """
        node = None if departure.origin is None else departure.origin()
        if node is None:
            return False
        path = Path([node], [self.source_node], self.recording)
        return self.source_node in path.reached

    # What the source code says

    @property
    def tape_name(self) -> str:
        return self.site.on if self.site is not None and self.site.on else "tape"

    @cached_property
    def block(self) -> Any:
        if self.site is None or not self.site.on.isidentifier():
            return None
        return self.site.body.block_of(self.site.on, self.site.line)

    @cached_property
    def behind(self) -> list[Statement]:
        """The statements that the target may have been computed by."""
        if self.site is None:
            return []
        found = {s.line: s for t in self.target_names for s in self.statements_behind(t)}
        return [found[line] for line in sorted(found)]

    def statements_behind(self, target: str) -> list[Statement]:
        assert self.site is not None
        try:
            return self.site.body.behind(target, self.site.line)
        except SyntaxError:  # not an expression: a description
            return []

    def uses(self, *, direct: bool = False) -> list[Statement]:
        """Those of them that use the source; `direct` leaves out what functions use later."""
        return [s for s in self.behind if mentions(s.direct if direct else s.uses, self.name)]

    def is_sure(self, statement: Statement) -> bool:
        """Whether a statement has run, since the call that asks has."""
        return self.site is not None and self.site.body.is_sure(statement, self.site.line)

    def ran(self, first: int, last: int) -> bool:
        """Whether the tape has noted anything in some lines: an op, where a chain ended, or values
        that left.
        """
        return any(
            place is not None and self.is_here(place) and first <= place.line <= last
            for place in self._places
        )

    def is_here(self, place: Location) -> bool:
        """Whether a place is in the function that asks, or in a comprehension of it."""
        if self.here is None or place.file != self.file:
            return False
        function = place.function
        while function.endswith(_COMPREHENSIONS):
            function = function.rpartition(".")[0].removesuffix(".<locals>") or "<module>"
        return function == self.here.function

    @cached_property
    def _places(self) -> list[Location | None]:
        found = [node.location() for node in self.all()]
        for scope in {node.scope for node in self.all()} | {self.recording}:
            found += [e.location() for noted in scope.endings.values() for e in noted.each()]
        for departure in self.tape.departures():
            found += [departure.location, *departure.callers]
        return found

    def at(self, line: int) -> Location:
        assert self.here is not None
        return self.here._replace(line=line)
