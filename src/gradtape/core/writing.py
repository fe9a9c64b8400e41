"""`writing`: the lock of programs that write Variables, so that every thread sees a Variable before or after a write.

Such a program is handed the Variable's memory for good, and writes over it. Whoever reads a Variable meanwhile finds that memory gone,
and waits here for the new value.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _OnHost(threading.local):
    calls = 0


_on_host = _OnHost()


def called_back() -> bool:
    """Whether this thread is running something that a program has called, which waits for it."""
    return _on_host.calls > 0


@contextmanager
def being_called_back() -> Iterator[None]:
    """A block that a program has called."""
    _on_host.calls += 1
    try:
        yield
    finally:
        _on_host.calls -= 1


class _Writing:
    """A lock that a thread may take twice. What a program calls on the host may call functions too, on any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if not called_back():
            self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        if not called_back():
            self._lock.release()


writing = _Writing()
