"""Elements that are kept: cache in memory; and what comes between a pipeline and its errors."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.messages import log_warning
from gradtape.core.tensor import Tensor
from gradtape.data.rows import Addressed, InOrder, RowStream
from gradtape.data.stage import UNKNOWN, Run, Stage, StageIterator
from gradtape.data.stages.memory import ListedElements, Table
from gradtape.data.structure import array_of, fresh, leaves_of, packer, stack
from gradtape.data.threads import Prefetched


class WithOptions(Stage):
    """The elements of the stage before, with what a user asks of the pipeline."""

    name = "with_options"

    def __init__(self, source: Stage, options: Any) -> None:
        super().__init__(source)
        self._options = copy.deepcopy(options)

    def options(self) -> list[Any]:
        return [*super().options(), self._options]

    def iterator(self, run: Run) -> StageIterator:
        return self.input.iterator(run)

    def rows(self, run: Run) -> RowStream | None:
        return self.input.rows(run)

    def addressed(self) -> Addressed | None:
        return self.input.addressed()


class Cache(Stage):
    """Elements that are kept in memory when they have all been seen once."""

    name = "cache"

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self._lock = threading.Lock()
        self._kept: list[Any] | None = None
        self._table: Table | None = None

    @property
    def computes(self) -> bool:
        return self._kept is None and self.input.computes

    def iterator(self, run: Run) -> StageIterator:
        if self._kept is not None:
            return ListedElements(self._kept)
        if self._is_stored():
            return self.input.iterator(run)
        return _Kept(self, self.input.iterator(run))

    def _is_stored(self) -> bool:
        """Whether elements lie in memory already, in an order that does not change."""
        return not self.input.computes and self.input.addressed() is not None

    def rows(self, run: Run) -> RowStream | None:
        source = self.addressed()
        return None if source is None else InOrder(source)

    def addressed(self) -> Addressed | None:
        if self._kept is not None:
            return self._table
        return self.input.addressed() if self._is_stored() else None

    def keep(self, elements: list[Any]) -> None:
        """Keeps all elements; as rows of arrays, if they are alike."""
        with self._lock:
            if self._kept is None:
                self._table = _table(elements)
                if self._table is not None:
                    # The elements are views of the table's rows, and not kept twice.
                    pack, columns = self._table.pack, self._table.span(0, len(elements))
                    elements = [
                        pack([Tensor(column[i]) for column in columns])
                        for i in range(len(elements))
                    ]
                self._kept = elements


def _table(elements: list[Any]) -> Table | None:
    if not elements:
        return None
    columns = [leaves_of(element) for element in elements]
    arrays = []
    for leaves in zip(*columns, strict=True):
        if not all(isinstance(leaf, Tensor) for leaf in leaves):
            return None
        found = [array_of(leaf, "cache: a component") for leaf in leaves]
        first = found[0]
        alike = all(a.shape == first.shape and a.dtype == first.dtype for a in found)
        if not alike or first.dtype == object or not isinstance(first, (np.ndarray, np.generic)):
            return None
        arrays.append(stack(found))
    return Table(arrays, packer(elements[0])) if arrays and nest.flatten(elements[0]) else None


class _Kept(StageIterator):
    def __init__(self, stage: Cache, source: StageIterator) -> None:
        super().__init__(source)
        self._stage = stage
        self._found: list[Any] = []

    def __next__(self) -> Any:
        try:
            element = next(self.inputs[0])
        except StopIteration:
            self._stage.keep(self._found)
            self._found = []
            raise
        self._found.append(element)
        return fresh(element)

    def skip(self, count: int) -> None:
        StageIterator.skip(self, count)  # what is skipped is kept too


class Prefetch(Stage):
    """Elements that are taken ahead, at most `size` of them."""

    name = "prefetch"

    def __init__(self, source: Stage, size: int) -> None:
        super().__init__(source)
        self._size = size

    def iterator(self, run: Run) -> StageIterator:
        return Prefetched(self.input.iterator(run), self._size)


class WithoutErrors(Stage):
    """The elements that come without an error."""

    name = "ignore_errors"

    def __init__(self, source: Stage, *, warns: bool) -> None:
        super().__init__(source)
        self._warns = warns

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _WithoutErrors(self.input.iterator(run), warns=self._warns)


class _WithoutErrors(StageIterator):
    def __init__(self, source: StageIterator, *, warns: bool) -> None:
        super().__init__(source)
        self._warns = warns

    def __next__(self) -> Any:
        while True:
            try:
                return next(self.inputs[0])
            except StopIteration:
                raise
            except Exception as error:  # noqa: BLE001 - that is what it is for
                if self._warns:
                    log_warning("ignore_errors left an element out: %r", error)


class Promised(Stage):
    """Elements of which there are as many as the user says: `assert_cardinality`."""

    name = "assert_cardinality"

    def __init__(self, source: Stage, size: int) -> None:
        super().__init__(source)
        self._size = size

    def cardinality(self) -> int:
        return self._size

    def iterator(self, run: Run) -> StageIterator:
        return _Promised(self.input.iterator(run), self._size)


class _Promised(StageIterator):
    def __init__(self, source: StageIterator, size: int) -> None:
        super().__init__(source)
        self._size, self._at = size, 0

    def __next__(self) -> Any:
        try:
            element = next(self.inputs[0])
        except StopIteration:
            if 0 <= self._at < self._size:
                self._at = -1
                raise _broken(self._size, "fewer") from None
            raise
        self._at += 1
        if 0 <= self._size < self._at:
            raise _broken(self._size, "more")
        return element


def _broken(size: int, how: str) -> Exception:
    from gradtape.errors import FailedPreconditionError  # noqa: PLC0415 - only here

    return FailedPreconditionError(
        None, None, f"assert_cardinality: the dataset has {how} than {size} elements."
    )
