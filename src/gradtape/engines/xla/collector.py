"""Python's garbage collector during calls of JAX: where it could make Python crash, it is off until
they end.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from gradtape.blocks import Block

COLLECTS_ANYWHERE = sys.version_info < (3, 12)
"""Whether Python can collect garbage in the middle of a C call, and not only between two bytecode
instructions.
"""


class Uncollected(Block):
    """A block in which JAX is used, without garbage collections on Python 3.11.

    Collection resumes when all threads have left such blocks.

    On that version jaxlib collects the source lines of an operation in a buffer of the thread, and
    then creates an object for them, which may start a garbage collection. If a finalizer, or a
    signal handler that runs during it, uses JAX, its lines overwrite the buffer, code objects are
    released once too often, and Python crashes.
    """

    entered: ClassVar[set[Uncollected]] = set()
    collects: ClassVar[bool] = False  # whether the collector is to be on again afterwards
    lock: ClassVar[Any] = threading.RLock()

    def enter(self) -> None:
        with self.lock:
            self.entered.add(self)
            if gc.isenabled():
                Uncollected.collects = True
                gc.disable()

    def leave(self) -> None:
        with self.lock:
            self.entered.discard(self)
            if not self.entered and Uncollected.collects:
                gc.enable()
                Uncollected.collects = False  # in this order: what is interrupted is done again

    @classmethod
    def collects_again(cls) -> None:
        """The collector is on again, or will be when the last block is left."""
        with cls.lock:
            if cls.entered:
                cls.collects = True
            else:
                gc.enable()


def call_uncollected(function: Callable[..., Any], *args: Any) -> Any:
    """The same for one call of a compiled function, at no extra cost.

    It is all one bytecode instruction, except for a garbage collection in it: that runs finalizers,
    and what JAX does after each, so signal handlers can run in the middle of the call.
    """
    if not COLLECTS_ANYWHERE or not gc.isenabled():
        return function(*args)
    is_off = True  # noqa: F841 - for `_before_fork`
    try:
        gc.disable()
        return function(*args)
    finally:  # nothing is answered here before the collector is on
        if Uncollected.entered:
            Uncollected.collects_again()
        else:
            gc.enable()


_off_for_a_call = False


def _before_fork() -> None:
    """Finds out for the child whether the collector is off for a call on a thread that only the
    parent has: the call itself says so to nobody, and is as fast as it can be.
    """
    global _off_for_a_call
    _off_for_a_call = False
    if COLLECTS_ANYWHERE and not gc.isenabled():
        for frame in sys._current_frames().values():
            inner: Any = frame
            while inner is not None and not _off_for_a_call:
                is_the_call = inner.f_code is call_uncollected.__code__
                _off_for_a_call = is_the_call and "is_off" in inner.f_locals
                inner = inner.f_back


def _after_fork() -> None:
    Uncollected.lock = threading.RLock()
    Uncollected.entered.clear()  # by threads that only the parent has
    if Uncollected.collects or _off_for_a_call:
        Uncollected.collects = False
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
