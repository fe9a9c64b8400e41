"""The backward walk: from cotangents of some Nodes to those of others, through the rules of everything in between.

The walk is iterative and takes Nodes in reverse running number, so a Node's cotangent is complete when its turn comes. When
something records, it hands Tensors to the rules and the gradient is itself differentiable; otherwise it hands them plain arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from gradtape.core.indexed_slices import RawSlices
from gradtape.core.node import Node
from gradtape.core.scope import Scope, here
from gradtape.core.strong_zeros import HIDDEN, Ones
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import XlaTensor

_number = attrgetter("number")
_rule = attrgetter("rule")


class PerOutput(dict[int, Any]):
    """The cotangents of an op with several outputs, by output; one that is missing is zero."""


class NothingToDo:
    """Stands for the rule of a Node that no parent wants anything of; what it saved may be gone."""

    takes_slices = True
    shows_nan = True
    step = None

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return ()

    pull_tensors = pull_arrays


_NOTHING_TO_DO = NothingToDo()


class OutputRule:
    """Output `index` of an op with several outputs: hands its cotangent to the op's Node."""

    shows_nan = True

    def __init__(self, index: int) -> None:
        self.index = index
        self.name = f"output_{index}"
        self.takes_slices = False
        self.step = None

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return (PerOutput({self.index: g}),)

    pull_tensors = pull_arrays

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return None if tangents[0] is None else tangents[0][self.index]


def pull_back(seeds: dict[Node, Any], sources: Iterable[Node | None], recording: Scope, release: bool) -> dict[Node, Any]:
    """The cotangents of `sources`, given those of some Nodes; a source without a path from a seed is missing.

    `release` lets each Node go of what it saved as soon as its rule has run, unless another open recording needs it.
    """
    state = here.state
    tensors = state.scope is not None or bool(state.levels) or state.trace is not None or recording.moved
    tensors = tensors or XlaTensor in map(type, seeds.values())
    watch = state.watch
    if type(seeds) is not Ones:
        watch.append(HIDDEN)
    wanted = {node for node in sources if node is not None}
    all_wanted = recording.sources == len(wanted) and not any(map(_rule, wanted))  # a result among them is where a way ends
    if all_wanted and not tensors and recording.due and recording.is_apart():
        everything = _pull_everything(recording.nodes, dict(seeds), wanted, release, watch)
        if release:
            recording.nodes.clear()
        return everything
    order, other_sources, alone = _reachable(seeds, wanted, recording)
    order.sort(key=_number)
    if alone and not other_sources and not tensors:
        return _pull_everything(order, dict(seeds), wanted, release, watch)
    needed = _leading_to(wanted, order) if other_sources else None
    cotangents = {node: finished(g) for node, g in seeds.items()} if tensors else dict(seeds)
    found: dict[Node, Any] = {}
    owned: set[Node] | None = None if tensors else set()
    while order:
        node = order.pop()
        alone = node.scope is recording
        g = cotangents.pop(node, None)
        if g is not None:
            if node in wanted:
                found[node] = g
            parents = node.parents
            if needed is not None or not alone:
                parents = _asked_for(parents, needed, recording)
            rule: Any = node.rule if alone or any(parents) else _NOTHING_TO_DO
            if type(g) is RawSlices and not rule.takes_slices:
                g = g.dense()
            if not rule.shows_nan:
                watch.append(HIDDEN)
            pulled = rule.pull_tensors(node, g, parents) if tensors else rule.pull_arrays(node, g, parents)
            for parent, cotangent in zip(parents, pulled):  # noqa: B905 - strict costs 0.1 µs for every Node
                if cotangent is not None and parent is not None:
                    earlier = cotangents.get(parent)
                    cotangents[parent] = cotangent if earlier is None else summed(earlier, cotangent, parent, owned)
            g = pulled = cotangent = None  # what has been passed on is not kept alive through the next rule
        if release and (alone or not _needed_elsewhere(node, recording)):
            node.release()
    for node in wanted:
        if node in cotangents:  # the Nodes without a rule, where the walk ends
            found[node] = cotangents[node]
    return found


