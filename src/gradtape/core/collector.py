"""Keeps Python's garbage collector from scanning long recordings again and again.

A recording is one growing structure without garbage. The collector scans all live objects whenever
their number has grown by a quarter, so each Node of a long recording is scanned five times on
average, which takes most of the recording's time. While there is a long recording, all objects are
scanned only when the recording has become four times as long; young objects are collected as usual.
"""

from __future__ import annotations

import gc
import threading

LONG = 5_000
"""A recording with at least this many Nodes is long."""

_NEVER = 10**9
_lock = threading.RLock()
_recordings = 0
_before: tuple[int, int, int] | None = None


def begin() -> bool:
    """Begins a long recording; returns whether `end` must be called, which is not the case where
    automatic collection is off.
    """
    global _recordings, _before
    with _lock:
        first, second, third = gc.get_threshold()
        if not gc.isenabled() or not first or (_before is None and third >= _NEVER):
            return False
        if _before is None:
            _before = first, second, third
            gc.set_threshold(first, second, _NEVER)
        _recordings += 1
        return True


def grown() -> None:
    """A long recording has become much longer."""
    if gc.isenabled():
        gc.collect()


def end() -> None:
    """Ends a long recording; a threshold that somebody else has set meanwhile stays."""
    global _recordings, _before
    with _lock:
        _recordings -= 1
        if not _recordings and _before is not None:
            if gc.get_threshold() == (*_before[:2], _NEVER):
                gc.set_threshold(*_before)
            _before = None
