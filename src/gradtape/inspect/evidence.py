"""`Evidence`: the values that the Nodes of a recording had, as far as they are known.

A Node keeps only what rules saved. So its value is known if its own rule saved the output, or if
the rule of an op that used it saved that argument; what else is known is computed again. An
argument that nothing followed and no rule named is not known at all: then the result is worked out
with a harmless number in its place, which tells where it is not finite and nothing else. Such a
value is not `exact`. The present value of a Variable is no evidence, since it may have been
assigned since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gradtape.core.node import Node
from gradtape.core.record import OutputRule
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.inspect.values import HARMLESS, plain
from gradtape.ops.derivative import declared
from gradtape.ops.op import Op


class Known(NamedTuple):
    """A value: an array, or a list of them for an op with several outputs."""

    array: Any
    exact: bool = True


class Evidence:
    """What is known of the values in some recordings.

    `given` are Tensors, by their Nodes, that somebody still has, and `constants` the arguments of
    ops that nothing follows, by their positions, if they were kept. `origins` says, for a call that
    was run again, what its inputs were: a Node of the recording outside, or a text.
    """

    def __init__(
        self,
        recordings: Iterable[Recording],
        targets: Iterable[Node],
        given: dict[Node, Any],
        *,
        names: dict[Node, str] | None = None,
        constants: Mapping[Node, dict[int, Any]] | None = None,
        outside: tuple[Evidence, dict[Node, Any]] | None = None,
        number: tuple[int, ...] = (),
    ) -> None:
        self.recordings = frozenset(recordings)
        self.outside = outside
        self.call: Any = None  # the Node of the call outside
        self.number = number  # of the call that was run again, to tell what came first
        self.names = dict(names or {})  # of sources
        self._constants = constants or {}
        self.variables: dict[Node, Variable] = {}
        self.label: Callable[[Node], str | None] | None = None  # what is told of a Node besides
        self.nodes = self._reached(targets)
        self.values: dict[Node, Known | None] = {}
        self._calls: dict[Node, Again | None] = {}
        self.rerun: set[Node] = set()  # what a compiled call gave when it was run again
        for node, array in given.items():
            self.values[node] = Known(plain(array))
        for node in self.nodes:
            self._read(node)
        for node in self.nodes:
            if getattr(node.rule, "keeps_value", False):
                self._share(node)
        for node in self.nodes:
            if node not in self.values:
                self.values[node] = self._worked_out(node)

    def _reached(self, targets: Iterable[Node]) -> list[Node]:
        """The Nodes that have a rule and that the targets were computed from, in their order."""
        seen = set(targets)
        stack, found = list(seen), []
        while stack:
            node = stack.pop()
            if node.rule is not None:
                found.append(node)
                new = [p for p in self.parents(node) if p is not None and p not in seen]
                seen.update(new)
                stack += new
        return sorted(found, key=lambda node: node.number)

    def value(self, node: Node) -> Known | None:
        return self.values.get(node)

    def parents(self, node: Node) -> list[Node | None]:
        """A Node's parents, None for what this recording does not follow."""
        return [
            None if p is None or p.scope.recordings.isdisjoint(self.recordings) else p
            for p in node.parents
        ]

    def arguments(self, node: Node) -> list[Known | None]:
        """The arguments of a recorded op; None for what is not known."""
        saved = {**self._constants.get(node, {}), **saved_arguments(node)}
        return [
            Known(saved[i]) if i in saved else None if parent is None else self.value(parent)
            for i, parent in enumerate(node.parents)
        ]

    def again(self, node: Node) -> Again | None:
        """A compiled call run again op by op, if it can be."""
        if node not in self._calls:
            self._calls[node] = Again.of(self, node)
        return self._calls[node]

    def compute(self, node: Node, arrays: Sequence[Any]) -> Any:
        """The result of an op for other arguments; unknown ones are made up. None if it cannot be
        computed.
        """
        op = declared(node.rule)
        if op is None:
            return None
        try:
            found = op.recomputed(self._filled(op, node, arrays), node.params)
        except Exception:  # noqa: BLE001 - what was made up may not fit
            return None
        return [plain(part) for part in found] if op.several else plain(found)

    def _read(self, node: Node) -> None:
        """Takes in what a Node's rule saved."""
        for i, array in saved_arguments(node).items():
            parent = node.parents[i]
            if parent is not None:
                self.values.setdefault(parent, Known(array))
        out = saved_output(node)
        if out is not None:
            self.values.setdefault(node, Known(out))

    def _share(self, node: Node) -> None:
        """A Variable has a Node in each recording, and is read as a Node of them all."""
        family = [node, *(parent for parent in node.parents if parent is not None)]
        value = next((self.values[n] for n in family if n in self.values), None)
        name = next((self.names[n] for n in family if n in self.names), None)
        for relative in family:
            if value is not None:
                self.values.setdefault(relative, value)
            if name is not None:
                self.names.setdefault(relative, name)

    def _worked_out(self, node: Node) -> Known | None:
        rule: Any = node.rule
        if isinstance(rule, OutputRule):
            op: Any = node.parents[0]
            of_all = self.value(op)
            if of_all is not None and hasattr(op.rule, "op_by_op"):
                self.rerun.add(node)
            return None if of_all is None else Known(of_all.array[rule.index], of_all.exact)
        if getattr(rule, "keeps_value", False):
            known = [self.value(p) for p in node.parents if p is not None]
            return next((value for value in known if value is not None), None)
        if hasattr(rule, "op_by_op"):
            call = self.again(node)
            return None if call is None else Known([plain(out) for out in call.outputs])
        op = declared(rule)
        if op is None:
            return None
        arguments = self.arguments(node)
        if any(
            value is None and parent is not None
            for value, parent in zip(arguments, node.parents, strict=True)
        ):
            return None
        exact = all(value is not None and value.exact for value in arguments)
        affine = op.linear or op.chooses or (op.elementwise and not any(op.guarded))
        if not exact and not affine:  # its result depends on numbers that are made up
            return None
        found = self.compute(node, [None if v is None else v.array for v in arguments])
        return None if found is None else Known(found, exact)

    @staticmethod
    def _filled(op: Op, node: Node, arrays: Sequence[Any]) -> list[Any]:
        """Arguments, with harmless numbers in the place of those that are not known."""
        dtype = next(
            (a.dtype for a in arrays if getattr(a, "dtype", None) is not None), np.dtype(np.float32)
        )
        shapes = _named(op, node).get("shapes", [()] * len(arrays))
        return [
            np.full(shape, HARMLESS, dtype) if array is None else array
            for array, shape in zip(arrays, shapes, strict=True)
        ]


