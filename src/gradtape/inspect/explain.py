"""Why a gradient is None: looks at what a tape recorded, at where chains ended, and at the user's
source code, and says only what these show.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any

from gradtape import dtypes
from gradtape.core.departures import Departure
from gradtape.core.endings import End, Ending
from gradtape.core.location import Location, locate
from gradtape.core.node import Node
from gradtape.core.recording import Recording
from gradtape.core.tape_arguments import leaves_of, ones_like
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.walk import Path, finished, walk
from gradtape.inspect.code import CallSite, Statement, call_at, mentions
from gradtape.inspect.explanation import Cause, Explanation, Reason, Step

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape

Place = tuple[CodeType, int]


def explain_for_user(tape: GradientTape, target: Any, sources: Any, place: Place) -> Explanation:
    """What `tape.explain` returns."""
    targets = leaves_of(target, "explain: target")
    leaves: Sequence[Any] = (
        tape.watched_variables() if sources is None else leaves_of(sources, "explain: sources")
    )
    if tape.scope is None and tape._explained is not None:
        known = tape._explained.of(targets, leaves)
        if known is not None:
            return known
    return explain(tape, targets, leaves, place)


def explain(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    place: Place,
    *,
    walked: bool = False,
    only: Container[int] | None = None,
) -> Explanation:
    """The reasons for the gradients of the sum of `targets`, for a call at `place` whose first two
    arguments they are.

    `walked` says that these gradients are known to be None, and that what rules saved is gone;
    `only` are the identities of the sources to explain, if not all.
    """
    site = call_at(*place)
    named = site.names(0, "target", len(targets)) if site else [None] * len(targets)
    target_names = [name or _described(t, "the target") for name, t in zip(named, targets)]
    named = site.names(1, "sources", len(sources)) if site else [None] * len(sources)
    source_names = [name or _described(s, "the source") for name, s in zip(named, sources)]
    return Explanation([
        Question(tape, targets, target_names, source, name, place, site, walked).answer()
        for source, name in zip(sources, source_names)
        if only is None or id(source) in only
    ])  # fmt: skip


class Question:
    """Why one source has a gradient, or none."""

    def __init__(
        self,
        tape: GradientTape,
        targets: Sequence[Any],
        target_names: Sequence[str],
        source: Any,
        source_name: str,
        place: Place,
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
        self.place = place
        self.site = site
        self.file = place[0].co_filename
        self.here = locate(*place)

    def answer(self) -> Reason:
        """The first of these that has something to say, in the order in which causes hide each
        other.
        """
        for ask in (
            self._by_the_tape,
            self._by_dtypes,
            self._by_watching,
            self._by_paths,
            self._by_endings,
            self._by_assignments,
            self._by_lines,
        ):
            found = ask()
            if found is not None:
                return found
        return self._reason(
            Cause.INDEPENDENT,
            f"Nothing that this tape recorded leads from {self.name} to {self.target}"
            + self._where_used(),
            f"Compute {self.target} from {self.name} inside the tape's block.",
        )

    def _reason(
        self,
        cause: Cause,
        message: str,
        advice: str = "",
        location: Location | None = None,
        path: Sequence[Step] = (),
    ) -> Reason:
        return Reason(
            self.name, self.target, cause, f"{message}.", advice, location, tuple(path)
        )

    # What the tape and the values say

    def _by_the_tape(self) -> Reason | None:
        if self.tape.scope is not None:
            return None
        if self.tape._ended_by is None:
            return self._reason(
                Cause.NOTHING_RECORDED,
                "This tape has recorded nothing",
                "Compute the target inside `with` and the tape.",
            )
        return self._reason(
            Cause.USED_UP,
            f"This tape was used up by {self.tape._ended_by}, and what it recorded is gone",
            "Ask before gradient(), or use GradientTape(persistent=True).",
        )

    def _by_dtypes(self) -> Reason | None:
        if _dtype(self.source) not in dtypes.TRAINABLE:
            return self._reason(
                Cause.SOURCE_DTYPE,
                f"{self.name} has dtype {self.source.dtype.name}, which has no gradients",
                f"Make it a float, such as tf.cast({self.name}, tf.float32), before the tape "
                "watches it.",
            )
        kinds = [t for t in self.targets if _dtype(t) in dtypes.TRAINABLE]
        if kinds or not self.targets:
            return None
        ended = next((e for t in self.targets for e in _endings_of(t)), None)
        at = None if ended is None or ended.where is None else locate(*ended.where)
        return self._reason(
            Cause.TARGET_DTYPE,
            f"{self.target} has dtype {self.targets[0].dtype.name}, which has no gradients"
            + (f": {ended.name} made it so at {at}" if ended is not None and at else ""),
            "Differentiate a float that was computed before it.",
            at,
        )

    @cached_property
    def _source_node(self) -> Node | None:
        return self.tape._node_of(self.source)

    def _by_watching(self) -> Reason | None:
        if self._source_node is not None or any(t is self.source for t in self.targets):
            return None
        source, name = self.source, self.name
        if isinstance(source, Variable):
            return self._unwatched_variable(source)
        for ended in _endings_of(source):
            found = self._ended(ended, [])
            return self._reason(
                found.cause,
                f"{name} itself is not recorded: {found.message.rstrip('.')}",
                found.advice,
                found.location,
            )
        rebound = self._rebound()
        if rebound is not None:
            return rebound
        node = getattr(source, "node", None)
        if node is not None and node.scope.any_open():
            return self._reason(
                Cause.OTHER_TAPE,
                f"{name} is followed by another tape, and not by this one"
                + (f": that one began to at {node.location()}" if node.where else ""),
                f"Call {self._tape_name}.watch({name}) inside this tape's block too.",
                node.location(),
            )
        return self._reason(
            Cause.NOT_WATCHED,
            f"{name} is a tensor that this tape was never told to watch",
            f"Call {self._tape_name}.watch({name}) first inside its `with` block"
            + (f" (line {self._block.lineno})" if self._block else "")
            + ", or make it a tf.Variable.",
            self._at(self._block.lineno) if self._block else None,
        )

    def _unwatched_variable(self, variable: Variable) -> Reason:
        if not self.tape._watch_accessed:
            return self._reason(
                Cause.NOT_ACCESSED,
                f"This tape was made with watch_accessed_variables=False and was not told to watch "
                f"{self.name}",
                f"Call {self._tape_name}.watch({self.name}) inside its block.",
                self._at(self._block.lineno) if self._block else None,
            )
        if not variable.trainable:
            return self._reason(
                Cause.NOT_TRAINABLE,
                f"{self.name} is a Variable with trainable=False, which tapes do not watch "
                "by themselves",
                f"Call {self._tape_name}.watch({self.name}) inside the block, or make it trainable.",
            )
        used = self._uses()
        outside = [s for s in used if self._block and not _inside(s, self._block)]
        if outside:
            line = outside[-1].line
            return self._reason(
                Cause.OUTSIDE,
                f"{self.name} was not read inside the tape's block: line {line} reads it outside",
                "Move that line into the `with` block.",
                self._at(line),
            )
        return self._not_run(used) or self._reason(
            Cause.UNUSED,
            f"{self.name} was not read while this tape recorded",
            f"Compute {self.target} from it inside the tape's block.",
        )

    # What was recorded

    @cached_property
    def _target_nodes(self) -> list[Node]:
        found = [self.tape._node_of(t) for t in self.targets]
        return [node for node in found if node is not None]

    @cached_property
    def _path(self) -> Path:
        return Path(self._target_nodes, [self._source_node], self._recording)

    @property
    def _recording(self) -> Recording:
        assert self.tape.scope is not None
        return self.tape.scope

    def _by_paths(self) -> Reason | None:
        if any(t is self.source for t in self.targets):
            return self._reason(Cause.CONNECTED, f"{self.name} is itself the target")
        if self._source_node not in self._path.reached:
            return None
        steps = [_step(node) for node in self._shortest()]
        blocked = self._blocked()
        if blocked is not None:
            return self._reason(
                Cause.NO_GRADIENT,
                f"The gradient function of {blocked.rule.name if blocked.rule else 'an op'} "  # type: ignore[union-attr]
                f"returned None for what leads to {self.name}",
                "Let it return a gradient for every argument that has one.",
                blocked.location(),
                steps,
            )
        return self._reason(
            Cause.CONNECTED,
            f"{self.name} is connected to {self.target}, through {len(steps)} recorded "
            f"op{'s' if len(steps) != 1 else ''}",
            path=steps,
        )

    def _shortest(self) -> list[Node]:
        """The Nodes with rules on a shortest way from the source to the target."""
        came: dict[Node, Node | None] = dict.fromkeys(self._target_nodes)
        queue = list(self._target_nodes)
        for node in queue:
            if node is self._source_node:
                way, at = [], came[node]
                if node.rule is not None and at is None:
                    way.append(node)
                while at is not None:
                    way.append(at)
                    at = came[at]
                return way
            for parent in node.parents:
                if parent is not None and parent not in came and self._recording in parent.scope:
                    came[parent] = node
                    queue.append(parent)
        return []

    def _blocked(self) -> Node | None:
        """The Node whose gradient function, written by a user, gave None although there is a path;
        None if the gradient exists.
        """
        if not self._recording.foreign:
            return None
        if self.walked:
            written = [node for node in self._path.between if not hasattr(node.rule, "op")]
            return written[-1] if written else None
        refused: list[Node] = []

        def pull(node: Node, g: Any, parents: Sequence[Node | None]) -> Sequence[Any]:
            rule: Any = node.rule
            found = rule.pull_tensors(node, g, parents)
            if all(part is None for part in found):
                refused.append(node)
            return found

        seeds = {
            node: finished(ones_like(t.array))
            for t in self.targets
            if (node := self.tape._node_of(t)) is not None
        }
        found = walk(self._path, seeds, pull, lambda a, b, node: a + b)
        if self._source_node in found or not refused:
            return None
        return refused[-1]

    def _by_endings(self) -> Reason | None:
        """Chains that begin at the source and end before the target."""
        candidates: list[Ending] = [e for t in self.targets for e in _endings_of(t)]
        for node in self._path.reached:
            noted = node.scope.endings.get(node.number)
            if noted is not None:
                candidates += noted.each()
        candidates.sort(key=lambda e: e.number)
        for ended in reversed(candidates):
            way = self._way_to(ended)
            if way is not None:
                return self._ended(ended, way)
        return None

    def _way_to(self, ended: Ending) -> list[Node] | None:
        """The Nodes from the source to where a chain ended; None if it began elsewhere."""
        origins = [node for origin in ended.origins if (node := origin()) is not None]
        path = Path(origins, [self._source_node], self._recording)
        if self._source_node not in path.reached:
            for node in path.reached:  # a chain that had ended before, and went on
                noted = node.scope.endings.get(node.number)
                for earlier in noted.each() if noted is not None else ():
                    if earlier.number < ended.number and self._way_to(earlier) is not None:
                        return []
            return None
        return [node for node in path.between if node.rule is not None]

    def _ended(self, ended: Ending, way: Sequence[Node]) -> Reason:
        at = None if ended.where is None else locate(*ended.where)
        steps = [*map(_step, way), Step(ended.name, at)]
        inside = getattr(ended.rule, "why_no_path", None)
        if ended.end is End.NO_PATH and inside is not None:
            found = inside(ended.output, ended.places)
            if found is not None:
                return self._reason(
                    found.cause,
                    f"Inside the function {ended.name}, called at {at}: "
                    f"{found.message.rstrip('.')}",
                    found.advice,
                    found.location or at,
                    [*map(_step, way), *found.path],
                )
        cause, message, advice = _ENDS[ended.end]
        return self._reason(
            cause, message.format(op=ended.name, at=at), advice.format(op=ended.name), at, steps
        )

    def _by_assignments(self) -> Reason | None:
        """Values that were assigned to a Variable which is the target, or which it depends on."""
        variables = [t for t in self.targets if isinstance(t, Variable)]
        by_node = {node: self.tape._variables[i] for i, node in self.tape._nodes.items()}
        variables += [by_node[node] for node in self._path.reached if node in by_node]
        for variable in variables:
            for ended in _each(self.tape._assigned.get(id(variable))):
                way = self._way_to(ended)
                if way is not None:
                    at = None if ended.where is None else locate(*ended.where)
                    return self._reason(
                        Cause.ASSIGNED,
                        f"The value was assigned to the Variable '{variable.name}' at {at}, and no "
                        "gradient flows back through an assignment",
                        "Use the tensor that was assigned instead of the Variable.",
                        at,
                        [*map(_step, way), Step("assign", at)],
                    )
        return None

    # What the source code says

    @property
    def _tape_name(self) -> str:
        return self.site.on if self.site is not None and self.site.on else "tape"

    @cached_property
    def _block(self) -> Any:
        if self.site is None or not self.site.on.isidentifier():
            return None
        return self.site.body.block_of(self.site.on, self.site.line)

    @cached_property
    def _behind(self) -> list[Statement]:
        """The statements that the target may have been computed by."""
        if self.site is None:
            return []
        found = {
            s.line: s for t in self.target_names for s in self._statements_behind(t)
        }
        return [found[line] for line in sorted(found)]

    def _statements_behind(self, target: str) -> list[Statement]:
        assert self.site is not None
        try:
            return self.site.body.behind(target, self.site.line)
        except SyntaxError:  # not an expression: a description
            return []

    def _uses(self) -> list[Statement]:
        """Those of them that use the source."""
        return [s for s in self._behind if mentions(s, self.name)]

    def _at(self, line: int) -> Location:
        return Location(self.file, line, self.here.function)

    def _rebound(self) -> Reason | None:
        """A name that meant something else when the tape began to watch it."""
        if self.site is None or not self.name.isidentifier():
            return None
        watched = self._watched_line()
        bindings = self.site.body.binding(self.name, self.site.line)
        made = [s for s in bindings if _makes_variable(s)]
        since = watched if watched is not None else made[-1].line if made else None
        if since is None:
            return None
        later = [s for s in bindings if s.line > since]
        if not later:
            return None
        line = later[-1].line
        if watched is not None:
            said = f"line {watched} watched the object that {self.name} was then"
        else:
            said = f"line {since} made a Variable of this name"
        return self._reason(
            Cause.REBOUND,
            f"Line {line} binds the name {self.name} to another object: {said}",
            f"Give the new tensor a name of its own, or use {self.name}.assign(...) to change a "
            "Variable."
            if watched is None
            else "Watch the new object, or give it another name.",
            self._at(line),
        )

    def _watched_line(self) -> int | None:
        """The line in this function's source that tells the tape to watch this name."""
        if self.site is None:
            return None
        for statement in reversed(self.site.body.statements):
            call = getattr(statement.node, "value", None)
            if (
                isinstance(statement.node, ast.Expr)
                and isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "watch"
                and ast.unparse(call.func.value) == self._tape_name
                and any(mentions_expression(a, self.name) for a in call.args)
            ):
                return statement.line
        return None

    def _by_lines(self) -> Reason | None:
        """Order, departures and branches, where the source code shows them."""
        used = self._uses()
        node = self._source_node
        watched = node.location() if node is not None and node.where is not None else None
        if watched is not None and watched.file == self.file:
            early = [s for s in used if s.end < watched.line]
            late = [s for s in used if s.line > watched.line]
            if early and not late:
                line = early[-1].line
                return self._reason(
                    Cause.WATCHED_LATE,
                    f"Line {line} uses {self.name} before line {watched.line} watches it",
                    f"Move the watch above line {line}.",
                    self._at(line),
                )
        found = self._left() or self._not_run(used)
        if found is not None:
            return found
        if self._is_used():
            return None
        if isinstance(self.source, Variable):
            outside = [s for s in used if self._block and not _inside(s, self._block)]
            if outside:
                line = outside[-1].line
                return self._reason(
                    Cause.OUTSIDE,
                    f"Line {line} reads {self.name} outside the tape's block",
                    "Move that line into the `with` block.",
                    self._at(line),
                )
        return self._reason(
            Cause.UNUSED,
            f"Nothing that this tape recorded uses {self.name}",
            f"Compute {self.target} from {self.name} inside the tape's block.",
        )

    def _not_run(self, used: Sequence[Statement]) -> Reason | None:
        """Uses in branches and loops that did not run: they recorded nothing."""
        if not used or any(s.condition is None or self._ran(s) for s in used):
            return None
        found = used[-1]
        return self._reason(
            Cause.NOT_RUN,
            f"Line {found.line}, which uses {self.name}, did not run: it is in the branch or loop "
            f"of line {found.condition}",
            "Look at its condition.",
            self._at(found.line),
        )

    def _ran(self, statement: Statement) -> bool:
        """Whether the tape recorded something in the lines of a statement."""
        return any(
            place is not None and place.file == self.file and statement.covers(place.line)
            for place in (node.location() for node in self._all())
        )

    def _left(self) -> Reason | None:
        """Values that left the tape in a line that the target comes from."""
        for departure in reversed(self.tape.departures()):
            if any(self._shows(s, departure) for s in self._behind):
                at = departure.location
                return self._reason(
                    Cause.LEFT,
                    f"The values left the tape at {at}, through {departure.method}(): what is "
                    "computed from them is not recorded",
                    "Keep it a tensor, and use gradtape or NumPy functions on it.",
                    at,
                    [Step(departure.method, at)],
                )
        return None

    def _shows(self, statement: Statement, departure: Departure) -> bool:
        """Whether values left the tape while a statement ran."""
        return any(
            place.file == self.file
            and place.function == self.here.function
            and statement.covers(place.line)
            for place in (departure.location, *departure.callers)
        )

    def _is_used(self) -> bool:
        """Whether anything that was recorded uses the source."""
        return any(
            parent is self._source_node for node in self._all() for parent in node.parents
        ) or any(
            origin() is self._source_node
            for scope in {node.scope for node in self._all()} | {self._recording}
            for noted in scope.endings.values()
            for ended in noted.each()
            for origin in ended.origins
        )

    def _all(self) -> list[Node]:
        return [
            node
            for scope in (self._recording, *self._recording._joint_scopes())
            for node in scope.nodes
            if node is not None
        ]

    def _where_used(self) -> str:
        lines = sorted({
            str(node.location())
            for node in self._all()
            if any(parent is self._source_node for parent in node.parents)
        })  # fmt: skip
        return f": {self.name} is used at {', '.join(lines[:3])}" if lines else ""


