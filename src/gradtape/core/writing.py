"""`writing.lock`: the lock of programs that write Variables, so that no thread sees a Variable
during a write.

The Variable's memory is donated to such a program, which overwrites it. A thread that reads the
Variable meanwhile finds that memory gone, and waits here for the new value. Eager code takes the
lock too where it changes a Variable while there are other threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from functools import partial
from operator import call
from typing import Any

from gradtape.blocks import block


class _Writing(threading.local):
    """Python's own reentrant lock, so that no signal can arrive between taking it and noting that
    it is taken.

    A host call of a program may itself call functions, on any thread, while the program's own
    thread holds the lock and waits. There a separate lock is used.
    """

    lock = threading.RLock()


writing = _Writing()


def is_free() -> bool:
    """Whether this thread can take the lock at once."""
    lock = writing.lock
    take_and_give_back: tuple[Any, ...] = (partial(lock.acquire, blocking=False), lock.release)
    try:
        # All in one call, so that no signal is answered while the lock is taken.
        deque(map(call, take_and_give_back), 0)
    except RuntimeError:  # it was not taken, and cannot be given back
        return False
    return True


@block
def being_called_back() -> Iterator[None]:
    """A block that runs as a host call of a program."""
    before, writing.lock = writing.lock, threading.RLock()
    try:
        yield
    finally:
        writing.lock = before


def _after_fork() -> None:
    _Writing.lock = threading.RLock()  # a thread that is no more may have had the old one
    vars(writing).pop("lock", None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
