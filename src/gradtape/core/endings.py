"""`Ending`: why a tensor that was computed from recorded ones is not recorded itself.

It stands in the place of a Node but belongs to no recording, so that nothing takes the tensor for
connected; whatever is computed from the tensor carries it on. A call that is recorded, but has such
a tensor among its arguments, notes it with its Node. `inspect` reads all this to explain a gradient
that is None. Calls whose arguments and results are all recorded, or none, never come here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from gradtape.core.location import caller, outside, own_files, users_files
from gradtape.core.node import Node
from gradtape.core.recording import Recording, Scope, numbers
from gradtape.core.scopes import NOWHERE
from gradtape.core.thread import here

if TYPE_CHECKING:
    from gradtape.core.variable import Variable

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
    OTHER_THREAD = "the call ran on another thread than the tape"
    ASSIGNED = "the value was assigned to a Variable"


class Ending(Node):
    """The end of a chain: a call at `where`, on recorded arguments.

    What `about` says of it are its name, how the chain ends, and the positions of the arguments;
    `origins` are their Nodes, as long as anything else has them, and `followed` the recordings that
    had them. Nothing of a recording is kept alive. Generated code makes it too, see
    `ops.written_ends`.
    """

    __slots__ = ("about", "followed", "origins")
    rule = saved = params = None
    parents = ()
    scope = NOWHERE
    inside: Any = None

    def __init__(
        self,
        about: tuple[str, End, tuple[int, ...]],
        origins: tuple[ref[Node], ...],
        followed: tuple[ref[Recording], ...],
        where: tuple[CodeType, int],
    ) -> None:
        self.about = about
        self.origins = origins
        self.followed = followed
        self.number = next(numbers)
        self.where = where

    @property
    def name(self) -> str:
        return self.about[0]

    @property
    def end(self) -> End:
        return self.about[1]

    @property
    def places(self) -> tuple[int, ...]:
        return self.about[2]

    def each(self) -> tuple[Ending, ...]:
        """The Endings of which it is made."""
        return (self,)

    def is_open(self) -> bool:
        """Whether a recording that followed the chain may still be asked about it."""
        for reference in self.followed:
            recording = reference()
            if recording is not None and recording.open:
                return True
        return False

    def release(self) -> None:
        """Keeps nothing."""


class CallEnding(Ending):
    """The same at a call of a function, a branch or a loop: what is `inside` can be looked into
    while the recordings are open, for the result with the number `output`.
    """

    __slots__ = ("inside", "output")

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.inside = None
        self.output = 0


class ReadEnding(Ending):
    """The same where a Variable was read while a tape was stopped: nothing recorded leads there,
    and the Variable is known itself.
    """

    __slots__ = ("variable",)

    variable: ref[Variable]


def _unknown() -> None:
    """A Variable of which only the value is known, where a program runs again."""


class AssignEnding(Ending):
    """The same where a value was assigned to a Variable: whoever reads that goes on from here.

    It `replaces` all that was there, unless only a part was written, or something added. A value
    that was the end of a chain itself has that chain `before` it; one that no tape follows has
    neither that nor origins.
    """

    __slots__ = ("before", "replaces", "variable")

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.variable: Callable[[], Variable | None] = _unknown
        self.before: tuple[Ending, ...] = ()
        self.replaces = True

    def says_something(self) -> bool:
        return bool(self.origins or self.before)


class Written(NamedTuple):
    """What a compiled call wrote to a Variable, as far as recorders ask."""

    node: Ending


class Endings(Ending):
    """What a call with several Endings among its arguments gives."""

    __slots__ = ("several",)

    def __init__(self, several: Sequence[Ending]) -> None:
        self.several = tuple(several)[-_MOST:]
        last = self.several[-1]
        super().__init__(last.about, (), last.followed, last.where)  # type: ignore[arg-type]

    def each(self) -> tuple[Ending, ...]:
        return self.several

    def is_open(self) -> bool:
        return any(one.is_open() for one in self.several)


def joined(several: Sequence[Ending]) -> Ending | None:
    """One that stands for all of these."""
    return Endings(several) if len(several) > 1 else next(iter(several), None)


def ending(
    name: str,
    end: End,
    nodes: Sequence[Node | None],
    where: tuple[CodeType, int] | None = None,
    kind: type[Ending] = Ending,
) -> Ending | None:
    """What stands for the result of a call on `nodes` that is not recorded; None if no open
    recording follows any of them.
    """
    earlier: Ending | None = None
    more: list[Ending] | None = None  # if there are several
    origins: tuple[ref[Node], ...] = ()
    places: tuple[int, ...] = ()
    scope: Scope | None = None
    for i, node in enumerate(nodes):
        if node is None:
            continue
        if node.scope is not NOWHERE:
            if node.scope.any_open():
                scope = scope or node.scope
                origins += (ref(node),)
                places += (i,)
        elif node.is_open():  # type: ignore[attr-defined]
            if earlier is None:
                earlier = node  # type: ignore[assignment]
            elif node is not earlier:
                more = [*(more or earlier.each()), *node.each()]  # type: ignore[attr-defined]
    if scope is None and more is None:
        return earlier
    found = None if more is None else dict.fromkeys(one for one in more if one.is_open())
    if scope is not None:
        if end is End.OUTSIDE:
            end = _how_outside(nodes)
        followed = (
            (ref(scope),)
            if type(scope) is Recording
            else tuple(ref(recording) for recording in scope.recordings)
        )
        this = kind((name, end, places), origins, followed, where or caller())
        if isinstance(this, CallEnding):
            scope.looked_into(this)
        if earlier is None:
            return this
        found = dict.fromkeys(earlier.each()) if found is None else found
        found[this] = None
    assert found is not None
    return joined(tuple(found))


def assignment(node: Node | None) -> AssignEnding:
    """Where a value with this Node is assigned to a Variable: at the user's line."""
    about = ("assign", End.ASSIGNED, (0,))
    if node is None:
        return AssignEnding(about, (), (), caller())
    if isinstance(node, Ending):
        followed = dict.fromkeys(r for one in node.each() for r in one.followed)
        found = AssignEnding(about, (), tuple(followed), caller())
        found.before = node.each()
        return found
    return AssignEnding(about, (ref(node),), tuple(map(ref, node.scope.recordings)), caller())


