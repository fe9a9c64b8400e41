"""`Node`: one recorded op.

Nodes point to Nodes, never to the Tensors that carry them, so a recording keeps an array alive only
if a rule saved it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from gradtape.core.location import Location, caller, locate
from gradtape.core.recording import Recording, Scope, numbers
from gradtape.core.scopes import scope_of
from gradtape.core.thread import here

if TYPE_CHECKING:
    from gradtape.core.tensor import Tensor


new = object.__new__


class Rule(Protocol):
    """The derivative of an op, as the walks use it.

    `wanted[i]` is None where parent i needs nothing.
    """

    name: str
    takes_slices: bool
    """Whether the pulls take a sparse cotangent: true of those that only pass it on."""
    shows_nan: bool
    """Whether a NaN anywhere in an input is sure to show in the output: see `core.strong_zeros`."""

    @property
    def pull_into(
        self,
    ) -> Callable[[Node, Any, dict[Node, Any], set[Node], list[str]], None] | None:
        """`pull_arrays` for all parents, added to their cotangents: a fast path for plain walks,
        which not every rule has.
        """

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        """The parents' cotangents, as plain arrays, from the output's."""

    def pull_tensors(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        """The same on Tensors, recorded by whatever records now."""

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        """The output's tangent from the parents' (None where there is none)."""


class Node:
    """One recorded op: its rule, what the rule saved, and the Nodes of its inputs (None:
    not connected).

    A source, which is a watched Tensor or a Variable, is a Node without a rule and parents.
    """

    __slots__ = ("__weakref__", "number", "params", "parents", "rule", "saved", "scope", "where")

    def __init__(
        self,
        rule: Rule | None,
        saved: Any,
        params: dict[str, Any] | None,
        parents: tuple[Node | None, ...],
        scope: Scope,
        where: tuple[CodeType, int] | None,
    ) -> None:
        self.rule = rule
        self.saved = saved
        self.params = params
        self.parents = parents
        self.scope = scope
        self.number = next(numbers)
        self.where = where
        if parents:
            scope.nodes.append(self)
            if self.number > scope.due:
                scope.sweep()

    def release(self) -> None:
        """Lets go of everything this Node keeps alive."""
        self.saved = None
        self.params = None
        self.parents = ()

    def location(self) -> Location | None:
        """The line of the user's code that ran this op; a Variable's own Node has none."""
        return None if self.where is None else locate(*self.where)

    def __repr__(self) -> str:
        name = "source" if self.rule is None else self.rule.name
        return f"<Node {self.number} {name} at {self.location()}>"


class VariableNode(Node):
    """A Variable in one recording: a source that is made at the first read, so it sets as few
    attributes as possible.
    """

    __slots__ = ()
    rule = saved = params = where = None
    parents = ()

    def release(self) -> None:
        """Keeps nothing."""


def variable_node(scope: Recording) -> Node:
    """The Node of a Variable that is read for the first time."""
    node = new(VariableNode)  # what calling the class does, in half the time
    node.scope = scope
    node.number = next(numbers)
    scope.sources += 1
    return node


def source_node(scope: Recording, where: tuple[CodeType, int] | None = None) -> Node:
    """A Node for something that a tape watches."""
    scope.sources += 1
    return Node(None, None, None, (), scope, where)


_watching = RLock()


def watch_tensor(tensor: Tensor, recording: Recording) -> Node:
    """Makes `tensor` a source in `recording`, without changing what it is in other open
    recordings.
    """
    trace = here.state.trace
    # Ops of the program see what stands for it, or a constant.
    inside = None if trace is None else trace.stand_in(tensor)
    if inside is not None:
        return watch_tensor(inside, recording)
    with _watching:  # a tensor may be shared by threads, each with its own tape
        node = tensor.node
        if node is None or not node.scope.any_open():
            node = tensor.node = source_node(recording, caller())
        elif recording not in node.scope:
            open_ones = [other for other in node.scope.recordings if other.open]
            joint = scope_of([*open_ones, recording])
            assert joint is not None
            node.scope = joint
        return node
