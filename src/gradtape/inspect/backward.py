"""`WalkAgain`: a backward walk that is taken once more, without releasing anything; `Backward`: one
that notes where cotangents are not finite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from gradtape.core.indexed_slices import RawSlices
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.record import PerOutput
from gradtape.core.recording import Recording
from gradtape.core.strong_zeros import HIDDEN
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unchanged import unchanged
from gradtape.core.walk import dense, summed, walk
from gradtape.inspect.evidence import Evidence
from gradtape.inspect.values import is_wrong, plain


class WalkAgain:
    """A backward walk that looks at every cotangent, and leaves the tape, Variables and random
    numbers as they are.

    `gradients` are the cotangents of the sources; `at` is the Node whose turn came last.
    """

    at: Node | None = None

    def __init__(
        self, recording: Recording, seeds: dict[Node, Any], sources: Iterable[Node] | None
    ) -> None:
        self.recording = recording
        self.seeds = {node: plain(seed) for node, seed in seeds.items()}
        self._tensors = recording.moved
        if sources is None:
            sources = [n for n in Path(seeds, (), recording).reached if n.rule is None]
        self.path = Path(seeds, sources, recording)
        found = self._run(
            walk,
            self.path,
            {node: self._form(seed) for node, seed in self.seeds.items()},
            self._pull,
            lambda earlier, cotangent, parent: summed(earlier, cotangent, parent, None),
        )
        self.gradients = {node: as_array(g) for node, g in found.items()}

    def look_at(
        self, node: Node, total: Any, parents: Sequence[Node | None], pulled: Sequence[Any]
    ) -> None:
        """Called for each Node with its cotangent, and with what its rule passes on."""

    def pull_again(self, node: Node, g: Any, argument: int) -> Any:
        """What a Node passes to one argument for another cotangent, as an array; for an op with
        several outputs, as a dict.
        """
        wanted = [p if i == argument else None for i, p in enumerate(node.parents)]
        pulled = self._run(self._pulled, node, g, wanted)
        return as_array(list(pulled)[argument])

    def _run(self, function: Any, *args: Any) -> Any:
        state = here.state
        around, state.around_walk = state.around_walk, None
        try:
            with state.only([]), unchanged() if self.recording.foreign else nullcontext():
                return state.walk(self.recording, function, *args)
        finally:
            state.around_walk = around

    def _form(self, seed: Any) -> Any:
        return Tensor(seed) if self._tensors else seed

    def _pulled(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        rule: Any = node.rule
        if type(g) is RawSlices and not rule.takes_slices:
            g = g.dense()
        here.state.watch.append(HIDDEN)  # every result is looked at
        if self._tensors:
            return rule.pull_tensors(node, _tensors(g), wanted)
        return rule.pull_arrays(node, g, wanted)

    def _pull(self, node: Node, g: Any, parents: Sequence[Node | None]) -> Sequence[Any]:
        if node.scope is not self.recording and not any(p is not None for p in parents):
            return ()
        self.at = node
        pulled = list(self._pulled(node, g, parents))
        self.look_at(node, as_array(g), parents, pulled)
        return pulled


class Backward(WalkAgain):
    """The cotangents of one walk that are not finite.

    `passed` are the cotangents that are not finite, by the Node that they were passed to: each with
    the Node that passed it and the number of the argument. `totals` are the cotangents of the Nodes
    that passed those on, and all that are not finite themselves. `largest` is the largest finite
    number in each cotangent of half precision; `parts` are, by Node, the Nodes that passed it
    something, each with the largest finite number in that, if it is of half precision.
    """

    def __init__(
        self,
        evidence: Evidence,
        recording: Recording,
        seeds: dict[Node, Any],
        sources: Iterable[Node] | None,
    ) -> None:
        self.evidence = evidence
        self.passed: dict[Node, list[tuple[Node, int, Any]]] = {}
        self.totals: dict[Node, Any] = {}
        self.largest: dict[Node, float] = {}
        self.parts: dict[Node, list[tuple[Node, float | None]]] = {}
        super().__init__(recording, seeds, sources)
        self.totals.update({n: g for n, g in self.gradients.items() if is_wrong_cotangent(g)})

    def look_at(
        self, node: Node, total: Any, parents: Sequence[Node | None], pulled: Sequence[Any]
    ) -> None:
        spoiled = False
        for i, (parent, cotangent) in enumerate(zip(parents, pulled, strict=True)):
            if parent is not None and cotangent is not None:
                array = as_array(cotangent)
                size = largest_finite(array) if _is_half(array) else None
                self.parts.setdefault(parent, []).append((node, size))
                if is_wrong_cotangent(array):
                    self.passed.setdefault(parent, []).append((node, i, array))
                    spoiled = True
        if spoiled or is_wrong_cotangent(total):
            self.totals[node] = total
        if _is_half(total):
            self.largest[node] = largest_finite(total)


def as_array(cotangent: Any) -> Any:
    """A cotangent in whatever form it travels, as an array; of several outputs, a dict of them."""
    if isinstance(cotangent, dict):
        return {i: as_array(g) for i, g in cotangent.items()}
    return plain(dense(cotangent))


def is_wrong_cotangent(array: Any) -> bool:
    return any(map(is_wrong, array.values())) if type(array) is dict else is_wrong(array)


def _is_half(array: Any) -> bool:
    return type(array) is not dict and np.asarray(array).dtype.itemsize == 2


def largest_finite(array: Any) -> float:
    """The largest magnitude among the finite elements; 0 if there are none."""
    numbers = np.abs(np.asarray(array).astype(np.float64))
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.max()) if numbers.size else 0.0


def _tensors(g: Any) -> Any:
    if isinstance(g, dict):
        return PerOutput((i, _tensors(part)) for i, part in g.items())
    return g if isinstance(g, (Tensor, RawSlices)) else Tensor(g)
