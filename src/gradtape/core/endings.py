"""`Ending`: why a tensor that was computed from recorded ones is not recorded itself.

It stands in the place of a Node but belongs to no recording, so that nothing takes the tensor for
connected; whatever is computed from the tensor carries it on. A call that is recorded, but has such
a tensor among its arguments, notes it with its Node. `inspect` reads all this to explain a gradient
that is None. Calls whose arguments and results are all recorded, or none, never come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any
from weakref import ref

from gradtape.core.location import caller
from gradtape.core.node import Node
from gradtape.core.recording import Recording, Scope, numbers
from gradtape.core.thread import here

# More than anyone reads; they would only grow.
_MOST = 16


class End(Enum):
    """How a chain of recorded tensors ends."""

    NO_DERIVATIVE = "the call has no derivative by this argument"
    STOPPED = "the call is there to stop gradients"
    DTYPE = "the result has a dtype without gradients"
    NO_PATH = "no path leads through the function from this argument to this result"
    OUTSIDE = "the call ran outside the tape's block"
    PAUSED = "the call ran while the tape was stopped"
    ASSIGNED = "the value was assigned to a Variable"


class _Nowhere(Scope):
    """The scope of an Ending: no recording at all."""

    __slots__ = ()
    recordings = frozenset()

    def __contains__(self, recording: Recording) -> bool:
        return False

    def any_open(self) -> bool:
        return False


NOWHERE = _Nowhere()


class Ending(Node):
    """The end of a chain: a call with the `name`, at `where`, on arguments that `followed` had.

    `origins` are the Nodes of those arguments, as long as anything else has them, and `places`
    their positions. Of a call of a function, `rule` can be looked into, and `output` is the number
    of the result. An Ending of `several` is what a call with several of them among its arguments
    gives.
    """

    __slots__ = ("end", "followed", "name", "origins", "output", "places", "several")

    def __init__(
        self,
        name: str,
        end: End,
        origins: dict[int, Node],
        followed: Scope,
        rule: Any = None,
        output: int = 0,
    ) -> None:
        self.name = name
        self.end = end
        self.origins = [ref(node) for node in origins.values()]
        self.places = list(origins)
        self.followed = followed
        self.rule = rule
        self.output = output
        self.several: tuple[Ending, ...] = ()
        self.saved = self.params = None
        self.parents = ()
        self.scope = NOWHERE
        self.number = next(numbers)
        self.where = caller()

    def each(self) -> Iterator[Ending]:
        """The Endings of which it is made."""
        if self.several:
            yield from self.several
        else:
            yield self


def ending(
    name: str, end: End, nodes: Sequence[Node | None], rule: Any = None, output: int = 0
) -> Ending | None:
    """What stands for the result of a call on `nodes` that is not recorded; None if no open
    recording follows any of them.
    """
    followed: dict[int, Node] = {}
    earlier: dict[Ending, None] = {}
    for i, node in enumerate(nodes):
        if isinstance(node, Ending):
            earlier.update((e, None) for e in node.each() if e.followed.any_open())
        elif node is not None and node.scope.any_open():
            followed[i] = node
    if followed:
        if end is End.OUTSIDE and any(
            recording.paused for node in followed.values() for recording in node.scope.recordings
        ):
            end = End.PAUSED
        scope = next(iter(followed.values())).scope
        earlier[Ending(name, end, followed, scope, rule, output)] = None
    if len(earlier) < 2:
        return next(iter(earlier), None)
    *_, last = earlier
    joint = Ending(name, end, {}, last.followed)
    joint.several = tuple(earlier)[-_MOST:]
    return joint


def note_endings(name: str, node: Node, arguments: Sequence[Node | None]) -> None:
    """Notes with the Node of a recorded call which of its arguments are ends of chains: Endings,
    and recorded ones by which it has no derivative.
    """
    if len(arguments) == 1 and isinstance(arguments[0], Ending):  # of a mask, the common case
        node.scope.endings[node.number] = arguments[0]
        return
    found = ending(name, End.NO_DERIVATIVE, arguments)
    if found is not None:
        node.scope.endings[node.number] = found


def at_outputs(name: str, rule: Any, nodes: Sequence[Node | None], outputs: list[Any]) -> list[Any]:
    """The results of a call of a function, those without a Node with what stands for it."""
    if any(nodes):
        end = End.OUTSIDE if here.state.scope is None else End.NO_PATH
        for i, output in enumerate(outputs):
            if output.node is None:
                output.node = ending(name, end, nodes, rule, i)
            elif output.node.parents:
                (call,) = output.node.parents
                without = [
                    None if node is parent else node
                    for node, parent in zip(nodes, call.parents, strict=True)
                ]
                found = ending(name, end, without, rule, i) if any(without) else None
                if found is not None:
                    output.node.scope.endings[output.node.number] = found
    return outputs
