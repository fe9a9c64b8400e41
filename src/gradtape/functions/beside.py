"""`Compiling`: XLA compiles a program on a thread of its own, while its calls run on gradtape's own
ops.

XLA does not hold Python's lock while it compiles, and that is most of the time that the first call
of a function would wait. What JAX does before that is Python, which would take turns with the call,
so it begins when the first call is over, or has taken long.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter, sleep

from gradtape.functions.staging import Part

_BEGIN = 0.05  # seconds that a call may take before XLA begins beside it
_PAUSE = 1e-3  # seconds; a lock could not be waited for again in a signal handler


class Compiling:
    """A program that is being compiled, or waits for its turn."""

    def __init__(self, part: Part) -> None:
        self._is_done = False
        # Whoever takes it out compiles it.
        self._to_do = [weakref.ref(part)]
        try:
            _turns.begin(self)
        except RuntimeError:  # no thread can be started: the next call compiles it
            self.wait()

    @property
    def is_over(self) -> bool:
        """The same as `is_done`, as far as it is known."""
        return self._is_done

    def is_done(self) -> bool:
        """Whether a call need not wait for it any more."""
        if not self._is_done:
            try:
                _turns.work()  # a signal may have kept the thread from starting
            except RuntimeError:
                self.wait()
        return self._is_done

    def compile(self) -> None:
        """Lets XLA compile it, on this thread, unless that has been left to a call."""
        try:
            part = self._to_do.pop()()
            if part is not None and threading.main_thread().is_alive():
                part.compile()
        except Exception:  # noqa: BLE001, S110 - the next call compiles it, and raises this there
            pass
        finally:
            self._is_done = True

    def wait(self) -> None:
        """Returns when it is compiled; what has not begun is left to the caller."""
        try:
            self._to_do.pop()
        except IndexError:
            while not self._is_done:
                sleep(_PAUSE)
        self._is_done = True


class NotOnNumpyError(Exception):
    """Ends a run on gradtape's own ops that has written nothing: the call is to run compiled."""


class Meanwhile:
    """Called by a run on gradtape's own ops before each of them: lets XLA begin if it takes long,
    and ends it when the program is compiled.
    """

    def __init__(
        self, compiling: Callable[[], Compiling | None], begin: Callable[[], None]
    ) -> None:
        self._compiling = compiling
        self._begin = begin
        self._until = perf_counter() + _BEGIN

    def __call__(self) -> None:
        compiling = self._compiling()
        if compiling is None:
            if perf_counter() > self._until:
                self._until = math.inf
                self._begin()
        elif compiling.is_over:
            raise NotOnNumpyError


class _Turns:
    """The thread that compiles one program after the other, as long as there are any.

    When the process ends, what has begun is completed, and what waits is left alone.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # signal handlers call functions too
        self._waiting: deque[Compiling] = deque()
        self._thread: threading.Thread | None = None

    def begin(self, compiling: Compiling) -> None:
        self._waiting.append(compiling)
        self.work()

    def work(self) -> None:
        """Sees to it that a thread is at work, if there is anything to do."""
        with self._lock:
            thread = self._thread
            if self._waiting and (thread is None or not thread.is_alive()):
                # Not a daemon: XLA must not be at work while the process takes itself apart.
                thread = threading.Thread(target=self._work, name="gradtape compiles")
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        sleep(_PAUSE)  # the call that has started it returns first
        while True:
            with self._lock:
                if not self._waiting:
                    if self._thread is threading.current_thread():
                        self._thread = None
                    return
                compiling = self._waiting.popleft()
            compiling.compile()
            del compiling

    def wait(self) -> None:
        """Returns when all are done."""
        thread = self._thread
        if thread is not None:
            thread.join()


_turns = _Turns()


def _after_fork() -> None:
    global _turns
    _turns = _Turns()  # the thread of the old ones, and who has their lock, are the parent's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
