"""Elements grouped by a key: group_by_window, and unique."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.calling import UsersFunction
from gradtape.data.peeking import peeked
from gradtape.data.stage import UNKNOWN, DatasetsStage, Run, Stage, StageIterator
from gradtape.data.stages.memory import Listed
from gradtape.data.stages.nesting import DatasetFunction, Wrap
from gradtape.data.structure import array_of, leaves_of
from gradtape.errors import invalid_argument

Size = Callable[[Any], Any]


class GroupByWindow(DatasetsStage):
    """The elements of the datasets that a function makes of a key and the elements that have it,
    as many as `size(key)` says, fewer at the end.
    """

    name = "group_by_window"

    def __init__(
        self,
        source: Stage,
        key: UsersFunction,
        reduce: DatasetFunction,
        size: Size,
        wrap: Wrap,
        spec: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__(source)
        self.key, self.reduce, self.size, self.wrap = key, reduce, size, wrap
        self._known_spec = spec

    @cached_property
    def spec(self) -> Any:
        """What is known, or the specs of the datasets that the first element's key leads to."""
        if self._known_spec is not None:
            return self._known_spec()

        def spec_of_group(element: Any, number: int) -> Any:
            key = as_tensor(self.key(element, number))
            return self.reduce(number, key, self.window([element])).spec

        return peeked(spec_of_group, self.input, self.name, vary=True)

    def window(self, elements: list[Any]) -> Any:
        """The dataset of elements that have one key."""
        ragged = self.input.has_ragged_rows
        return self.wrap(Listed(elements, lambda: self.input.spec, ragged_rows=ragged))

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Grouped(self, self.input.iterator(run), run)


class _Grouped(StageIterator):
    def __init__(self, stage: GroupByWindow, source: StageIterator, run: Run) -> None:
        super().__init__(source)
        self._stage, self._inside = stage, run.inside(stage)
        self._groups: dict[int, list[Any]] = {}
        self._sizes: dict[int, int] = {}
        self._open: StageIterator | None = None
        self._at = 0
        self._ended = False

    def __next__(self) -> Any:
        while True:
            if self._open is not None:
                try:
                    return next(self._open)
                except StopIteration:
                    self._open.close()
                    self._open = None
            if self._ended:
                if not self._groups:
                    raise StopIteration
                self._reduce(min(self._groups))
            else:
                self._gather()

    def _gather(self) -> None:
        """Takes one more element."""
        try:
            element = next(self.inputs[0])
        except StopIteration:
            self._ended = True
            return
        self._at += 1
        found = self._stage.key(element, self._at - 1)
        if not isinstance(found, Tensor) or found.ndim or found.dtype.name != "int64":
            raise TypeError(
                f"{self._stage.name}: key_func must give a scalar of dtype int64, got {found!r}."
            )
        key = int(found)
        group = self._groups.setdefault(key, [])
        if not group:
            self._sizes[key] = self._size(found)
        group.append(element)
        if len(group) >= self._sizes[key]:
            self._reduce(key)

    def _size(self, key: Any) -> int:
        size = int(as_tensor(self._stage.size(key)))
        if size <= 0:
            raise invalid_argument(
                f"{self._stage.name}: the size of a window must be greater than zero, got {size}."
            )
        return size

    def _reduce(self, key: int) -> None:
        window = self._stage.window(self._groups.pop(key))
        self._open = self._inside.iterator(
            partial(self._stage.reduce, self._at - 1, Tensor(np.int64(key)), window)
        )

    def close(self) -> None:
        self._groups.clear()
        self._ended = True
        if self._open is not None:
            self._open.close()
            self._open = None
        super().close()


class Unique(Stage):
    """Each element that is not equal to one before it."""

    name = "unique"

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Distinct(self.input.iterator(run))


class _Distinct(StageIterator):
    def __init__(self, source: StageIterator) -> None:
        super().__init__(source)
        self._seen: set[Any] = set()

    def __next__(self) -> Any:
        while True:
            element = next(self.inputs[0])
            key = tuple(map(_hashable, leaves_of(element)))
            if key not in self._seen:
                self._seen.add(key)
                return element

    def close(self) -> None:
        self._seen.clear()
        super().close()


def _hashable(leaf: Any) -> Any:
    array = np.asarray(array_of(leaf, "unique: a component"))
    if array.dtype == object:
        return array.shape, tuple(array.reshape(-1).tolist())
    return array.shape, array.dtype.str, array.tobytes()
