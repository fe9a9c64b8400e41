"""Threads that work ahead of an iterator: bounded, and gone when the iterator is.

No thread holds the iterator that it works for, so that an iterator that nobody has any more is
freed, and ends its threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

from gradtape.data.stage import StageIterator, raised_later

WORTH_A_THREAD = 0.0003
"""Seconds that an element must take before it is handed to another thread, where that is ours to
decide: handing it over takes some tens of microseconds."""
_TRIED = 3  # elements that are timed first
PATIENCE = 10.0
"""Seconds that closing an iterator waits for its threads: one that waits for ever in the user's
code is left behind."""


def cores() -> int:
    """How many threads can compute at the same time."""
    known = hasattr(os, "sched_getaffinity")
    return max(2, len(os.sched_getaffinity(0)) if known else os.cpu_count() or 2)


# Ahead of the one who takes elements


class _Ahead:
    """What a thread has taken from an iterator and nobody has asked for yet.

    Both sides look again at what is there after each word in a queue: a word too many does no harm,
    and neither does one that a signal has swallowed. (It could leave a Condition locked for ever.)
    """

    def __init__(self, source: StageIterator, size: int) -> None:
        self.source, self.size = source, size
        self.found: deque[tuple[Any, BaseException | None]] = deque()
        self.there: SimpleQueue[None] = SimpleQueue()  # says that something was found
        self.room: SimpleQueue[None] = SimpleQueue()  # says that something was taken
        self.ended = self.closed = False

    def work(self) -> None:
        """Takes elements while there is room."""
        while True:
            while len(self.found) >= self.size and not self.closed:
                self.room.get()
            if self.closed:
                break
            try:
                item: tuple[Any, BaseException | None] = next(self.source), None
            except StopIteration:
                break
            except BaseException as error:  # noqa: BLE001 - raised where the element is asked for
                item = None, error
            self.found.append(item)
            self.there.put(None)
            del item  # what has been taken is not kept while the next one is waited for
        self.source.close()
        self.ended = True
        if self.closed:
            self.found.clear()
        self.there.put(None)

    def take(self) -> tuple[Any, BaseException | None]:
        """What was found first; a StopIteration if there is nothing more."""
        while True:
            is_last = self.ended or self.closed
            if self.found:
                break
            if is_last:
                raise StopIteration
            self.room.put(None)  # a signal may have come before it was said
            self.there.get()
        if self.there.qsize() > self.size:
            _emptied(self.there)
        found = self.found.popleft()
        self.room.put(None)
        return found

    def close(self) -> None:
        self.closed = True
        self.found.clear()
        self.room.put(None)
        self.there.put(None)


def _emptied(queue: SimpleQueue[Any]) -> None:
    """Takes what is in a queue, and leaves it."""
    with suppress(Empty):
        while True:
            queue.get_nowait()


class Prefetched(StageIterator):
    """Elements that a thread takes ahead, at most `size` of them.

    Elements that take no time are taken without a thread, as long as they do.
    """

    def __init__(self, source: StageIterator, size: int) -> None:
        super().__init__(source)
        self._size = size
        self._ahead: _Ahead | None = None
        self._thread: threading.Thread | None = None

    def __next__(self) -> Any:
        ahead = self._ahead
        if ahead is None:
            start = perf_counter()
            element = next(self.inputs[0])
            if perf_counter() - start > WORTH_A_THREAD:
                self._start()
            return element
        found = [*ahead.take()]
        if found[1] is not None:
            raised_later(found.pop())
        return found[0]

    def _start(self) -> None:
        self._ahead = _Ahead(self.inputs[0], self._size)
        self._thread = threading.Thread(
            target=self._ahead.work, name="gradtape-prefetch", daemon=True
        )
        self._thread.start()

    def skip(self, count: int) -> None:
        if self._ahead is None:
            self.inputs[0].skip(count)
        else:
            super().skip(count)

    def close(self) -> None:
        if self._ahead is None:
            super().close()
            return
        self._ahead.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(PATIENCE)

    def __del__(self) -> None:
        ahead = getattr(self, "_ahead", None)  # a signal may come as one is made
        if ahead is not None:
            ahead.close()


# Beside each other

Call = Callable[[Any, int], Any]
"""Calls the user's function with an element, whose number an error names."""


class InTurn(StageIterator):
    """A function of each element, called where the element is asked for."""

    def __init__(self, source: StageIterator, call: Call) -> None:
        super().__init__(source)
        self._call = call
        self._at = 0

    def __next__(self) -> Any:
        element = next(self.inputs[0])
        self._at += 1
        return self._result(element, self._at - 1)

    def _result(self, element: Any, number: int) -> Any:
        return self._call(element, number)

    def skip(self, count: int) -> None:
        self.inputs[0].skip(count)
        self._at += count


class _Task:
    """One call of a function, and how it ended."""

    __slots__ = ("element", "error", "is_done", "is_given", "number", "result")

    def __init__(self, element: Any, number: int, error: BaseException | None = None) -> None:
        self.element, self.number, self.error = element, number, error
        self.result: Any = None
        self.is_done = self.is_given = error is not None


