"""The source code that a page shows: the lines that matter, with a few around them."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from typing import Any

_AROUND = 6
_WIDEST = 400


class Listing:
    """The files of the lines that were asked for, numbered in the order of asking."""

    def __init__(self) -> None:
        self._lines: dict[str, set[int]] = {}
        self._numbers: dict[str, int] = {}

    def file(self, name: str, line: int) -> int:
        """The number of a file, of which a line is to be shown."""
        self._lines.setdefault(name, set()).add(line)
        return self._numbers.setdefault(name, len(self._numbers))

    def files(self) -> list[dict[str, Any]]:
        """Each file: its name, and the number and text of the lines to show, in order."""
        return [{"path": name, "lines": _shown(name, lines)} for name, lines in self._lines.items()]


def _shown(name: str, lines: Iterable[int]) -> list[tuple[int, str]]:
    text = linecache.getlines(name) if name else []
    wanted = {
        near
        for line in lines
        for near in range(max(1, line - _AROUND), min(len(text), line + _AROUND) + 1)
    }
    return [(number, _trimmed(text[number - 1])) for number in sorted(wanted)]


def _trimmed(text: str) -> str:
    text = text.rstrip("\r\n").expandtabs(4)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
