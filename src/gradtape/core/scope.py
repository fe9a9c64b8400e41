"""Which tapes are recording on this thread, as one object that can be compared by identity.

A `Scope` stands for one recording of one tape (or accumulator), or for several of them at once. The scope of the ops that run
now is `here.state.scope`; a Node keeps the scope it was recorded in. With one tape, "does this Node belong to what is being
recorded?" is `node.scope is scope`; `connect` answers it for nested tapes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from sys import getrefcount
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary, ref

import numpy as np

from gradtape.blocks import Block, block
from gradtape.core import collector
from gradtape.engines.numpy.allocator import OfThread
from gradtape.engines.numpy.engine import is_reentry, quiet_runner, run_apart
from gradtape.engines.xla import engine as xla_engine
from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.core.batching import Level
    from gradtape.core.departures import Departures
    from gradtape.core.node import Node
    from gradtape.core.variable import Variable
    from gradtape.core.xla.trace import Trace


class Scope:
    """One recording (`parts` is empty), or the set `parts` of several recordings.

    A recording stays `open` from a tape's first entering until it is consumed, reset or deleted. It is `foreign` if some of
    its rules run functions of the user's, and `moved` if values in it went from one device to another. A tape's has `departures`,
    where it notes which values left it.

    `nodes` are the Nodes that were recorded in just this scope, so that nothing of a recording stays alive when it is over, whatever
    Tensors somebody has kept. Those that lead nowhere any more are dropped now and then while recording goes on: when their number
    has passed `due`, and when large arrays (of more bytes than LARGE) have taken as much memory as there is `room`.
    """

    __slots__ = (
        "__weakref__", "_is_long", "_joint", "_taken", "_took", "departures", "due", "foreign", "moved", "nodes", "open", "parts", "room", "sources", "stage",
    )  # fmt: skip

    def __init__(
        self, parts: frozenset[Scope] = frozenset(), departures: Departures | None = None, trace: Trace | None = None
    ) -> None:
        self.parts = parts
        self.open = True
        self.foreign = False
        self.moved = False
        self.departures = departures
        self.stage = None if trace is None else trace.stage  # the program that it is a recording of
        self.nodes: list[Node] = []
        self.due = next(numbers) + _MANY
        self.room = _ROOM
        self.sources = 0  # how many Nodes without rules there are
        self._is_long = False
        self._taken = 0  # bytes, since it was swept
        self._took = 0  # in all
        self._joint: list[ref[Scope]] = []
        for part in parts:
            if self.due - _MANY > part.due:
                part.sweep()
            part._joint.append(ref(self))

    @property
    def recordings(self) -> frozenset[Scope]:
        """The single recordings in this scope."""
        return self.parts or frozenset((self,))

    def __contains__(self, recording: Scope) -> bool:
        return recording is self or recording in self.parts

    def any_open(self) -> bool:
        """Whether any recording in this scope may still be continued or differentiated."""
        return any(part.open for part in self.parts) if self.parts else self.open

    def close(self) -> None:
        """Ends a recording, and lets its Nodes go of what they keep."""
        self.open = False
        for node in self.nodes:
            if node is not None:  # a sweep was interrupted
                node.release()
        self.nodes.clear()
        if self._took > _ROOM:
            here.memory.has_freed()
        if self._is_long:
            self._is_long = False
            collector.end()
        if self._joint:
            for joint in self._joint_scopes():
                if not joint.any_open():
                    joint.close()

    def _joint_scopes(self) -> list[Scope]:
        """The scopes that this recording is a part of, as far as somebody still has them."""
        found = [joint for reference in self._joint if (joint := reference()) is not None]
        self._joint = [ref(joint) for joint in found]
        return found

    def is_apart(self) -> bool:
        """Whether all of its Nodes are in this recording alone."""
        return not self._joint

    def has_taken(self, size: int) -> None:
        """Hears of a Node whose output has so many bytes."""
        self._took += size
        self._taken += size
        if self._taken > self.room:
            before = len(self.nodes)
            self.sweep()
            self.room = max(_ROOM, self.room * 2 if 2 * len(self.nodes) > before else self.room // 2)

    def sweep(self) -> None:
        """Drops the Nodes that nobody else holds, the newest first: then their parents may be such too."""
        for joint in self._joint_scopes():
            joint.sweep()
        nodes = self.nodes
        self.due = 0  # until it is done: see `pull_back`
        for i in range(len(nodes) - 1, -1, -1):  # a Node that is dropped leaves its place: an exception on the way loses none
            if getrefcount(nodes[i]) < _ALONE:
                nodes[i] = None  # type: ignore[call-overload]
        nodes[:] = [node for node in nodes if node is not None]
        self.due = next(numbers) + max(_MANY, 3 * len(nodes))
        self._taken = 0
        if self._is_long:
            collector.grown()
        elif len(nodes) > collector.LONG:
            self._is_long = collector.begin()


numbers = count()
"""Numbers every Node in the order of recording: a Node's parents always have smaller ones."""

