"""Causes that show in where chains ended: ops without a derivative, calls outside the tape's block,
assignments, and what is inside functions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gradtape.core.endings import AssignEnding, End, Ending, ReadEnding
from gradtape.core.location import locate
from gradtape.core.node import Node
from gradtape.core.variable import Variable
from gradtape.inspect.code import called_at
from gradtape.inspect.explanation import Cause, Reason, Step
from gradtape.inspect.question import Question


def by_endings(q: Question) -> Reason | None:
    """Chains that begin at the source and end before the target: what is not recorded, or assigned
    to a Variable.
    """
    candidates: list[Ending] = [e for t in q.targets for e in endings_of(t)]
    candidates += q.ends_among(q.path, q.target_nodes)
    for t in q.targets:
        if isinstance(t, Variable):
            candidates += q.tape._writes_of(t)
    candidates.sort(key=lambda e: e.number)
    forgotten: list[Ending] = []
    unsure: list[Ending] = []
    for ended in reversed(candidates):
        way = q.way_to(ended, forgotten)
        found = None if way is None else reason_of(q, ended, way)
        if found is not None:
            return found
        if way is not None:
            unsure.append(ended)
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
    if unsure:
        at = unsure[0].location()
        return q.reason(
            Cause.UNKNOWN,
            f"Nothing that this tape recorded leads from {q.name} to {q.target}. The function that "
            f"is called at {at} reads {q.name} and writes {written(unsure[0])}; whether it writes "
            "what it computed from that, nothing shows",
            "Return from the function what is to be differentiated.",
            at,
        )
    return None


def reason_of(q: Question, ended: Ending, way: Sequence[Node]) -> Reason | None:
    """What to say of the end of a chain; None if it is a function that writes a Variable, and need
    not write what it computed from the source.
    """
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
    elif isinstance(ended, AssignEnding):
        calls = [
            end for end in ended.before if end.inside is not None and q.way_to(end) is not None
        ]
        if calls:
            found = reason_of(q, calls[-1], way)
            return None if found is None or found.cause in _SAYS_LITTLE else found
        message = (
            f"The value was assigned to {written(ended)} at {at}, and no gradient flows back "
            "through an assignment"
        )
    else:
        message = message.format(op=name, at=at)
    return q.reason(cause, message, advice.format(op=name), at, steps)


def written(ended: Ending) -> str:
    """The Variable to which a value was assigned."""
    variable = ended.variable() if isinstance(ended, AssignEnding) else None
    return "a Variable" if variable is None else f"the Variable '{variable.name}'"


def name_of(ended: Ending) -> str:
    """What the user called, which may be more than the op at which the chain ends."""
    if ended.inside is not None or ended.where is None or isinstance(ended, AssignEnding):
        return ended.name
    written = called_at(*ended.where)
    if written is None or written == ended.name:
        return ended.name
    libraries = (sys.modules.get(name) for name in _LIBRARIES)
    # A name of the user's own may stand for anything.
    return written if any(hasattr(library, written) for library in libraries) else ended.name


# Of a function that writes a Variable: what it writes need not be from the source.
_SAYS_LITTLE = (Cause.UNUSED, Cause.INDEPENDENT, Cause.CONNECTED)
_LIBRARIES = (
    "gradtape", "gradtape.math", "gradtape.nn", "gradtape.linalg", "gradtape.image",
    "gradtape.signal", "gradtape.random", "gradtape.random.Generator", "gradtape.sparse",
    "gradtape.sets", "gradtape.strings", "gradtape.bitwise", "gradtape.ragged", "gradtape.raw_ops",
    "gradtape.quantization", "gradtape.numpy", "gradtape.experimental.numpy", "keras.ops",
    "keras.random", "numpy", "numpy.linalg",
)  # fmt: skip


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
        "",
        "Use the tensor that was assigned instead of the Variable.",
    ),
}


def endings_of(value: Any) -> Iterable[Ending]:
    """Where chains ended that lead to a tensor which is not recorded."""
    node = getattr(value, "node", None)
    return node.each() if isinstance(node, Ending) else ()


def step(node: Node) -> Step:
    """A Node as an explanation shows it."""
    return Step("source" if node.rule is None else node.rule.name, node.location())
