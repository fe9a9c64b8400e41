"""Threads that work ahead of an iterator: bounded, and gone when the iterator is.

No thread holds the iterator that it works for, so that an iterator that nobody has any more is
freed, and ends its threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from time import perf_counter
from typing import Any

from gradtape.data.stage import StageIterator

WORTH_A_THREAD = 0.0003
"""Seconds that an element must take before it is handed to another thread, where that is ours to
decide: handing it over takes some tens of microseconds."""
_TRIED = 3  # elements that are timed first


def cores() -> int:
    """How many threads can compute at the same time."""
    known = hasattr(os, "sched_getaffinity")
    return max(2, len(os.sched_getaffinity(0)) if known else os.cpu_count() or 2)


# Ahead of the one who takes elements


class _Ahead:
    """What a thread has taken from an iterator and nobody has asked for yet."""

    def __init__(self, source: StageIterator, size: int) -> None:
        self.source, self.size = source, size
        self.found: deque[tuple[Any, BaseException | None]] = deque()
        self.changed = threading.Condition()
        self.ended = self.closed = False

    def work(self) -> None:
        """Takes elements while there is room."""
        while True:
            with self.changed:
                while len(self.found) >= self.size and not self.closed:
                    self.changed.wait()
                if self.closed:
                    break
            try:
                item: tuple[Any, BaseException | None] = next(self.source), None
            except StopIteration:
                break
            except BaseException as error:  # noqa: BLE001 - raised where the element is asked for
                item = None, error
            with self.changed:
                self.found.append(item)
                self.changed.notify_all()
            del item  # what has been taken is not kept while the next one is waited for
        self.source.close()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.found.clear()
            self.changed.notify_all()


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
        with ahead.changed:
            while not ahead.found:
                if ahead.ended or ahead.closed:
                    raise StopIteration
                ahead.changed.wait()
            element, error = ahead.found.popleft()
            ahead.changed.notify_all()
        if error is not None:
            raise error
        return element

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
            self._thread.join(10)  # one that waits for ever in the user's code is left behind

    def __del__(self) -> None:
        if self._ahead is not None:
            self._ahead.close()


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
        return self._call(element, self._at - 1)

    def skip(self, count: int) -> None:
        self.inputs[0].skip(count)
        self._at += count


class SideBySide(StageIterator):
    """A function of each element, called in several threads."""

    def __init__(
        self, source: StageIterator, call: Call, workers: int, *, in_order: bool, at: int = 0
    ) -> None:
        super().__init__(source)
        self._call, self._workers, self._in_order = call, workers, in_order
        self._at = at
        self._pending: deque[Future[Any]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._ended = False

    def __next__(self) -> Any:
        self._fill()
        if not self._pending:
            raise StopIteration
        self._wait()
        result = self._pending[0]
        try:
            return result.result()
        finally:
            if result.done():  # else a signal has interrupted the waiting
                self._pending.popleft()

    def _fill(self) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._workers, "gradtape-map")
        while len(self._pending) <= self._workers and not self._ended:
            try:
                element = next(self.inputs[0])
            except StopIteration:
                self._ended = True
            except Exception as error:  # noqa: BLE001 - raised in its turn
                failed: Future[Any] = Future()
                failed.set_exception(error)
                self._pending.append(failed)
            else:
                self._pending.append(self._pool.submit(self._call, element, self._at))
                self._at += 1

    def _wait(self) -> None:
        """Brings what is ready to the front, if the order does not matter."""
        if self._in_order or self._pending[0].done():
            return
        wait(self._pending, return_when=FIRST_COMPLETED)
        place = next(i for i, future in enumerate(self._pending) if future.done())
        self._pending.rotate(-place)

    def skip(self, count: int) -> None:
        if self._pending:
            super().skip(count)
        else:
            self.inputs[0].skip(count)
            self._at += count

    def close(self) -> None:
        self._ended = True
        self._pending.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        super().close()

    def __del__(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


class AsItPays(StageIterator):
    """A function of each element: in turn, and side by side once its calls prove slow."""

    def __init__(self, source: StageIterator, call: Call, *, in_order: bool) -> None:
        super().__init__(source)
        self._call, self._in_order = call, in_order
        self._at = 0
        self._seconds: list[float] = []
        self._parallel: SideBySide | None = None

    def __next__(self) -> Any:
        if self._parallel is not None:
            return next(self._parallel)
        element = next(self.inputs[0])
        start = perf_counter()
        self._at += 1
        try:
            return self._call(element, self._at - 1)
        finally:
            self._note(perf_counter() - start)

    def _note(self, seconds: float) -> None:
        self._seconds = [*self._seconds[1 - _TRIED :], seconds]
        if len(self._seconds) == _TRIED and min(self._seconds) > WORTH_A_THREAD:
            self._parallel = SideBySide(
                self.inputs[0], self._call, cores(), in_order=self._in_order, at=self._at
            )

    def skip(self, count: int) -> None:
        if self._parallel is not None:
            self._parallel.skip(count)
        else:
            self.inputs[0].skip(count)
            self._at += count

    def close(self) -> None:
        if self._parallel is not None:
            self._parallel.close()
        else:
            super().close()
