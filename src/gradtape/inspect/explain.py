"""Why a gradient is None: asks what a tape recorded, where chains ended, and the user's source
code, and says only what these show.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from gradtape.core.location import locate
from gradtape.core.tape_arguments import leaves_of
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.inspect.code import call_at
from gradtape.inspect.explanation import Cause, Explanation, Reason
from gradtape.inspect.in_code import by_lines, users_line
from gradtape.inspect.in_endings import by_endings
from gradtape.inspect.in_recording import (
    by_dtypes,
    by_paths,
    by_resets,
    by_the_tape,
    by_watching,
    nothing_watched,
)
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
    if sources is None and not leaves:
        return Explanation([nothing_watched(tape, _called(targets, place), place)])
    if tape.scope is None and tape._explained is not None:
        known = tape._explained.of(targets, leaves)
        if known is not None:
            return known
    is_list = isinstance(sources, (list, tuple)) and len(sources) == len(leaves)
    return explain(tape, targets, leaves, place, is_list=is_list)


def explain(
    tape: GradientTape,
    targets: Sequence[Any],
    sources: Sequence[Any],
    place: Place | None,
    *,
    walked: bool = False,
    only: Container[int] | None = None,
    is_list: bool = False,
) -> Explanation:
    """The reasons for the gradients of the sum of `targets`, for a call at `place` whose first two
    arguments they are.

    `walked` says that these gradients are known to be None, and that what rules saved is gone;
    `only` are the identities of the sources to explain, if not all; `is_list` says that the call
    was given a list of them.
    """
    site = None if place is None else call_at(*place)
    named = site.names(0, _TARGET, len(targets)) if site else [None] * len(targets)
    what = ("the result", "the argument") if place is None else ("the target", "the source")
    target_names = [name or _described(t, what[0]) for name, t in zip(named, targets, strict=True)]
    count = len(sources)
    named = site.names(1, _SOURCES, count, is_list=is_list) if site else [None] * count
    source_names = [
        # Its own name says more of a Variable in a list than a number.
        _described(s, what[1])
        if name is None or (isinstance(s, Variable) and name.endswith(f"[{i}]") and is_list)
        else name
        for i, (name, s) in enumerate(zip(named, sources, strict=True))
    ]
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
        by_resets,
        by_watching,
        by_paths,
        by_endings,
        by_lines,
    ):
        found = ask(q)
        if found is not None:
            return found
    nothing = f"Nothing that this tape recorded leads from {q.name} to {q.target}."
    departed = [d for d in q.departures if q.comes_from_source(d)]
    if departed:
        at = users_line(departed[-1])
        return q.reason(
            Cause.UNKNOWN,
            f"{nothing} Values that were computed from {q.name} left the tape at {at}; whether "
            f"{q.target} was computed from them, nothing shows",
            "Keep them tensors if it was.",
            at,
        )
    departed = [d for d in q.departures if q.may_come_from_source(d)]
    if departed:
        at = users_line(departed[-1])
        return q.reason(
            Cause.UNKNOWN,
            f"{nothing} Values left the tape at {at}; whether they were computed from {q.name} is "
            "not known any more",
            "Keep them tensors if they were.",
            at,
        )
    if q.tape._resets:
        at = locate(*q.tape._resets[-1].place)
        return q.reason(
            Cause.UNKNOWN,
            f"{nothing} What it recorded before tape.reset() at {at} is forgotten; whether "
            f"{q.target} was computed from that, nothing shows",
            "Remove the reset if it was.",
            at,
        )
    shown = [s for s in q.uses(direct=True, sure=True) if q.is_sure(s)]
    if shown:
        at = q.at(shown[-1].line)
        return q.reason(
            Cause.UNKNOWN,
            f"{nothing} In the source code, line {at.line} does; how, nothing shows: by something "
            "that no gradient passes, such as a shape, a count, a condition, or a derivative that "
            f"does not depend on {q.name}",
            f"Compute {q.target} from the values of {q.name}.",
            at,
        )
    return q.reason(
        Cause.INDEPENDENT,
        f"Nothing that this tape recorded leads from {q.name} to {q.target}" + q.where_used(),
        f"Compute {q.target} from {q.name} inside the tape's block.",
    )


def _called(targets: Sequence[Any], place: Place) -> str:
    """How the user calls the targets."""
    site = call_at(*place)
    named = site.names(0, _TARGET, len(targets)) if site else [None] * len(targets)
    return ", ".join(
        name or _described(t, "the target") for name, t in zip(named, targets, strict=True)
    )


def _described(value: Any, otherwise: str) -> str:
    if isinstance(value, Variable):
        return f"the Variable '{value.name}'"
    if isinstance(value, Tensor):
        return f"{otherwise}, a tensor of shape {value.shape}"
    return otherwise
