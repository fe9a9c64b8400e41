"""Sets of recordings: `JointScope` for nested tapes, `NOWHERE` for what none records, and
`connect`, which finds the parents and the scope of an op.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary, ref

from gradtape.core.recording import MANY, Recording, Scope

if TYPE_CHECKING:
    from gradtape.core.node import Node


class _Nowhere(Scope):
    """The scope of what no recording has: see `core.endings`."""

    __slots__ = ()
    recordings = frozenset()

    def __contains__(self, recording: Recording) -> bool:
        return False

    def any_open(self) -> bool:
        return False


NOWHERE = _Nowhere()


class JointScope(Scope):
    """Several recordings: what ops that nested tapes follow are recorded in."""

    __slots__ = ("_parts",)

    def __init__(self, parts: frozenset[Recording]) -> None:
        super().__init__()
        self._parts = parts
        for part in parts:
            if self.due - MANY > part.due:
                part.sweep()
            part.joint.append(ref(self))

    @property
    def recordings(self) -> frozenset[Recording]:
        return self._parts

    def __contains__(self, recording: Recording) -> bool:
        return recording in self._parts

    def any_open(self) -> bool:
        return any(part.open for part in self._parts)


_joint_scopes: WeakValueDictionary[frozenset[Recording], JointScope] = WeakValueDictionary()


def scope_of(recordings: Iterable[Recording]) -> Scope | None:
    """The one Scope object that stands for this set of recordings; None for the empty set."""
    parts = frozenset(recordings)
    if len(parts) < 2:
        for recording in parts:
            return recording
        return None
    return _joint_scopes.get(parts) or _joint_scopes.setdefault(parts, JointScope(parts))


def connect(
    nodes: Sequence[Node | None], scope: Scope | None
) -> tuple[tuple[Node | None, ...], Scope] | None:
    """The parents and the scope of an op on `nodes` that runs in `scope`;
    None if nothing records it.

    The op belongs to those recordings of `scope` that one of its inputs belongs to.
    """
    if scope is None:
        return None
    connected = False
    for node in nodes:
        if node is not None:
            if node.scope is not scope:
                return _connect_nested(nodes, scope)
            connected = True
    return (tuple(nodes), scope) if connected else None


def _connect_nested(
    nodes: Sequence[Node | None], scope: Scope
) -> tuple[tuple[Node | None, ...], Scope] | None:
    nodes = [None if node is None or node.scope is NOWHERE else node for node in nodes]
    if all(node is None or node.scope is scope for node in nodes):
        return (tuple(nodes), scope) if any(nodes) else None
    current = scope.recordings
    shared = [None if node is None else node.scope.recordings & current for node in nodes]
    joint = scope_of(recording for part in shared if part for recording in part)
    if joint is None:
        return None
    return tuple([node if part else None for node, part in zip(nodes, shared, strict=True)]), joint
