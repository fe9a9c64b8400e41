"""Values of the forward pass that are not finite, and what they have it from: the arguments of the
op that made them, as far as these are known, or what is inside a compiled call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.node import Node
from gradtape.core.record import OutputRule
from gradtape.inspect.causes import Culprit, Next, Suspect
from gradtape.inspect.evidence import Evidence, Known
from gradtape.inspect.values import at, first, is_wrong, plain, responsible, spread, wrong
from gradtape.ops.derivative import declared


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


NOT_AGAIN = (
    "What happened inside could not be run again op by op; tf.debugging.why_nonfinite({}, ...) "
    "runs its Python code."
)
FINITE_AGAIN = (
    "Run again op by op, its result is finite: the compiled program orders and rounds its "
    "operations in another way, so the values are at the edge of what the dtype can hold."
)


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


def _argument(op: Any, number: int) -> str:
    names = () if op is None else op.arguments
    return names[number] if number < len(names) else f"argument {number}"


def _named(node: Node) -> str:
    location = node.location()
    name = "source" if node.rule is None else node.rule.name
    return name if location is None else f"{name} at {location.file}:{location.line}"
