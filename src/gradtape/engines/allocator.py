"""What the C library does with the memory of arrays that are gone.

A training step frees what it has recorded and then asks for as much again. glibc gives the memory back to the system in between,
and the system hands out pages one by one as they are touched: for arrays of a few hundred kilobytes that takes longer than
computing them.
"""

from __future__ import annotations

import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the names of glibc's malloc.h
_LARGEST = 32 * 2**20  # arrays above this always come from the system; glibc allows no more


def keep_freed_memory(limit: int = 512 * 2**20) -> bool:
    """Keeps up to `limit` bytes of freed memory for the arrays to come; says whether the C library can do so.

    Where the environment has settings for glibc's malloc, they stay as they are.
    """
    settings = [name for name in os.environ if name.startswith(("MALLOC_", "GLIBC_TUNABLES"))]
    if sys.platform != "linux" or settings:
        return False
    import ctypes  # noqa: PLC0415 - NumPy has loaded it already where it is there at all

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_MMAP_THRESHOLD, _LARGEST) == 1 and mallopt(_TRIM_THRESHOLD, limit) == 1
