"""Datasets in datasets: flat_map, interleave, window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from gradtape.data.calling import UsersFunction, called
from gradtape.data.peeking import peeked
from gradtape.data.stage import (
    INFINITE,
    UNKNOWN,
    DatasetsStage,
    Run,
    Stage,
    StageIterator,
    located,
    raised_later,
)
from gradtape.data.stages.memory import Listed
from gradtape.data.structure import leaves_of, map_leaves, packer
from gradtape.data.threads import Prefetched

Wrap = Callable[[Stage], Any]
"""Makes the dataset that users see."""
Unwrap = Callable[[Any, str], Stage]
"""Gives the stage of a dataset that a user's function has returned."""


class DatasetFunction:
    """A function of elements that gives datasets."""

    def __init__(self, function: UsersFunction, unwrap: Unwrap) -> None:
        self._function, self._unwrap = function, unwrap

    @property
    def stage(self) -> str:
        return self._function.stage

    def __call__(self, number: int, *args: Any) -> Stage:
        try:
            return self._unwrap(
                called(self._function.function, *args),
                f"{self.stage}: the result of {self._function.argument}",
            )
        except Exception as error:
            located(error, self.stage, number)
            raise


class Interleave(DatasetsStage):
    """The elements of the datasets that a function gives for each element.

    `cycle` of them are open at a time, and take turns of `block` elements. With 1 and 1 they come
    one after the other, as in `flat_map`.
    """

    def __init__(
        self, source: Stage, function: DatasetFunction, cycle: int, block: int, *, ahead: bool
    ) -> None:
        super().__init__(source)
        self.name = function.stage
        self.function, self.cycle, self.block, self.ahead = function, cycle, block, ahead

    @cached_property
    def spec(self) -> Any:
        return peeked(
            lambda element, number: self.function(number, element).spec,
            self.input,
            self.name,
            vary=True,
        )

    def cardinality(self) -> int:
        return 0 if self.input.cardinality() == 0 else UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Interleaved(self, self.input.iterator(run), run)


class _Interleaved(StageIterator):
    def __init__(self, stage: Interleave, source: StageIterator, run: Run) -> None:
        super().__init__(source)
        self._stage, self._inside = stage, run.inside(stage)
        self._open: list[StageIterator | None] = [None] * stage.cycle
        self._slot = self._given = self._at = 0
        self._ended = False

    def __next__(self) -> Any:
        while not self._ended or any(self._open):
            now = self._open[self._slot]
            if now is None:
                now = self._next_dataset()
                if now is None:
                    self._turn()
                    continue
            try:
                element = next(now)
            except StopIteration:
                now.close()
                self._open[self._slot] = None
                self._turn()
                continue
            self._given += 1
            if self._given == self._stage.block:
                self._turn()
            return element
        raise StopIteration

    def _next_dataset(self) -> StageIterator | None:
        if self._ended:
            return None
        try:
            element = next(self.inputs[0])
        except StopIteration:
            self._ended = True
            return None
        self._at += 1
        found = self._inside.iterator(partial(self._stage.function, self._at - 1, element))
        self._open[self._slot] = (
            Prefetched(found, self._stage.block) if self._stage.ahead else found
        )
        return self._open[self._slot]

    def _turn(self) -> None:
        self._slot, self._given = (self._slot + 1) % self._stage.cycle, 0

    def close(self) -> None:
        self._ended = True
        for elements in self._open:
            if elements is not None:
                elements.close()
        self._open = [None] * self._stage.cycle
        super().close()


class Window(Stage):
    """Datasets of consecutive elements: of every `stride`-th, `size` of them, each window `shift`
    further on.
    """

    name = "window"

    def __init__(
        self, source: Stage, size: int, shift: int, stride: int, *, drop_remainder: bool, wrap: Wrap
    ) -> None:
        super().__init__(source)
        self.size, self.shift, self.stride = size, shift, stride
        self.drop_remainder, self.wrap = drop_remainder, wrap

    @cached_property
    def spec(self) -> Any:
        return map_leaves(
            lambda leaf: self.wrap(Listed([], lambda: leaf)).__gradtape_spec__(), self.input.spec
        )

    def cardinality(self) -> int:
        found = self.input.cardinality()
        if found in (INFINITE, UNKNOWN):
            return found
        if not self.drop_remainder:
            return -(-found // self.shift)
        reach = (self.size - 1) * self.stride + 1
        return 0 if found < reach else (found - reach) // self.shift + 1

    def iterator(self, run: Run) -> StageIterator:
        return _Windows(self, self.input.iterator(run))


class _Failed:
    """Stands in a window in place of an element that is an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Windows(StageIterator):
    def __init__(self, stage: Window, source: StageIterator) -> None:
        super().__init__(source)
        self._stage = stage
        self._buffer: list[Any] = []
        self._ended = False
        self._before = 0  # elements that lie between two windows

    def __next__(self) -> Any:
        stage = self._stage
        reach = (stage.size - 1) * stage.stride + 1
        while not self._ended and (self._before or len(self._buffer) < reach):
            element: Any
            try:
                element = next(self.inputs[0])
            except StopIteration:
                self._ended = True
                break
            except Exception as error:  # noqa: BLE001 - raised by the windows that it is in
                element = _Failed(error)
            if self._before:
                self._before -= 1
            else:
                self._buffer.append(element)
            del element  # an error would hold this frame
        held = self._buffer
        if not held or (stage.drop_remainder and len(held) < reach):
            self._buffer = []
            raise StopIteration
        self._buffer = held[stage.shift :]
        self._before = max(0, stage.shift - len(held))
        chosen = held[: reach : stage.stride]
        failed = [element.error for element in chosen if isinstance(element, _Failed)]
        if failed:
            del held, chosen, failed[1:]
            raised_later(failed.pop())
        return self._window(chosen)

    def _window(self, elements: Sequence[Any]) -> Any:
        columns = zip(*(leaves_of(element) for element in elements), strict=True)
        ragged = self._stage.input.has_ragged_rows
        parts = [
            self._stage.wrap(
                Listed(list(leaves), partial(self._spec_of_leaf, place), ragged_rows=ragged)
            )
            for place, leaves in enumerate(columns)
        ]
        return packer(elements[0])(parts)

    def _spec_of_leaf(self, place: int) -> Any:
        return leaves_of(self._stage.input.spec)[place]
