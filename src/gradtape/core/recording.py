"""`Recording`: what one tape or accumulator records; `Scope`: the set of recordings that an op is
recorded in.

There is one Scope object for each set, so that it can be compared by identity. The scope of the ops
that run now is `here.state.scope`; a Node keeps the scope it was recorded in. With one tape, the
scope is its Recording, and "does this Node belong to what is being recorded?" is
`node.scope is scope`; for nested tapes see `core.scopes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

from gradtape.core import collector
from gradtape.core.sweeping import drop_unreachable
from gradtape.engines.numpy import allocator

if TYPE_CHECKING:
    from gradtape.core.departures import Departures
    from gradtape.core.endings import CallEnding, Ending
    from gradtape.core.node import Node
    from gradtape.core.scopes import JointScope

numbers = count()
"""Numbers every Node in the order of recording: a Node's parents always have smaller ones."""

LARGE = 2**16
MANY = 500
_ROOM = 2**25


class Scope(ABC):
    """A set of recordings that an op is recorded in together.

    `nodes` are the Nodes that were recorded in exactly this scope, so that nothing of a recording
    stays alive when it ends, even if Tensors are kept. Nodes that are no longer reachable are
    dropped now and then while recording goes on: when their number has passed `due`, and when large
    arrays (of more bytes than LARGE) have taken as much memory as there is `room`.
    """

    __slots__ = (
        "__weakref__", "_is_long", "_looked_into", "_taken", "_took", "due", "endings", "nodes",
        "room",
    )  # fmt: skip

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        # By the number of a Node: see `core.endings`.
        self.endings: dict[int, Ending] = {}
        self.due = next(numbers) + MANY
        self.room = _ROOM
        self._is_long = False
        self._taken = 0  # bytes, since it was swept
        self._took = 0  # in all
        self._looked_into: WeakSet[CallEnding] | None = None

    @property
    @abstractmethod
    def recordings(self) -> frozenset[Recording]:
        """The recordings in this scope."""

    @abstractmethod
    def __contains__(self, recording: Recording) -> bool: ...

    @abstractmethod
    def any_open(self) -> bool:
        """Whether any of its recordings may still be continued or differentiated."""

    def close(self) -> None:
        """Releases what its Nodes keep alive."""
        for node in self.nodes:
            if node is not None:  # a sweep was interrupted
                node.release()
        self.nodes.clear()
        if self.endings:
            self.endings.clear()
        if self._looked_into is not None:
            for found in self._looked_into:
                found.inside = None
            self._looked_into = None
        if self._took > _ROOM:
            allocator.this_thread.memory.has_freed()
        if self._is_long:
            self._is_long = False
            collector.end()

    def looked_into(self, found: CallEnding) -> None:
        """Has an Ending let go of a function when this scope is closed."""
        if self._looked_into is None:
            self._looked_into = WeakSet()
        self._looked_into.add(found)

    def is_whole_since(self, number: int) -> bool:
        """Whether no Node was dropped since the one with this number was made."""
        return self.due - MANY < number

    def has_taken(self, size: int) -> None:
        """Called when a Node with an output of this many bytes was recorded."""
        self._took += size
        self._taken += size
        if self._taken > self.room:
            before = len(self.nodes)
            self.sweep()
            self.room = max(
                _ROOM, self.room * 2 if 2 * len(self.nodes) > before else self.room // 2
            )

    def sweep(self) -> None:
        """Drops the Nodes that nothing else holds, the newest first, since that may free their
        parents too.
        """
        nodes = self.nodes
        self.due = 0  # until it is done: see `pull_back`
        drop_unreachable(nodes, self.endings)
        self.due = next(numbers) + max(MANY, 3 * len(nodes))
        self._taken = 0
        if self._is_long:
            collector.grown()
        elif len(nodes) > collector.LONG:
            self._is_long = collector.begin()


class Recording(Scope):
    """What one tape or accumulator records.

    It stays `open` from the time a tape is first entered until it is consumed, reset or deleted. It
    is `paused` in a block of `stop_recording`, `foreign` if some of its rules run user code, and
    `moved` if values in it went from one device to another. A tape's has `departures`, where it
    notes which values left it. A `traced` one was begun while a function was traced.
    """

    __slots__ = (
        "departures", "foreign", "joint", "moved", "open", "paused", "sources", "thread", "traced",
    )  # fmt: skip

    def __init__(self, departures: Departures | None = None, *, traced: bool = False) -> None:
        super().__init__()
        self.open = True
        self.paused = False
        self.foreign = False
        self.moved = False
        self.departures = departures
        self.traced = traced
        self.thread: Any = None  # the state of the thread on which its tape is recording now
        self.sources = 0  # how many Nodes without rules there are
        self.joint: list[ref[JointScope]] = []  # that it is part of: see `core.scopes`

    @property
    def recordings(self) -> frozenset[Recording]:
        return frozenset((self,))

    def __contains__(self, recording: Recording) -> bool:
        return recording is self

    def any_open(self) -> bool:
        return self.open

    def close(self) -> None:
        """Ends the recording, and releases what its Nodes keep alive."""
        self.open = False
        self.departures = self.thread = None
        super().close()
        if self.joint:
            for joint in self._joint_scopes():
                if not joint.any_open():
                    joint.close()

    def sweep(self) -> None:
        for joint in self._joint_scopes():
            joint.sweep()
        super().sweep()

    def scopes(self) -> list[Scope]:
        """All scopes that this recording is in: its own, and those that it shares with others."""
        return [self, *self._joint_scopes()]

    def is_apart(self) -> bool:
        """Whether all of its Nodes are in this recording alone."""
        return not self.joint

    def _joint_scopes(self) -> list[JointScope]:
        """The scopes with several recordings that this one is part of and that are still in use."""
        found = [joint for reference in self.joint if (joint := reference()) is not None]
        self.joint = [ref(joint) for joint in found]
        return found