class _Workers:
    """Threads that do tasks. Only queues stand between them and the iterator: a signal can come at
    any moment of these, and leaves none locked, as it may leave a thread pool.
    """

    def __init__(self, call: Call, count: int) -> None:
        self._call, self._count = call, count
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self.done: SimpleQueue[None] = SimpleQueue()  # says that some task was done
        self._threads: list[threading.Thread] = []

    def add(self, task: _Task) -> None:
        if len(self._threads) < self._count:
            thread = threading.Thread(
                target=_work,
                args=(self._call, self._tasks, self.done),
                name=f"gradtape-map_{len(self._threads)}",
                daemon=True,
            )
            thread.start()
            self._threads.append(thread)
        self._tasks.put(task)
        task.is_given = True

    def end(self) -> None:
        """Takes back what no thread has begun, and sends the threads home."""
        _emptied(self._tasks)
        self._tasks.put(None)

    def join(self) -> None:
        end = perf_counter() + PATIENCE
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - perf_counter()))


def _work(call: Call, tasks: SimpleQueue[_Task | None], done: SimpleQueue[None]) -> None:
    while (task := tasks.get()) is not None:
        element = task.element
        if task.is_done:  # it was given twice, as a signal came between
            continue
        try:
            task.result = call(element, task.number)
        except BaseException as error:  # noqa: BLE001 - raised where the element is asked for
            task.error = error
        task.is_done = True
        task.element = None
        del task, element  # what has been taken is not kept while the next one is waited for
        done.put(None)
    tasks.put(None)  # for the next thread


class SideBySide(StageIterator):
    """A function of each element, called in several threads."""

    def __init__(
        self, source: StageIterator, call: Call, workers: int, *, in_order: bool, at: int = 0
    ) -> None:
        super().__init__(source)
        self._size, self._in_order = workers, in_order
        self._workers = _Workers(call, workers)
        self._at = at
        self._pending: deque[_Task] = deque()
        self._ended = False

    def __next__(self) -> Any:
        self._fill()
        if not self._pending:
            raise StopIteration
        self._wait()
        task = self._pending.popleft()
        if task.error is not None:
            failed, task.error = [task.error], None
            raised_later(failed.pop())
        return task.result

    def _fill(self) -> None:
        if self._pending and not self._pending[-1].is_given:  # a signal came between
            self._workers.add(self._pending[-1])
        while len(self._pending) <= self._size and not self._ended:
            try:
                element = next(self.inputs[0])
            except StopIteration:
                self._ended = True
            except Exception as error:  # noqa: BLE001 - raised in its turn
                self._pending.append(_Task(None, self._at, error))
            else:
                task = _Task(element, self._at)
                self._pending.append(task)
                self._at += 1
                self._workers.add(task)

    def _wait(self) -> None:
        """Until the first is ready; if the order does not matter, brings one that is to the front.

        Words in the queue may be of tasks that nobody waits for any more.
        """
        pending, done = self._pending, self._workers.done
        while not pending[0].is_done:
            if not self._in_order:
                ready = next((i for i, task in enumerate(pending) if task.is_done), None)
                if ready is not None:
                    pending.rotate(-ready)
                    return
            done.get()
        if done.qsize() > self._size:
            _emptied(done)

    def skip(self, count: int) -> None:
        if self._pending:
            super().skip(count)
        else:
            self.inputs[0].skip(count)
            self._at += count

    def close(self) -> None:
        self._ended = True
        self._pending.clear()
        self._workers.end()
        self._workers.join()
        super().close()

    def __del__(self) -> None:
        workers = getattr(self, "_workers", None)  # a signal may come as one is made
        if workers is not None:
            workers.end()


class AsItPays(InTurn):
    """A function of each element: in turn, and side by side once its calls prove slow."""

    def __init__(self, source: StageIterator, call: Call, *, in_order: bool) -> None:
        super().__init__(source, call)
        self._in_order = in_order
        self._seconds: list[float] = []
        self._parallel: SideBySide | None = None

    def __next__(self) -> Any:
        if self._parallel is not None:
            return next(self._parallel)
        return super().__next__()

    def _result(self, element: Any, number: int) -> Any:
        start = perf_counter()
        try:
            return self._call(element, number)
        finally:
            self._note(perf_counter() - start)

    def _note(self, seconds: float) -> None:
        self._seconds = [*self._seconds[1 - _TRIED :], seconds]
        if len(self._seconds) == _TRIED and min(self._seconds) > WORTH_A_THREAD:
            self._parallel = SideBySide(
                self.inputs[0], self._call, cores(), in_order=self._in_order, at=self._at
            )

    def skip(self, count: int) -> None:
        if self._parallel is None:
            super().skip(count)
        else:
            self._parallel.skip(count)

    def close(self) -> None:
        if self._parallel is not None:
            self._parallel.close()
        else:
            super().close()
