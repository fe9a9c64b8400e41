"""Keeps freed array memory in the process, instead of returning it to the system.

A training step frees what it has recorded and then asks for as much again. glibc returns the memory
to the system in between, and the system hands out pages one by one as they are touched: for arrays
of a few hundred kilobytes that takes longer than computing them. So up to 64 MB of freed memory
stay in the process, for the next arrays.

A compiled program asks for all its memory at once, at each call: for a transformer of two small
layers 50 MB, whose pages took half of its training step. Three times as much as the largest
program needs stays too, up to 1 GB, and of one copy up to a sixteenth of the machine's memory: what
is small may come to lie in a gap that was kept for a program, which then takes another one, and the
convolutions of a program take memory of their own beside it. With one copy alone, each step of a
variational autoencoder that needs 79 MB fetched 14,000 pages anew, and took 46 ms, not 34.

glibc would keep as much for each thread, in an arena of its own, so all threads share one. There
it keeps whatever lies below a block that is still in use; what a thread has freed is returned when
one of its large recordings ends, and when the thread ends.

`GRADTAPE_MALLOC=default` in the environment, or any setting of glibc's own, leaves everything as it
is.
"""

from __future__ import annotations

import os
import sys
import threading
from time import monotonic
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # the names of glibc's malloc.h
LARGEST = 32 * 2**20
"""Arrays above this come from the system, unless there is room for them; some versions of glibc
allow no more.
"""
_MOST = 2**30  # for programs
_AROUND = 2**20  # what is asked for besides, for its alignment
_BESIDE = 3  # as much as the program and the gaps around its memory
# Seconds between two times that memory is given back: the pages that are used again have to be
# fetched again.
_PAUSE = 1.0

_library: Any = None  # the C library, if it does as it was told
_limit = 0
_room = 0  # what is kept for compiled programs
_last = 0.0


def keep_freed_memory(limit: int = 64 * 2**20) -> bool:
    """Keeps up to `limit` bytes of freed memory for the arrays to come; returns whether the C
    library supports it.

    Settings of glibc's malloc in the environment are left alone.
    """
    global _library, _limit
    settings = [name for name in os.environ if name.startswith(("MALLOC_", "GLIBC_TUNABLES"))]
    if sys.platform != "linux" or settings or os.environ.get("GRADTAPE_MALLOC") == "default":
        return False
    import ctypes  # noqa: PLC0415 - NumPy has loaded it already where it is there at all

    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt") or not hasattr(library, "malloc_trim"):
        return False
    if (
        library.mallopt(_MMAP_THRESHOLD, LARGEST) != 1
        or library.mallopt(_TRIM_THRESHOLD, limit) != 1
        or library.mallopt(_ARENA_MAX, 1) != 1
    ):
        return False
    _library, _limit = library, limit
    return True


def make_room(size: int) -> None:
    """Keeps freed memory besides for programs that ask for `size` bytes in one piece; a later call
    takes the place of an earlier one.
    """
    global _room
    if _library is None:
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    size = min(size, memory // 16, _MOST)
    if size != _room:
        _room = size
        _library.mallopt(_MMAP_THRESHOLD, max(LARGEST, size + _AROUND))
        _library.mallopt(_TRIM_THRESHOLD, _limit + max(size, min(_BESIDE * size, _MOST)))


def give_back(*, at_once: bool = False) -> None:
    """Returns all freed memory to the system, unless that was done just now."""
    global _last
    now = monotonic()
    if _library is not None and (at_once or now - _last > _PAUSE):
        _last = now
        _library.malloc_trim(0)


class OfThread:
    """Belongs to one thread, and is freed when the thread ends."""

    def __init__(self) -> None:
        self._has_freed = False
        self._is_main = threading.current_thread() is threading.main_thread()

    def has_freed(self) -> None:
        """A large recording is over."""
        if self._is_main or _library is None:
            return
        self._has_freed = True
        give_back()

    def __del__(self) -> None:
        if self._has_freed:
            give_back(at_once=True)


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.memory = OfThread()


this_thread = _PerThread()
