"""`Timeline`: the events of a profile, summed up by line and op, and written for Perfetto.

An event that lies within another one is part of it. The sums count every moment once: what a rule
calls is the rule's time, what a function calls op by op is the ops' own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from gradtape.core.location import Location, locate
from gradtape.ops.registry import op_of

_TRACED = 2**18
"""So many events are kept for the trace; the sums go on without."""

FIRST = "it was called for the first time"
MORE = "XLA compiled another part of it, such as its gradient"


# The kinds of events. They are plain numbers, since there are many events.
FORWARD = 0  # a kernel, given as such; all others have names
BACKWARD = 1  # a rule in a walk
CALL = 2  # of a compiled function
WALK = 3
TRACE = 4
COMPILE = 5
SECTION = 6  # a block that the user named
_KINDS = ("forward", "backward", "call", "walk", "trace", "compile", "section")

Event = tuple[int, Any, Any, int, int, int]
"""Kind, what, where, start and end in nanoseconds, and the bytes that it made."""


class ProfileRow(NamedTuple):
    """The time of one op in one line of code, in seconds.

    `calls` counts its kernels, or the calls of a function, and `pulls` how often a backward walk
    came through its rule. `bytes` are those of the arrays that it made.
    """

    file: str
    line: int
    function: str
    op: str
    calls: int
    pulls: int
    forward: float
    backward: float
    compiling: float
    bytes: int

    @property
    def time(self) -> float:
        """Of all kinds together."""
        return self.forward + self.backward + self.compiling

    def plus(self, other: ProfileRow) -> ProfileRow:
        return self._replace(
            calls=self.calls + other.calls,
            pulls=self.pulls + other.pulls,
            forward=self.forward + other.forward,
            backward=self.backward + other.backward,
            compiling=self.compiling + other.compiling,
            bytes=self.bytes + other.bytes,
        )


class Compilation(NamedTuple):
    """A function that was traced, and compiled by XLA: how long each took, in seconds, and why."""

    function: str
    file: str
    line: int
    tracing: float
    compiling: float
    why: str


class Section(NamedTuple):
    """A block that the user named."""

    name: str
    about: dict[str, Any]
    seconds: float


class Sums:
    """What a profile has summed up."""

    def __init__(self) -> None:
        # By the identity of a code object, since to hash one takes long, an offset and an op: the
        # place, the op, and the figures of a ProfileRow, in nanoseconds.
        self._by_place: dict[Any, list[Any]] = {}
        self.compilations: list[Compilation] = []
        self.seconds = 0.0

    def copy(self) -> Sums:
        made = Sums()
        made._by_place = {key: list(figures) for key, figures in self._by_place.items()}
        made.compilations = list(self.compilations)
        made.seconds = self.seconds
        return made

    def figures(self, where: Any, what: Any) -> list[Any]:
        """The figures of an op at a place, to be added to."""
        key = what if where is None else (id(where[0]), where[1], what)
        found = self._by_place.get(key)
        if found is None:
            found = self._by_place[key] = [where, what, 0, 0, 0, 0, 0, 0]
        return found

    def rows(self) -> list[ProfileRow]:
        """One for each line and op: instructions of one line, and kernels of one op, meet."""
        found: dict[tuple[Location, str], ProfileRow] = {}
        for (
            where,
            what,
            calls,
            pulls,
            forward,
            backward,
            compiling,
            made,
        ) in self._by_place.values():
            location, op = _location(where), op_name(what)
            key = location, op
            row = ProfileRow(
                *location, op, calls, pulls, forward / 1e9, backward / 1e9, compiling / 1e9, made
            )
            found[key] = row.plus(found[key]) if key in found else row
        return list(found.values())


class Timeline:
    """The events of a profile: `sums` of all, and the first ones as they were."""

    def __init__(self) -> None:
        self.sums = Sums()
        self._events: list[Event] = []
        self._left_out = 0

    def add(self, events: Sequence[Event]) -> None:
        """Adds events that are complete: none to come lies around any of them."""
        room = max(0, _TRACED - len(self._events))
        self._events += events[:room]
        self._left_out += max(0, len(events) - room)
        _Folding(self.sums).fold(events)

    def measured(self, start: int, end: int) -> None:
        """Notes that a block was measured for so long."""
        self.sums.seconds += (end - start) / 1e9

    def sums_until_now(self, began: int, now: int) -> Sums:
        """The sums in a block that goes on."""
        found = self.sums.copy()
        found.seconds += (now - began) / 1e9
        return found

    def sections(self) -> list[Section]:
        return [
            Section(what, where, (end - start) / 1e9)
            for kind, what, where, start, end, _ in self._events
            if kind == SECTION
        ]

    def write(self, path: str | os.PathLike[str], thread: int) -> None:
        """Writes the events in Chrome's format."""
        import json  # noqa: PLC0415 - 3 ms that most programs do without

        process = os.getpid()
        common = {"pid": process, "tid": thread}
        written: list[dict[str, Any]] = [
            {"ph": "M", "ts": 0, "name": name, **common, "args": {"name": shown}}
            for name, shown in (("process_name", "gradtape"), ("thread_name", "profile"))
        ]
        first = min((event[3] for event in self._events), default=0)
        # What begins first, and of those that begin together, what ends last, is the outer one.
        written += [
            _written(event, first) | common for event in sorted(self._events, key=_outer_first)
        ]
        about = {"events left out": self._left_out}
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes 4 ms
            json.dump({"traceEvents": written, "displayTimeUnit": "ms", "otherData": about}, file)