def _how_outside(nodes: Sequence[Node | None]) -> End:
    """Why a call on these is not recorded, if nothing on this thread records it."""
    recordings = {r for node in nodes if node is not None for r in node.scope.recordings}
    if any(recording.paused for recording in recordings):
        return End.PAUSED
    state = here.state
    if any(recording.thread not in (None, state) for recording in recordings):
        return End.OTHER_THREAD
    return End.OUTSIDE


def at_gradients(recording: Recording, seeds: Iterable[Node], gradients: Iterable[Any]) -> None:
    """Notes at gradients of nested tapes that open recordings, which follow what they were computed
    from, have not recorded the walk.
    """
    scope, nodes = here.state.scope, tuple(seeds)
    known = {recording} if scope is None else {recording, *scope.recordings}
    others = {r for node in nodes for r in node.scope.recordings if r.open and r not in known}
    if not others:
        return
    about = ("gradient", _how_outside(nodes), (0,))
    found = Ending(about, tuple(map(ref, nodes)), tuple(map(ref, others)), caller())
    for gradient in gradients:
        if gradient is not None and getattr(gradient, "node", found) is None:
            gradient.node = found


def ended(name: str, end: End, nodes: tuple[Node | None, ...], depth: int) -> Ending | None:
    """The same for the code that is written for an op, which is called `depth` frames below the
    user's line, most of the time.
    """
    if here.state.where is not None:
        return ending(name, end, nodes)
    try:
        frame = sys._getframe(depth + 1)
    except ValueError:  # called from the top of a module, with nothing above
        frame = sys._getframe(1)
    code = frame.f_code
    if code.co_filename not in users_files and own_files[code.co_filename]:
        frame = outside(frame)
        code = frame.f_code
    return ending(name, end, nodes, (code, frame.f_lasti))


def note_endings(name: str, node: Node, arguments: Sequence[Node | None]) -> None:
    """Notes with the Node of a recorded call which of its arguments are ends of chains: Endings,
    and recorded ones by which it has no derivative.
    """
    if len(arguments) == 1 and isinstance(arguments[0], Ending):  # of a mask, the common case
        node.scope.endings[node.number] = arguments[0]
        return
    found = ending(name, End.NO_DERIVATIVE, arguments, node.where)
    if found is not None:
        node.scope.endings[node.number] = found


def at_outputs(
    name: str, inside: Any, nodes: Sequence[Node | None], outputs: list[Any]
) -> list[Any]:
    """The results of a call of a function, those without a Node with what stands for it; `inside`
    can be looked into.
    """
    if any(nodes):
        end = End.OUTSIDE if here.state.scope is None else End.NO_PATH
        for i, output in enumerate(outputs):
            if output.node is None:
                output.node = at_output(name, end, nodes, inside, i)
            elif output.node.parents:
                (call,) = output.node.parents
                without = [
                    None if node is parent else node
                    for node, parent in zip(nodes, call.parents, strict=True)
                ]
                found = at_output(name, end, without, inside, i) if any(without) else None
                if found is not None:
                    output.node.scope.endings[output.node.number] = found
    return outputs


def at_output(
    name: str, end: End, nodes: Sequence[Node | None], inside: Any, output: int
) -> Ending | None:
    """What stands for one of the results, or of the values that the call wrote."""
    found = ending(name, end, nodes, None, CallEnding)
    last = None if found is None else found.each()[-1]
    if isinstance(last, CallEnding) and last.inside is None:
        last.inside, last.output = inside, output
    return found
