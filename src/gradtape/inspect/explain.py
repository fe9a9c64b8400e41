"""Why a gradient is None: asks what a tape recorded, where chains ended, and the user's source
code, and says only what these show.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from gradtape.core.tape_arguments import leaves_of
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.inspect.code import call_at
from gradtape.inspect.explanation import Cause, Explanation, Reason
from gradtape.inspect.in_code import by_lines
from gradtape.inspect.in_endings import by_assignments, by_endings
from gradtape.inspect.in_recording import by_dtypes, by_paths, by_the_tape, by_watching
from gradtape.inspect.question import Place, Question

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape


# What the methods of a tape call them.
_TARGET = ("target", "losses")
_SOURCES = ("sources", "source", "variables")


def explain_for_user(tape: GradientTape, target: Any, sources: Any, place: Place) -> Explanation:
    """What `tape.explain` returns."""
    targets = leaves_of(target, "explain: target")
    leaves: Sequence[Any] = (
        tape.watched_variables() if sources is None else leaves_of(sources, "explain: sources")
    )
    if tape.scope is None and tape._explained is not None:
        known = tape._explained.of(targets, leaves)
        if known is not None:
            return known
    return explain(tape, targets, leaves, place)


def explain(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    place: Place | None,
    *,
    walked: bool = False,
    only: Container[int] | None = None,
) -> Explanation:
    """The reasons for the gradients of the sum of `targets`, for a call at `place` whose first two
    arguments they are.

    `walked` says that these gradients are known to be None, and that what rules saved is gone;
    `only` are the identities of the sources to explain, if not all.
    """
    site = None if place is None else call_at(*place)
    named = site.names(0, _TARGET, len(targets)) if site else [None] * len(targets)
    what = ("the result", "the argument") if place is None else ("the target", "the source")
    target_names = [name or _described(t, what[0]) for name, t in zip(named, targets, strict=True)]
    named = site.names(1, _SOURCES, len(sources)) if site else [None] * len(sources)
    source_names = [name or _described(s, what[1]) for name, s in zip(named, sources, strict=True)]
    return Explanation([
        _answer(Question(tape, targets, target_names, source, name, place, site, walked))
        for source, name in zip(sources, source_names, strict=True)
        if only is None or id(source) in only
    ])  # fmt: skip


def _answer(q: Question) -> Reason:
    """The first of these that has something to say, in the order in which causes hide each
    other.
    """
    for ask in (
        by_the_tape,
        by_dtypes,
        by_watching,
        by_paths,
        by_endings,
        by_assignments,
        by_lines,
    ):
        found = ask(q)
        if found is not None:
            return found
    departed = [d for d in q.tape.departures() if q.comes_from_source(d)]
    if departed:
        return q.reason(
            Cause.UNKNOWN,
            f"Nothing that this tape recorded leads from {q.name} to {q.target}. Values that were "
            f"computed from {q.name} left the tape at {departed[-1].location}; whether "
            f"{q.target} was computed from them, nothing shows",
            "Keep them tensors if it was.",
            departed[-1].location,
        )
    return q.reason(
        Cause.INDEPENDENT,
        f"Nothing that this tape recorded leads from {q.name} to {q.target}" + q.where_used(),
        f"Compute {q.target} from {q.name} inside the tape's block.",
    )


def _described(value: Any, otherwise: str) -> str:
    if isinstance(value, Variable):
        return f"the Variable '{value.name}'"
    if isinstance(value, Tensor):
        return f"{otherwise}, a tensor of shape {value.shape}"
    return otherwise
