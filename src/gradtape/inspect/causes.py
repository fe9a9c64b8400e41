"""From a value that is not finite back to the op that made it so.

A *step* is a value in the forward pass or a cotangent in the backward pass. `causes` says which
other steps it has its NaN or infinity from; if there are none, it is a *culprit*. `trace` follows
all of them and returns the culprits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradtape.core.location import Location
from gradtape.core.node import Node
from gradtape.core.record import OutputRule, PerOutput
from gradtape.inspect.backward import Backward
from gradtape.inspect.evidence import Evidence, Known, saved_arguments, saved_output
from gradtape.inspect.nonfinite import BACKWARD, FORWARD
from gradtape.inspect.values import at, first, is_wrong, plain, responsible, spread, wrong
from gradtape.ops.derivative import declared


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


class Forward(Suspect):
    """The value of a Node."""

    @property
    def shown(self) -> bool:  # type: ignore[override]
        rule = self.node.rule
        hidden = rule is None or isinstance(rule, OutputRule) or hasattr(rule, "keeps_value")
        return not hidden

    def causes(self, index: Any) -> Next | Culprit:
        node, evidence = self.node, self.evidence
        rule: Any = node.rule
        if rule is None:
            return self._given(index)
        parents = evidence.parents(node)
        if getattr(rule, "keeps_value", False):
            return [(Forward(evidence, p), index) for p in parents if p is not None][:1]
        if isinstance(rule, OutputRule):
            of_all: Any = node.parents[0]
            return [(Forward(evidence, of_all), (rule.index, index))]
        if hasattr(rule, "op_by_op"):
            return self._of_a_call(index)
        if declared(rule) is None:
            known = [(p, evidence.value(p)) for p in parents if p is not None]
            bad = [(p, v) for p, v in known if v is not None and is_wrong(v.array)]
            if bad:
                return [(Forward(evidence, p), first(wrong(v.array))) for p, v in bad]
            return Culprit(self, index, certain=all(v is not None and v.exact for _, v in known))
        return self._of_an_op(index)

    def _given(self, index: Any) -> Next | Culprit:
        if self.evidence.outside is not None:
            outside, origins = self.evidence.outside
            origin = origins.get(self.node)
            if isinstance(origin, Node):
                return [(Forward(outside, origin), index)]
            if origin is not None:
                return Culprit(self, index, "input", argument=origin)
        return Culprit(self, index, "source")

    def _of_a_call(self, index: Any) -> Next | Culprit:
        again = self.evidence.again(self.node)
        number, place = index
        if again is None:
            bad = [
                (Forward(self.evidence, p), first(wrong(v.array)))
                for p, v in zip(self.node.parents, self.evidence.arguments(self.node), strict=True)
                if p is not None and v is not None and is_wrong(v.array)
            ]
            value = self._seen(number, place)
            return bad or Culprit(self, place, note=NOT_AGAIN.format(self.name), value=value)
        out = again.outputs[number]
        if out.node is None or not is_wrong(plain(out)):
            return Culprit(self, place, note=FINITE_AGAIN, value=self._seen(number, place))
        inside = wrong(out.array)
        return [(Forward(again.evidence, out.node), place if inside[place] else first(inside))]

    def _seen(self, number: int, place: Any) -> Any:
        """An element of what a call gave when it ran."""
        values = (
            self.evidence.value(node)
            for node in self.evidence.nodes
            if node.parents[0] is self.node and getattr(node.rule, "index", None) == number
        )
        return next((at(v.array, place) for v in values if v is not None), math.nan)

    def _of_an_op(self, index: Any) -> Next | Culprit:
        node, evidence = self.node, self.evidence
        op: Any = declared(node.rule)
        arguments = evidence.arguments(node)
        arrays = [None if v is None else v.array for v in arguments]
        blamed: list[tuple[int, Any]]
        if op.elementwise:
            places = [() if a is None else spread(index, getattr(a, "shape", ())) for a in arrays]
            blamed = [
                (k, place)
                for k, (a, place) in enumerate(zip(arrays, places, strict=True))
                if a is not None and wrong(a)[place]
            ]
        else:
            blamed = responsible(lambda given: evidence.compute(node, given), arrays, index)
        parents = evidence.parents(node)
        found: list[tuple[Suspect, Any]] = []
        for k, place in blamed:
            parent = parents[k]
            if parent is None:
                return Culprit(self, place, "constant", argument=_argument(op, k))
            found.append((Forward(evidence, parent), place))
        return found or self._begun_here(index, arguments)

    def _begun_here(self, index: Any, arguments: list[Known | None]) -> Next | Culprit:
        """This op made it of finite values, as far as they are known."""
        node, evidence = self.node, self.evidence
        calls = [p for p in evidence.parents(node) if p in evidence.rerun]
        if calls:
            found = evidence.compute(node, [None if v is None else v.array for v in arguments])
            if found is not None and not wrong(found)[index]:  # then it was given something else
                call = Forward(evidence, calls[0].parents[0])  # type: ignore[arg-type]
                value = evidence.value(node)
                assert value is not None
                return Culprit(call, None, note=FINITE_AGAIN, value=at(value.array, index))
        if all(value is not None and value.exact for value in arguments):
            return Culprit(self, index)
        region: list[Node] = []
        boundary: list[Node] = []
        constants: list[tuple[Suspect, Any]] = []
        missing: list[str] = []
        sources: list[Node] = []
        stack: list[tuple[Node, list[Node]]] = [(node, [])]
        seen = {node}
        while stack:
            current, through = stack.pop()
            values = evidence.arguments(current)
            for k, (parent, value) in enumerate(
                zip(evidence.parents(current), values, strict=True)
            ):
                argument = f"{_argument(declared(current.rule), k)} of {_named(current)}"
                if parent is None:
                    if value is None:
                        missing.append(argument)
                    elif current is not node and is_wrong_value(value):
                        constants.append(_constant(evidence, current, k, through, node))
                elif value is not None and is_wrong_value(value):
                    return [(Forward(evidence, parent, through), None)]
                elif value is not None and value.exact:
                    boundary.append(parent)
                elif parent not in seen:
                    seen.add(parent)
                    if parent.rule is None:
                        sources.append(parent)
                        name = evidence.names.get(parent, "a source")
                        missing.append(f"{argument}, which is {name}")
                    else:
                        region.append(parent)
                        stack.append((parent, [parent, *through]))
        if constants:
            return [next((c for c in constants if c[0].sure), constants[0])]
        return Culprit(
            self,
            index,
            certain=False,
            missing=missing,
            sources=sources,
            between=sorted(region, key=lambda n: n.number),
            last_finite=max(boundary, key=lambda n: n.number, default=None),
        )


class Constant(Forward):
    """A constant that an op was given, of which the recording holds the value."""

    def __init__(
        self, evidence: Evidence, node: Node, number: int, through: Sequence[Node], *, sure: bool
    ) -> None:
        super().__init__(evidence, node, through, sure=sure)
        self._argument = _argument(declared(node.rule), number)

    @property
    def key(self) -> Any:
        return Constant, self.node, self._argument

    def causes(self, index: Any) -> Culprit:
        return Culprit(self, index, "constant", argument=self._argument)


class Cotangent(Suspect):
    """The cotangent of a Node: the sum of what others have passed to it."""

    phase = BACKWARD
    shown = False

    def __init__(self, backward: Backward, node: Node) -> None:
        super().__init__(backward.evidence, node)
        self.backward = backward

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(-number for number in super().order)

    def causes(self, index: Any) -> Next | Culprit:
        backward, node = self.backward, self.node
        passed = backward.passed.get(node, [])
        found: list[tuple[Suspect, Any]] = []
        for child, k, array in passed:
            if type(array) is dict:
                number, place = index
                if number in array and wrong(array[number])[place]:
                    found.append((Passed(backward, child, k), index))
            elif wrong(array)[index]:
                found.append((Passed(backward, child, k), index))
        if found:
            return found
        seed = backward.seeds.get(node)
        if seed is not None and wrong(seed)[index]:
            return Culprit(self, index, "seed")
        return Culprit(self, index, "sum")


class Passed(Suspect):
    """What the rule of a Node passes to one of its arguments."""

    phase = BACKWARD

    def __init__(self, backward: Backward, node: Node, argument: int) -> None:
        super().__init__(backward.evidence, node)
        self.backward = backward
        self.argument = argument

    @property
    def shown(self) -> bool:  # type: ignore[override]
        return Forward(self.evidence, self.node).shown

    @property
    def key(self) -> Any:
        return Passed, self.node, self.argument

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(-number for number in super().order)

    @property
    def received(self) -> Any:
        """The cotangent that it was given."""
        return self.backward.totals[self.node]

    def causes(self, index: Any) -> Next | Culprit:
        node, backward = self.node, self.backward
        if isinstance(node.rule, OutputRule):
            return [(Cotangent(backward, node), index[1])]
        g = self.received
        several = type(g) is dict
        numbers = sorted(g) if several else []
        given = [g[number] for number in numbers] if several else [g]

        def pulled(arrays: list[Any]) -> Any:
            again: Any = PerOutput(zip(numbers, arrays, strict=True)) if several else arrays[0][()]
            return backward.pull_again(node, again, self.argument)

        blamed = responsible(pulled, given, index, other=0.0)
        if blamed:
            return [
                (Cotangent(backward, node), (numbers[k], place) if several else place)
                for k, place in blamed
            ]
        return self._from_forward(index) or self._from_inside(index) or Culprit(self, index)

    def _from_forward(self, index: Any) -> Next:
        """Values of the forward pass that its rule uses, which are not finite but did not show."""
        op = declared(self.node.rule)
        found: list[tuple[Suspect, Any]] = []
        if op is None:
            return found
        parents = self.evidence.parents(self.node)
        out = saved_output(self.node)
        for i, array in saved_arguments(self.node).items():
            place = _wrong_place(array, index if op.elementwise else None)
            parent = parents[i]
            if place is not None and parent is not None:
                found.append((Forward(self.evidence, parent), place))
            elif place is not None:
                found.append((Constant(self.evidence, self.node, i, (), sure=True), place))
        if not found and out is not None and not isinstance(out, list):
            place = _wrong_place(out, index if op.elementwise else None)
            if place is not None:
                found.append((Forward(self.evidence, self.node), place))
        return found

    def _from_inside(self, index: Any) -> Next:
        """The backward walk through a compiled call, op by op."""
        again = self.evidence.again(self.node)
        if again is None:
            return []
        seeds = {
            out.node: self.received[i]
            for i, out in enumerate(again.outputs)
            if out.node is not None and i in self.received
        }
        sources = [t.node for t in again.inputs if t.node is not None]
        inside = Backward(again.evidence, again.recording, seeds, sources)
        source = again.inputs[self.argument].node
        gradient = None if source is None else inside.gradients.get(source)
        if source is None or gradient is None or not is_wrong(gradient):
            return []
        bad = wrong(gradient)
        return [(Cotangent(inside, source), index if bad[index] else first(bad))]


NOT_AGAIN = (
    "What happened inside could not be run again op by op; tf.debugging.why_nonfinite({}, ...) "
    "runs its Python code."
)
FINITE_AGAIN = (
    "Run again op by op, its result is finite: the compiled program orders and rounds its "
    "operations in another way, so the values are at the edge of what the dtype can hold."
)


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


def is_wrong_value(value: Known) -> bool:
    return (
        any(map(is_wrong, value.array)) if isinstance(value.array, list) else is_wrong(value.array)
    )


def _constant(
    evidence: Evidence, node: Node, number: int, through: Sequence[Node], end: Node
) -> tuple[Suspect, Any]:
    """An argument of a Node that is not finite, with its place; `through` leads from the Node to
    the value at `end`, both of which are not known otherwise.
    """
    value = evidence.arguments(node)[number]
    assert value is not None
    place = first(wrong(value.array))
    is_nan = np.isnan(np.asarray(value.array)[place])
    sure = all(_passes_on(n, is_nan) for n in (*through, end))
    return Constant(evidence, node, number, through[1:], sure=sure), place


def _passes_on(node: Node, is_nan: bool) -> bool:
    """Whether a result is not finite if anything that the op was given is not."""
    op = declared(node.rule)
    if op is None or op.plain is not True:
        return False
    return is_nan or op.linear


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


def _wrong_place(array: Any, index: Any) -> Any:
    """A place where an array is not finite, `index` if it has that place and broadcasts to it."""
    bad = wrong(array)
    if not bad.any():
        return None
    if index is not None and len(bad.shape) in {0, len(index)}:
        place = spread(index, bad.shape)
        if all(i < n for i, n in zip(place, bad.shape, strict=True)):
            return place if bad[place] else None
    return first(bad)


def _argument(op: Any, number: int) -> str:
    names = () if op is None else op.arguments
    return names[number] if number < len(names) else f"argument {number}"


def _named(node: Node) -> str:
    location = node.location()
    name = "source" if node.rule is None else node.rule.name
    return name if location is None else f"{name} at {location.file}:{location.line}"
