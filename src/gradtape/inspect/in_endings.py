"""Causes that show in where chains ended: ops without a derivative, calls outside the tape's block,
assignments, and what is inside functions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gradtape.core.endings import End, Ending, ReadEnding
from gradtape.core.location import locate
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.variable import Variable
from gradtape.inspect.code import called_at
from gradtape.inspect.explanation import Cause, Reason, Step
from gradtape.inspect.question import Question


def by_endings(q: Question) -> Reason | None:
    """Chains that begin at the source and end before the target."""
    candidates: list[Ending] = [e for t in q.targets for e in endings_of(t)]
    for node in q.path.reached:
        noted = node.scope.endings.get(node.number)
        if noted is not None:
            candidates += noted.each()
    candidates.sort(key=lambda e: e.number)
    forgotten: list[Ending] = []
    for ended in reversed(candidates):
        way = way_to(q, ended, forgotten)
        if way is not None:
            return reason_of(q, ended, way)
    if forgotten and q.source_node is not None:
        at = forgotten[0].location()
        return q.reason(
            Cause.UNKNOWN,
            f"Nothing that this tape still knows leads from {q.name} to {q.target}. A chain ended "
            f"in {name_of(forgotten[0])} at {at}; whether it began at {q.name} is forgotten, since "
            "a long recording drops what only led there",
            "Ask sooner, or keep a tensor that was computed before that line.",
            at,
        )
    return None


def way_to(q: Question, ended: Ending, forgotten: list[Ending]) -> list[Node] | None:
    """The Nodes from the source to where a chain ended; None if it began elsewhere. Where it is not
    known any more, the end is noted as `forgotten`.
    """
    pending, seen = [ended], {ended}
    while pending:
        at = pending.pop()
        if isinstance(at, ReadEnding) and at.variable() is q.source:
            return []
        origins = [node for origin in at.origins if (node := origin()) is not None]
        is_followed = any(recording() is q.recording for recording in at.followed)
        if is_followed and len(origins) < len(at.origins):
            forgotten.append(at)
        path = Path(origins, [q.source_node], q.recording)
        if q.source_node is not None and q.source_node in path.reached:
            found = [node for node in path.between if node.rule is not None]
            return found if at is ended else []
        for node in path.reached:  # a chain that had ended before, and went on
            noted = node.scope.endings.get(node.number)
            earlier = {e for e in noted.each() if e not in seen} if noted is not None else set()
            seen |= earlier
            pending += earlier
    return None


def reason_of(q: Question, ended: Ending, way: Sequence[Node]) -> Reason:
    at = None if ended.where is None else locate(*ended.where)
    name = name_of(ended)
    steps = [*map(step, way), Step(name, at)]
    look = getattr(ended.inside, "why_no_path", None)
    if ended.end is End.NO_PATH and look is not None:
        found = look(ended.output, ended.places)  # type: ignore[attr-defined]
        if found is not None:
            return q.reason(
                found.cause,
                f"Inside the function {ended.name}, called at {at}: {found.message.rstrip('.')}",
                found.advice,
                found.location or at,
                [*map(step, way), *found.path],
            )
    cause, message, advice = _ENDS[ended.end]
    if isinstance(ended, ReadEnding):
        message = f"{q.name} was read at {at} while the tape was stopped by stop_recording"
    return q.reason(cause, message.format(op=name, at=at), advice.format(op=name), at, steps)


def name_of(ended: Ending) -> str:
    """What the user called, which may be more than the op at which the chain ends."""
    if ended.inside is not None or ended.where is None:
        return ended.name
    written = called_at(*ended.where)
    if written is None or written == ended.name:
        return ended.name
    libraries = (sys.modules.get(name) for name in _LIBRARIES)
    # A name of the user's own may stand for anything.
    return written if any(hasattr(library, written) for library in libraries) else ended.name


_LIBRARIES = (
    "gradtape", "gradtape.math", "gradtape.nn", "gradtape.linalg", "gradtape.image",
    "gradtape.signal", "gradtape.numpy", "gradtape.experimental.numpy", "keras.ops", "numpy",
)  # fmt: skip


def by_assignments(q: Question) -> Reason | None:
    """Values that were assigned to a Variable which is the target, or which it depends on."""
    if q.tape._assigned is None:
        return None
    variables = [t for t in q.targets if isinstance(t, Variable)]
    by_node = {node: q.tape._variables[i] for i, node in q.tape._nodes.items()}
    variables += [by_node[node] for node in q.path.reached if node in by_node]
    for variable in variables:
        node = q.tape._nodes.get(id(variable))
        reads = [n.number for n in q.path.reached if node is not None and node in n.parents]
        for ended in q.tape._assigned.get(id(variable), ()):
            way = way_to(q, ended, [])
            is_read = any(t is variable for t in q.targets) or any(
                number > ended.number for number in reads
            )
            if way is not None and is_read:
                at = None if ended.where is None else locate(*ended.where)
                return q.reason(
                    Cause.ASSIGNED,
                    f"The value was assigned to the Variable '{variable.name}' at {at}, and no "
                    "gradient flows back through an assignment",
                    "Use the tensor that was assigned instead of the Variable.",
                    at,
                    [*map(step, way), Step("assign", at)],
                )
    return None


_ENDS = {
    End.NO_DERIVATIVE: (
        Cause.NO_DERIVATIVE,
        "{op} at {at} has no derivative, so no gradient passes it",
        (
            "Use something smooth in its place, such as softmax or sigmoid for a choice, or "
            "tf.custom_gradient to say what its gradient is to be."
        ),
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
    End.OTHER_THREAD: (
        Cause.OTHER_THREAD,
        "{op} at {at} ran on another thread; a tape records only the thread that entered it",
        "Run that line on the tape's thread, or use a tape in that one.",
    ),
    End.ASSIGNED: (
        Cause.ASSIGNED,
        "The value was assigned to a Variable at {at}",
        "Use the tensor that was assigned.",
    ),
}


def endings_of(value: Any) -> Iterable[Ending]:
    """Where chains ended that lead to a tensor which is not recorded."""
    node = getattr(value, "node", None)
    return node.each() if isinstance(node, Ending) else ()


def step(node: Node) -> Step:
    """A Node as an explanation shows it."""
    return Step("source" if node.rule is None else node.rule.name, node.location())
