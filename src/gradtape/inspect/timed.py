"""What a profile puts in place of the rules of a walk, and how it sees what results take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.node import Node
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import XlaTensor
from gradtape.engines.engine import waited_for
from gradtape.inspect.timeline import BACKWARD, Event


class TimedRule:
    """A rule that notes how long it takes."""

    def __init__(self, rule: Any, events: list[Event]) -> None:
        self._rule = rule
        self._events = events
        self.name = rule.name
        self.takes_slices = rule.takes_slices
        self.shows_nan = rule.shows_nan
        self.push = rule.push
        self.pull_into = None if rule.pull_into is None else self._pull_into()

    def _pull_into(self) -> Callable[..., None]:
        rule, name, add, clock = self._rule, self.name, self._events.append, perf_counter_ns
        backward, ndarray = BACKWARD, np.ndarray

        def pull_into(
            node: Node,
            g: Any,
            cotangents: dict[Node, Any],
            owned: set[Node],
            watch: list[str],
        ) -> None:
            start = clock()
            rule.pull_into(node, g, cotangents, owned, watch)
            end = clock()
            made = 0
            for parent in node.parents:
                if parent is not None:
                    pulled = cotangents.get(parent)
                    if type(pulled) is ndarray and pulled is not g and pulled.base is None:
                        made += pulled.nbytes
            add((backward, name, node.where, start, end, made))

        return pull_into

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return self._timed(self._rule.pull_arrays, node, g, wanted)

    def pull_tensors(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return self._timed(self._rule.pull_tensors, node, g, wanted)

    def _timed(
        self, pull: Callable[..., Any], node: Node, g: Any, wanted: Sequence[Node | None]
    ) -> Sequence[Any]:
        start = perf_counter_ns()
        # Some give one after the other.
        pulled = list(pull(node, g, wanted))
        end = perf_counter_ns()
        made = sum(bytes_made(part) for part in pulled if part is not g)
        self._events.append((BACKWARD, self.name, node.where, start, end, made))
        return pulled


def bytes_made(result: Any) -> int:
    """The bytes of the arrays in a result that own their memory."""
    if isinstance(result, Tensor):
        held = getattr(result, "held", None)
        return bytes_made(result.array if held is None else held)
    if isinstance(result, (list, tuple)):
        return sum(map(bytes_made, result))
    if isinstance(result, dict):
        return sum(map(bytes_made, result.values()))
    if getattr(result, "base", None) is not None:
        return 0
    found = getattr(result, "nbytes", 0)
    return found if isinstance(found, int) else 0


def nbytes(leaf: Any) -> int:
    """The bytes of a Tensor that a function returned, which may be a view of XLA's memory."""
    array = _on_xla(leaf)
    array = getattr(leaf, "array", leaf) if array is None else array
    return getattr(array, "nbytes", 0)


def when_done(function: Any, result: Any) -> Any:
    """A call's result when it is there, and what the call has written: XLA works on while Python
    goes on.
    """
    waited_for([_on_xla(leaf) for leaf in nest.flatten(result)])
    waited_for([_on_xla(variable) for variable in function.written_variables()])
    return result


def _on_xla(leaf: Any) -> Any:
    """A Tensor's or Variable's values, if XLA has them."""
    if isinstance(leaf, Variable):
        return vars(leaf).get("held")
    return leaf.array if type(leaf) is XlaTensor else getattr(leaf, "held", None)
