"""Walks that repeat: a training step records the same Nodes as the step before.

When walks of one length have come often, the present one is written out as a function without
loops and dicts, which first compares the Nodes it is given with those it was written for, and gives
way to the general walk at the first difference. Writing takes about as long as thirty walks, and
saves a fifteenth of a step of small ops from then on. `ops.written_walks` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

from gradtape.core.needed_ops import needed

if TYPE_CHECKING:
    from gradtape.core.node import Node

_OFTEN = 500
_IN_VAIN = 16  # walks in a row that a function was not written for
_LONGEST = 1000  # Nodes: writing takes 0.07 ms for each
_MOST = 64

Walk = Callable[[list["Node"], dict["Node", Any], set["Node"], bool, list[str]], Any]


class _Walks:
    """The walks of one length: their number, or with a function, how often it was of no use since
    it last was; and after how many one is written.
    """

    __slots__ = ("count", "often", "written")

    def __init__(self) -> None:
        self.count = 0
        self.often: float = _OFTEN
        self.written: Walk | None = None


_known: dict[tuple[int, str, int], _Walks] = {}
"""By the number of Nodes, the name of the last one's rule, and the number of sources."""


def repeated(
    order: list[Node],
    cotangents: dict[Node, Any],
    wanted: set[Node],
    release: bool,
    watch: list[str],
) -> dict[Node, Any] | None:
    """What the walk finds if a function is written for it, else None, and nothing has been done."""
    if not order:
        return None
    last: Any = order[-1].rule
    key = len(order), last.name, len(wanted)
    walks = _known.get(key)
    if walks is None:
        if len(_known) >= _MOST:
            _forget()
        walks = _known[key] = _Walks()
    written = walks.written  # another thread may take it away meanwhile
    if written is None:
        walks.count += 1
        if walks.count < walks.often or len(order) > _LONGEST:
            return None
        written = needed.write_walk(order, [*cotangents], wanted)
        walks.written, walks.count = written, 0
        if written is None:
            walks.often = inf
            return None
    found = written(order, cotangents, wanted, release, watch)
    walks.count = 0 if found is not None else walks.count + 1
    if walks.count >= _IN_VAIN:
        walks.written, walks.count = None, 0
        walks.often *= 2
    return found


def _forget() -> None:
    """Makes room: what has no function goes first."""
    for key, walks in list(_known.items()):
        if walks.written is None:
            _known.pop(key, None)
    if len(_known) > _MOST // 2:
        _known.clear()
