"""`TapeNotes`: what a tape notes so that it can be explained later, and nothing else reads.

`gradtape.inspect` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from gradtape.core.endings import AssignEnding, Ending, assignment, joined
from gradtape.core.location import caller

if TYPE_CHECKING:
    from gradtape.core.node import Node
    from gradtape.core.recording import Recording
    from gradtape.core.variable import Variable

Place = tuple[CodeType, int]
_FEW = 15  # the last ones are enough to explain


class Reset(NamedTuple):
    """Where a tape was reset, the recording that ended there, and the Variables that it watched."""

    recording: ref[Recording]
    place: Place
    variables: tuple[ref[Variable], ...]


class TapeNotes:
    """The notes of a `GradientTape`."""

    if TYPE_CHECKING:
        _variables: dict[int, Variable]

    # Of a persistent tape: what the gradients that it computed last are of.
    _asked: Sequence[tuple[ref[Node], Any]] = ()
    # Where recorded values were assigned, by the identity of the Variable; None: nowhere.
    _assigned: dict[int, list[AssignEnding]] | None = None
    _explained: Any = None  # what is known of gradients that were None
    # Where it was reset in its block, and where stopped.
    _resets: Sequence[Reset] = ()
    _pauses: Sequence[Place] = ()

    def _forget_notes(self) -> None:
        """Where a new recording begins."""
        if self._assigned is not None or self._explained is not None:
            self._assigned = self._explained = None
        if self._resets or self._pauses:
            self._resets = self._pauses = ()

    def _note_pause(self) -> None:
        self._pauses = (*self._pauses[-_FEW:], caller())

    def _with_reset(self, recording: Recording) -> Sequence[Reset]:
        """The resets, with one that ends this recording here."""
        watched = tuple(map(ref, self._variables.values()))
        return (*self._resets[-_FEW:], Reset(ref(recording), caller(), watched))

    def _note_asked(self, seeds: dict[Node, Any], given: Sequence[Any] | None) -> None:
        """Cotangents that were not given are ones, so that their shape and dtype are enough."""
        self._asked = [
            (ref(node), (g.shape, g.dtype) if given is None else g) for node, g in seeds.items()
        ]

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        """Notes where a recorded value is assigned, which ends its chain.

        A Variable may change at any time, since what was read keeps its own buffer.
        """
        node = getattr(value, "node", None)
        earlier = None if self._assigned is None else self._assigned.get(id(variable))
        if node is None and (earlier is None or value is None or not replaces):
            return
        found = assignment(node)
        found.variable = ref(variable)
        found.replaces = replaces
        if self._assigned is None:
            self._assigned = {}
        self._assigned[id(variable)] = [*(earlier or ())[-_FEW:], found]

    def _writes_of(self, variable: Variable, before: float = inf) -> list[AssignEnding]:
        """What has made the value that a Variable had at a moment, the first write first, as far as
        a recording followed it.
        """
        found: list[AssignEnding] = []
        for write in reversed((self._assigned or {}).get(id(variable), ())):
            if write.number < before and write.variable() is variable:
                found.append(write)
                if write.replaces:
                    break
        return [write for write in reversed(found) if write.says_something()]

    def _assigned_to(self, variable: Variable) -> Ending | None:
        """What stands for a Variable that is not watched, where it is read: recorded values that
        were assigned to it.
        """
        return joined(self._writes_of(variable))
