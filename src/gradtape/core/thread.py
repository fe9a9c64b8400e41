"""`here.state`: the calling thread's state, which knows what records on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from gradtape.blocks import Block, block
from gradtape.core.recording import Recording, Scope
from gradtape.core.scopes import scope_of
from gradtape.core.strong_zeros import INVALID
from gradtape.engines.engine import XLA
from gradtape.engines.numpy import engine as numpy_engine
from gradtape.engines.numpy.engine import Quiet, is_reentry, quiet_runner
from gradtape.engines.xla import settings as xla_settings
from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.core.batching import Level
    from gradtape.core.node import Node
    from gradtape.core.observers import Observer
    from gradtape.core.variable import Variable
    from gradtape.core.xla.trace import Trace


OP_BY_OP, IN_A_FUNCTION = "op by op", "in a function"
"""How code runs that is looked into: compiled functions as Python code; and in such a function,
where random numbers are those that its program would draw.
"""


class Recorder(Protocol):
    """A context manager that follows the ops of a thread: a tape or a ForwardAccumulator."""

    pushes: bool

    @property
    def recording(self) -> bool:
        """Whether it has been entered and not left."""

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        """Called before a Variable changes, with what is assigned or added, if it is known;
        it `replaces` the whole value or changes it.
        """

    @property
    def scope(self) -> Recording | None:
        """The recording that this recorder is making now."""

    def variable_node(self, variable: Variable) -> Node | None:
        """The Node that stands for `variable` in this recording, made at the first read;
        None if it is not watched.
        """


class Pusher(Recorder, Protocol):
    """A recorder (`pushes` is True) that carries tangents forward through every op as it is
    recorded.
    """

    def push(self, node: Node, args: Sequence[Any], outputs: Any) -> None:
        """Computes the tangent of an op that has just been recorded."""


class Plain:
    """What threads begin with."""

    tensor: Any = None  # the class Tensor, once there is one


plain = Plain()


class ThreadState:
    """What records on one thread.

    `recorders` are in the order in which they were entered; the rest follows from them.
    """

    __slots__ = (
        "_run_walk", "around_call", "around_walk", "checker", "device", "draws", "goes_on",
        "levels", "observers", "op_by_op", "pushers", "quiet_run", "recorders", "run",
        "run_on_xla", "same_draws", "scope", "tensor", "trace", "waits", "walking", "watch",
        "where",
    )  # fmt: skip

    def __init__(self) -> None:
        self.recorders: tuple[Recorder, ...] = ()
        self.scope: Scope | None = None
        self.pushers: tuple[Pusher, ...] = ()
        self.levels: tuple[Level, ...] = ()  # the vmaps that are running, outermost first
        self.trace: Trace | None = None  # the program that is being traced
        # The place in the user's code, if it is not where this thread is now.
        self.where: tuple[CodeType, int] | None = None
        self.run: Callable[..., Any] = quiet_runner()
        self.quiet_run = self.run  # what is below all that looks on
        self.run_on_xla: Callable[..., Any] = XLA.run
        self.observers: tuple[Observer, ...] = ()  # see `core.observers`
        # Sees what an op gives on XLA, and gives it back.
        self.checker: Callable[..., Any] | None = None
        # Is given a compiled function, its arguments, and those by name.
        self.around_call: Callable[..., Any] | None = None
        # The random numbers of a block that is to run again: see `transforms.recompute`.
        self.draws: Any = None
        # How a call that is looked into runs again: see `functions.rerun`.
        self.op_by_op: str | None = None
        self.waits = False  # whether a function runs op by op because its sizes are new
        # Is called before each op of such a run while XLA compiles, and raises an exception when
        # the call should not go on in this way.
        self.goes_on: Callable[[], None] | None = None
        self.same_draws = False  # whether all examples of a batch share what is drawn
        self.device: Any = None  # the place that is named around
        # What makes a Tensor of an array that `run` has given.
        self.tensor: Callable[..., Any] = plain.tensor
        self.watch: list[str] = []  # what a walk has to fear for its zeros: see `core.strong_zeros`
        self._run_walk = quiet_runner(self._on_invalid)
        self.walking = False
        # Is given the backward walk and its arguments.
        self.around_walk: Callable[..., Any] | None = None

    def run_on_host(self, function: Callable[..., Any], *args: Any, **params: Any) -> Any:
        """`run` with NumPy arrays, ignoring enclosing `device` blocks."""
        run = self.run if self.device is None else getattr(self.run, "plain", self.run)
        try:
            return run(function, *args, **params)
        except RuntimeError as error:
            if not is_reentry(error):
                raise
            return numpy_engine.run(function, *args, **params)

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls what is no op, such as a conversion, without NumPy's warnings; nothing looks at
        what it gives.
        """
        try:
            return self.quiet_run(function, *args)
        except RuntimeError as error:
            if not is_reentry(error):
                raise
            return numpy_engine.run(function, *args)

    def set_recorders(self, recorders: Sequence[Recorder]) -> None:
        scope = scope_of([r.scope for r in recorders if r.scope is not None])
        pushers: Any = tuple([r for r in recorders if r.pushes])
        self.recorders, self.scope, self.pushers = tuple(recorders), scope, pushers

    def add(self, recorder: Recorder, position: int | None = None) -> None:
        """Adds `recorder`: as the innermost, or in its old place in the order."""
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

    def walk(self, recording: Recording, walk: Callable[..., Any], *args: Any) -> Any:
        """Runs a walk over a recording, in which NumPy does not warn about overflow and the like.

        The fast path needs a context of our own, which user code must not see and which cannot be
        entered twice.
        """
        before, self.watch = self.watch, []
        try:
            if recording.foreign or self.walking:
                with Quiet(self._on_invalid):
                    return walk(*args)
            try:
                self.walking = True
                return self._run_walk(walk, *args)
            finally:
                self.walking = False
        finally:
            self.watch = before

    def _on_invalid(self, kind: str, flag: int) -> None:
        """Called by NumPy for an invalid operation."""
        self.watch.append(INVALID)

    def only(self, recorders: Sequence[Recorder]) -> Only:
        """Lets only `recorders` record during a block."""
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
            # One may have ended in the block.
            self._state.set_recorders([r for r in self._before if r.recording])


@published("init_scope")
@block
def init_scope() -> Iterator[None]:
    """Runs a block at once, unrecorded by any open tape, even while a function is being traced.

    In a traced function the block is not part of the program. It sees the actual values of
    Variables, and runs once for each trace. A signal handler that may arrive while a function is
    being traced does its work in such a block.

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
    with state.only([]), xla_settings.evaluating():
        state.trace = state.draws = None
        try:
            yield
        finally:
            state.trace, state.draws = trace, draws


class _Here(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()


here = _Here()
"""`here.state` is the calling thread's state."""


def leave_thread(recorder: Recorder, state: ThreadState) -> None:
    """Ends what was entered on the thread of `state`, which must be this one."""
    if here.state is not state:
        raise RuntimeError(
            f"This {type(recorder).__name__} was entered in another thread, where it is still "
            "recording: a `with` block must end in the thread it began in. Enter one in each "
            "thread."
        )
    state.remove(recorder)
