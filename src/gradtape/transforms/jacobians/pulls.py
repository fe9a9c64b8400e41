"""Backward walks with many cotangents at once: the building block of Jacobians in either mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.node import Node
from gradtape.core.observers import walk_rows
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.walk import dense, finished
from gradtape.core.xla.beyond import attempt
from gradtape.core.xla.tensor import XlaTensor
from gradtape.ops.matrix import diagonal
from gradtape.ops.shaping import concat, getitem, reshape, stack
from gradtape.transforms.jacobians.memory import in_chunks
from gradtape.transforms.jacobians.row_walk import nothing_records, pull_rows
from gradtape.transforms.jacobians.seeds import Seeds
from gradtape.transforms.vectorize import whole

Seeded = dict[Node, Tensor]
"""Cotangents of some Nodes, with the rows as their first axis."""


class Pace(NamedTuple):
    """How many rows go back at once: `most` of them (None: any number), within `limit` bytes (None:
    a share of what is free).
    """

    most: int | None = None
    limit: int | None = None
    loop: bool = False  # one after another


def pull_identity(
    tape: GradientTape,
    recording: Recording,
    target: Any,
    sources: Sequence[Any],
    pace: Pace,
    *,
    examples: bool = False,
) -> list[Tensor | None]:
    """For each source, its cotangents for a one in each element of the target, stacked; None where
    there is no path.

    With `examples`, the ones are set in every example of the target's first axis at once.
    """
    array, nodes = target.array, [tape._node_of(source) for source in sources]
    if tape._node_of(target) is None or not target.dtype.is_trainable:
        return [
            _identity(target, examples) if source is target and source.dtype.is_trainable else None
            for source in sources
        ]
    seeds = Seeds(tape, recording, target, nodes, examples=examples)
    if not seeds.count or not array.size:
        return [
            None if n is None else Tensor(np.zeros((seeds.count, *s.array.shape), s.array.dtype))
            for n, s in zip(nodes, sources, strict=True)
        ]
    stacks: dict[Node, Stack] = {}
    for start, stop, found in _in_chunks(tape, recording, seeds, nodes, pace):
        for node, rows in found.items():
            stacks.setdefault(node, Stack(seeds.count)).put(start, stop, rows)
    return [
        stacks[node].joined() if node is not None and node in stacks else None for node in nodes
    ]


def pull_diagonal(
    tape: GradientTape, recording: Recording, target: Any, source: Any, pace: Pace
) -> Tensor:
    """The derivative of each element of the target with respect to the source's element at the same
    place; both have the same shape.
    """
    node, array = tape._node_of(source), target.array
    rows = Stack(array.size)
    if (
        tape._node_of(target) is not None
        and target.dtype.is_trainable
        and node is not None
        and array.size
    ):
        seeds = Seeds(tape, recording, target, [node])
        for start, stop, found in _in_chunks(tape, recording, seeds, [node], pace):
            if node in found:
                square = getitem(
                    reshape(found[node], shape=(stop - start, array.size)),
                    key=(slice(None), slice(start, stop)),
                )
                rows.put(start, stop, _apart(diagonal(square)))
    return (
        reshape(rows.joined(), shape=array.shape)
        if rows.filled
        else Tensor(np.zeros(array.shape, source.array.dtype))
    )


def _apart(x: Tensor) -> Tensor:
    """A copy of a view, so that it does not keep the whole array alive."""
    return Tensor(x.array.copy()) if x.node is None and type(x.array) is np.ndarray else x


def _in_chunks(
    tape: GradientTape, recording: Recording, seeds: Seeds, nodes: Sequence[Node | None], pace: Pace
) -> Iterator[tuple[int, int, Seeded]]:
    """All rows of the seeds pulled back to `nodes`, chunk by chunk."""
    pulls = Pulls(
        tape, recording, nodes, loop=pace.loop or (seeds.count == 1 and nothing_records())
    )
    return in_chunks(
        seeds.count,
        lambda start, stop: pulls.many(lambda: {seeds.node: seeds.rows(start, stop)}),
        limit=pace.limit,
        most=1 if pace.loop else pace.most,
        expected=2 * seeds.expected,
        seed_bytes=seeds.row_bytes,
    )


def _identity(target: Any, examples: bool) -> Tensor:
    array = target.array
    size = array[0].size if examples and len(array) else 0 if examples else array.size
    rows = np.eye(size, dtype=array.dtype)
    if examples:
        rows = np.broadcast_to(rows[:, None, :], (size, len(array), size))
    return Tensor(rows.reshape(size, *array.shape))


class Stack:
    """Rows that arrive in chunks and are put one after another: into one array where nothing
    records, else joined by an op.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._parts: list[Tensor] = []
        self._whole: Any = None
        self._recorded = not nothing_records()

    def put(self, start: int, stop: int, rows: Tensor) -> None:
        array = rows.array
        if stop - start == self._count or self._recorded or type(array) is not np.ndarray:
            self._parts.append(rows)
            return
        if self._whole is None:
            self._whole = np.empty((self._count, *array.shape[1:]), array.dtype)
        self._whole[start:stop] = array

    @property
    def filled(self) -> bool:
        """Whether there are any rows."""
        return self._whole is not None or bool(self._parts)

    def joined(self) -> Tensor:
        if self._whole is not None:
            return Tensor(self._whole)
        return self._parts[0] if len(self._parts) == 1 else concat(*self._parts, axis=0)


