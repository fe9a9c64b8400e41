"""Hints in the log when a gradient is None: the cause, and where to read more."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradtape.core.endings import Ending
from gradtape.core.location import caller, locate
from gradtape.core.messages import first_times, log_warning
from gradtape.core.node import Node
from gradtape.core.settings import settings
from gradtape.core.tape_arguments import source_object
from gradtape.core.tape_methods import known_none
from gradtape.core.variable import Variable
from gradtape.inspect.explanation import Explanation, Reason
from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape


class Explained:
    """The reasons why the gradients of some targets were None, without keeping anything alive."""

    def __init__(
        self, targets: Sequence[Any], sources: Sequence[Any], reasons: Sequence[Reason]
    ) -> None:
        self._targets = [ref(target) for target in targets]
        self._sources = [ref(source) for source in sources]
        self._reasons = reasons

    def of(self, targets: Sequence[Any], sources: Sequence[Any]) -> Explanation | None:
        """The reasons, if they are known for all of these."""
        if [id(t()) for t in self._targets] != [id(t) for t in targets]:
            return None
        known = {id(s()): reason for s, reason in zip(self._sources, self._reasons, strict=True)}
        if not all(id(source) in known for source in sources):
            return None
        return Explanation([known[id(source)] for source in sources])


_Asked = tuple[int, int, bool]
"""Where a gradient was asked for: the identity of the code, the offset, and whether the line is the
user's own.
"""


class _Known:
    """Why the gradients of one Variable were None, by the place of the call, and the place of the
    last gradient, if that was None.

    With each reason stands the place, whose code is kept, so that no other has its identity; and
    what the recording was like.
    """

    def __init__(self, variable: Variable) -> None:
        key = id(variable)
        self.variable = ref(variable, lambda _: known_none.pop(key, None))
        self.reasons: dict[_Asked, tuple[tuple[CodeType, int], Reason, _Likeness | None]] = {}
        self.last: _Asked | None = None

    def is_of(self, asked: _Asked, likeness: _Likeness | None) -> bool:
        """Whether the reason for a gradient at this place, of a recording like this, is known."""
        known = self.reasons.get(asked)
        return known is not None and likeness is not None and known[2] == likeness


class _Likeness:
    """What a recording is like: equal to that of another in which the same lines did the same, so
    that the reasons are the same too.
    """

    def __init__(self, tape: GradientTape, targets: Sequence[Any]) -> None:
        self._codes: dict[int, CodeType] = {}  # kept, so that no other has its identity
        recording = tape.scope
        assert recording is not None
        known: dict[Node | None, int] = {node: i for i, node in tape._nodes.items()}
        parts: list[Any] = [len(known), len(tape._resets), len(tape._pauses)]
        scopes = recording.scopes()
        for scope in scopes:
            for node in scope.nodes:
                if node is None or node.rule is None:
                    continue
                if hasattr(node.rule, "why_no_path"):
                    raise _NotAlike
                parents = [
                    known.get(parent) or (parent is not None and self._place(parent.where))
                    for parent in node.parents
                ]
                known[node] = len(known) + 1
                parts.append((node.rule.name, self._place(node.where), *parents))
        for scope in scopes:
            by_number = {node.number: known.get(node) for node in scope.nodes if node is not None}
            for number, noted in scope.endings.items():
                parts.append((by_number.get(number), self._ends(noted)))
        for target in targets:
            end = getattr(target, "node", None)
            parts.append(self._ends(end) if isinstance(end, Ending) else known.get(end))
        for (code, offset, _), (*_, origins) in (tape._departures or {}).items():
            ends = [
                self._ends(e) if isinstance(e := o(), Ending) else known.get(e) for o in origins
            ]
            parts.append((self._place((code, offset)), *ends))
        for variable, several in (tape._assigned or {}).items():
            parts.append((variable, *map(self._ends, several)))
        self._hash = hash(tuple(parts))

    def _place(self, where: tuple[CodeType, int] | None) -> tuple[int, int] | None:
        if where is None:
            return None
        code, offset = where
        self._codes[id(code)] = code
        return id(code), offset

    def _ends(self, noted: Ending) -> tuple[Any, ...]:
        if any(ended.inside is not None for ended in noted.each()):
            raise _NotAlike
        return tuple((ended.about, self._place(ended.where)) for ended in noted.each())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Likeness) and self._hash == other._hash

    __hash__ = None  # type: ignore[assignment]


class _NotAlike(Exception):  # noqa: N818 - it is no error
    """What a compiled function did depends on values: no two recordings with it are alike."""


def _likeness(tape: GradientTape, targets: Sequence[Any]) -> _Likeness | None:
    try:
        return _Likeness(tape, targets)
    except _NotAlike:
        return None


# A line that makes new Variables again and again, or does another thing each time, need not be
# explained every time.
_MOST = 20


def hint(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    missing: Sequence[Any],
    says: tuple[str, str],
    *,
    by_user: bool,
) -> Explained | None:
    """Logs why the gradients of some of `sources`, those that are `missing`, are None, and notes it
    for an optimizer; None if this was done before.

    Where it is not the user's own line that asks, as in `fit`, the optimizer alone says it.
    """
    place = code, offset = caller()
    asked = id(code), offset, by_user
    variables = [source for source in missing if isinstance(source, Variable)]
    alike = _likeness(tape, targets)
    is_new = False
    for variable in variables:
        if id(variable) not in known_none:
            known_none[id(variable)] = _Known(variable)
        known = known_none[id(variable)]
        if known.is_of(asked, alike):
            known.last = asked
        else:
            is_new = True
    to_log = by_user and first_times("None", limit=1) is not None
    if not to_log and (not is_new or first_times("None of another Variable", limit=_MOST) is None):
        return None
    from gradtape.inspect.explain import explain  # noqa: PLC0415 - 3 ms that few programs need

    wanted = {id(source) for source in missing}
    reasons = explain(tape, targets, sources, place if by_user else None, walked=True, only=wanted)
    explained = [source for source in sources if id(source) in wanted]
    for source, reason in zip(explained, reasons, strict=True):
        if isinstance(source, Variable):
            known = known_none[id(source)]
            known.last = asked
            known.reasons[asked] = place, reason, alike
    if to_log:
        first = reasons[0]
        others = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        log_warning(
            "%s: the %s of %s with respect to %s%s is %s: %s tape.explain(...) says more.",
            locate(*place), says[0], first.target, first.source, others, says[1], first.message,
        )  # fmt: skip
    return Explained(targets, explained, list(reasons))


def why_none(variables: Sequence[Any]) -> str:
    """What is known of the last gradients of these Variables that were None, in a sentence for the
    message of an optimizer; empty if nothing is.
    """
    found: dict[str, list[str]] = {}
    for variable in variables:
        known = known_none.get(id(source_object(variable)))
        if known is not None and known.last is not None:
            place, reason, _ = known.reasons[known.last]
            by_user = known.last[2]
            said = (f" at {locate(*place)}" if by_user else "") + f" was None: {reason.message}"
            found.setdefault(said, []).append(_shown(variable))
    sentences = [
        f"The gradient of '{names[0]}'"
        + (f" (and {len(names) - 1} more)" if names[1:] else "")
        + said
        for said, names in found.items()
    ]
    if not sentences:
        return ""
    more = f" And {len(sentences) - 3} other causes." if len(sentences) > 3 else ""
    return " ".join(sentences[:3]) + more + " tape.explain(...) says more."


def _shown(variable: Any) -> str:
    """The name of a Variable; Keras calls that of its own a path."""
    return getattr(variable, "path", variable.name)


@published("debugging.enable_hints")
def enable_hints() -> None:
    """Logs why a gradient is None, once for each call in the code: so it is from the beginning.

    >>> import gradtape as tf
    >>> tf.debugging.enable_hints()
    """
    settings.hints = True


@published("debugging.disable_hints")
def disable_hints() -> None:
    """Ends the hints about gradients that are None; `tape.explain` still answers.

    >>> import gradtape as tf
    >>> tf.debugging.disable_hints()
    >>> tf.debugging.enable_hints()
    """
    settings.hints = False
