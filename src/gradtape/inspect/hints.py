"""Hints in the log when a gradient is None: the cause, and where to read more."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradtape.core.location import locate
from gradtape.core.messages import log_warning
from gradtape.core.settings import settings
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


def hint(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    missing: Sequence[Any],
    place: tuple[CodeType, int],
) -> Explained:
    """Logs why the gradients of some of `sources`, those that are `missing`, are None."""
    wanted = {id(source) for source in missing}
    reasons = explain(tape, targets, sources, place, walked=True, only=wanted)
    first = reasons[0]
    others = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    log_warning(
        "%s: the gradient of %s with respect to %s%s is None: %s tape.explain(...) says more.",
        locate(*place), first.target, first.source, others, first.message,
    )  # fmt: skip
    return Explained(targets, [s for s in sources if id(s) in wanted], list(reasons))


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
