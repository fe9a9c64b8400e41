"""Tables of figures by line of code, as plain text and as HTML.

Everything that comes from the user's code is escaped in HTML.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Sequence
from html import escape

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_SOURCE_WIDTH = 60


class Table:
    """Rows of text under a heading and the names of the columns; `right` are the columns that are
    aligned at their ends.
    """

    def __init__(
        self, heading: str, columns: Sequence[str], right: Sequence[int], rows: list[list[str]]
    ) -> None:
        self.heading = heading
        self.columns = columns
        self.right = frozenset(right)
        self.rows = rows

    def text(self) -> str:
        if not self.rows:
            return self.heading
        lines = [[_in_one_line(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.heading, "", *(self._line(line, widths) for line in lines)])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        return "  ".join(
            cell.rjust(width) if i in self.right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    def html(self) -> str:
        parts = [f"<p>{escape(self.heading)}</p>"]
        if self.rows:
            parts += ["<table><thead>", self._html_row("th", self.columns), "</thead><tbody>"]
            parts += [self._html_row("td", row) for row in self.rows]
            parts.append("</tbody></table>")
        return "".join(parts)

    def _html_row(self, tag: str, cells: Sequence[str]) -> str:
        made = [
            f'<{tag} style="text-align:{"right" if i in self.right else "left"}">'
            f"{escape(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        ]
        return f"<tr>{''.join(made)}</tr>"


def _in_one_line(text: str) -> str:
    """Text with what would break a line, or move the cursor, shown as Python writes it."""
    return text if text.isprintable() else repr(text)[1:-1]


def size(count: int) -> str:
    """A number of bytes for people."""
    if not count:
        return "0"
    number, unit = float(count), 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{count} B" if not unit else f"{number:.1f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """A time for people."""
    if not seconds:
        return "0"
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} µs"


def place(file: str, line: int) -> str:
    """File and line, without the folders."""
    return f"{os.path.basename(file)}:{line}" if file else ""  # noqa: PTH119 - pathlib takes 4 ms


def source(file: str, line: int) -> str:
    """The text of a line of code, if it can be found."""
    text = linecache.getline(file, line).strip() if file else ""
    return text if len(text) <= _SOURCE_WIDTH else text[: _SOURCE_WIDTH - 1] + "…"
