"""Causes that show in the user's source code: names that were bound again, tensors that were
watched too late, values that left the tape, and lines that did not run.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gradtape.core.departures import Departure
from gradtape.core.location import Location, locate
from gradtape.core.variable import Variable
from gradtape.inspect.bindings import FUNCTIONS, Binding, path_of
from gradtape.inspect.code import OWN_NAMES, Statement, body_around
from gradtape.inspect.explanation import Cause, Reason, Step
from gradtape.inspect.flow import LOOPS
from gradtape.inspect.in_endings import reason_of
from gradtape.inspect.question import Question


def rebound(q: Question) -> Reason | None:
    """A name that means another object than where the target was computed from it, where the tape
    was told to watch it, or where a Variable got it.
    """
    if q.site is None or q.source_path is None:
        return None
    return _used_as_another(q) or _watched_as_another(q) or _no_variable_any_more(q)


def _used_as_another(q: Question) -> Reason | None:
    """Uses of the name when it meant something else: no way leads from them to here without another
    binding, or what they computed with was not what is asked about.
    """
    if not q.all_uses or not q.bound_here:
        return None
    line = q.all_uses[-1].statement.line
    said = f"line {line} used the object that {q.name} was then"
    if not any(use.same for use in q.all_uses):
        return _bound_again(q, q.bound_here, said)
    before = frozenset[Binding]().union(*(q.bound_at(u.statement.node) for u in q.all_uses))
    later = q.bound_here - before
    node = q.source_node
    if not later or q.is_used() or not (node is None or q.recording.is_whole_since(node.number)):
        return None
    if any(
        use.sure and use.direct and q.is_sure(use.statement) and records_use(q, use.statement)
        for use in q.all_uses
    ):
        return _bound_again(q, later, said)
    return q.reason(
        Cause.UNKNOWN,
        f"Nothing that this tape recorded uses what {q.name} means now; line {_lines(later)} may "
        f"have bound it to another object than line {line} used",
        "Give the new object a name of its own.",
        q.at(max(b.line for b in later)),
    )


def _watched_as_another(q: Question) -> Reason | None:
    watch = watch_of(q)
    if watch is None or q.site is None or isinstance(q.source, Variable):
        return None
    before = q.bound_at(watch.node)
    later = {b for b in q.bound_here - before if b.statement is not watch.node}
    if not later:
        return None
    if q.is_sure(watch) and (len(later) == 1 or before.isdisjoint(q.bound_here)):
        return _bound_again(
            q, later, f"line {watch.line} watched the object that {q.name} was then"
        )
    return q.reason(
        Cause.UNKNOWN,
        f"{q.name} is not recorded; line {watch.line} watches this name, and what may have bound "
        f"it to another object since is line {_lines(later)}",
        "Give the new tensor a name of its own.",
        q.at(max(b.line for b in later)),
    )


def _no_variable_any_more(q: Question) -> Reason | None:
    """What is asked about is a Tensor, so what made a Variable of this name is not it."""
    if isinstance(q.source, Variable) or q.site is None:
        return None
    made = {b for b in q.bound_here if _makes_variable(b)}
    later = q.bound_here - made
    made = made or {b for late in later for b in q.bound_at(late.statement) if _makes_variable(b)}
    if not made:
        return None
    said = f"line {max(b.line for b in made)} made a Variable of this name"
    advice = (
        f"Give the new tensor a name of its own, or use {q.name}.assign(...) to change a Variable."
    )
    if later:
        return _bound_again(q, later, said, advice)
    inner = _bound_by_functions(q)
    at = q.at(*inner) if len(inner) == 1 else None
    return q.reason(
        Cause.REBOUND,
        f"{q.name} means another object now: {said}"
        + (f", and a function binds it again at line {at.line}" if at is not None else ""),
        advice,
        at,
    )


def _bound_again(q: Question, later: Iterable[Binding], said: str, advice: str = "") -> Reason:
    lines = {b.line for b in later}
    one = len(lines) == 1
    return q.reason(
        Cause.REBOUND,
        f"Line {_lines(later)} binds the name {q.name} to another object: {said}",
        advice or "Ask about that object, and give the new one another name.",
        q.at(*lines) if one else None,
    )


def _lines(bindings: Iterable[Binding]) -> str:
    return " or ".join(str(line) for line in sorted({b.line for b in bindings}))


def _bound_by_functions(q: Question) -> set[int]:
    """The lines in which functions of this one bind the name again for it."""
    assert q.site is not None
    return {
        part.lineno
        for function in ast.walk(q.site.body.tree)
        if isinstance(function, FUNCTIONS) and function is not q.site.body.tree
        if any(
            isinstance(said, (ast.Nonlocal, ast.Global)) and q.name in said.names
            for said in ast.walk(function)
        )
        for part in ast.walk(function)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id == q.name
    }


def used_by_functions(q: Question) -> Location | None:
    """Where a function in the one that asks uses the source, which another thread may have run."""
    if q.site is None or q.source_path is None:
        return None
    tree, path = q.site.body.tree, q.source_path
    lines = [
        part.lineno
        for inner in ast.walk(tree)
        if isinstance(inner, FUNCTIONS) and inner is not tree
        for part in ast.walk(inner)
        if isinstance(part, ast.expr) and path_of(part) == path
    ]
    return q.at(min(lines)) if lines else None


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
    if q.tape._resets:
        found = _used_before_reset(q)
        if found is not None:
            return found
    is_watched = node is not None and node.rule is None and node.where is not None
    watched = node.location() if node is not None and is_watched else None
    if watched is not None and watched.file == q.file:
        direct = q.uses(direct=True)
        sure = q.uses(direct=True, sure=True)
        early = [s for s in sure if s.end < watched.line and q.is_sure(s)]
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
        or q.tape._resets
        or (node is not None and not q.recording.is_whole_since(node.number))
        or any(map(q.comes_from_source, q.departures))
    ):
        return None
    if q.here is None:
        return q.reason(Cause.UNUSED, f"{q.name} is not used")
    return q.reason(
        Cause.UNUSED,
        f"Nothing that this tape recorded uses {q.name}",
        f"Compute {q.target} from {q.name} inside the tape's block.",
    )


def _used_before_reset(q: Question) -> Reason | None:
    """Uses that all stand above the line that resets the tape."""
    at = locate(*q.tape._resets[-1].place)
    used = q.uses()
    sure = q.uses(direct=True, sure=True)
    if not sure or not q.is_here(at) or q.site is None or q.block is None:
        return None
    flow = q.site.body.flow
    reset = flow.at(at.line)
    is_once = reset is not None and not any(
        isinstance(node, LOOPS) and node.lineno > q.block.lineno for node in flow.around(reset)
    )
    if not is_once or not all(s in sure and s.end < at.line and q.is_sure(s) for s in used):
        return None
    return q.reason(
        Cause.RESET,
        f"Line {used[-1].line} uses {q.name} before tape.reset() at {at}, which forgets what was "
        "recorded",
        "Move the reset above that line, or do without it.",
        at,
    )


def not_run(q: Question, used: Sequence[Statement]) -> Reason | None:
    """Uses in branches and loops that did not run; or where nothing shows whether they did."""
    node = q.source_node
    if not used or any(q.is_sure(s) for s in used):
        return None
    if node is not None and not q.recording.is_whole_since(node.number):
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
    if _another_gave_target(q, statement):
        return True
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
    return records_use(q, statement)


def records_use(q: Question, statement: Statement) -> bool:
    """Whether a statement, if it runs, is sure to compute with the source, recorded by the tape."""
    return (
        q.block is not None
        and is_inside(statement, q.block)
        and not _is_in_another_block(q, statement)
        and calculates_with(statement.node, q.name)
    )


def _another_gave_target(q: Question, statement: Statement) -> bool:
    """Whether the target is what an earlier statement gave, which this one would have replaced."""
    node = q.target_nodes[0] if len(q.target_nodes) == 1 else None
    place = None if node is None else node.location()
    if q.site is None or place is None or not q.is_here(place) or len(q.target_names) != 1:
        return False
    try:
        path = path_of(ast.parse(q.target, mode="eval").body)
    except SyntaxError:
        return False
    flow = q.site.body.flow
    held = [] if path is None else list(flow.reaching(path, flow.at(q.site.line)))
    if any(binding.path != path for binding in held):
        return False
    mine = [b for b in held if b.statement is statement.node]
    made = [b for b in held if b.line <= place.line <= (b.statement.end_lineno or b.line)]
    return (
        len(mine) == 1
        and len(made) == 1
        and made[0].line < mine[0].line
        and not flow.share_a_loop(made[0], mine[0], q.block)
    )


def _is_in_another_block(q: Question, statement: Statement) -> bool:
    """Whether it is in a `with` in the tape's block, such as one in which the tape is stopped."""
    assert q.site is not None
    return any(
        isinstance(node, (ast.With, ast.AsyncWith)) and node.lineno > q.block.lineno
        for node in q.site.body.flow.around(statement.node)
    )


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
            return not isinstance(node.op, ast.Mod)  # which may put it into a text
        if not isinstance(node, (ast.IfExp, ast.BoolOp, *OWN_NAMES)):
            pending += ast.iter_child_nodes(node)
    return False


