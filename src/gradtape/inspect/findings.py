"""What is wrong with the gradients of a recording: those that are None, those that are not finite,
and those that vanish or explode on their way; each with its cause and its line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape.core.location import Location
from gradtape.core.node import Node
from gradtape.inspect.explain import explain
from gradtape.inspect.explanation import Reason
from gradtape.inspect.nonfinite import BACKWARD
from gradtape.inspect.norms import Norms
from gradtape.inspect.search import why_nonfinite
from gradtape.inspect.values import is_wrong, plain

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape
    from gradtape.inspect.question import Place

FAR = 1e5
"""A gradient vanishes, or explodes, where its norm is so many times smaller, or larger, than that
with which the walk began.
"""
_MOST = 20
_FEW = 3

Placed = Sequence[tuple[Node, Location]]


class Finding(NamedTuple):
    """Something that is wrong: `kind` is "none", "nonfinite", "vanishing", "exploding", "zero", or
    "failed" for a gradient function; `nodes` are the ops that it shows at, and `sources` what it is
    about. `mark` is a word for it. Of a gradient that is None, `why` is the cause, and `of` the
    identity of the source, which need not have a Node.
    """

    kind: str
    title: str
    text: str
    place: Location | None
    nodes: Sequence[Node] = ()
    sources: Sequence[Node] = ()
    mark: str = ""
    why: str | None = None
    of: int | None = None


def found_in(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any] | None,
    place: Place,
    norms: Norms | None,
    nodes: Placed,
    names: dict[Node, str],
) -> list[Finding]:
    """All that is wrong, as far as the targets are known; `names` are those of the Variables."""
    found: list[Finding] = []
    if norms is not None and norms.failure is not None:
        found.append(_failed(norms.at, norms.failure, nodes))
    if targets:
        given = tape.watched_variables() if sources is None else sources
        leaves = list({id(source): source for source in given}.values())
        found += _nonfinite(tape, targets, leaves, norms, nodes)
        found += _none(tape, targets, leaves, place, norms, nodes)
    if norms is not None and norms.failure is None:
        found += _sizes(norms, nodes, names)
    return found


def _nonfinite(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    norms: Norms | None,
    nodes: Placed,
) -> list[Finding]:
    # A walk that failed is not taken once more.
    gradients = [] if norms is None or norms.failure is not None else norms.norms.values()
    if all(map(math.isfinite, gradients)) and not any(is_wrong(plain(t)) for t in targets):
        return []
    try:
        why = why_nonfinite(tape, list(targets), list(sources) or None)
    except (RuntimeError, ValueError, TypeError):  # it was not recorded here
        return []
    if not why:
        return []
    title, *lines = str(why).splitlines()
    at = _called(why.op, why.location, nodes)
    if why.phase == BACKWARD and norms is not None:
        # Several layers may run the line: it is one that was given finite numbers.
        at = [node for node in at if _spoils(node, norms.norms)] or at
    mark = "Inf" if isinstance(why.value, float) and math.isinf(why.value) else "NaN"
    return [Finding("nonfinite", title, "\n".join(lines), why.location, at, mark=mark)]


def _failed(at: Node | None, error: Exception, nodes: Placed) -> Finding:
    """A gradient function that raised an error, at which the walk ended."""
    place = next((place for node, place in nodes if node is at), None)
    name = "" if at is None else f" of {_name(at)}"
    return Finding(
        "failed",
        f"The gradient function{name} raised {type(error).__name__}",
        f"{error}\ngradient() raises it too. The gradients that it leads to are not known.",
        place,
        [] if at is None else [at],
    )


def _spoils(node: Node, norms: dict[Node, float]) -> bool:
    """Whether an op has a finite gradient, and passes one on that is not."""
    return math.isfinite(norms.get(node, math.nan)) and any(
        parent is not None and not math.isfinite(norms.get(parent, 0.0)) for parent in node.parents
    )


def _none(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    place: Place,
    norms: Norms | None,
    nodes: Placed,
) -> list[Finding]:
    reached: Any = {} if norms is None else norms.norms
    if norms is not None and norms.failure is not None:  # whose gradients could not be computed
        reached = norms.path.reached
    missing = [s for s in sources if tape._node_of(s) not in reached]
    if not missing:
        return []
    reasons = explain(
        tape, targets, sources, place, only={id(source) for source in missing[:_MOST]}
    )
    found = [
        _missing(reason, source, tape._node_of(source), nodes)
        for reason, source in zip(reasons, missing, strict=False)
        if not reason.connected
    ]
    if len(missing) > _MOST:
        more = f"{len(missing) - _MOST} more sources have no gradient"
        found.append(Finding("none", more, "tape.explain(target, sources) says why.", None))
    return found


def _missing(reason: Reason, source: Any, node: Node | None, nodes: Placed) -> Finding:
    at = _called(reason.path[-1].op if reason.path else None, reason.location, nodes)
    return Finding(
        "none",
        f"The gradient of {reason.source} is None: {reason.cause}",
        f"{reason.message} {reason.advice}".rstrip(),
        reason.location,
        at,
        [] if node is None else [node],
        why=reason.cause.value,
        of=id(source),
    )


def _sizes(norms: Norms, nodes: Placed, names: dict[Node, str]) -> list[Finding]:
    """Where gradients that reach sources have become very small or very large, first seen from the
    target.
    """
    start = norms.seed
    if not start or not math.isfinite(start):
        return []
    found = []
    back = [(n, p, norms.norms[n]) for n, p in reversed(nodes) if n in norms.norms]
    back = [(n, p, size) for n, p, size in back if math.isfinite(size)]
    for kind, farthest, verb in (("vanishing", min, "vanish"), ("exploding", max, "explode")):
        cases = [(n, p, size) for n, p, size in back if _is_far(kind, size, start)]
        sources = [
            n for n, size in norms.norms.items() if n.rule is None and _is_far(kind, size, start)
        ]
        if sources:
            cases = cases or [case for case in back if any(p in sources for p in case[0].parents)]
            node, place, size = cases[0]
            reached = farthest(norms.norms[n] for n in sources)
            title = f"The gradient{_of(sources, names)} {verb}{'s' if len(sources) == 1 else ''}"
            text = (
                f"The norm is {start:.2g} at the target, {size:.2g} at {_name(node)} here, and "
                f"{reached:.2g} where it ends."
            )
            found.append(Finding(kind, title, text, place, [n for n, _, _ in cases], sources))
    return found + _zeros(norms, nodes, names)


def _is_far(kind: str, size: float, start: float) -> bool:
    return 0 < size < start / FAR if kind == "vanishing" else start * FAR < size < math.inf


def _zeros(norms: Norms, nodes: Placed, names: dict[Node, str]) -> list[Finding]:
    """The op, first seen from the target, that passes exact zeros on to sources."""
    dead = [n for n in norms.gradients if norms.norms[n] == 0 and np.size(norms.gradients[n])]
    leading = set(dead)
    for node, _ in nodes:
        if any(parent in leading for parent in node.parents):
            leading.add(node)
    for node, place in reversed(nodes):
        if norms.norms.get(node) and any(
            parent is not None and parent in leading and norms.norms.get(parent) == 0
            for parent in node.parents
        ):
            title = (
                f"The gradient{_of(dead, names)} {'is' if len(dead) == 1 else 'are'} exactly zero"
            )
            text = f"{_name(node)} passes zeros back, though its own gradient is not zero."
            return [Finding("zero", title, text, place, [node], dead)]
    return []


def _of(sources: Sequence[Node], names: dict[Node, str]) -> str:
    """Whose gradients: all by name, if they are few and have one."""
    known = [names[node] for node in sources if node in names]
    if len(known) < len(sources) or len(known) > _FEW:
        return " of a watched tensor" if len(sources) == 1 else f"s of {len(sources)} sources"
    said = [f"'{name}'" for name in known]
    if len(said) == 1:
        return f" of the Variable {said[0]}"
    return f"s of the Variables {', '.join(said[:-1])} and {said[-1]}"


def _called(name: str | None, where: Location | None, nodes: Placed) -> list[Node]:
    """The ops of a name at a line."""
    return [node for node, place in nodes if place == where and _name(node) == name]


def _name(node: Node) -> str:
    return "" if node.rule is None else node.rule.name
