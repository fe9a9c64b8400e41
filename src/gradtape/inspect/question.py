"""`Question`: why one source has a gradient or none, and the facts from which it is answered: what
the tape recorded, and the statements around the call that asks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import inf
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape.core.departures import Departure
from gradtape.core.endings import AssignEnding, Ending, ReadEnding
from gradtape.core.location import Location, locate
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.recording import Recording
from gradtape.inspect.bindings import ANY, Binding, path_of
from gradtape.inspect.bindings import Path as SourcePath
from gradtape.inspect.code import CallSite, Statement
from gradtape.inspect.explanation import Cause, Reason, Step

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape
    from gradtape.core.variable import Variable

Place = tuple[CodeType, int]


# Functions of their own, in some versions of Python.
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Use(NamedTuple):
    """A statement that reads the name of the source on the way to the target.

    It is `sure` if the target depends on what is read, if it ran; `direct` if it reads it itself,
    and not a function that it makes; and `same` if the name may have meant the same object then.
    """

    statement: Statement
    sure: bool
    direct: bool
    same: bool

    def either(self, other: Use) -> Use:
        return Use(
            self.statement, self.sure or other.sure, self.direct or other.direct,
            self.same or other.same,
        )  # fmt: skip


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
        if self.source_node is None:
            return False
        return any(
            parent is self.source_node for node in self.all() for parent in node.parents
        ) or any(
            origin() is self.source_node for ended in self._noted() for origin in ended.origins
        )

    def _noted(self) -> Iterator[Ending]:
        """All ends of chains that the recording knows."""
        for scope in {node.scope for node in self.all()} | {self.recording}:
            for noted in scope.endings.values():
                yield from noted.each()
        for writes in (self.tape._assigned or {}).values():
            yield from writes

    def where_used(self) -> str:
        lines = sorted({
            str(node.location())
            for node in self.all()
            if any(parent is self.source_node for parent in node.parents)
        })  # fmt: skip
        return f": {self.name} is used at {', '.join(lines[:3])}" if lines else ""

    @cached_property
    def departures(self) -> tuple[Departure, ...]:
        """Where values left the tape, also where the chain had ended before."""
        noted = self.tape._departures
        return () if noted is None else noted.records(ended=True)

    def comes_from_source(self, departure: Departure) -> bool:
        """Whether values that left the tape were computed from the source, as far as it is
        known.
        """
        found = [node for origin in departure.origins if (node := origin()) is not None]
        return self.leads_from_source([node for node in found if not isinstance(node, Ending)]) or (
            self.end_of(departure) is not None
        )

    def end_of(self, departure: Departure) -> Ending | None:
        """Where a chain from the source had ended before its values left the tape."""
        ends = [e for origin in departure.origins if isinstance(e := origin(), Ending)]
        return next(
            (e for end in ends for e in reversed(end.each()) if self.way_to(e) is not None), None
        )

    def leads_from_source(self, nodes: Sequence[Node]) -> bool:
        """Whether any of these was computed from the source, by what was recorded or by values that
        were assigned to Variables.
        """
        path = Path(nodes, [self.source_node], self.recording)
        if self.source_node is not None and self.source_node in path.reached:
            return True
        return any(self.way_to(end) is not None for end in self.ends_among(path, nodes))

    # Where chains ended

    def way_to(self, ended: Ending, forgotten: list[Ending] | None = None) -> list[Node] | None:
        """The Nodes from the source to where a chain ended; None if it began elsewhere. Where it is
        not known any more, the end is noted as `forgotten`.
        """
        pending, seen = [ended], {ended}
        while pending:
            at = pending.pop()
            if isinstance(at, ReadEnding) and at.variable() is self.source:
                return []
            origins = [node for origin in at.origins if (node := origin()) is not None]
            is_followed = any(recording() is self.recording for recording in at.followed)
            if forgotten is not None and is_followed and len(origins) < len(at.origins):
                forgotten.append(at)
            path = Path(origins, [self.source_node], self.recording)
            if self.source_node is not None and self.source_node in path.reached:
                found = [node for node in path.between if node.rule is not None]
                return found if at is ended else []
            earlier = set(self.ends_among(path, origins, at.number))
            if isinstance(at, AssignEnding):
                earlier.update(at.before)
            pending += earlier - seen
            seen |= earlier
        return None

    def ends_among(
        self, path: Path, nodes: Iterable[Node], before: float = inf
    ) -> Iterator[Ending]:
        """The ends of chains that went on to these Nodes, by a path: those that calls on it were
        given, and values that were assigned to Variables which it reads, `before` a moment if
        these are the Nodes themselves.
        """
        for node in path.reached:
            noted = node.scope.endings.get(node.number)
            if noted is not None:
                yield from noted.each()
        if self.tape._assigned is not None:
            reads = [(parent, node.number) for node in path.reached for parent in node.parents]
            for read, number in (*reads, *((node, before) for node in nodes)):
                variable = self._by_node.get(read)
                if variable is not None:
                    yield from self.tape._writes_of(variable, number)

    @cached_property
    def _by_node(self) -> dict[Node | None, Variable]:
        return {node: self.tape._variables[i] for i, node in self.tape._nodes.items()}

    def may_come_from_source(self, departure: Departure) -> bool:
        """Whether they were, or it is not known any more: a long recording forgets."""
        forgotten = len(departure.origins) < departure.count or any(
            origin() is None for origin in departure.origins
        )
        return forgotten or self.comes_from_source(departure)

    # What the source code says

    @property
    def tape_name(self) -> str:
        return self.site.on if self.site is not None and self.site.on else "tape"

    @property
    def code_name(self) -> str:
        """The source in code that the user could write: its name, or any."""
        try:
            ast.parse(self.name, mode="eval")
        except SyntaxError:
            return "x"
        return self.name

    @cached_property
    def block(self) -> Any:
        if self.site is None or not self.site.on.isidentifier():
            return None
        return self.site.body.block_of(self.site.on, self.site.line)

    @cached_property
    def target_expression(self) -> ast.AST | None:
        """The targets as the user writes them, if the call shows it."""
        try:
            return ast.parse(f"({self.target},)", mode="eval").body
        except SyntaxError:  # not an expression: a description
            return None

    @cached_property
    def behind(self) -> list[Binding]:
        """What the target may have been computed by."""
        if self.site is None or self.target_expression is None:
            return []
        flow = self.site.body.flow
        return flow.behind(self.target_expression, flow.at(self.site.line))

    def leads_to_target(self, binding: Binding) -> bool:
        """Whether it is sure that the target was computed from a binding, if it ran."""
        assert self.site is not None
        assert self.target_expression is not None
        flow = self.site.body.flow
        at = flow.at(self.site.line)
        return flow.is_sure(self.target_expression, at, binding, self.block)

    @cached_property
    def source_path(self) -> SourcePath | None:
        """The source as the user writes it: a name, an attribute, an element."""
        try:
            found = path_of(ast.parse(self.name, mode="eval").body)
        except SyntaxError:
            return None
        return None if found is None or ANY in found else found

    def bound_at(self, statement: ast.stmt | None) -> frozenset[Binding]:
        """The bindings of which one gave the source's name its meaning when a statement began."""
        path = self.source_path
        if self.site is None or path is None:
            return frozenset()
        body = self.site.body
        reaching = body.flow.reaching(path, statement)
        found = [b for b in reaching if not b.adds and path[: len(b.path)] == b.path]
        line = self.site.line if statement is None else statement.lineno
        # `ws[0] = ...` hides what `ws = ...` has put there, if it is sure to have run.
        sure = [len(b.path) for b in found if body.is_sure(body.statement(b.statement), line)]
        return frozenset(b for b in found if len(b.path) >= max(sure, default=0))

    @cached_property
    def bound_here(self) -> frozenset[Binding]:
        """The same for the call that asks."""
        site = self.site
        return self.bound_at(None if site is None else site.body.flow.at(site.line))

    @cached_property
    def all_uses(self) -> list[Use]:
        """Where the target may have been computed from what the source's name meant then."""
        path = self.source_path
        if self.site is None or path is None:
            return []
        found: dict[ast.stmt, Use] = {}
        for binding in self.behind:
            for read in self.site.body.flow.reads(binding):
                if read.path[: len(path)] != path:
                    continue
                at = binding.statement
                bound = self.bound_at(at)
                same = (not bound and not self.bound_here) or bool(bound & self.bound_here)
                direct = not binding.deferred and not read.later
                sure = read.sure and self.leads_to_target(binding)
                use = Use(self.site.body.statement(at), sure, direct, same)
                known = found.get(at)
                found[at] = use if known is None else known.either(use)
        return sorted(found.values(), key=lambda use: use.statement.line)

    def uses(self, *, direct: bool = False, sure: bool = False) -> list[Statement]:
        """The statements that use the source and that the target may come from; `direct` leaves
        out what functions use later, and `sure` what need not lead to the target.
        """
        return [
            use.statement
            for use in self.all_uses
            if use.same and (use.direct or not direct) and (use.sure or not sure)
        ]

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
        found += [ended.location() for ended in self._noted()]
        for departure in self.departures:
            found += [departure.location, *departure.callers]
        return found

    def at(self, line: int) -> Location:
        assert self.here is not None
        return self.here._replace(line=line)