def _outer_first(event: Event) -> tuple[int, int]:
    return event[3], -event[4]


def _written(event: Event, first: int) -> dict[str, Any]:
    kind, what, where, start, end, made = event
    about: dict[str, Any] = {}
    if kind == SECTION:
        about = {str(key): str(value) for key, value in where.items()}
    elif kind == TRACE:
        about = {"why": "; ".join(where[1]) or FIRST, "defined": str(where[0])}
    elif kind != COMPILE:
        about = {"line": str(_location(where)), "bytes": made}
    return {
        "ph": "X",
        "cat": _KINDS[kind],
        "name": _title(kind, what),
        "ts": (start - first) / 1e3,
        "dur": (end - start) / 1e3,
        "args": about,
    }


def _title(kind: int, what: Any) -> str:
    if kind == BACKWARD:
        return f"{what} (backward)"
    if kind == TRACE:
        return f"trace {what}"
    return "XLA compiles" if kind == COMPILE else op_name(what)


def op_name(what: Any) -> str:
    """The name of an op, given as such or by its kernel."""
    if isinstance(what, str):
        return what
    op = op_of(what)
    found = what if op is None else op
    name = getattr(found, "name", None) or getattr(found, "__name__", None)
    return name.strip("_") if isinstance(name, str) else type(what).__name__


def _location(where: Any) -> Location:
    """A place in the user's code, given as itself or as code object and offset."""
    if where is None:
        return Location("", 0, "")
    return where if isinstance(where, Location) else locate(*where)


_CALLS, _PULLS, _FORWARD, _BACKWARD, _COMPILING, _BYTES = range(2, 8)
# By kind: where its own time is among the figures, and where it is counted, if it is.
_TIMED = (_FORWARD, _BACKWARD, _FORWARD, _BACKWARD)
_COUNTED = (_CALLS, _PULLS, _CALLS)


class _Open(NamedTuple):
    """An event, while those within it are looked at."""

    start: int
    kind: int
    figures: list[Any]
    place: int  # of its own time among the figures
    closed: bool  # whether what lies within counts as its own


class _Folding:
    """Sums up events, the last one first: so one that lies around others comes before them."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._around: list[_Open] = []
        self._compiled: list[tuple[Event, _Open | None]] = []

    def fold(self, events: Sequence[Event]) -> None:
        figures_of, around = self._sums.figures, self._around
        for event in reversed(events):
            kind, what, where, start, end, made = event
            while around and start < around[-1].start:
                around.pop()
            if kind > WALK:
                if kind != SECTION:
                    self._compiles(event)
                continue
            if around:
                outer = around[-1]
                if outer.closed:
                    continue
                outer.figures[outer.place] -= end - start
            figures = figures_of(where, what)
            figures[_BYTES] += made
            if kind == FORWARD:  # nearly all of them; nothing lies within a kernel
                figures[_CALLS] += 1
                figures[_FORWARD] += end - start
                continue
            place = _TIMED[kind]
            figures[place] += end - start
            if kind != WALK:
                figures[_COUNTED[kind]] += 1
            around.append(_Open(start, kind, figures, place, kind == BACKWARD))
        self._note_compilations()

    def _compiles(self, event: Event) -> None:
        """A tracing, or a compilation: the time is that of the call, or of the rule, that waits."""
        kind, what, _, start, end, _ = event
        waiting = next((o for o in reversed(self._around) if o.kind != TRACE), None)
        if waiting is not None:
            figures = waiting.figures
        else:
            figures = self._sums.figures(None, what if kind == TRACE else "compile")
        figures[_COMPILING] += end - start
        if self._around:
            outer = self._around[-1]
            outer.figures[outer.place] -= end - start
        self._compiled.append((event, waiting))
        if kind == TRACE:
            self._around.append(_Open(start, kind, figures, _COMPILING, closed=True))

    def _note_compilations(self) -> None:
        """Lists them, the first one first."""
        found = self._sums.compilations
        for (kind, what, where, start, end, _), waiting in reversed(self._compiled):
            seconds = (end - start) / 1e9
            if kind == TRACE:
                place = where[0] or Location("", 0, "")
                why = "; ".join(where[1]) or FIRST
                found.append(Compilation(what, place.file, place.line, seconds, 0.0, why))
                continue
            name = "" if waiting is None else op_name(waiting.figures[1])
            place = Location("", 0, "") if waiting is None else _location(waiting.figures[0])
            self._add_compiling(name, place, seconds)

    def _add_compiling(self, name: str, place: Location, seconds: float) -> None:
        """Adds a compilation to the tracing that it followed."""
        found = self._sums.compilations
        for i in range(len(found) - 1, -1, -1):
            if found[i].function == name:
                found[i] = found[i]._replace(compiling=found[i].compiling + seconds)
                return
        found.append(Compilation(name, place.file, place.line, 0.0, seconds, MORE))