def _pull_everything(
    order: list[Node], cotangents: dict[Node, Any], wanted: set[Node], release: bool, watch: list[str]
) -> dict[Node, Any]:
    """The walk of nearly every training step: plain arrays, one recording, and all of its sources are wanted."""
    found: dict[Node, Any] = {}
    owned: set[Node] = set()
    for node in reversed(order):
        g = cotangents.pop(node, None)
        if g is not None:
            if node in wanted:
                found[node] = g
            rule: Any = node.rule
            if type(g) is RawSlices and not rule.takes_slices:
                g = g.dense()
            step = rule.step or _pull_and_add
            step(node, g, cotangents, owned, watch)
            g = None  # what has been passed on is not kept alive through the next rule
        if release:
            node.saved = node.params = None
            node.parents = ()
    for node in wanted:
        if node in cotangents:  # the Nodes without a rule, where the walk ends
            found[node] = cotangents[node]
    return found


def _pull_and_add(node: Node, g: Any, cotangents: dict[Node, Any], owned: set[Node], watch: list[str]) -> None:
    """A step of the walk by a rule that has none of its own."""
    rule: Any = node.rule
    if not rule.shows_nan:
        watch.append(HIDDEN)
    for parent, cotangent in zip(node.parents, rule.pull_arrays(node, g, node.parents)):  # noqa: B905 - strict is slow
        if cotangent is not None and parent is not None:
            earlier = cotangents.get(parent)
            cotangents[parent] = cotangent if earlier is None else summed(earlier, cotangent, parent, owned)


def _reachable(seeds: Iterable[Node], wanted: set[Node], recording: Scope) -> tuple[list[Node], bool, bool]:
    """The Nodes with a rule from which the seeds were computed, whether a source was met that is not wanted, and whether all
    Nodes are in this recording alone.
    """
    seen = set(seeds)
    stack = [node for node in seen if node.rule is not None]
    order = []
    all_alone = True
    other_sources = False
    while stack:
        node = stack.pop()
        order.append(node)
        alone = node.scope is recording  # then so are its parents
        if not alone:
            all_alone = False
        for parent in node.parents:
            if parent is not None and parent not in seen and (alone or recording in parent.scope):
                seen.add(parent)
                if parent.rule is not None:
                    stack.append(parent)
                elif parent not in wanted:
                    other_sources = True
    return order, other_sources, all_alone


def release_all(targets: Iterable[Node], recording: Scope) -> None:
    """Lets every Node that led to `targets` go of what it keeps, unless another open recording needs it."""
    order, *_ = _reachable(targets, set(), recording)
    for node in order:
        if not _needed_elsewhere(node, recording):
            node.release()


def _leading_to(sources: set[Node], ascending: list[Node]) -> set[Node]:
    """The Nodes that depend on a source."""
    needed = set(sources)
    for node in ascending:
        for parent in node.parents:
            if parent in needed:
                needed.add(node)
                break
    return needed


def _asked_for(parents: Sequence[Node | None], needed: set[Node] | None, recording: Scope) -> tuple[Node | None, ...]:
    """The parents that need a cotangent, None in the place of the others."""
    return tuple([
        parent if parent is not None and (needed is None or parent in needed) and recording in parent.scope else None
        for parent in parents
    ])  # fmt: skip


def _needed_elsewhere(node: Node, recording: Scope) -> bool:
    """Whether another recording that may still be differentiated has this Node."""
    return any(other.open for other in node.scope.recordings if other is not recording)


def summed(earlier: Any, cotangent: Any, parent: Node, owned: set[Node] | None) -> Any:
    """Two cotangents of one Node added; into the first one's buffer if the walk itself made that buffer."""
    if type(earlier) is PerOutput:
        for index, g in cotangent.items():
            earlier[index] = summed(earlier[index], g, parent, None) if index in earlier else g
        return earlier
    if type(earlier) is RawSlices:
        if type(cotangent) is RawSlices:
            return cotangent.plus(earlier)  # the walk goes back, so what it met earlier was called later
        earlier = earlier.dense()
    elif type(cotangent) is RawSlices:
        cotangent = cotangent.dense()
    if owned is None:
        return earlier + cotangent
    if parent in owned and type(earlier) is np.ndarray:
        earlier += cotangent
        return earlier
    owned.add(parent)
    return earlier + cotangent


def dense(cotangent: Any) -> Any:
    """A cotangent with its rows in their places, if it was sparse."""
    return cotangent.dense() if type(cotangent) is RawSlices else cotangent


def finished(gradient: Any) -> Any:
    """A walk's result as the user receives it."""
    if type(gradient) is np.ndarray:
        return Tensor(gradient)
    if type(gradient) is RawSlices:
        return gradient.finished()
    return gradient if isinstance(gradient, Tensor) else Tensor(gradient)
