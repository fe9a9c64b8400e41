"""`tape.memory()`: what a recording keeps alive, by line of code.

Which buffers only the recording keeps alive is found by reference counts. `Freeing` does what the
end of a tape does, in numbers only: it takes away the references that the Nodes give up, one by
one, and an object whose references are all taken away dies, and gives up its own.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from sys import getrefcount
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape.core.indexed_slices import IndexedSlices, RawSlices
from gradtape.core.limit.segments import Dropped
from gradtape.core.location import Location
from gradtape.core.node import Node
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.engines.engine import address_of, is_traced_array, is_xla
from gradtape.inspect.tables import Table, place, size, source

if TYPE_CHECKING:
    from gradtape.core.recording import Recording, Scope
    from gradtape.core.tape import GradientTape

_WATCHED = "watched variable"
_CAPTURED = "captured"
_CHECKPOINT = "checkpoint"


class Asked(NamedTuple):
    """What a rule asked for: `name` is the parameter of the pull for the argument `by`.

    `name` is a captured variable's where a user's gradient function is the rule, and `by` is empty
    where one rule serves all arguments.
    """

    name: str
    by: str

    def __str__(self) -> str:
        return f"{self.name} for {self.by}" if self.name and self.by else self.name


class MemoryRow(NamedTuple):
    """Buffers of one kind that one line of code keeps alive.

    `bytes` are those that only the recording keeps alive, and `shared` those that something else
    holds too. `shape` is that of the saved array, and `view_of` the shape of the larger one whose
    memory it shows, if there is one. `also` are further ops that saved the same buffers.
    """

    bytes: int
    shared: int
    file: str
    line: int
    function: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    view_of: tuple[int, ...] | None
    asked: tuple[Asked, ...]
    buffers: int
    also: tuple[str, ...]


class LineMemory(NamedTuple):
    """What one line of code keeps alive."""

    bytes: int
    shared: int
    file: str
    line: int
    function: str
    source: str


class TapeMemory:
    """What a tape's recording keeps alive: `total` bytes are freed when the tape goes, and `shared`
    bytes stay, since something else holds them too.

    `rows` has the buffers by line, op, shape and who asked for them, the largest first. `why` says
    why there is nothing, if there is nothing. `by_number` has the bytes and the shared bytes by the
    number of the Node that saved them first. Of a tape with a `limit`, `dropped` bytes are not kept
    and will be computed again, "checkpoint" rows are what they are computed from, and `why_over`
    says why the limit cannot be kept, if it cannot.
    """

    limit: int | None = None
    dropped: int = 0
    why_over: str | None = None

    def __init__(
        self, rows: list[MemoryRow], why: str | None, by_number: dict[int | None, list[int]]
    ) -> None:
        self.rows = rows
        self.why = why
        self.by_number = by_number
        self.total = sum(row.bytes for row in rows)
        self.shared = sum(row.shared for row in rows)

    def lines(self) -> list[LineMemory]:
        """The same for each line of code, the largest first."""
        found: dict[tuple[str, int, str], list[int]] = {}
        for row in self.rows:
            sums = found.setdefault((row.file, row.line, row.function), [0, 0])
            sums[0] += row.bytes
            sums[1] += row.shared
        lines = [
            LineMemory(sums[0], sums[1], file, line, function, source(file, line))
            for (file, line, function), sums in found.items()
        ]
        return sorted(lines, key=_largest_first)

    def _table(self) -> Table:
        if self.why is not None and not self.rows:
            return Table(f"This tape keeps nothing alive: {self.why}.", (), (), [])
        heading = f"This tape alone keeps {size(self.total)} alive"
        heading += f"; {size(self.shared)} more have other holders too." if self.shared else "."
        if self.limit is not None:
            heading += (
                f" The limit is {size(self.limit)}; {size(self.dropped)} will be computed again."
            )
        if self.why_over is not None:
            heading += f" But {self.why_over}"
        columns = ("bytes", "shared", "buffers", "line", "op", "array", "asked for", "source")
        return Table(heading, columns, (0, 1, 2), [_cells(row) for row in self.rows])

    def __str__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def __repr__(self) -> str:
        return f"<TapeMemory: {self.total} bytes, {self.shared} shared, {len(self.rows)} rows>"


def _cells(row: MemoryRow) -> list[str]:
    array = f"{row.dtype}{list(row.shape)}"
    if row.view_of is not None:
        array += f", view of {list(row.view_of)}"
    asked = ", ".join(map(str, row.asked))
    if row.also:
        asked += f" (also by {', '.join(row.also)})"
    return [
        size(row.bytes), size(row.shared), str(row.buffers), place(row.file, row.line), row.op,
        array, asked, source(row.file, row.line),
    ]  # fmt: skip


def _largest_first(row: MemoryRow | LineMemory) -> tuple[Any, ...]:
    return -row.bytes, -row.shared, row.file, row.line


def memory(tape: GradientTape) -> TapeMemory:
    """What `tape` keeps alive now."""
    recording = tape.scope
    plan = None if recording is None else tape._plan
    # Before anything here refers to an array.
    limits = () if plan is None else (plan.limit, plan.dropped(), plan.why_not_kept())
    own, others = _scopes(recording)
    freeing = Freeing()
    freeing.end(own, tape)  # before anything here refers to a Node
    nodes = {node.number: node for scope in (*own, *others) for node in _nodes(scope)}
    found: dict[int, _Buffer] = {}
    for _, node in sorted(nodes.items()):
        for asked, value in _kept(node):
            for array, name in _arrays(value, asked.name, set()):
                _add(found, array, node, asked._replace(name=name))
    for array in () if plan is None else plan.held():
        if id(owner_of(array)) not in found:
            _add(found, array, None, Asked("", ""), _CHECKPOINT)
    for owner, number in freeing.buffers():
        if id(owner) not in found:
            _add(found, owner, None if number is None else nodes[number], Asked("", ""))
    by_number: dict[int | None, list[int]] = {}
    rows = _rows(found.values(), freeing, by_number)
    memory = TapeMemory(rows, None if rows else _why(tape, recording), by_number)
    if limits:
        memory.limit, memory.dropped, memory.why_over = limits
    return memory


def _why(tape: GradientTape, recording: Recording | None) -> str:
    if recording is None:
        ended = tape._ended_by
        return "it has recorded nothing" if ended is None else f"it was used up by {ended}"
    if recording.traced:
        return "the function around it is being traced, and XLA plans the memory of its program"
    if not recording.nodes:
        return "it has recorded no op so far"
    return "the rules of the ops that it recorded need no arrays"


def _scopes(recording: Recording | None) -> tuple[list[Scope], list[Scope]]:
    """The scopes whose Nodes end with a recording, and those that another one still needs."""
    own: list[Scope] = []
    others: list[Scope] = []
    for scope in () if recording is None else recording.scopes():
        needed = any(part.open for part in scope.recordings if part is not recording)
        (others if needed else own).append(scope)
    return own, others


def _nodes(scope: Scope) -> Iterator[Node]:
    return (node for node in scope.nodes if node is not None)  # a sweep may have been interrupted


def _kept(node: Node) -> Iterator[tuple[Asked, Any]]:
    """What a Node keeps for its rule, and the name by which the rule asked for it."""
    kept = getattr(node.rule, "kept", None)
    if node.saved is not None and type(node.saved) is not Dropped:
        if kept is None:
            yield Asked("", ""), node.saved
        else:
            for by, name, value in kept(node):
                yield Asked(name, by), value


# Which buffers there are


class _Buffer:
    """Memory that Nodes keep: the array that owns it, and the first Node that saved it."""

    def __init__(self, owner: Any, shown: Any, node: Node | None, op: str) -> None:
        self.owner = owner
        self.op = op
        self.shown = shown
        self.node = node
        self.asked: list[Asked] = []
        self.also: list[str] = []

    def note(self, node: Node | None, asked: Asked) -> None:
        if node is self.node:
            if asked not in self.asked:
                self.asked.append(asked)
            return
        location = None if node is None else node.location()
        op = _op(node)
        where = op if location is None else f"{op} in line {location.line}"
        if where not in self.also:
            self.also.append(where)


def _add(
    found: dict[int, _Buffer], array: Any, node: Node | None, asked: Asked, op: str | None = None
) -> None:
    owner = owner_of(array)
    buffer = found.get(id(owner))
    if buffer is None:
        buffer = found[id(owner)] = _Buffer(owner, array, node, op or _op(node))
    buffer.note(node, asked)


def _op(node: Node | None) -> str:
    return _WATCHED if node is None else "source" if node.rule is None else node.rule.name


def _rows(
    buffers: Iterable[_Buffer], freeing: Freeing, by_number: dict[int | None, list[int]]
) -> list[MemoryRow]:
    """The buffers in rows, each piece of memory counted once; their bytes go to `by_number` too."""
    found: dict[MemoryRow, list[Any]] = {}
    seen: set[int] = set()
    for buffer in buffers:
        owner, shown = buffer.owner, buffer.shown
        start = address(owner)
        if start in seen or not owner.nbytes:  # XLA may use NumPy's memory
            continue
        seen.add(start)
        location = None if buffer.node is None else buffer.node.location()
        file, line, function = location or Location("", 0, "")
        view_of = tuple(owner.shape) if owner.size != shown.size else None
        key = MemoryRow(
            0, 0, file, line, function, buffer.op, tuple(shown.shape), str(shown.dtype),
            view_of, tuple(buffer.asked), 0, (),
        )  # fmt: skip
        sums = found.setdefault(key, [0, 0, 0, []])
        number = None if buffer.node is None else buffer.node.number
        kind = 0 if freeing.frees(owner) else 1
        sums[kind] += owner.nbytes
        by_number.setdefault(number, [0, 0])[kind] += owner.nbytes
        sums[2] += 1
        sums[3] += [where for where in buffer.also if where not in sums[3]]
    rows = [
        row._replace(bytes=sums[0], shared=sums[1], buffers=sums[2], also=tuple(sums[3]))
        for row, sums in found.items()
    ]
    return sorted(rows, key=_largest_first)


def owner_of(array: Any) -> Any:
    """The array, of NumPy or of XLA, whose memory an array shows."""
    while isinstance(array, np.ndarray) and array.base is not None:
        base = array.base
        base = base.obj if isinstance(base, memoryview) else base
        if not isinstance(base, np.ndarray) and not is_xla(base):
            return array  # of some other owner, such as a file
        array = base
    return array


def address(array: Any) -> int:
    """Where an array's memory begins; for one that is on no single device, what identifies it."""
    if isinstance(array, np.ndarray):
        return int(array.__array_interface__["data"][0])
    return address_of(array) if is_xla(array) else id(array)


