"""Causes that show in what a tape recorded: watching, dtypes, paths, and where chains ended."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gradtape import dtypes
from gradtape.core.endings import End, Ending
from gradtape.core.location import locate
from gradtape.core.node import Node
from gradtape.core.record import OutputRule
from gradtape.core.tape_arguments import ones_like
from gradtape.core.variable import Variable
from gradtape.core.walk import Path, finished, walk
from gradtape.inspect.code import called_at
from gradtape.inspect.explanation import Cause, Reason, Step
from gradtape.inspect.in_code import is_inside, not_run, rebound, watch_of
from gradtape.inspect.question import Question


def by_the_tape(q: Question) -> Reason | None:
    if q.tape.scope is not None:
        return None
    if q.tape._ended_by is None:
        return q.reason(
            Cause.NOTHING_RECORDED,
            "This tape has recorded nothing",
            "Compute the target inside `with` and the tape.",
        )
    return q.reason(
        Cause.USED_UP,
        f"This tape was used up by {q.tape._ended_by}, and what it recorded is gone",
        "Ask before gradient(), or use GradientTape(persistent=True).",
    )


def by_dtypes(q: Question) -> Reason | None:
    if _dtype(q.source) not in dtypes.TRAINABLE:
        return q.reason(
            Cause.SOURCE_DTYPE,
            f"{q.name} has dtype {q.source.dtype.name}, which has no gradients",
            f"Make it a float, such as tf.cast({q.name}, tf.float32), before the tape watches it.",
        )
    kinds = [t for t in q.targets if _dtype(t) in dtypes.TRAINABLE]
    if kinds or not q.targets:
        return None
    ended = next((e for t in q.targets for e in _endings_of(t)), None)
    at = None if ended is None or ended.where is None else locate(*ended.where)
    return q.reason(
        Cause.TARGET_DTYPE,
        f"{q.target} has dtype {q.targets[0].dtype.name}, which has no gradients"
        + (f": {name_of(ended)} made it so at {at}" if ended is not None and at else ""),
        "Differentiate a float that was computed before it.",
        at,
    )


def by_watching(q: Question) -> Reason | None:
    if q.source_node is not None or any(t is q.source for t in q.targets):
        return None
    source, name = q.source, q.name
    if isinstance(source, Variable):
        return unwatched_variable(q, source)
    for last in _endings_of(source):
        found = reason_of(q, last, [])
        return q.reason(
            found.cause,
            f"{name} itself is not recorded: {found.message.rstrip('.')}",
            found.advice,
            found.location,
        )
    bound = rebound(q)
    if bound is not None:
        return bound
    node = getattr(source, "node", None)
    if node is not None and node.scope.any_open():
        return q.reason(
            Cause.OTHER_TAPE,
            f"{name} is followed by another tape, and not by this one"
            + (f": that one began to at {node.location()}" if node.where else ""),
            f"Call {q.tape_name}.watch({name}) inside this tape's block too.",
            node.location(),
        )
    watch = watch_of(q)
    if watch is not None:
        return q.reason(
            Cause.NOT_WATCHED,
            f"This tape does not watch {name}: line {watch.line} did not run, or watched another "
            "object of this name",
            f"Call {q.tape_name}.watch({name}) for the object that is used.",
            q.at(watch.line),
        )
    return q.reason(
        Cause.NOT_WATCHED,
        f"{name} is a tensor that this tape was never told to watch",
        f"Call {q.tape_name}.watch({name}) first inside its `with` block"
        + (f" (line {q.block.lineno})" if q.block else "")
        + ", or make it a tf.Variable.",
        q.at(q.block.lineno) if q.block else None,
    )


def unwatched_variable(q: Question, variable: Variable) -> Reason:
    if not q.tape._watch_accessed:
        return q.reason(
            Cause.NOT_ACCESSED,
            f"This tape was made with watch_accessed_variables=False and was not told to watch "
            f"{q.name}",
            f"Call {q.tape_name}.watch({q.name}) inside its block.",
            q.at(q.block.lineno) if q.block else None,
        )
    if not variable.trainable:
        return q.reason(
            Cause.NOT_TRAINABLE,
            f"{q.name} is a Variable with trainable=False, which tapes do not watch by themselves",
            f"Call {q.tape_name}.watch({q.name}) inside the block, or make it trainable.",
        )
    used = q.uses()
    outside = [
        s for s in q.uses(direct=True) if q.block and not is_inside(s, q.block) and q.is_sure(s)
    ]
    if outside:
        line = outside[-1].line
        return q.reason(
            Cause.OUTSIDE,
            f"{q.name} was not read inside the tape's block: line {line} reads it outside",
            "Move that line into the `with` block.",
            q.at(line),
        )
    return not_run(q, used) or q.reason(
        Cause.UNUSED,
        f"{q.name} was not read while this tape recorded",
        f"Compute {q.target} from it inside the tape's block.",
    )


def by_paths(q: Question) -> Reason | None:
    if any(t is q.source for t in q.targets):
        return q.reason(Cause.CONNECTED, f"{q.name} is itself the target")
    if q.source_node not in q.path.reached:
        return None
    steps = [_step(node) for node in shortest(q)]
    stops = blocked(q)
    looked = [(node, inside(q, node)) for node in stops]
    stops = [node for node, found in looked if found is None or not found.connected]
    for node, found in looked:
        if found is not None and len(stops) == 1 and node in stops:
            return q.reason(
                found.cause,
                f"Inside the function {_step(node).op}, called at {node.location()}: "
                f"{found.message.rstrip('.')}",
                found.advice,
                found.location or node.location(),
                [*steps[: steps.index(_step(node))], *found.path],
            )
    again = [node for node in stops if getattr(node.rule, "runs_again", False)]
    if again:
        names = " or ".join(dict.fromkeys(_step(node).op for node in again))
        return q.reason(
            Cause.UNKNOWN,
            f"No gradient came back to {q.name} through {names}, which ran again to be "
            "differentiated; what ends the chain in there, nothing has kept",
            "Call it without recompute_grad and ask again.",
            again[0].location(),
            steps,
        )
    if stops:
        names = " or ".join(dict.fromkeys(node.rule.name for node in stops if node.rule))
        places = {node.location() for node in stops}
        return q.reason(
            Cause.NO_GRADIENT,
            f"The gradient function of {names} returned None for what leads to {q.name}",
            "Let it return a gradient for every argument that has one.",
            stops[0].location() if len(places) == 1 else None,
            steps,
        )
    return q.reason(
        Cause.CONNECTED,
        f"{q.name} is connected to {q.target}, through {len(steps)} recorded "
        f"op{'s' if len(steps) != 1 else ''}",
        path=steps,
    )


def inside(q: Question, call: Node) -> Reason | None:
    """What there is to say inside a call of a function on the path; None if it is no such call."""
    look = getattr(call.rule, "why_no_path", None)
    if look is None:
        return None
    numbers = [
        node.rule.index
        for node in q.path.between
        if isinstance(node.rule, OutputRule) and node.parents[0] is call
    ]
    places = [i for i, parent in enumerate(call.parents) if parent in q.path.leading]
    found = [reason for number in numbers if (reason := look(number, places)) is not None]
    return next((reason for reason in found if reason.connected), found[0] if found else None)


def shortest(q: Question) -> list[Node]:
    """The Nodes with rules on a shortest way from the source to the target."""
    came: dict[Node, Node | None] = dict.fromkeys(q.target_nodes)
    queue = list(q.target_nodes)
    for node in queue:
        if node is q.source_node:
            way, at = [], came[node]
            if node.rule is not None and at is None:
                way.append(node)
            while at is not None:
                way.append(at)
                at = came[at]
            return way
        for parent in node.parents:
            if parent is not None and parent not in came and q.recording in parent.scope:
                came[parent] = node
                queue.append(parent)
    return []


def blocked(q: Question) -> list[Node]:
    """The Nodes whose gradient functions, written by a user, may have given None although there is
    a path: one, if they can still be run; none if the gradient exists.
    """
    if not q.recording.foreign:
        return []
    written = [
        node
        for node in q.path.between
        if not hasattr(node.rule, "op") and not isinstance(node.rule, OutputRule)
    ]
    if q.walked:
        return written
    refused: list[Node] = []

    def pull(node: Node, g: Any, parents: Sequence[Node | None]) -> Sequence[Any]:
        rule: Any = node.rule
        found = rule.pull_tensors(node, g, parents)
        if all(part is None for part in found):
            refused.append(node)
        return found

    seeds = {
        node: finished(ones_like(t.array))
        for t in q.targets
        if (node := q.tape._node_of(t)) is not None
    }
    try:
        found = walk(q.path, seeds, pull, lambda a, b, node: a + b)
    except Exception:  # noqa: BLE001 - the user's own, which gradient() will raise
        return []
    return [] if q.source_node in found else refused[-1:]


def by_endings(q: Question) -> Reason | None:
    """Chains that begin at the source and end before the target."""
    candidates: list[Ending] = [e for t in q.targets for e in _endings_of(t)]
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
    if forgotten:
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
        origins = [node for origin in at.origins if (node := origin()) is not None]
        is_followed = any(recording() is q.recording for recording in at.followed)
        if is_followed and len(origins) < len(at.origins):
            forgotten.append(at)
        path = Path(origins, [q.source_node], q.recording)
        if q.source_node in path.reached:
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
    steps = [*map(_step, way), Step(name, at)]
    look = getattr(ended.inside, "why_no_path", None)
    if ended.end is End.NO_PATH and look is not None:
        found = look(ended.output, ended.places)  # type: ignore[attr-defined]
        if found is not None:
            return q.reason(
                found.cause,
                f"Inside the function {ended.name}, called at {at}: {found.message.rstrip('.')}",
                found.advice,
                found.location or at,
                [*map(_step, way), *found.path],
            )
    cause, message, advice = _ENDS[ended.end]
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
                    [*map(_step, way), Step("assign", at)],
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
    End.ASSIGNED: (
        Cause.ASSIGNED,
        "The value was assigned to a Variable at {at}",
        "Use the tensor that was assigned.",
    ),
}


def _endings_of(value: Any) -> Iterable[Ending]:
    return _each(getattr(value, "node", None))


def _each(node: Any) -> Iterable[Ending]:
    return node.each() if isinstance(node, Ending) else ()


def _step(node: Node) -> Step:
    return Step("source" if node.rule is None else node.rule.name, node.location())


def _dtype(value: Any) -> Any:
    return value.array.dtype
