"""What depends on what in a recording: the Nodes between a source and a target,
and the links between their elements.

Few ops need a rule for it. A pull is linear, and its links are the transpose of its op's links; a
pull is made of ops, so its own recording shows them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from operator import add
from typing import Any

import numpy as np

from gradtape.convert import operand
from gradtape.core.indexed_slices import RawSlices
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.record import OutputRule, PerOutput
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.variable import ReadRule
from gradtape.core.walk import dense
from gradtape.core.xla.beyond import attempt
from gradtape.ops.broadcasting import cast
from gradtape.ops.derivative import declared, transposed
from gradtape.ops.links import SAME, Link, LinkedCall, Pattern, Shape, aligned, pairs
from gradtape.ops.shaping import getitem, reshape


class Spec:
    """The shape and dtype of what a Node stands for."""

    __slots__ = ("dtype", "shape", "size")

    def __init__(self, shape: Shape, dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.size = math.prod(shape)

    def zeros(self) -> Any:
        """A cotangent of it."""
        return np.zeros(self.shape, self.dtype)

    def cotangent(self, row: Tensor) -> Any:
        """A cotangent of it, computed from a row of the same number of elements."""
        return cast(reshape(row, shape=self.shape), dtype=self.dtype)


class Several(dict[int, Spec]):
    """The specs of those outputs of a Node that are on the path, by number: together they are one
    row of elements.

    It is filled while the walk reaches the outputs, and read when it reaches the Node itself.
    """

    @cached_property
    def starts(self) -> dict[int, int]:
        """Where in the row each output begins, in the order of their numbers."""
        sizes = [self[i].size for i in sorted(self)]
        return dict(zip(sorted(self), accumulate(sizes, initial=0), strict=False))

    @cached_property
    def size(self) -> int:
        return sum(spec.size for spec in self.values())

    @property
    def shape(self) -> Shape:
        return (self.size,)

    def zeros(self) -> Any:
        return PerOutput((i, spec.zeros()) for i, spec in self.items())

    def cotangent(self, row: Tensor) -> Any:
        return PerOutput(
            (i, self[i].cotangent(getitem(row, key=(slice(start, start + self[i].size),))))
            for i, start in self.starts.items()
        )


Specs = dict[Node, "Spec | Several"]

_DEEP = 8  # gradient functions inside gradient functions: one may call its own function


class Dependence:
    """How the elements of a target depend on those of a source: a link, like that of a single op,
    composed of those in between.

    `connected` says whether there is a path, and `elements` how many elements there are on it.
    `within` are the ops, and for functions with their own gradients the rules, whose pulls this
    recording is part of. The links in between are made when they are used, and not kept.
    """

    def __init__(
        self,
        recording: Recording,
        target: Node,
        source: Node,
        spec: Spec,
        source_size: int,
        within: tuple[Any, ...] = (),
    ) -> None:
        self._target, self._source, self._source_size, self._within = (
            target,
            source,
            source_size,
            within,
        )
        self._specs: Specs = {target: spec}
        met = [
            (node, _differentiated(node, wanted, self._specs))
            for node, wanted in _between(target, source, recording)
        ]
        reached = {source} & self._specs.keys()
        # Nodes, and which of their parents depend on the source.
        self._steps: list[tuple[Node, list[int]]] = []
        for node, indices in reversed(met):
            linked = [i for i in indices if node.parents[i] in reached]
            if linked:
                reached.add(node)
                self._steps.append((node, linked))
        self.connected = target in reached
        self.elements = sum(known.size for known in self._specs.values())

    def push(self, rows: Pattern) -> Pattern:
        """The target's pattern from the source's."""
        if not self.connected:
            return pairs([], [], self._specs[self._target].size, rows.shape[1])
        patterns = {self._source: rows}
        last_use = {node.parents[i]: node for node, linked in self._steps for i in linked}
        for node, linked in self._steps:
            parents: Any = [node.parents[i] for i in linked]
            patterns[node] = _links(node, linked, self._specs, self._within).push(
                [patterns[parent] for parent in parents]
            )
            for parent in set(parents):
                if last_use[parent] is node:
                    del patterns[parent]
        return patterns[self._target]

    def pull(self, rows: Pattern) -> Pattern:
        """The source's pattern from the target's."""
        if not self.connected:
            return pairs([], [], self._source_size, rows.shape[1])
        patterns = {self._target: rows}
        for node, linked in reversed(self._steps):
            if node in patterns:
                parts = _links(node, linked, self._specs, self._within).pull(patterns.pop(node))
                for i, part in zip(linked, parts, strict=True):
                    parent: Any = node.parents[i]
                    patterns[parent] = patterns[parent] + part if parent in patterns else part
        return patterns[self._source]


def _between(
    target: Node, source: Node, recording: Recording
) -> list[tuple[Node, list[Node | None]]]:
    """The Nodes on the path from the target back to the source, each with its parents, None for
    those that are not on it.
    """
    path = Path([target], [source], recording)
    leading = path.leading
    return [
        (node, [parent if parent in leading else None for parent in node.parents])
        for node in reversed(path.between)
    ]


def _differentiated(node: Node, wanted: Sequence[Node | None], specs: Specs) -> list[int]:
    """Which of the wanted parents the Node's rule has a cotangent for.

    Their specs are those of the cotangents.
    """
    if node not in specs or node.rule is None:
        return []
    found = []
    for i, (parent, g) in enumerate(
        zip(wanted, node.rule.pull_arrays(node, specs[node].zeros(), wanted), strict=False)
    ):
        if parent is not None and g is not None:
            found.append(i)
            if type(g) is PerOutput:
                several: Any = specs.setdefault(parent, Several())
                several.update((k, _spec(part)) for k, part in g.items())
            else:
                specs.setdefault(parent, _spec(g))
    return found


def _spec(g: Any) -> Spec:
    return Spec(tuple(g.shape), g.values.dtype if type(g) is RawSlices else g.dtype)


# The links of one Node with its parents: `push` takes the patterns of all, `pull` gives them


class Separate:
    """A link for each parent."""

    def __init__(self, links: Sequence[Any]) -> None:
        self._links = links

    def push(self, parts: Sequence[Pattern]) -> Pattern:
        return reduce(add, [link.push(rows) for link, rows in zip(self._links, parts, strict=True)])

    def pull(self, rows: Pattern) -> list[Pattern]:
        return [link.pull(rows) for link in self._links]


class Joined:
    """One link for the elements of all parents together: there may be many parents with few
    elements each.
    """

    def __init__(self, link: Link, sizes: Sequence[int]) -> None:
        self._link = link
        self._ends = np.cumsum([0, *sizes]).tolist()

    def push(self, parts: Sequence[Pattern]) -> Pattern:
        from scipy.sparse import vstack  # noqa: PLC0415 - scipy is imported at first use

        return self._link.push(vstack(parts, format="csr") if len(parts) > 1 else parts[0])

    def pull(self, rows: Pattern) -> list[Pattern]:
        pulled = self._link.pull(rows)
        return [pulled[start:end] for start, end in pairwise(self._ends)]


class Transposed:
    """A link given by its transpose."""

    def __init__(self, link: Any, tape: GradientTape) -> None:
        self.push, self.pull = link.pull, link.push
        self._tape = tape  # with which the recording of the link would end


def _links(
    node: Node, linked: Sequence[int], specs: Specs, within: tuple[Any, ...]
) -> Separate | Joined:
    """The links of a Node with the parents at the given places."""
    rule: Any = node.rule
    spec = specs[node]
    parents: list[Any] = [node.parents[i] for i in linked]
    if isinstance(rule, ReadRule):
        return Separate([SAME] * len(parents))
    if isinstance(rule, OutputRule):
        whole: Any = specs[parents[0]]
        places = np.arange(spec.size)
        return Separate(
            [Link(pairs(places, whole.starts[rule.index] + places, spec.size, whole.size))]
        )
    op = declared(rule)
    if op is not None:
        if op.links is None and op.moves:
            return _moved(node, op, linked, specs)
        call = LinkedCall(
            op,
            node,
            spec.shape,
            {i: specs[parent].shape for i, parent in zip(linked, parents, strict=True)},
        )
        links = [None if op.links is None else op.links(call, i) for i in linked]
        if None not in links:
            return Separate(links)
    if (op or rule) in within or (op is None and len(within) >= _DEEP):
        return _everything(spec, [specs[parent] for parent in parents])
    if op is not None:
        return _seen_from_pull(node, linked, specs, within, strict=False)
    try:
        return attempt(lambda: _seen_from_pull(node, linked, specs, within, strict=True))
    except Exception:  # noqa: BLE001 - a user's gradient function may do what cannot be followed
        return _everything(spec, [specs[parent] for parent in parents])


def _everything(spec: Any, parents: Sequence[Any]) -> Separate:
    """Links from each element to all."""
    return Separate([aligned((spec.size,), "o", (parent.size,), "i") for parent in parents])


def _moved(node: Node, op: Any, linked: Sequence[int], specs: Specs) -> Joined:
    """The links of an op that puts each element somewhere, if anywhere: found by moving the
    elements' numbers, counted from 1.
    """
    spec = specs[node]
    tangents: list[Any] = [None] * len(node.parents)
    sizes: list[int] = []
    total = 0
    for i in linked:
        parent: Any = specs[node.parents[i]]  # type: ignore[index]
        tangents[i] = Tensor(
            np.arange(total + 1.0, total + parent.size + 1.0).reshape(parent.shape)
        )
        total += parent.size
        sizes.append(parent.size)
    if isinstance(spec, Several):
        moved = transposed(
            op.rule,
            node,
            [Tensor(np.zeros(shape)) for shape, _ in op.rule.output_specs(node)],
            tangents,
        )
        parts = [(moved[i], spec[i]) for i in sorted(spec)]
    else:
        parts = [(transposed(op.rule, node, Tensor(np.zeros(spec.shape)), tangents), spec)]
    rows = [
        np.zeros(output.size) if part is None else np.ravel(operand(part).array)
        for part, output in parts
    ]
    numbers = np.concatenate(rows).astype(np.intp)
    taken = np.flatnonzero(numbers)
    return Joined(Link(pairs(taken, numbers[taken] - 1, spec.size, total)), sizes)


def _seen_from_pull(
    node: Node, linked: Sequence[int], specs: Specs, within: tuple[Any, ...], *, strict: bool
) -> Separate:
    """The links that the recording of the Node's pull shows;
    `strict` refuses a pull that computes with anything but ops.
    """
    spec, rule = specs[node], node.rule
    assert rule is not None
    tape = GradientTape(persistent=True, watch_accessed_variables=False, strict=strict)
    row = Tensor(np.zeros(spec.size))
    with tape:
        tape.watch(row)
        wanted: list[Any] = [None] * len(node.parents)
        for i in linked:
            wanted[i] = node.parents[i]
        pulled = rule.pull_tensors(node, spec.cotangent(row), wanted)
        found = [dense(pulled[i]) for i in linked]
    links: list[Any] = []
    for i, cotangent in zip(linked, found, strict=True):
        parent: Any = specs[node.parents[i]]  # type: ignore[index]
        end = tape._node_of(cotangent)
        if end is None:
            links.append(Link(pairs([], [], spec.size, parent.size)))
        else:
            way = tape.scope, end, row.node, parent, spec.size, (*within, declared(rule) or rule)
            links.append(Transposed(Dependence(*way), tape))  # type: ignore[arg-type]
    return Separate(links)