def _arrays(value: Any, name: str, seen: set[int]) -> Iterator[tuple[Any, str]]:
    """The arrays in what a rule saved, and the names that they are saved by."""
    if isinstance(value, (np.ndarray, np.generic)):
        yield value, name
    elif isinstance(value, (Tensor, Variable)):
        # As they are stored: to ask for them would convert them.
        for array in (_stored(value, "array"), _stored(value, "held"), _stored(value, "inner")):
            yield from () if array is None else _arrays(array, name, seen)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part, name, seen)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()), name, seen)
    elif isinstance(value, (RawSlices, IndexedSlices)):
        yield from _arrays([value.values, value.indices], name, seen)
    elif isinstance(value, FunctionType):
        yield from _captured(value, seen)
    elif isinstance(value, MethodType):
        yield from _arrays(value.__func__, name, seen)
    elif is_xla(value) and not is_traced_array(value):
        yield value, name


def _captured(function: FunctionType, seen: set[int]) -> Iterator[tuple[Any, str]]:
    """The arrays that a function captures."""
    if id(function) in seen:
        return
    seen.add(id(function))
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:  # it is empty
            continue
        yield from _arrays(content, f"{_CAPTURED} {name}", seen)


def _stored(value: Any, attribute: str) -> Any:
    """An attribute that is set, without computing it."""
    if isinstance(value, Variable):
        return value.__dict__.get(attribute, value.__dict__.get("_buffer"))
    try:
        return object.__getattribute__(value, attribute)
    except AttributeError:
        return None


