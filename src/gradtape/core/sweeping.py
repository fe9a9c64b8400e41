"""Drops Nodes that nothing leads to any more, while recording goes on."""

from __future__ import annotations

from collections.abc import Iterable
from sys import getrefcount
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from gradtape.core.endings import Ending
    from gradtape.core.node import Node

# References to a Node that somebody holds beside the list, and the function that counts them.
_ALONE = 3


def drop_unreachable(nodes: list[Node], endings: dict[int, Ending]) -> None:
    """Drops the Nodes of a list that nothing else holds, the newest first, since that may free
    their parents too; and of the ends of chains that calls met, by number, those of dropped Nodes.
    """
    ended = _by_origin(endings.values()) if endings else None
    # A dropped Node leaves its place, so an exception on the way loses none. It may be the last to
    # hold another tape, whose end empties this list.
    for i in range(len(nodes) - 1, -1, -1):
        if i < len(nodes) and getrefcount(nodes[i]) < _ALONE:
            if ended:
                _hand_over(nodes[i], ended)
            nodes[i] = None  # type: ignore[call-overload]
    nodes[:] = [node for node in nodes if node is not None]
    if endings:
        kept = {node.number for node in nodes}
        for number in [number for number in endings if number not in kept]:
            del endings[number]


def _by_origin(endings: Iterable[Ending]) -> dict[int, list[Ending]]:
    """The ends of chains by the identity of the Nodes that led to them."""
    found: dict[int, list[Ending]] = {}
    for noted in endings:
        for one in noted.each():
            for origin in one.origins:
                if (node := origin()) is not None:
                    found.setdefault(id(node), []).append(one)
    return found


def _hand_over(node: Node, ended: dict[int, list[Ending]]) -> None:
    """Has the ends of chains that come from a Node come from its parents: it will be dropped."""
    for one in ended.pop(id(node), ()):
        known = [origin for origin in one.origins if origin() is not node]
        parents = [parent for parent in node.parents if parent is not None]
        one.origins = tuple(dict.fromkeys([*known, *map(ref, parents)]))
        for parent in parents:
            ended.setdefault(id(parent), []).append(one)