class Again:
    """A compiled call that was run again op by op, recorded by a tape of its own."""

    def __init__(self, outside: Evidence, node: Node) -> None:
        inputs, run = node.rule.op_by_op(node)  # type: ignore[union-attr]
        state = here.state
        self.tape = GradientTape(persistent=True, watch_accessed_variables=False)
        with state.only([]), self.tape:
            self.inputs = [Tensor(plain(value)) for value in inputs]
            self.tape.watch([t for t in self.inputs if t.dtype.is_trainable])
            self.outputs: list[Tensor] = run(self.inputs)
        recording = self.tape.scope
        assert recording is not None
        self.recording: Recording = recording
        self._outside, self._node = outside, node

    @classmethod
    def of(cls, outside: Evidence, node: Node) -> Again | None:
        if not hasattr(node.rule, "op_by_op"):
            return None
        try:
            return cls(outside, node)
        except Exception:  # noqa: BLE001 - such as a loop, which only a program runs
            return None

    @cached_property
    def evidence(self) -> Evidence:
        """What is known of the values in it."""
        given = {t.node: t for t in (*self.inputs, *self.outputs) if t.node is not None}
        rule: Any = self._node.rule
        origins: dict[Node, Any] = {
            t.node: parent if parent is not None else f"input {i} of {rule.name}"
            for i, (t, parent) in enumerate(zip(self.inputs, self._node.parents, strict=True))
            if t.node is not None
        }
        targets = [t.node for t in self.outputs if t.node is not None]
        found = Evidence(
            [self.recording],
            targets,
            given,
            outside=(self._outside, origins),
            number=(*self._outside.number, self._node.number),
        )
        found.call = self._node
        return found


def saved_arguments(node: Node) -> dict[int, Any]:
    """The arguments that a Node's rule saved, by number, as arrays."""
    op = declared(node.rule)
    if op is None:
        if hasattr(node.rule, "op_by_op"):
            return dict(enumerate(map(plain, node.saved[0])))
        return {}
    named = _named(op, node)
    if "args" in named:
        return dict(enumerate(map(plain, named["args"])))
    return {i: plain(named[name]) for i, name in enumerate(op.arguments) if name in named}


def saved_output(node: Node) -> Any:
    """The output that a Node's rule saved, or None."""
    op = declared(node.rule)
    out = None if op is None else _named(op, node).get("out")
    return [plain(part) for part in out] if isinstance(out, (list, tuple)) else plain(out)


def _named(op: Op, node: Node) -> dict[str, Any]:
    """Everything that the pulls of an op saved, by name."""
    found: dict[str, Any] = {}
    for names, values in zip(op.saves, node.saved or (), strict=False):
        if values is not None:
            found.update(zip(names, values, strict=True))
    return found
