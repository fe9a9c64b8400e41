"""Keeps freed array memory in the process, instead of returning it to the system.

A training step frees what it has recorded and then asks for as much again. glibc returns the memory
to the system in between, and the system hands out pages one by one as they are touched: for arrays
of a few hundred kilobytes that takes longer than computing them. So up to 64 MB of freed memory
stay in the process, for the next arrays.

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
_LARGEST = 32 * 2**20  # arrays above this always come from the system; glibc allows no more
# Seconds between two times that memory is given back: the pages that are used again have to be
# fetched again.
_PAUSE = 1.0

_library: Any = None  # the C library, if it does as it was told
_last = 0.0


def keep_freed_memory(limit: int = 64 * 2**20) -> bool:
    """Keeps up to `limit` bytes of freed memory for the arrays to come; returns whether the C
    library supports it.

    Settings of glibc's malloc in the environment are left alone.
    """
    global _library
    settings = [name for name in os.environ if name.startswith(("MALLOC_", "GLIBC_TUNABLES"))]
    if sys.platform != "linux" or settings or os.environ.get("GRADTAPE_MALLOC") == "default":
        return False
    import ctypes  # noqa: PLC0415 - NumPy has loaded it already where it is there at all

    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt") or not hasattr(library, "malloc_trim"):
        return False
    if (
        library.mallopt(_MMAP_THRESHOLD, _LARGEST) != 1
        or library.mallopt(_TRIM_THRESHOLD, limit) != 1
        or library.mallopt(_ARENA_MAX, 1) != 1
    ):
        return False
    _library = library
    return True


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