# Which of them end with the tape


def _references(entry: list[Any]) -> int:
    return getrefcount(entry[0])


_OURS = _references([object(), 0, None])
"""The references to an object that an entry and the function that counts them have."""


class Freeing:
    """The end of a tape, in numbers: which objects it would free."""

    def __init__(self) -> None:
        # By identity: an object, how many references to it are given up, and the number of the
        # first Node whose end led to it.
        self._entries: dict[int, list[Any]] = {}
        self._dead: set[int] = set()
        self._pending: list[int] = []

    def end(self, scopes: Iterable[Scope], tape: GradientTape) -> None:
        """Takes away what the Nodes of `scopes` and the tape refer to."""
        for scope in scopes:
            for node in _nodes(scope):
                saved = None if type(node.saved) is Dropped else node.saved
                self._give_up([saved, node.params, node, *node.parents], node.number)
                saved = None
        if tape.scope is not None and tape._plan is not None:
            self._give_up(tape._plan.held(), None)
        self._give_up([*tape._nodes.values(), *tape._variables.values()], None)
        scope = node = None  # type: ignore[assignment]  # which would count as a reference
        self._settle()

    def frees(self, owner: Any) -> bool:
        return id(owner) in self._dead

    def buffers(self) -> Iterator[tuple[Any, int | None]]:
        """The arrays that own memory and would be freed, each with the number of the Node whose end
        leads to it.
        """
        for identity in self._dead:
            found, _, number = self._entries[identity]
            if _is_array(found) and owner_of(found) is found:
                yield found, number

    def _give_up(self, objects: Iterable[Any], number: int | None) -> None:
        for found in objects:
            entry = self._entries.get(id(found))
            if entry is None:
                entry = self._entries[id(found)] = [found, 0, number]
            entry[1] += 1
            self._pending.append(id(found))

    def _settle(self) -> None:
        pending, dead = self._pending, self._dead
        while pending:
            identity = pending.pop()
            entry = self._entries[identity]
            if identity not in dead and _references(entry) - _OURS == entry[1]:
                dead.add(identity)
                self._give_up(_referents(entry[0]), entry[2])


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) or is_xla(value)


def _referents(value: Any) -> list[Any]:
    """What an object refers to; NumPy's arrays do not tell Python's collector."""
    if isinstance(value, Node):  # the rest has been given up already
        return [value.rule]
    if isinstance(value, np.ndarray):
        return [] if value.base is None else [value.base]
    return gc.get_referents(value)
