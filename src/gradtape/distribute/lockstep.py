"""`Lockstep`: replicas that run as eager code, each on a thread of its own, but one at a time.

A replica runs until it speaks to the others, or ends; then the next one does. Each has its own
values of the Variables that it assigns: they are put away when its turn is over. At the end they
become one value, as the Variables' `aggregation` says.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.replicas import running
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.functions.replicated import Replaced, Together, together_of


class _Stopped(BaseException):
    """Ends the other replicas after one has failed."""


class _Writes(Replaced):
    """Notes which Variables a replica assigns, and what they were before any replica did."""

    def __init__(self, before: dict[int, tuple[Variable, Any]]) -> None:
        super().__init__()
        self.before = before
        self.written: dict[int, Variable] = {}

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        super().before_write(variable, value, replaces=replaces)
        self.before.setdefault(id(variable), (variable, np.array(variable.array)))
        self.written[id(variable)] = variable


class _Replica:
    """One replica: its thread, what it has assigned, and what it waits with."""

    def __init__(self, number: int, before: dict[int, tuple[Variable, Any]]) -> None:
        self.number = number
        self.writes = _Writes(before)
        self.own: dict[int, Any] = {}  # what it has made of Variables, by their ids
        self.turn = threading.Semaphore(0)
        self.thread: threading.Thread | None = None
        self.result: Any = None
        self.given: Any = None  # what it tells the others
        self.combine: Callable[[list[Any]], Any] | None = None
        self.answer: Any = None
        self.error: BaseException | None = None
        self.is_done = False

    def put_away(self) -> None:
        """Ends its turn: Variables have the values again that they had before all replicas."""
        for key, variable in self.writes.written.items():
            self.own[key] = np.array(variable.array)
            variable.replace(self.writes.before[key][1].copy())

    def take_up(self) -> None:
        """Begins its turn, in which Variables have its own values."""
        for key, array in self.own.items():
            self.writes.before[key][0].replace(array.copy())


class Lockstep:
    """Runs a function once for each replica."""

    def __init__(self, strategy: Any, count: int, parts: Sequence[Variable]) -> None:
        """`parts` are the Variables whose value is the sum of what replicas have, of which all but
        the first begin with zero.
        """
        self._strategy = strategy
        self._before: dict[int, tuple[Variable, Any]] = {}
        self._replicas = [_Replica(i, self._before) for i in range(count)]
        self._main = threading.Semaphore(0)
        self._is_stopped = False
        for variable in parts:
            array = np.array(variable.array)
            self._before[id(variable)] = variable, array
            for replica in self._replicas[1:]:
                replica.own[id(variable)] = np.zeros_like(array)
                replica.writes.written[id(variable)] = variable

    def run(self, contexts: Sequence[Any], call: Callable[[int], Any]) -> list[Any]:
        """What `call` returns for the number of each replica."""
        for replica, context in zip(self._replicas, contexts, strict=True):
            work = (replica, context, call)
            replica.thread = threading.Thread(target=self._run_one, args=work, daemon=True)
            replica.thread.start()
        try:
            while not all(replica.is_done for replica in self._replicas):
                self._round()
        finally:
            self._stop()
        self._write_together()
        return [replica.result for replica in self._replicas]

    def _run_one(self, replica: _Replica, context: Any, call: Callable[[int], Any]) -> None:
        replica.turn.acquire()
        try:
            if not self._is_stopped:
                with (
                    running(self._strategy, context),
                    self._strategy.place(),
                    here.state.only([replica.writes]),
                ):
                    replica.result = call(replica.number)
        except BaseException as error:  # noqa: BLE001 - it is raised where `run` was called
            replica.error = error
        finally:
            replica.is_done = True
            self._main.release()

    def _round(self) -> None:
        """Lets each replica run until it waits for the others."""
        for replica in self._replicas:
            if replica.is_done:
                continue
            replica.take_up()
            try:
                replica.turn.release()
                self._main.acquire()
            finally:
                replica.put_away()
            if replica.error is not None:
                raise replica.error
        waiting = [replica for replica in self._replicas if not replica.is_done]
        if not waiting:
            return
        if len(waiting) < len(self._replicas):
            raise RuntimeError(
                f"Strategy.run: replicas {[replica.number for replica in waiting]} wait for the "
                "others in all_reduce, all_gather or merge_call, which have ended: every replica "
                "must make the same calls."
            )
        combine = waiting[0].combine
        assert combine is not None
        answer = combine([replica.given for replica in waiting])
        for replica in waiting:
            replica.answer, replica.given, replica.combine = answer, None, None

    def meet(self, number: int, value: Any, combine: Callable[[list[Any]], Any]) -> Any:
        """Tells the other replicas a value, and returns what a function makes of all."""
        replica = self._replicas[number]
        replica.given, replica.combine = value, combine
        self._main.release()
        replica.turn.acquire()
        if self._is_stopped:
            raise _Stopped
        return replica.answer

    def _stop(self) -> None:
        """Ends the threads of replicas that have not ended."""
        self._is_stopped = True
        for replica in self._replicas:
            if not replica.is_done:
                replica.turn.release()
        for replica in self._replicas:
            if replica.thread is not None:
                replica.thread.join()

    def _write_together(self) -> None:
        for key, (variable, before) in self._before.items():
            replicas = self._replicas
            if not any(key in replica.own for replica in replicas):
                continue
            own = [replica.own.get(key, before) for replica in replicas]
            replaced = any(key in replica.writes.variables for replica in replicas)
            value = _together(own, before, together_of(variable, replaced=replaced))
            variable.replace(np.asarray(value, before.dtype))


def _together(own: Sequence[Any], before: Any, way: Together) -> Any:
    if way is Together.MEAN:
        return sum(own[1:], start=own[0]) / len(own)
    if way in (Together.SUM, Together.PARTS):
        return sum(own[1:], start=own[0])
    if way is Together.CHANGES:
        return before + sum((value - before for value in own), start=np.zeros_like(before))
    return own[0]
