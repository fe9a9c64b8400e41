"""From a value that is not finite back to the op that made it so.

A *step* is a value in the forward pass or a cotangent in the backward pass: see
`inspect.forward_steps` and `inspect.backward_steps`. `causes` says which other steps it has its NaN
or infinity from; if there are none, it is a *culprit*. `trace` follows all of them and returns the
culprits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gradtape.core.location import Location
from gradtape.core.node import Node
from gradtape.inspect.evidence import Evidence
from gradtape.inspect.nonfinite import BACKWARD, FORWARD
from gradtape.inspect.values import first, is_wrong, wrong


@dataclass
class Culprit:
    """Where something that is not finite begins.

    `kind` is "op"; "source", "constant" or "input" for what was given so; "seed" for
    `output_gradients`; "sum" for the sum of several cotangents. It is not `certain` if something
    that is `missing`, such as the values of `sources`, may be to blame instead; `between` are the
    Nodes of which nothing is known.
    """

    step: Suspect
    index: Any
    kind: str = "op"
    certain: bool = True
    argument: str = ""
    missing: list[str] = field(default_factory=list)
    sources: list[Node] = field(default_factory=list)
    between: list[Node] = field(default_factory=list)
    last_finite: Node | None = None
    note: str = ""
    value: Any = None  # where the step itself does not show it


Next = Sequence[tuple["Suspect", Any]]
"""Steps, each with a place in it, or None for any place that is not finite."""


class Suspect(ABC):
    """A value or a cotangent that is not finite."""

    phase = FORWARD
    shown = True  # whether it is an op of its own in a chain

    def __init__(
        self, evidence: Evidence, node: Node, through: Sequence[Node] = (), *, sure: bool = False
    ) -> None:
        self.evidence = evidence
        self.node = node
        # The Nodes between this one and the step that it was reached from, of which nothing is
        # known; `sure` if they pass on what is not finite, whatever else they were given.
        self.through = through
        self.sure = sure

    @property
    def key(self) -> Any:
        return type(self), self.node

    @property
    def order(self) -> tuple[int, ...]:
        """Grows with time."""
        return (*self.evidence.number, self.node.number)

    @property
    def name(self) -> str:
        rule = self.node.rule
        return "source" if rule is None else rule.name

    @property
    def location(self) -> Location | None:
        return self.node.location()

    @abstractmethod
    def causes(self, index: Any) -> Next | Culprit:
        """The steps that this one has it from, each with a place; or that it begins here."""


def trace(starts: Next) -> tuple[list[Culprit], dict[Any, Suspect]]:
    """Everything that the steps have their NaN and infinity from, and for each step's key the one
    that it was reached from.
    """
    reached_from: dict[Any, Suspect] = {}
    culprits: list[Culprit] = []
    seen = {step.key for step, _ in starts}
    stack = list(starts)
    while stack:
        step, index = stack.pop()
        found = step.causes(_place_of(step, index))
        if isinstance(found, Culprit):
            _doubt(found, reached_from)
            culprits.append(found)
            continue
        for following, place in found:
            if following.key not in seen:
                seen.add(following.key)
                reached_from[following.key] = step
                stack.append((following, place))
    return culprits, reached_from


def _doubt(culprit: Culprit, reached_from: dict[Any, Suspect]) -> None:
    """Notes what lies between a culprit and what the user sees and is not known."""
    step: Suspect | None = culprit.step
    while step is not None:
        if step.through and not step.sure:
            culprit.certain = False
            culprit.between = [*culprit.between, *step.through]
        step = reached_from.get(step.key)


def first_of(culprits: list[Culprit]) -> Culprit:
    """The one that came first, of those that are certain if there are any."""
    return min(culprits, key=lambda c: (not c.certain, c.step.phase == BACKWARD, c.step.order))


def _place_of(step: Suspect, index: Any) -> Any:
    """A place, found in the value of a step if it is not known yet."""
    if index is not None:
        return index
    value = step.evidence.value(step.node)
    assert value is not None
    if isinstance(value.array, list):
        number = next(i for i, part in enumerate(value.array) if is_wrong(part))
        return number, first(wrong(value.array[number]))
    return first(wrong(value.array))