_ENDS = {
    End.NO_DERIVATIVE: (
        Cause.NO_DERIVATIVE,
        "{op} at {at} has no derivative, so no gradient passes it",
        "Use something smooth in its place, such as softmax or sigmoid for a choice, or "
        "tf.custom_gradient to say what its gradient is to be.",
    ),
    End.DTYPE: (
        Cause.NO_DERIVATIVE,
        "{op} at {at} gives a result of a dtype without gradients",
        "Stay with floats between the source and the target.",
    ),
    End.STOPPED: (
        Cause.STOPPED,
        "{op} at {at} ends the gradient, as it is meant to",
        "Remove it if the gradient should pass.",
    ),
    End.NO_PATH: (
        Cause.INDEPENDENT,
        "No path leads through {op}, called at {at}, from this argument to this result",
        "Look inside the function.",
    ),
    End.OUTSIDE: (
        Cause.OUTSIDE,
        "{op} at {at} ran outside the tape's block, so it was not recorded",
        "Move that line into the `with` block.",
    ),
    End.PAUSED: (
        Cause.PAUSED,
        "{op} at {at} ran while the tape was stopped by stop_recording",
        "Move that line out of the stop_recording block.",
    ),
    End.ASSIGNED: (
        Cause.ASSIGNED,
        "The value was assigned to a Variable at {at}",
        "Use the tensor that was assigned.",
    ),
}


def mentions_expression(node: Any, name: str) -> bool:
    """Whether an expression is a name, or a list in which it stands."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _makes_variable(statement: Statement) -> bool:
    value = getattr(statement.node, "value", None)
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "Variable"


def _inside(statement: Statement, block: Any) -> bool:
    return block.lineno <= statement.line <= (block.end_lineno or block.lineno)


def _endings_of(value: Any) -> Iterable[Ending]:
    return _each(getattr(value, "node", None))


def _each(node: Any) -> Iterable[Ending]:
    return node.each() if isinstance(node, Ending) else ()


def _step(node: Node) -> Step:
    return Step("source" if node.rule is None else node.rule.name, node.location())


def _dtype(value: Any) -> Any:
    return value.array.dtype


def _described(value: Any, otherwise: str) -> str:
    if isinstance(value, Variable):
        return f"the Variable '{value.name}'"
    if isinstance(value, Tensor):
        return f"{otherwise}, a tensor of shape {value.shape}"
    return otherwise
