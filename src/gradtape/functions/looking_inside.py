"""Why no path leads through a function, a branch or a loop: what it called when it was traced is
run once more, op by op, under a tape that is then asked to explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.functions.program import Body, Program
from gradtape.functions.staging import Spec
from gradtape.functions.tracing import has_gradient
from gradtape.inspect.explain import explain
from gradtape.inspect.explanation import Cause, Reason

if TYPE_CHECKING:
    from gradtape.functions.structured import Structured

_SAYS_LITTLE = (Cause.UNUSED, Cause.INDEPENDENT, Cause.CONNECTED)


class Inside(NamedTuple):
    """One body to look into; its inputs are those of the call from number `first` on. What a loop
    `carries` from step to step goes through its other results too.
    """

    body: Body
    specs: Sequence[Spec]
    first: int = 0
    carries: bool = False


class LookInto:
    """A branch or a loop that can be looked into later, without keeping its inputs alive."""

    def __init__(self, op: Structured, inputs: Sequence[Tensor]) -> None:
        self._name = op.name
        self._bodies = op.bodies([(tuple(t.array.shape), t.array.dtype) for t in inputs])

    def why_no_path(self, output: int, places: Sequence[int]) -> Reason | None:
        """The reason that the most telling of its bodies gives."""
        return most_telling([
            reason
            for inside in self._bodies
            for reason in reasons(self._name, inside, output, places)
        ])  # fmt: skip


def most_telling(found: Sequence[Reason]) -> Reason | None:
    """The first reason that names a line, or else the first."""
    return next((r for r in found if r.cause not in _SAYS_LITTLE), found[0] if found else None)


def reasons(name: str, inside: Inside, output: int, places: Sequence[int]) -> list[Reason]:
    """Why output number `output` of a body has no gradient by the inputs in `places`; what leads to
    the other outputs comes last.
    """
    found: list[Reason] = []

    def run(tensors: list[Tensor]) -> list[Tensor]:
        sources = [
            tensors[place - inside.first]
            for place in places
            if place >= inside.first and has_gradient(tensors[place - inside.first])
        ]
        with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch(sources)
            outputs = inside.body(tensors)
        others = [
            out
            for i, out in enumerate(outputs)
            if inside.carries and i != output and has_gradient(out)
        ]
        wanted = [outputs[output]] if output < len(outputs) else []
        for target in (*wanted, *others):
            found.extend(explain(tape, [target], sources, None))
        return outputs

    Program(name, run, inside.specs).trace()
    return found
