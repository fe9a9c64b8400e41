"""Causes that show in the user's source code: names that were bound again, tensors that were
watched too late, values that left the tape, and lines that did not run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from gradtape.core.departures import Departure
from gradtape.inspect.code import LOOPS, OWN_NAMES, Statement, body_around
from gradtape.inspect.explanation import Cause, Reason, Step
from gradtape.inspect.question import Question


def rebound(q: Question) -> Reason | None:
    """A name that meant something else when the tape began to watch it."""
    if q.site is None or not q.name.isidentifier():
        return None
    watch = watch_of(q)
    watched = None if watch is None else watch.line
    body, call = q.site.body, q.site.line
    bindings = [s for s in body.before(call) if q.name in s.names]
    made = [s for s in bindings if _makes_variable(s) and s.line < call]
    since = watched if watched is not None else made[-1].line if made else None
    if since is None:
        return None
    later = [s for s in bindings if s.line > since]
    sure = [s for s in later if s.line < call and body.is_sure(s, call)]
    if not sure and watch is not None and body.is_sure(watch, call):
        # It is not what was watched, so one of them has run.
        sure = later if len(later) == 1 else []
    if not later:
        return None
    if not sure:
        did = "watches" if watched is not None else "makes a Variable of"
        lines = ", ".join(str(s.line) for s in later)
        return q.reason(
            Cause.UNKNOWN,
            f"{q.name} is not recorded; line {since} {did} this name, and what may have bound it "
            f"to another object since are lines {lines}",
            "Give the new tensor a name of its own.",
            q.at(later[-1].line),
        )
    later = sure
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


def watch_of(q: Question) -> Statement | None:
    """The statement of this function that tells the tape to watch this name."""
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
            return statement
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
        direct = q.uses(direct=True)
        early = [s for s in direct if s.end < watched.line and q.is_sure(s)]
        late = [s for s in used if s.line > watched.line]
        if early and not late and all(s in direct for s in used):
            line = early[-1].line
            if q.block is not None and not is_inside(early[-1], q.block):
                return q.reason(
                    Cause.OUTSIDE,
                    f"Line {line} uses {q.name} outside the tape's block",
                    "Move that line into the `with` block, below the watch.",
                    q.at(line),
                )
            return q.reason(
                Cause.WATCHED_LATE,
                f"Line {line} uses {q.name} before line {watched.line} watches it",
                f"Move the watch above line {line}.",
                q.at(line),
            )
    found = left(q) or not_run(q, used)
    if found is not None:
        return found
    if (
        q.is_used()
        or (node is not None and not q.recording.is_whole_since(node.number))
        or any(map(q.comes_from_source, q.tape.departures()))
    ):
        return None
    if q.here is None:
        return q.reason(Cause.UNUSED, f"{q.name} is not used")
    return q.reason(
        Cause.UNUSED,
        f"Nothing that this tape recorded uses {q.name}",
        f"Compute {q.target} from {q.name} inside the tape's block.",
    )


def not_run(q: Question, used: Sequence[Statement]) -> Reason | None:
    """Uses in branches and loops that did not run; or where nothing shows whether they did."""
    if not used or any(q.is_sure(s) for s in used):
        return None
    found = used[-1]
    if all(was_skipped(q, s) for s in used):
        return q.reason(
            Cause.NOT_RUN,
            f"Line {found.line}, which uses {q.name}, did not run, or not so far: it is in the "
            f"branch or loop of line {found.condition}",
            "Look at its condition.",
            q.at(found.line),
        )
    if q.is_used() or any(q.ran(s.line, s.end) for s in used):
        return None
    return q.reason(
        Cause.UNKNOWN,
        f"Nothing that this tape recorded leads from {q.name} to {q.target}. Line {found.line}, "
        f"which uses {q.name}, recorded nothing itself; it is in the branch or loop of line "
        f"{found.condition}, and whether that ran, nothing shows",
        "Look at its condition.",
        q.at(found.line),
    )


def was_skipped(q: Question, statement: Statement) -> bool:
    """Whether it shows that a statement did not run while the tape recorded: it would have recorded
    something, or another branch did.
    """
    node = q.source_node
    is_whole = node is None or q.recording.is_whole_since(node.number)
    if q.ran(statement.line, statement.end) or q.block is None or not is_whole:
        return False
    if any(
        isinstance(around, ast.If)
        and not any(
            isinstance(outer, LOOPS) and outer.lineno > q.block.lineno
            for outer in statement.around[:i]
        )
        and q.ran(*_other_branch(around, statement.line))
        for i, around in enumerate(statement.around)
    ):
        return True
    return is_inside(statement, q.block) and calculates_with(statement.node, q.name)


def _other_branch(node: ast.If, line: int) -> tuple[int, int]:
    """The first and last line of the branch of an `if` in which a line is not."""
    first, second = node.body, node.orelse
    other = second if line <= (first[-1].end_lineno or 0) else first
    return (other[0].lineno, other[-1].end_lineno or 0) if other else (0, -1)


def calculates_with(statement: ast.stmt, name: str) -> bool:
    """Whether a statement, if it runs, is sure to use a name in a calculation: as an operand, and
    not in a part that may be left out.
    """
    if isinstance(statement, ast.AugAssign) and ast.unparse(statement.value) == name:
        return True
    pending: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)
    ]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.BinOp) and name in map(ast.unparse, (node.left, node.right)):
            return True
        if not isinstance(node, (ast.IfExp, ast.BoolOp, *OWN_NAMES)):
            pending += ast.iter_child_nodes(node)
    return False


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
    """Whether values left the tape while a statement ran, and what they gave may have come back to
    it: each function in between returns it.
    """
    for place in (departure.location, *departure.callers):
        if q.is_here(place):
            return statement.covers(place.line)
        body = body_around(place.file, place.line)
        if body is None or not (
            isinstance(body.tree, ast.Lambda)
            or any(found.covers(place.line) for found in body.returned())
        ):
            return False
    return False


def mentions_expression(node: Any, name: str) -> bool:
    """Whether an expression is a name, or a list in which it stands."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _makes_variable(statement: Statement) -> bool:
    value = getattr(statement.node, "value", None)
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "Variable"


def is_inside(statement: Statement, block: Any) -> bool:
    return block.lineno <= statement.line <= (block.end_lineno or block.lineno)
