"""Hints in the log when a gradient is None: the cause, and where to read more."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradtape.core.location import caller, locate
from gradtape.core.messages import first_times, log_warning
from gradtape.core.settings import settings
from gradtape.core.tape_arguments import source_object
from gradtape.core.variable import Variable
from gradtape.inspect.explain import explain
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
    """Why the gradients of one Variable were None, by the place of the call, and the last place.

    With each reason stands the place, whose code is kept, so that no other has its identity.
    """

    def __init__(self, variable: Variable) -> None:
        key = id(variable)
        self.variable = ref(variable, lambda _: _known.pop(key, None))
        self.reasons: dict[_Asked, tuple[tuple[CodeType, int], Reason]] = {}
        self.last: _Asked | None = None


_known: dict[int, _Known] = {}
"""By the identity of the Variable."""

# A line that makes new Variables again and again need not be explained for each.
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
    for variable in variables:
        if id(variable) not in _known:
            _known[id(variable)] = _Known(variable)
        _known[id(variable)].last = asked
    to_log = by_user and first_times("None", limit=1) is not None
    if not to_log and (
        all(asked in _known[id(variable)].reasons for variable in variables)
        or first_times("None of another Variable", limit=_MOST) is None
    ):
        return None
    wanted = {id(source) for source in missing}
    reasons = explain(tape, targets, sources, place if by_user else None, walked=True, only=wanted)
    explained = [source for source in sources if id(source) in wanted]
    for source, reason in zip(explained, reasons, strict=True):
        if isinstance(source, Variable):
            _known[id(source)].reasons[asked] = place, reason
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
        known = _known.get(id(source_object(variable)))
        if known is not None and known.last is not None and known.last in known.reasons:
            place, reason = known.reasons[known.last]
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
    """Logs, once for each line of code, why a gradient is None: so it is from the beginning.

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
