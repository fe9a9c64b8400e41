"""The tables of a profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape.inspect.tables import Table, duration, place, size, source
from gradtape.inspect.timeline import Compilation, ProfileRow, Sums

_BY_OP = ("time", "forward", "backward", "compiling", "calls", "pulls", "made", "op")
_BY_LINE = (*_BY_OP, "line", "source")


def tables_of(sums: Sums, by: str, sort: str, limit: int | None) -> list[Table]:
    """The rows of a profile, and if there are any, its compilations."""
    if by not in ("line", "op"):
        raise ValueError(f"profile: by must be 'line' or 'op', got {by!r}.")
    if sort not in ORDERS:
        raise ValueError(f"profile: sort must be one of {', '.join(ORDERS)}, got {sort!r}.")
    if limit is not None and limit < 0:
        raise ValueError(
            f"profile: limit must be a number of rows, 0 or more, or None for all, got {limit!r}."
        )
    rows = sums.rows() if by == "line" else _by_op(sums.rows())
    rows.sort(key=ORDERS[sort])
    shown = rows if limit is None else rows[:limit]
    calls, pulls = sum(row.calls for row in rows), sum(row.pulls for row in rows)
    heading = (
        f"{_counted(calls, 'call')} and {_counted(pulls, 'pull')} took "
        f"{duration(sum(row.time for row in rows))} of {duration(sums.seconds)}; the rest is "
        "Python between them."
    )
    if len(shown) < len(rows):
        heading += f" The first {len(shown)} of {len(rows)} rows:"
    columns = _BY_LINE if by == "line" else _BY_OP
    tables = [Table(heading, columns, range(7), [_cells(row, by) for row in shown])]
    if sums.compilations:
        tables.append(_table_of(sums.compilations))
    return tables


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


ORDERS: dict[str, Callable[[ProfileRow], Any]] = {
    "time": lambda row: -row.time,
    "forward": lambda row: -row.forward,
    "backward": lambda row: -row.backward,
    "compiling": lambda row: -row.compiling,
    "calls": lambda row: -row.calls,
    "bytes": lambda row: -row.bytes,
    "line": lambda row: (row.file, row.line),
}


def _by_op(rows: Sequence[ProfileRow]) -> list[ProfileRow]:
    found: dict[str, ProfileRow] = {}
    for row in rows:
        name, alone = row.op, row._replace(file="", line=0, function="")
        found[name] = alone.plus(found[name]) if name in found else alone
    return list(found.values())


def _cells(row: ProfileRow, by: str) -> list[str]:
    cells = [
        duration(row.time), duration(row.forward), duration(row.backward),
        duration(row.compiling), str(row.calls), str(row.pulls), size(row.bytes), row.op,
    ]  # fmt: skip
    return cells if by == "op" else [*cells, place(row.file, row.line), source(row.file, row.line)]


def _table_of(compilations: Sequence[Compilation]) -> Table:
    heading = f"Functions were traced or compiled {_counted(len(compilations), 'time')}:"
    columns = ["tracing", "compiling", "function", "defined", "why"]
    rows = [
        [duration(c.tracing), duration(c.compiling), c.function, place(c.file, c.line), c.why]
        for c in compilations
    ]
    return Table(heading, columns, (0, 1), rows)
