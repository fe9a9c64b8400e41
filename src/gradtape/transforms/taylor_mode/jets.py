"""`Jets`: partial derivatives of every order, carried forward over a tape's recording by the jets
that ops declare (`ops.jets`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.recording import Recording
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.derivative import Derivative, ElementwiseDerivative, unwrapped
from gradtape.ops.jets import Index, JetCall, NoRule, Partials, Shape, plus


class Jets:
    """The partial derivatives of the Nodes that lead from `sources` to `target`,
    which has the given shape.

    `sources` has the partials of some Nodes; if such a Node depends on another source in turn, that
    contribution is added. `rule_for` returns the partials of a RecordedStep's output.
    """

    def __init__(
        self,
        rule_for: Callable[[RecordedStep], Partials],
        sources: Mapping[Node, Partials],
        target: Node,
        shape: Shape,
        recording: Recording,
    ) -> None:
        self.tape: Any = None  # the one whose recording it is, if nobody else has it
        self._rule_for = rule_for
        self._sources = sources
        self._target, self._shape = target, shape
        path = Path([target], sources, recording)
        self._path = sorted(path.leading & path.reached, key=attrgetter("number"))
        self._found: dict[Node | None, dict[Index, Any]] = {node: {} for node in self._path}
        self._steps: dict[Node, tuple[RecordedStep, Partials]] = {}
        self._shapes: dict[Node, Shape] = {}

    def __contains__(self, node: Node | None) -> bool:
        """Whether a Node depends on the sources."""
        return node in self._found

    def of(self, node: Node | None, index: Index) -> Any:
        """A partial derivative of a Node, computed when it is first asked for."""
        found = self._found.get(node)
        if found is None or node is None:
            return None
        if index not in found:
            given = self._sources[node](index) if node in self._sources else None
            depends = any(parent in self._found for parent in node.parents)
            found[index] = plus(given, self._rule(node)(index)) if depends else given
        return found[index]

    def _rule(self, node: Node) -> Partials:
        """How the partials of a Node follow from those of its parents."""
        if node not in self._steps:
            step = RecordedStep(self, node)
            self._steps[node] = step, self._rule_for(step)
        return self._steps[node][1]

    def sweep(self, indices: Sequence[Index]) -> dict[Index, Any]:
        """The target's partials for `indices`, the shorter ones first.

        It goes from Node to Node, so a long recording needs no deep recursion, and frees what is no
        longer needed.
        """
        last_user = {parent: node for node in self._path for parent in node.parents}
        try:
            for node in self._path:
                for index in indices:
                    self.of(node, index)
                if node in self._steps:
                    self._steps.pop(node)[0].release()
                for parent in node.parents:
                    if parent in self._found and last_user[parent] is node:
                        self._found[parent].clear()
            return dict(self._found[self._target])
        finally:
            self.release()

    def release(self) -> None:
        """Frees all partials and rules."""
        for step, _ in self._steps.values():
            step.release()
        self._steps.clear()
        for found in self._found.values():
            found.clear()

    def shape_of(self, node: Node) -> Shape:
        """The shape of a Node's value, which Nodes do not keep: it is found from what the Nodes
        that use it have saved.
        """
        if not self._shapes:
            self._shapes[self._target] = self._shape
            for user in reversed(self._path):
                for i, parent in enumerate(user.parents):
                    shape = (
                        _argument_shape(user, i, self._shapes.get(user))
                        if parent in self._found
                        else None
                    )
                    if shape is not None and parent is not None:
                        self._shapes.setdefault(parent, shape)
        if node not in self._shapes:
            raise NoRule
        return self._shapes[node]


class RecordedStep(JetCall):
    """One recorded op as its rule sees it: the partials of its inputs and of its output,
    and what its pulls saved.

    Functions of a rule may form reference cycles, so they should refer only to the Step, whose
    `release` frees everything.
    """

    def __init__(self, jets: Jets, node: Node) -> None:
        self.jets = jets
        self.node = node
        self.params: dict[str, Any] = node.params or {}
        self.at_release: list[Callable[[], None]] = []
        self._rule = unwrapped(node.rule)

    @property
    def op(self) -> Any:
        if not isinstance(self._rule, Derivative):
            raise NoRule
        return self._rule.op

    @property
    def is_elementwise(self) -> bool:
        return isinstance(self._rule, ElementwiseDerivative)

    def cached(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that keeps its results as long as this Step is needed."""
        found: dict[Any, Any] = {}
        kept = [function]  # two that call each other are a cycle until they are let go of
        self.at_release += [found.clear, kept.clear]

        def call(*args: Any) -> Any:
            if args not in found:
                found[args] = kept[0](*args)
            return found[args]

        return call

    def release(self) -> None:
        """Frees everything, when the partials have been computed."""
        for let_go in self.at_release:
            let_go()
        del self.jets, self.node, self.params, self.at_release, self._rule

    def moves(self, i: int) -> bool:
        """Whether argument `i` depends on the sources."""
        return self.node.parents[i] in self.jets

    def input(self, i: int) -> Partials:
        """The partials of argument `i`."""
        return lambda index: (
            self.jets.of(self.node.parents[i], index) if index else self.saved(self.op.arguments[i])
        )

    def output(self, index: Index) -> Any:
        """The partials of the output, of lower order than those that are being computed."""
        return self.jets.of(self.node, index) if index else self.saved("out")

    def saves(self, name: str) -> bool:
        """Whether some pull has saved what it calls `name`."""
        return any(values is not None and name in names for names, values in self._saves())

    def saved(self, name: str) -> Any:
        """What a pull has saved as `name`."""
        for i, (names, values) in enumerate(self._saves()):
            if values is not None and name in names:
                return self.saved_by(i)[name]
        raise NoRule

    def saved_by(self, i: int) -> dict[str, Any]:
        """What the pull of argument `i` has saved, by name: Tensors,
        or the parameters of the op.
        """
        return dict(
            zip(self.op.saves[i], self._rule.saved(self.node, i, tensors=True), strict=True)
        )

    def _saves(self) -> list[tuple[tuple[str, ...], Any]]:
        # Behind them, several outputs have saved their shapes.
        return list(zip(self.op.saves, self.node.saved, strict=False))

    def pull(self, i: int, g: Any, **changed: Any) -> Any:
        """The pull of argument `i` as it is declared, with some of what it saved `changed`."""
        given = {
            name: value
            for name, value in self.saved_by(i).items()
            if not name.endswith("_broadcast")
        }
        return self.op.pulls[i](g, **{**given, **changed})

    def spread(self, value: Any, arguments: Sequence[int]) -> Any:
        """A value computed from some of an elementwise op's arguments, in the shape of its
        output.
        """
        return (
            value
            if any(self._rule.broadcast_from(self.node, i) is None for i in arguments)
            else self.in_full(value)
        )

    def in_full(self, value: Any) -> Any:
        """A partial that may have been computed from smaller arguments,
        in the shape of the output.
        """
        shape = self.jets.shape_of(self.node)
        return value if value.array.shape == shape else broadcast_to(value, shape=shape)


def _argument_shape(user: Node, i: int, out: Shape | None) -> Shape | None:
    """The shape of argument `i` of an op, from what its pulls saved and the shape of its output;
    None if they do not say.
    """
    rule = unwrapped(user.rule)
    if not isinstance(rule, Derivative):
        return None
    op = rule.op
    which = i if op.pull_all is None else 0
    saved = dict(zip(op.saves[which], user.saved[which], strict=True))
    if "shapes" in saved:
        return saved["shapes"][i]
    name = op.arguments[i] if op.arguments else ""
    if f"{name}_shape" in saved:
        return saved[f"{name}_shape"]
    if saved.get(f"{name}_broadcast") is not None:
        return saved[f"{name}_broadcast"]
    return None if op.input_shape is None or out is None else op.input_shape(out, **saved)
