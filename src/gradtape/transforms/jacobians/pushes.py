"""Forward products over what a tape has recorded: tangents of sources carried to a target.

A backward walk is linear in the cotangent that it starts from. One such walk is recorded, and the
backward walk over that recording is its transpose: it takes tangents of the sources to those of the
target. No op needs a forward rule for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.walk import dense
from gradtape.transforms.jacobians.memory import in_chunks
from gradtape.transforms.jacobians.probes import differ, probe_for, size_of
from gradtape.transforms.jacobians.pulls import Pace, Pulls, Stack, pull_identity
from gradtape.transforms.jacobians.row_push import NoShortWay, ShortWay
from gradtape.transforms.jacobians.row_walk import nothing_records
from gradtape.transforms.jacobians.seeds import diagonal_rows


class NotLinearError(ValueError):
    """Tangents cannot be pushed through a custom gradient: its result is not linear in its
    cotangent.
    """


class RecordedWalk:
    """The backward walk from `target` to `sources`,
    recorded so that tangents can be pushed along it any number of times.

    If values of the cotangent leave the recording, as they do where a custom gradient calls
    `.numpy()`, a DepartureError says so.
    """

    def __init__(
        self, tape: GradientTape, recording: Recording, target: Any, sources: Sequence[Any]
    ) -> None:
        array = target.array
        self._foreign = recording.foreign
        self._target = target
        self._cotangent = Tensor(
            probe_for(array) if self._foreign else np.zeros(array.shape, array.dtype)
        )
        self._tape = GradientTape(persistent=True, watch_accessed_variables=False, strict=True)
        self.pulled: list[Tensor | None] = [None] * len(sources)
        node, nodes = tape._node_of(target), [tape._node_of(source) for source in sources]
        if node is not None and target.dtype.is_trainable:
            with self._tape:
                self._tape.watch(self._cotangent)
                found = tape._pull({node: self._cotangent}, nodes, recording, release=False)
                self.pulled = [
                    dense(found[n]) if n is not None and n in found else None for n in nodes
                ]

    def push(self, index: int, tangents: Any, *, loop: bool = False) -> Tensor | None:
        """The target's tangents, stacked, for stacked `tangents` of source `index`;
        None if there is no path.

        `loop` pushes one tangent after another.
        """
        pulled, recording = self.pulled[index], self._tape.scope
        if pulled is None or recording is None:
            return None
        rows = tangents if isinstance(tangents, Tensor) else Tensor(tangents)
        start, end = self._tape._node_of(pulled), self._tape._node_of(self._cotangent)
        found = {}
        if start is not None and len(rows.array):
            found = Pulls(self._tape, recording, [end], loop=loop).many({start: rows})
        return found[end] if end is not None and end in found else self._zeros(len(rows.array))

    def push_identity(self, index: int, pace: Pace, *, examples: bool = False) -> Tensor | None:
        """The target's tangents for a one in each element of source `index`, stacked; None if there
        is no path.

        With `examples`, the ones are set in every example of the source's first axis at once.
        """
        pulled, recording = self.pulled[index], self._tape.scope
        if pulled is None or recording is None:
            return None
        (rows,) = pull_identity(
            self._tape, recording, pulled, [self._cotangent], pace, examples=examples
        )
        if rows is None:
            shape = pulled.array.shape
            rows = self._zeros(int(np.prod(shape[1:] if examples else shape)))
        if self._foreign:
            self._check_linear(rows, pulled, examples)
        return rows

    def _zeros(self, count: int) -> Tensor:
        array = self._target.array
        return Tensor(np.zeros((count, *array.shape), array.dtype))

    def _check_linear(self, rows: Tensor, pulled: Tensor, examples: bool) -> None:
        """Checks that the rows times the cotangent that the walk started from are the walk's
        result.
        """
        array = rows.array
        if not isinstance(array, np.ndarray) or not array.size:
            return
        size = len(array)
        if examples:
            of_examples = array.reshape(size, array.shape[1], -1)
            found = np.einsum(
                "sbt,bt->bs", of_examples, self._cotangent.array.reshape(array.shape[1], -1)
            )
            expected = pulled.array.reshape(array.shape[1], size)
        else:
            found, expected = (
                array.reshape(size, -1) @ self._cotangent.array.reshape(-1),
                pulled.array.reshape(-1),
            )
        if differ(found, expected, size_of(array), array.dtype):
            raise NotLinearError(
                "a custom gradient is not a linear, differentiable function of its cotangent"
            )


class Pushes:
    """Tangents of `sources` pushed to `target`: by the `ShortWay` where there is one, else along a
    recorded walk.
    """

    def __init__(
        self, tape: GradientTape, recording: Recording, target: Any, sources: Sequence[Any]
    ) -> None:
        self._tape, self._recording, self._target, self._sources = tape, recording, target, sources
        self._walk: RecordedWalk | None = None

    def push_identity(self, index: int, pace: Pace, *, examples: bool = False) -> Tensor | None:
        """The target's tangents for a one in each element of source `index`, stacked; None if there
        is no path.
        """
        try:
            return self._short(self._sources[index], pace, examples)
        except NoShortWay:
            if self._walk is None:
                self._walk = RecordedWalk(self._tape, self._recording, self._target, self._sources)
            return self._walk.push_identity(index, pace, examples=examples)

    def _short(self, source: Any, pace: Pace, examples: bool) -> Tensor:
        array, by = self._target.array, source.array
        node, source_node = self._tape._node_of(self._target), self._tape._node_of(source)
        plain = nothing_records() and all(
            isinstance(one, np.ndarray) and one.dtype.kind == "f" for one in (array, by)
        )
        if node is None or source_node is None or not plain or not array.size or not by.size:
            raise NoShortWay
        way = ShortWay(self._recording, node, source_node)
        batch = len(by) if examples else 1
        stack = Stack(by.size // batch)

        def run(start: int, stop: int) -> Any:
            tangents = diagonal_rows(by.shape, by.dtype, start, stop, batch)
            return here.state.walk(self._recording, way.push, tangents)

        ranges = in_chunks(
            by.size // batch,
            run,
            limit=pace.limit,
            most=1 if pace.loop else pace.most,
            expected=2 * (way.expected + array.nbytes),
            seed_bytes=by.nbytes,
        )
        for start, stop, rows in ranges:
            stack.put(start, stop, Tensor(rows))
        return stack.joined()
