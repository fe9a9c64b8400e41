"""Cotangents of the backward pass that are not finite, and what they have it from: what was passed
to them, or values of the forward pass that a rule uses.
"""

from __future__ import annotations

from typing import Any

from gradtape.core.node import Node
from gradtape.core.record import OutputRule, PerOutput
from gradtape.inspect.backward import Backward
from gradtape.inspect.causes import Culprit, Next, Suspect
from gradtape.inspect.evidence import saved_arguments, saved_output
from gradtape.inspect.forward_steps import Constant, Forward
from gradtape.inspect.nonfinite import BACKWARD
from gradtape.inspect.values import first, is_wrong, responsible, spread, wrong
from gradtape.ops.derivative import declared


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
