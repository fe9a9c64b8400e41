"""Which line of the user's code ran an op: the caller's frame is noted, and the line is looked up
only when needed.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from types import CodeType, FrameType
from typing import NamedTuple
from weakref import ref

from gradtape.core.thread import here


class _OwnFiles(dict[str, bool]):
    """Whether a source file is part of this package, or of other code below the user's lines: the
    compiler that calls back into it, and folders that a package built on this one adds. Computed
    once per file.
    """

    # pathlib takes 4 ms to import.
    root = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120

    def __init__(self) -> None:
        self._between: list[str] = []
        self.add_between("jax", "_src")

    def add_between(self, *folder: str) -> None:
        """Skips the files below a folder, given by the last parts of its path."""
        # pathlib takes 4 ms to import.
        self._between.append(os.path.join("", *folder, ""))  # noqa: PTH118

    def __missing__(self, filename: str) -> bool:
        own = self[filename] = filename.startswith(self.root) or any(
            folder in filename for folder in self._between
        )
        if not own:
            users_files.add(filename)
        return own


users_files: set[str] = set()
"""The files known to be the user's: what generated code checks first, since a set is fastest."""

own_files = _OwnFiles()


def caller() -> tuple[CodeType, int]:
    """Where the innermost frame outside this package is: code object and instruction offset.

    The search begins above the calling function, which is always part of this package. For a call
    that a program runs again, it is the place where the call was traced.
    """
    if here.state.where is not None:
        return here.state.where
    frame = outside(sys._getframe(2))
    return frame.f_code, frame.f_lasti


def outside(frame: FrameType) -> FrameType:
    """The innermost frame at or above `frame` that is not this package's."""
    while own_files[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame


class Location(NamedTuple):
    """A place in the user's source code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


# Of the code that was asked about last: itself, where its lines begin, and their numbers. A long
# program of one function is asked about many times.
_latest: tuple[ref[CodeType], list[int], list[int | None]] | None = None


def locate(code: CodeType, offset: int) -> Location:
    """File and line of an instruction."""
    global _latest
    latest = _latest
    if latest is None or latest[0]() is not code:
        parts = list(code.co_lines())
        # Behind the last one there is no line.
        starts = [*(start for start, _, _ in parts), parts[-1][1]]
        numbers = [*(number for _, _, number in parts), None]
        latest = _latest = ref(code), starts, numbers
    _, starts, numbers = latest
    place = bisect_right(starts, offset) - 1
    line = numbers[place] if place >= 0 else None
    return Location(code.co_filename, line or code.co_firstlineno, code.co_qualname)