class Pulls:
    """Walks back over a tape's recording to `nodes`, each with many rows of cotangents.

    All rows go in one walk, or one after another if that fails: a custom gradient may not take a
    batch. A real error is then raised again. `loop` takes one after another from the start.
    """

    def __init__(
        self,
        tape: GradientTape,
        recording: Recording,
        nodes: Sequence[Node | None],
        *,
        loop: bool = False,
    ) -> None:
        self._tape, self._recording, self._nodes = tape, recording, nodes
        self._loop = loop

    def many(self, seeds: Seeded | Callable[[], Seeded]) -> Seeded:
        """The cotangents of the nodes for every row of `seeds`, stacked;
        one that has no path from a seed is missing.

        If `seeds` is a function that makes them, it may be called twice, and its result is
        overwritten.
        """
        if not self._loop:
            try:
                return attempt(lambda: self._at_once(seeds))
            except MemoryError:
                raise
            except Exception:  # noqa: BLE001 - whatever a user's function raises on a batch
                self._loop = True
        return self._one_by_one(seeds() if callable(seeds) else seeds)

    def _at_once(self, seeds: Seeded | Callable[[], Seeded]) -> Seeded:
        own, plain = callable(seeds), nothing_records() and here.state.checker is None
        given = seeds() if callable(seeds) else seeds
        with Level(_count(given)) as level:
            if plain and all(type(rows.array) is np.ndarray for rows in given.values()):
                arrays = {node: rows.array for node, rows in given.items()}
                walk = partial(walk_rows, pull_rows) if here.state.observers else pull_rows
                found = here.state.walk(
                    self._recording, walk, arrays, self._nodes, self._recording, level, own
                )
                return {node: Tensor(array) for node, array in found.items()}
            found = self._walk({node: BatchedTensor(rows, level) for node, rows in given.items()})
            return {node: whole(dense(g), level) for node, g in found.items()}

    def _one_by_one(self, seeds: Seeded) -> Seeded:
        tensors = not nothing_records() or any(
            isinstance(rows, XlaTensor) for rows in seeds.values()
        )
        found = []
        for i in range(_count(seeds)):
            row = {
                node: getitem(rows, key=(i,)) if tensors else rows.array[i]
                for node, rows in seeds.items()
            }
            found.append(self._walk(row))
        return {
            node: finished(stack(*[dense(row[node]) for row in found], axis=0)) for node in found[0]
        }

    def _walk(self, seeds: dict[Node, Any]) -> dict[Node, Any]:
        return self._tape._pull(seeds, self._nodes, self._recording, release=False)


def _count(seeds: Seeded) -> int:
    return next(len(rows.array) for rows in seeds.values())