LARGE = 2**16
_MANY = 500
_ROOM = 2**25
_ALONE = 3  # references to a Node that somebody holds beside the list, and the function that counts them

_joint_scopes: WeakValueDictionary[frozenset[Scope], Scope] = WeakValueDictionary()


def scope_of(recordings: Iterable[Scope]) -> Scope | None:
    """The one Scope object that stands for this set of recordings; None for the empty set."""
    parts = frozenset(recordings)
    if len(parts) < 2:
        for recording in parts:
            return recording
        return None
    joint = _joint_scopes.get(parts)
    if joint is None:
        joint = _joint_scopes.setdefault(parts, Scope(parts, None, here.state.trace))
    return joint


class Recorder(Protocol):
    """What is entered with `with` and follows the ops of a thread: a tape or a ForwardAccumulator."""

    pushes: bool

    @property
    def recording(self) -> bool:
        """Whether it has been entered and not left."""

    def before_write(self, variable: Variable) -> None:
        """Hears that a Variable is about to change."""

    @property
    def scope(self) -> Scope | None:
        """The recording that this one is making now."""

    def variable_node(self, variable: Variable) -> Node | None:
        """The Node that stands for `variable` in this recording, made at the first read; None if it is not watched."""


class Pusher(Recorder, Protocol):
    """A recorder (`pushes` is True) that carries tangents forward through every op as it is recorded."""

    def push(self, node: Node, args: Sequence[Any], outputs: Any) -> None:
        """Computes the tangent of an op that has just been recorded."""


class ThreadState:
    """What records on one thread. `recorders` is in the order of entering; the rest follows from it."""

    __slots__ = (
        "_run_walk", "around_walk", "checker", "device", "draws", "levels", "pushers", "recorders", "run", "same_draws", "scope", "tensor", "trace", "walking", "watch",
        "where",
    )  # fmt: skip

    plain_tensor: Any = None  # the class Tensor, once there is one

    def __init__(self) -> None:
        self.recorders: tuple[Recorder, ...] = ()
        self.scope: Scope | None = None
        self.pushers: tuple[Pusher, ...] = ()
        self.levels: tuple[Level, ...] = ()  # the vmaps that are running, outermost first
        self.trace: Trace | None = None  # the program that is being traced
        self.where: tuple[CodeType, int] | None = None  # the place in the user's code, if it is not where this thread is now
        self.run: Callable[..., Any] = quiet_runner()
        self.checker: Callable[..., Any] | None = None  # sees what an op gives on XLA, and gives it back
        self.draws: Any = None  # the random numbers of a block that is to run again: see `transforms.recompute`
        self.same_draws = False  # whether all examples of a batch share what is drawn
        self.device: Any = None  # the place that is named around
        self.tensor: Callable[..., Any] = self.plain_tensor  # what makes a Tensor of an array that `run` has given
        self.watch: list[str] = []  # what a walk has to fear for its zeros: see `core.strong_zeros`
        self._run_walk = quiet_runner(self._on_invalid)
        self.walking = False
        self.around_walk: Callable[..., Any] | None = None  # is given the backward walk and its arguments

    def run_on_host(self, function: Callable[..., Any], *args: Any, **params: Any) -> Any:
        """`run` with NumPy arrays, whatever device is named around."""
        run = self.run if self.device is None else getattr(self.run, "plain", self.run)
        try:
            return run(function, *args, **params)
        except RuntimeError as error:
            if not is_reentry(error):
                raise
            return run_apart(function, *args, **params)

    def set_recorders(self, recorders: Sequence[Recorder]) -> None:
        scope = scope_of([r.scope for r in recorders if r.scope is not None])
        pushers: Any = tuple([r for r in recorders if r.pushes])
        self.recorders, self.scope, self.pushers = tuple(recorders), scope, pushers

    def add(self, recorder: Recorder, position: int | None = None) -> None:
        """Lets `recorder` record too: as the innermost, or in its old place in the order."""
        if not self.recorders and not recorder.pushes:  # the common case, one tape
            self.recorders, self.scope = (recorder,), recorder.scope
            return
        recorders = list(self.recorders)
        recorders.insert(len(recorders) if position is None else position, recorder)
        self.set_recorders(recorders)

    def remove(self, recorder: Recorder) -> None:
        if len(self.recorders) == 1 and self.recorders[0] is recorder:
            self.recorders, self.scope, self.pushers = (), None, ()
            return
        self.set_recorders([r for r in self.recorders if r is not recorder])

    def walk(self, recording: Scope, walk: Callable[..., Any], *args: Any) -> Any:
        """Runs a walk over a recording, in which NumPy does not warn of overflow and the like.

        The quick way needs a context of our own, which functions of the user's must not see, and which cannot be entered twice.
        """
        before, self.watch = self.watch, []
        try:
            if recording.foreign or self.walking:
                with np.errstate(all="ignore", invalid="call", call=self._on_invalid):
                    return walk(*args)
            try:
                self.walking = True
                return self._run_walk(walk, *args)
            finally:
                self.walking = False
        finally:
            self.watch = before

    def _on_invalid(self, kind: str, flag: int) -> None:
        """NumPy says that an operation had no value."""
        self.watch.append("invalid")

    def only(self, recorders: Sequence[Recorder]) -> Only:
        """Records on `recorders` alone for the length of a block."""
        return Only(self, recorders)


