"""`profile`: where the time of a block goes, by line of code and op.

While it is on, it is an observer of the thread (see `core.observers`) that appends one tuple for
each kernel, rule and call of a function. Everything else is found out when somebody asks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from threading import get_ident
from time import perf_counter_ns
from types import CodeType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gradtape import nest
from gradtape.blocks import Block
from gradtape.core import observers
from gradtape.core.location import Location, caller, outside, own_files
from gradtape.core.node import Node
from gradtape.core.observers import Observer, OtherRules
from gradtape.core.path import Path
from gradtape.core.recording import Recording
from gradtape.core.thread import here
from gradtape.engines.engine import waited_for
from gradtape.engines.numpy.threads import shared
from gradtape.engines.xla import profiler as xla_profiler
from gradtape.inspect.timed import TimedRule, bytes_made, nbytes, when_done
from gradtape.inspect.timeline import (
    CALL,
    COMPILE,
    FORWARD,
    SECTION,
    TRACE,
    WALK,
    Compilation,
    Event,
    ProfileRow,
    Section,
    Sums,
    Timeline,
)
from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.inspect.tables import Table

_FULL = 2**17
"""So many events are kept as they come, before they are summed up."""


@published("profile")
class profile(Observer, Block):  # noqa: N801 - it is used like a function
    """Measures the ops, gradients and compiled functions of a block on this thread: time forward
    and backward by line of code and op, calls, bytes made, and why functions were traced.

    `table()` is for people, `rows` and `compilations` are for programs, and `to_chrome_trace`
    writes a file for Perfetto. Profiles nest; a block may be entered again, and adds up. Ops on XLA
    are waited for, so that their time is theirs. Other threads are not measured.

    >>> import gradtape as tf
    >>> x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    >>> with tf.profile() as p:
    ...     with tf.GradientTape() as tape:
    ...         loss = tf.reduce_sum(tf.tanh(x @ x))
    ...     gradient = tape.gradient(loss, x)
    >>> sorted((row.op, row.calls, row.pulls) for row in p.rows if row.calls)
    [('matmul', 1, 1), ('reduce_sum', 1, 1), ('tanh', 1, 1)]
    """

    _instead_of_a_copy = "take its `rows`, `compilations` and `sections`."

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._timeline = Timeline()
        self._state: Any = None
        self._thread = self._began = 0
        self._timed_ops: dict[Any, TimedRule] = {}
        self._depth = 0  # of walks and calls that are under way

    # Begin and end

    def enter(self) -> None:
        if self._state is not None:
            raise ValueError("profile: this profile is on already; make another one to nest them.")
        self._began, self._thread = perf_counter_ns(), get_ident()
        self._state = here.state
        xla_profiler.listen(self._compiled)
        observers.begin(self)

    def leave(self) -> None:
        if self._state is None:
            return
        if here.state is not self._state:
            raise RuntimeError(
                "This profile was entered in another thread, where it is still on: a `with` block "
                "must end in the thread it began in. Enter one in each thread."
            )
        observers.end(self)
        xla_profiler.stop_listening(self._compiled)
        self._timeline.measured(self._began, perf_counter_ns())
        self._state = None
        self._depth = 0
        self._settle()

    # What it sees

    def around_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The same, measured: about a microsecond for each kernel, so it is all in one function."""
        events, state, forward, full = self._events, here.state, FORWARD, _FULL
        add, clock, own, getframe, ndarray = (
            events.append, perf_counter_ns, own_files, sys._getframe, np.ndarray,
        )  # fmt: skip

        def timed(kernel: Callable[..., Any], /, *args: Any, **params: Any) -> Any:
            start = clock()
            result = run(kernel, *args, **params)
            end = clock()
            where = state.where
            if where is None:
                try:
                    frame = getframe(2)  # above the op: to look at a frame takes long
                except ValueError:  # there is nothing above
                    frame = getframe(1)
                code = frame.f_code
                if own[code.co_filename]:
                    frame = outside(frame)
                    code = frame.f_code
                where = (code, frame.f_lasti)
            made = (
                (result.nbytes if result.base is None else 0)
                if type(result) is ndarray
                else bytes_made(result)
            )
            add((forward, args[0] if kernel is shared else kernel, where, start, end, made))
            if len(events) > full:
                self._settle()
            return result

        return timed

    def around_run_on_xla(self, run: Callable[..., Any]) -> Callable[..., Any]:
        state = here.state

        def timed(kernel: Callable[..., Any], /, *arrays: Any, **params: Any) -> Any:
            if state.trace is not None:
                return run(kernel, *arrays, **params)
            start = perf_counter_ns()
            result = waited_for(run(kernel, *arrays, **params))
            end = perf_counter_ns()
            made = bytes_made(result)
            # It may have XLA compile, like a call of a function.
            self._events.append((CALL, kernel, caller(), start, end, made))
            return result

        return timed

    def around_walk(self, walk: Callable[..., Any], *args: Any) -> Any:
        if here.state.trace is not None:  # that is the time of the tracing
            return walk(*args)
        return self._measured(WALK, "gradient", caller(), self._timed_walk, walk, *args)

    def around_rows(self, walk: Callable[..., Any], *args: Any) -> Any:
        return self._measured(WALK, "jacobian", caller(), walk, *args)

    def _timed_walk(
        self,
        walk: Callable[..., Any],
        seeds: dict[Node, Any],
        sources: Any,
        recording: Recording,
        release: bool,
    ) -> Any:
        """A walk through rules that are timed."""
        # All of them, if they are all needed: that is soon said.
        whole = release and recording.is_apart()
        nodes = list(recording.nodes) if whole else Path(seeds, (), recording).nodes
        if None in nodes:  # a sweep was interrupted
            nodes = [node for node in nodes if node is not None]
        timed: dict[Any, TimedRule] = {}
        timed_ops, events = self._timed_ops, self._events

        def timed_rule(rule: Any) -> TimedRule:
            found = timed_ops.get(rule) or timed.get(rule)
            if found is None:
                found = TimedRule(rule, events)
                # The rules of ops stay; others hold what they saved.
                (timed if rule.pull_into is None else timed_ops)[rule] = found
            return found

        with OtherRules(nodes, timed_rule):
            return walk(seeds, sources, recording, release)

    def around_call(self, function: Any, call: Callable[[], Any]) -> Any:
        name = getattr(function, "_name", None) or function.name
        return self._measured(CALL, name, caller(), lambda: when_done(function, call()))

    def _measured(
        self,
        kind: int,
        name: str,
        where: tuple[CodeType, int],
        run: Callable[..., Any],
        *args: Any,
    ) -> Any:
        """Runs something in which other things are measured too."""
        made = 0
        start = perf_counter_ns()
        self._depth += 1
        try:
            result = run(*args)
            made = sum(map(nbytes, nest.flatten(result))) if kind == CALL else 0
            return result
        finally:
            self._depth -= 1
            self._events.append((kind, name, where, start, perf_counter_ns(), made))

    def traced(
        self, name: str, place: Location | None, start: int, end: int, why: Sequence[str]
    ) -> None:
        xla_profiler.listen(self._compiled)  # JAX may have been loaded only now
        self._events.append((TRACE, name, (place, tuple(why)), start, end, 0))

    def _compiled(self, seconds: float) -> None:
        if get_ident() == self._thread:
            end = perf_counter_ns()
            self._events.append((COMPILE, "", None, end - round(seconds * 1e9), end, 0))

    def section(self, name: str, start: int, end: int, about: dict[str, Any]) -> None:
        self._events.append((SECTION, name, about, start, end, 0))

    def _settle(self) -> None:
        """Sums up the events so far, unless some that belong around them are still to come."""
        if not self._depth:
            self._timeline.add(self._events)
            self._events.clear()

    # What it tells

    def _sums(self) -> Sums:
        """All sums; those of a walk or call that is under way are not there yet."""
        self._settle()
        if self._state is None:
            return self._timeline.sums
        return self._timeline.sums_until_now(self._began, perf_counter_ns())

    @property
    def rows(self) -> list[ProfileRow]:
        """The time of each op of each line, the longest first."""
        return sorted(self._sums().rows(), key=lambda row: -row.time)

    @property
    def compilations(self) -> list[Compilation]:
        """Every tracing of a function, in order, with what it took to compile it, and why."""
        return list(self._sums().compilations)

    @property
    def sections(self) -> list[Section]:
        """The blocks of `tf.profiler.experimental.Trace`, in the order in which they ended."""
        self._settle()
        return self._timeline.sections()

    @property
    def seconds(self) -> float:
        """How long the block took."""
        return self._sums().seconds

    def table(self, by: str = "line", sort: str = "time", limit: int | None = 50) -> str:
        """The figures as plain text: a row for each op of each line, or `by="op"` for each op.

        `sort` is "time", "forward", "backward", "compiling", "calls", "bytes" or "line". No more
        than `limit` rows are shown.

        >>> import gradtape as tf
        >>> with tf.profile() as p:
        ...     y = tf.exp(tf.ones([1000, 1000]))
        >>> print(p.table(by="op"))
        1 call and 0 pulls took ... of ...
        <BLANKLINE>
          time  forward  backward  compiling  calls  pulls  made     op
        ...
        """
        return "\n\n".join([t.text() for t in self._tables(by, sort, limit)])

    def _tables(self, by: str, sort: str, limit: int | None) -> list[Table]:
        # It is not needed before somebody asks, and `import gradtape` is to be short.
        from gradtape.inspect.profile_tables import tables_of  # noqa: PLC0415

        return tables_of(self._sums(), by, sort, limit)

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return "".join([table.html() for table in self._tables("line", "time", 50)])

    def __repr__(self) -> str:
        return f"<profile: {len(self._sums().rows())} rows>"

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a file in Chrome's trace event format, which ui.perfetto.dev and chrome://tracing
        show: every kernel, rule, call, tracing and compilation, and the sections of
        `tf.profiler.experimental.Trace`.

        >>> import gradtape as tf, json, os, tempfile
        >>> with tf.profile() as p:
        ...     y = tf.exp(1.0)
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> p.to_chrome_trace(path)
        >>> with open(path) as file:
        ...     events = json.load(file)["traceEvents"]
        >>> [event["name"] for event in events if event["ph"] == "X"]
        ['exp']
        """
        self._settle()
        self._timeline.write(path, self._thread)

    def __enter__(self) -> Self:
        self.enter()
        return self
