"""The backward walk: from cotangents of some Nodes to those of others,
through the rules of everything in between.

The walk is iterative and takes Nodes from the highest number to the lowest, so a Node's cotangent
is complete when its turn comes. When something records, it passes Tensors to the rules and the
gradient is itself differentiable; otherwise it passes plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradtape.core.indexed_slices import RawSlices
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.record import PerOutput
from gradtape.core.recording import Recording
from gradtape.core.repeats import repeated
from gradtape.core.strong_zeros import HIDDEN, Ones
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import XlaTensor
from gradtape.engines.numpy.blas import OneThread
from gradtape.engines.numpy.crowding import crowd


def walk(
    path: Path,
    seeds: dict[Node, Any],
    pull: Callable[[Node, Any, Sequence[Node | None]], Sequence[Any]],
    add: Callable[[Any, Any, Node], Any],
    leave: Callable[[Node], None] | None = None,
) -> dict[Node, Any]:
    """The cotangents of a path's sources, given those of some Nodes;
    a source without a path from a seed is missing.

    `pull(node, g, parents)` returns the cotangents of a Node's parents, and `add` sums two
    cotangents of one Node. `leave` is called for each Node that the walk is done with.
    """
    cotangents, found = dict(seeds), {}
    for node in reversed(path.nodes):
        g = cotangents.pop(node, None)
        if g is not None:
            if node in path.sources:
                found[node] = g
            parents = path.parents(node)
            pulled: Any = pull(node, g, parents)
            # Strict costs 0.1 µs for every Node.
            for parent, cotangent in zip(parents, pulled):  # noqa: B905
                if cotangent is not None and parent is not None:
                    earlier = cotangents.get(parent)
                    cotangents[parent] = (
                        cotangent if earlier is None else add(earlier, cotangent, parent)
                    )
            # What has been passed on is not kept alive through the next rule.
            g = pulled = cotangent = None
        if leave is not None:
            leave(node)
    for node in path.sources:
        if node in cotangents:  # the Nodes without a rule, where the walk ends
            found[node] = cotangents[node]
    return found


def pull_back(
    seeds: dict[Node, Any], sources: Iterable[Node | None], recording: Recording, release: bool
) -> dict[Node, Any]:
    """The walk of `tape.gradient`.

    `release` frees what each Node saved as soon as its rule has run, unless another open recording
    needs it.
    """
    if crowd.until and crowd.is_here():
        with OneThread():
            return _pull_back(seeds, sources, recording, release)
    return _pull_back(seeds, sources, recording, release)


def _pull_back(
    seeds: dict[Node, Any], sources: Iterable[Node | None], recording: Recording, release: bool
) -> dict[Node, Any]:
    state = here.state
    tensors = (
        state.scope is not None or bool(state.levels) or state.trace is not None or recording.moved
    )
    tensors = tensors or XlaTensor in map(type, seeds.values())
    watch = state.watch
    if type(seeds) is not Ones:
        watch.append(HIDDEN)
    wanted = {node for node in sources if node is not None}
    computed = {node for node in wanted if node.rule is not None}
    # A source that an op computed ends a path early.
    all_wanted = recording.sources == len(wanted) and not computed
    if all_wanted and not tensors and recording.due and recording.is_apart():
        return _pull_everything(recording.nodes, dict(seeds), wanted, computed, release, watch)
    path = Path(seeds, wanted, recording)
    if path.alone and not path.other and not tensors:
        return _pull_everything(path.nodes, dict(seeds), wanted, computed, release, watch)
    owned: set[Node] | None = None if tensors else set()

    def pull(node: Node, g: Any, parents: Sequence[Node | None]) -> Sequence[Any]:
        if node.scope is not recording and not any(parents):
            return ()  # what it saved may be gone
        rule: Any = node.rule
        if type(g) is RawSlices and not rule.takes_slices:
            g = g.dense()
        if not rule.shows_nan:
            watch.append(HIDDEN)
        return (
            rule.pull_tensors(node, g, parents) if tensors else rule.pull_arrays(node, g, parents)
        )

    return walk(
        path,
        {node: finished(g) for node, g in seeds.items()} if tensors else seeds,
        pull,
        lambda earlier, cotangent, parent: summed(earlier, cotangent, parent, owned),
        partial(_release, recording=recording) if release else None,
    )


def _pull_everything(
    order: list[Node],
    cotangents: dict[Node, Any],
    wanted: set[Node],
    computed: set[Node],
    release: bool,
    watch: list[str],
) -> dict[Node, Any]:
    """The walk of nearly every training step: plain arrays, one recording,
    and all of its sources are wanted; also some Nodes that an op `computed`.

    It ends the recording too, but if a source has no gradient, it stays known which Node was
    computed from which, to explain that.
    """
    repeats = None if computed else repeated(order, cotangents, wanted, release, watch)
    if repeats is not None:
        return repeats
    found: dict[Node, Any] = {}
    owned: set[Node] = set()
    for node in reversed(order):
        if node in cotangents:
            g = cotangents.pop(node)
            if computed and node in computed:
                found[node] = g
            rule: Any = node.rule
            if type(g) is RawSlices and not rule.takes_slices:
                g = g.dense()
            pull_into = rule.pull_into or pull_step
            pull_into(node, g, cotangents, owned, watch)
            g = None  # what has been passed on is not kept alive through the next rule
        if release:
            node.saved = node.params = None
    for node in wanted:
        if node in cotangents:  # the Nodes without a rule, where the walk ends
            found[node] = cotangents[node]
    if release and len(found) == len(wanted):
        for node in order:
            node.parents = ()
        order.clear()
    return found


def pull_step(
    node: Node, g: Any, cotangents: dict[Node, Any], owned: set[Node], watch: list[str]
) -> None:
    """A step of the walk, as it is for a rule without a `pull_into` of its own."""
    rule: Any = node.rule
    if not rule.shows_nan:
        watch.append(HIDDEN)
    pulled = rule.pull_arrays(node, g, node.parents)
    for parent, cotangent in zip(node.parents, pulled):  # noqa: B905 - strict is slow
        if cotangent is not None and parent is not None:
            earlier = cotangents.get(parent)
            cotangents[parent] = (
                cotangent if earlier is None else summed(earlier, cotangent, parent, owned)
            )


def release_all(targets: Iterable[Node], recording: Recording) -> None:
    """Frees what every Node that led to `targets` keeps alive, unless another open recording needs
    it.
    """
    for node in Path(targets, (), recording).nodes:
        _release(node, recording)


def _release(node: Node, recording: Recording) -> None:
    if node.scope is recording or not any(
        other.open for other in node.scope.recordings if other is not recording
    ):
        node.saved = node.params = None


def summed(earlier: Any, cotangent: Any, parent: Node, owned: set[Node] | None) -> Any:
    """Two cotangents of one Node added; into the first one's buffer if the walk itself made that
    buffer.
    """
    if type(earlier) is PerOutput:
        for index, g in cotangent.items():
            earlier[index] = summed(earlier[index], g, parent, None) if index in earlier else g
        return earlier
    if type(earlier) is RawSlices:
        if type(cotangent) is RawSlices:
            # The walk goes back, so what it met earlier was called later.
            return cotangent.plus(earlier)
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