def left(q: Question) -> Reason | None:
    """Values that left the tape in a line that the target comes from."""
    for departure in reversed(q.departures):
        if q.comes_from_source(departure) and leads_to_target(q, departure):
            at = users_line(departure)
            inside = "" if at == departure.location else f", in Keras at {departure.location}"
            said = (
                f"The values left the tape at {at}, through {departure.method}(){inside}: what is "
                "computed from them is not recorded"
            )
            ended = q.end_of(departure)
            before = None if ended is None else reason_of(q, ended, [])
            if before is not None:
                said = f"{said}. And before that: {before.message.rstrip('.')}"
            return q.reason(
                Cause.LEFT,
                said,
                "Keep it a tensor, and use gradtape or NumPy functions on it.",
                at,
                [Step(departure.method, at)],
            )
    return None


def users_line(departure: Departure) -> Location:
    """The innermost line of the user's own that led to a departure, which Keras's is not."""
    places = (departure.location, *departure.callers)
    return next((at for at in places if not _is_of_keras(at.file)), departure.location)


def leads_to_target(q: Question, departure: Departure) -> bool:
    """Whether it is sure that the target comes from values that left the tape: each function in
    between returns what they gave, and the target is computed from that.
    """
    for place in (departure.location, *departure.callers):
        if q.is_here(place):
            if q.site is None or q.target_expression is None:
                return False
            flow = q.site.body.flow
            at, call = flow.at(place.line), flow.at(q.site.line)
            return at is not None and flow.passes(at, q.target_expression, call, q.block)
        body = body_around(place.file, place.line)
        # A layer returns what its `call` does, by ways that are Keras's own.
        if body is None or not body.returns(place.line, surely=not _is_of_keras(place.file)):
            return False
    return False


def _is_of_keras(file: str) -> bool:
    keras = sys.modules.get("keras")
    if keras is None:
        return False
    # pathlib would take as long to import as a tenth of gradtape.
    folder = os.path.dirname(keras.__file__ or "")  # noqa: PTH120
    return file.startswith(f"{folder}{os.sep}")


def mentions_expression(node: Any, name: str) -> bool:
    """Whether an expression is a name, or a list in which it stands."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _makes_variable(binding: Binding) -> bool:
    values = [
        part
        for value in binding.values
        for part in (value, *getattr(value, "elts", ()), getattr(value, "elt", None))
    ]
    return any(
        isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "Variable"
        for value in values
    )


def is_inside(statement: Statement, block: Any) -> bool:
    return block.lineno <= statement.line <= (block.end_lineno or block.lineno)
