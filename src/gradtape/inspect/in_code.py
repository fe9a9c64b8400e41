"""Causes that show in the user's source code: names that were bound again, tensors that were
watched too late, values that left the tape, and lines that did not run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from gradtape.core.departures import Departure
from gradtape.inspect.code import Statement
from gradtape.inspect.explanation import Cause, Reason, Step
from gradtape.inspect.question import Question


def rebound(q: Question) -> Reason | None:
    """A name that meant something else when the tape began to watch it."""
    if q.site is None or not q.name.isidentifier():
        return None
    watched = watched_line(q)
    bindings = q.site.body.binding(q.name, q.site.line)
    made = [s for s in bindings if _makes_variable(s)]
    since = watched if watched is not None else made[-1].line if made else None
    if since is None:
        return None
    later = [s for s in bindings if s.line > since and s.condition is None]
    if not later:
        return None
    line = later[-1].line
    if watched is not None:
        said = f"line {watched} watched the object that {q.name} was then"
    else:
        said = f"line {since} made a Variable of this name"
    return q.reason(
        Cause.REBOUND,
        f"Line {line} binds the name {q.name} to another object: {said}",
        f"Give the new tensor a name of its own, or use {q.name}.assign(...) to change a Variable."
        if watched is None
        else "Watch the new object, or give it another name.",
        q.at(line),
    )


def watched_line(q: Question) -> int | None:
    """The line in this function's source that tells the tape to watch this name."""
    if q.site is None:
        return None
    for statement in reversed(q.site.body.statements):
        call = getattr(statement.node, "value", None)
        if (
            isinstance(statement.node, ast.Expr)
            and isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "watch"
            and ast.unparse(call.func.value) == q.tape_name
            and any(mentions_expression(a, q.name) for a in call.args)
            and (q.block is None or is_inside(statement, q.block))
        ):
            return statement.line
    return None


def by_lines(q: Question) -> Reason | None:
    """Order, departures and branches, where the source code shows them."""
    used = q.uses()
    node = q.source_node
    if node is not None and node.rule is not None:  # it was computed, and not watched
        found = rebound(q)
        if found is not None:
            return found
    is_watched = node is not None and node.rule is None and node.where is not None
    watched = node.location() if node is not None and is_watched else None
    if watched is not None and watched.file == q.file:
        early = [s for s in used if s.end < watched.line]
        late = [s for s in used if s.line > watched.line]
        if early and not late:
            line = early[-1].line
            return q.reason(
                Cause.WATCHED_LATE,
                f"Line {line} uses {q.name} before line {watched.line} watches it",
                f"Move the watch above line {line}.",
                q.at(line),
            )
    found = left(q) or computed_outside(q) or not_run(q, used)
    if found is not None:
        return found
    if q.is_used():
        return None
    if q.here is None:
        return q.reason(Cause.UNUSED, f"{q.name} is not used")
    return q.reason(
        Cause.UNUSED,
        f"Nothing that this tape recorded uses {q.name}",
        f"Compute {q.target} from {q.name} inside the tape's block.",
    )


def computed_outside(q: Question) -> Reason | None:
    """A target that was computed below the tape's block, by something that does not note where
    a chain ends.
    """
    if q.target_nodes or q.block is None or not q.uses():
        return None
    end = q.block.end_lineno
    below = [s for s in q.behind if s.line > end]
    if not below:
        return None
    line = below[0].line
    return q.reason(
        Cause.OUTSIDE,
        f"Line {line} computes {q.target} outside the tape's block, which ends at line {end}",
        "Move that line into the `with` block.",
        q.at(line),
    )


def not_run(q: Question, used: Sequence[Statement]) -> Reason | None:
    """Uses in branches and loops that did not run: they recorded nothing."""
    if not used or any(s.condition is None or q.ran(s) for s in used):
        return None
    found = used[-1]
    return q.reason(
        Cause.NOT_RUN,
        f"Line {found.line}, which uses {q.name}, recorded nothing: it is in the branch or loop "
        f"of line {found.condition}, which did not run, or not so far",
        "Look at its condition.",
        q.at(found.line),
    )


def left(q: Question) -> Reason | None:
    """Values that left the tape in a line that the target comes from."""
    for departure in reversed(q.tape.departures()):
        if q.comes_from_source(departure) and any(shows(q, s, departure) for s in q.behind):
            at = departure.location
            return q.reason(
                Cause.LEFT,
                f"The values left the tape at {at}, through {departure.method}(): what is "
                "computed from them is not recorded",
                "Keep it a tensor, and use gradtape or NumPy functions on it.",
                at,
                [Step(departure.method, at)],
            )
    return None


def shows(q: Question, statement: Statement, departure: Departure) -> bool:
    """Whether values left the tape while a statement ran."""
    return any(
        q.here is not None
        and place.file == q.file
        and place.function == q.here.function
        and statement.covers(place.line)
        for place in (departure.location, *departure.callers)
    )


def mentions_expression(node: Any, name: str) -> bool:
    """Whether an expression is a name, or a list in which it stands."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _makes_variable(statement: Statement) -> bool:
    value = getattr(statement.node, "value", None)
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "Variable"


def is_inside(statement: Statement, block: Any) -> bool:
    return block.lineno <= statement.line <= (block.end_lineno or block.lineno)