class Only(Block):
    """A block in which certain recorders record, and no others."""

    def __init__(self, state: ThreadState, recorders: Sequence[Recorder]) -> None:
        self._state = state
        self._recorders = recorders
        self._before: tuple[Recorder, ...] | None = None

    def enter(self) -> None:
        self._before = self._state.recorders
        self._state.set_recorders(self._recorders)

    def leave(self) -> None:
        if self._before is not None:
            self._state.set_recorders([r for r in self._before if r.recording])  # one may have ended in the block


@published("init_scope")
@block
def init_scope() -> Iterator[None]:
    """Runs a block that nothing records, whatever tapes are open, at once: also while a function is being traced.

    There it is no part of the function's program. It sees Variables as they are, and runs once for each trace. A signal handler that may
    arrive while a function is being traced does its work in such a block.

    >>> import gradtape as tf
    >>> x = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     with tf.init_scope():
    ...         y = x * x
    >>> print(tape.gradient(y, x))
    None
    """
    state = here.state
    trace, draws = state.trace, state.draws
    with state.only([]), xla_engine.evaluating():
        state.trace = state.draws = None
        try:
            yield
        finally:
            state.trace, state.draws = trace, draws


class _Here(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()
        self.memory = OfThread()


here = _Here()
"""`here.state` is the calling thread's state."""


def leave_thread(recorder: Recorder, state: ThreadState) -> None:
    """Ends what was entered on the thread of `state`, which must be this one."""
    if here.state is not state:
        raise RuntimeError(
            f"This {type(recorder).__name__} was entered in another thread, where it goes on recording: a `with` block must end in the "
            "thread it began in. Open one in each thread."
        )
    state.remove(recorder)


def connect(nodes: Sequence[Node | None], scope: Scope | None) -> tuple[tuple[Node | None, ...], Scope] | None:
    """The parents and the scope of an op on `nodes` that runs in `scope`; None if nothing records it.

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


def _connect_nested(nodes: Sequence[Node | None], scope: Scope) -> tuple[tuple[Node | None, ...], Scope] | None:
    current = scope.recordings
    shared = [None if node is None else node.scope.recordings & current for node in nodes]
    joint = scope_of(recording for part in shared if part for recording in part)
    if joint is None:
        return None
    return tuple([node if part else None for node, part in zip(nodes, shared, strict=True)]), joint
