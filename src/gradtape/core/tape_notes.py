"""`TapeNotes`: what a tape notes so that it can be explained later, and nothing else reads.

`gradtape.inspect` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from gradtape.core.endings import End, Ending, ending
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
    _assigned: dict[int, list[Ending]] | None = None
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

    def before_write(self, variable: Variable, value: Any) -> None:
        """Notes where a recorded value is assigned, which ends its chain.

        A Variable may change at any time, since what was read keeps its own buffer.
        """
        if value is None:
            return
        node = getattr(value, "node", None)
        if node is None:
            if self._assigned is not None:
                self._assigned.pop(id(variable), None)
            return
        found = ending("assign", End.ASSIGNED, (node,))
        if found is not None:
            if self._assigned is None:
                self._assigned = {}
            earlier = self._assigned.get(id(variable), ())
            self._assigned[id(variable)] = [*earlier[-_FEW:], *found.each()]
