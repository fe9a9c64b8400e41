"""Causes that show in what a tape recorded: watching, dtypes, and paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradtape import dtypes
from gradtape.core.location import locate
from gradtape.core.node import Node
from gradtape.core.record import OutputRule
from gradtape.core.recording import Recording
from gradtape.core.tape_arguments import ones_like
from gradtape.core.thread import here
from gradtape.core.unchanged import unchanged
from gradtape.core.variable import Variable
from gradtape.core.walk import finished, walk
from gradtape.inspect.explanation import Cause, Reason
from gradtape.inspect.in_code import is_inside, not_run, rebound, used_by_functions, watch_of
from gradtape.inspect.in_endings import by_endings, endings_of, name_of, reason_of, step
from gradtape.inspect.question import Place, Question

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape


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
            f"Make it a float, such as tf.cast({q.code_name}, tf.float32), before the tape watches "
            "it.",
        )
    kinds = [t for t in q.targets if _dtype(t) in dtypes.TRAINABLE]
    if kinds or not q.targets:
        return None
    ended = next((e for t in q.targets for e in endings_of(t)), None)
    at = None if ended is None or ended.where is None else locate(*ended.where)
    return q.reason(
        Cause.TARGET_DTYPE,
        f"{q.target} has dtype {q.targets[0].dtype.name}, which has no gradients"
        + (f": {name_of(ended)} made it so at {at}" if ended is not None and at else ""),
        "Differentiate a float that was computed before it.",
        at,
    )


def by_resets(q: Question) -> Reason | None:
    """What the tape followed only until it was reset."""
    if not q.tape._resets or (q.source_node is not None and q.target_nodes):
        return None
    last = locate(*q.tape._resets[-1].place)
    advice = f"Compute {q.target} from {q.name} after the reset, or do without the reset."
    before = [recording for r in q.tape._resets if (recording := r.recording()) is not None]
    if q.source_node is None and not isinstance(q.source, Variable):
        if _was_followed(q.source, before):
            return q.reason(
                Cause.RESET,
                f"This tape followed {q.name} until tape.reset() at {last}, and not since",
                f"Call {q.tape_name}.watch({q.code_name}) after the reset.",
                last,
            )
    elif q.source_node is None:
        if any(known() is q.source for reset in q.tape._resets for known in reset.variables):
            return q.reason(
                Cause.RESET,
                f"{q.name} was read only before tape.reset() at {last}, which forgets what was "
                "recorded",
                advice,
                last,
            )
    elif any(_was_followed(target, before) for target in q.targets):
        return q.reason(
            Cause.RESET,
            f"{q.target} was recorded before tape.reset() at {last}, which forgets it",
            advice,
            last,
        )
    return None


def _was_followed(value: Any, recordings: Sequence[Recording]) -> bool:
    node = getattr(value, "node", None)
    return node is not None and any(recording in node.scope for recording in recordings)


def by_watching(q: Question) -> Reason | None:
    if q.source_node is not None or any(t is q.source for t in q.targets):
        return None
    source, name = q.source, q.name
    if isinstance(source, Variable):
        return unwatched_variable(q, source)
    bound = rebound(q)
    if bound is not None:
        return bound
    for last in endings_of(source):
        found = reason_of(q, last, [])
        if found is None:
            continue
        return q.reason(
            found.cause,
            f"{name} itself is not recorded: {found.message.rstrip('.')}",
            found.advice,
            found.location,
        )
    node = getattr(source, "node", None)
    if node is not None and node.scope.any_open():
        return q.reason(
            Cause.OTHER_TAPE,
            f"{name} is followed by another tape, and not by this one"
            + (f": that one began to at {node.location()}" if node.where else ""),
            f"Call {q.tape_name}.watch({q.code_name}) inside this tape's block too.",
            node.location(),
        )
    watch = watch_of(q)
    if watch is not None:
        return q.reason(
            Cause.NOT_WATCHED,
            f"This tape does not watch {name}: line {watch.line} did not run, or watched another "
            "object of this name",
            f"Call {q.tape_name}.watch({q.code_name}) for the object that is used.",
            q.at(watch.line),
        )
    return q.reason(
        Cause.NOT_WATCHED,
        f"{name} is a tensor that this tape was never told to watch",
        f"Call {q.tape_name}.watch({q.code_name}) first inside its `with` block"
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
            f"Call {q.tape_name}.watch({q.code_name}) inside its block.",
            q.at(q.block.lineno) if q.block else None,
        )
    if not variable.trainable:
        return q.reason(
            Cause.NOT_TRAINABLE,
            f"{q.name} is a Variable with trainable=False, which tapes do not watch by themselves",
            f"Call {q.tape_name}.watch({q.code_name}) inside the block, or make it trainable.",
        )
    stopped = by_endings(q)
    if stopped is not None:
        return stopped
    bound = rebound(q)
    if bound is not None:
        return bound
    used = q.uses()
    outside = [
        s
        for s in q.uses(direct=True, sure=True)
        if q.block and not is_inside(s, q.block) and q.is_sure(s)
    ]
    if outside:
        line = outside[-1].line
        return q.reason(
            Cause.OUTSIDE,
            f"{q.name} was not read inside the tape's block: line {line} reads it outside",
            "Move that line into the `with` block.",
            q.at(line),
        )
    unread = f"{q.name} was not read while this tape recorded, on its thread"
    where = used_by_functions(q)
    if where is not None:
        return q.reason(
            Cause.UNKNOWN,
            f"{unread}. Line {where.line} uses this name in a function; whether that ran outside "
            "the tape's block, on another thread, or not at all, nothing shows",
            "Call it inside the block, on the tape's own thread, which is the only one that it "
            "records.",
            where,
        )
    return not_run(q, used) or q.reason(
        Cause.UNUSED, unread, f"Compute {q.target} from it inside the tape's block."
    )


def nothing_watched(tape: GradientTape, target: str, place: Place) -> Reason:
    """Why there is no source to explain: the tape watches no Variable."""
    if tape.scope is None and tape._ended_by is None:
        cause, message = Cause.NOTHING_RECORDED, "This tape has recorded nothing."
    elif tape._watch_accessed:
        cause = Cause.NOT_WATCHED
        message = "This tape watches no Variable: it read no trainable one while it recorded."
    else:
        cause = Cause.NOT_ACCESSED
        message = (
            "This tape was made with watch_accessed_variables=False and was told to watch no "
            "Variable."
        )
    advice = "Compute the target from Variables inside its block, or call watch() there."
    if tape.scope is not None and tape.scope.sources:
        advice = "It does watch tensors: name the sources to ask about, tape.explain(target, x)."
    return Reason("nothing", target, cause, message, advice, locate(*place))


def by_paths(q: Question) -> Reason | None:
    if any(t is q.source for t in q.targets):
        return q.reason(Cause.CONNECTED, f"{q.name} is itself the target")
    if q.source_node not in q.path.reached:
        return None
    steps = [step(node) for node in shortest(q)]
    try:
        stops = blocked(q)
    except _FailedError as failed:
        node, error = failed.args
        return q.reason(
            Cause.FAILED,
            f"The gradient function of {step(node).op} raised {type(error).__name__}: "
            f"{str(error).rstrip('.')}",
            "gradient() raises it too, so mend that function.",
            node.location(),
            steps,
        )
    looked = [(node, inside(q, node)) for node in stops]
    stops = [node for node, found in looked if found is None or not found.connected]
    for node, found in looked:
        if found is not None and len(stops) == 1 and node in stops:
            return q.reason(
                found.cause,
                f"Inside the function {step(node).op}, called at {node.location()}: "
                f"{found.message.rstrip('.')}",
                found.advice,
                found.location or node.location(),
                [*steps[: steps.index(step(node))], *found.path],
            )
    again = [node for node in stops if getattr(node.rule, "runs_again", False)]
    if again:
        names = " or ".join(dict.fromkeys(step(node).op for node in again))
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


class _FailedError(Exception):
    """A gradient function raised an error: its Node, and the error."""


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
    a path: one, if they can still be run; none if the gradient exists. Raises _FailedError for one
    that fails.
    """
    if not q.recording.foreign:
        return []
    written = [
        node
        for node in q.path.between
        if not hasattr(node.rule, "op") and not isinstance(node.rule, OutputRule)
    ]
    if q.walked or not written:
        return written
    if _is_reached_without(q, written):
        return []
    refused: list[Node] = []

    def pull(node: Node, g: Any, parents: Sequence[Node | None]) -> Sequence[Any]:
        rule: Any = node.rule
        try:
            found = rule.pull_tensors(node, g, parents)
        except Exception as error:
            raise _FailedError(node, error) from error
        if all(part is None for part in found):
            refused.append(node)
        return found

    seeds = {
        node: finished(ones_like(t.array))
        for t in q.targets
        if (node := q.tape._node_of(t)) is not None
    }
    with here.state.only([]), unchanged():
        found = walk(q.path, seeds, pull, lambda a, b, node: a + b)
    return [] if q.source_node in found else refused[-1:]


def _is_reached_without(q: Question, avoided: Sequence[Node]) -> bool:
    """Whether a path leads from the target to the source past some Nodes."""
    seen = {*avoided, *q.target_nodes}
    stack = [node for node in q.target_nodes if node not in avoided]
    while stack:
        node = stack.pop()
        if node is q.source_node:
            return True
        new = [p for p in node.parents if p in q.path.leading and p not in seen]
        stack += [p for p in new if p is not None]
        seen.update(stack)
    return False


def _dtype(value: Any) -> Any:
    return value.array.dtype
