"""`Path`: what lies between the targets and the sources of a walk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import attrgetter

from gradtape.core.node import Node
from gradtape.core.recording import Recording

_number = attrgetter("number")


class Path:
    """The Nodes between some targets and some sources of one recording, in the order of recording.

    `reached` are all Nodes that the targets were computed from, and `nodes` those of them that have
    a rule. `other` says that a source was reached that is not wanted, and `alone` that all Nodes
    are in this recording alone.
    """

    def __init__(
        self, targets: Iterable[Node], sources: Iterable[Node | None], recording: Recording
    ) -> None:
        self.sources = {node for node in sources if node is not None}
        self.recording = recording
        self.nodes: list[Node] = []
        self.other = False
        self.alone = True
        self.reached = seen = set(targets)
        stack = [node for node in seen if node.rule is not None]
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            alone = node.scope is recording  # then so are its parents
            if not alone:
                self.alone = False
            for parent in node.parents:
                if (
                    parent is not None
                    and parent not in seen
                    and (alone or recording in parent.scope)
                ):
                    seen.add(parent)
                    if parent.rule is not None:
                        stack.append(parent)
                    elif parent not in self.sources:
                        self.other = True
        self.nodes.sort(key=_number)

    @cached_property
    def leading(self) -> set[Node]:
        """The sources, and the Nodes that depend on them."""
        found = set(self.sources)
        for node in self.nodes:
            for parent in node.parents:
                if parent in found:
                    found.add(node)
                    break
        return found

    @cached_property
    def between(self) -> list[Node]:
        """The Nodes that depend on a source, without the sources."""
        return [node for node in self.nodes if node in self.leading and node not in self.sources]

    def parents(self, node: Node) -> Sequence[Node | None]:
        """The parents of a Node that need a cotangent, None for the others."""
        recording, parents = self.recording, node.parents
        if not self.other:
            return (
                parents
                if node.scope is recording
                else [p if p is not None and recording in p.scope else None for p in parents]
            )
        leading = self.leading
        return [
            p if p is not None and p in leading and recording in p.scope else None for p in parents
        ]
