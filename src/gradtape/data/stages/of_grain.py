"""Datasets of Grain's as sources. Grain itself is not imported: what they can do tells what they
are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property, reduce
from itertools import islice
from typing import Any

from gradtape.data.stage import INFINITE, UNKNOWN, Run, Stage, StageIterator, located
from gradtape.data.structure import check_fits, common_spec, normalised, spec_of

_PEEKED = 2  # elements that are looked at


def stage_of_grain(source: Any, signature: Any) -> Stage:
    """A stage of what a source of Grain's has."""
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return _ByIndex(source, signature)
    if hasattr(source, "__iter__"):
        return _InTurn(source, signature)
    raise TypeError(
        "from_grain: source must be a MapDataset, an IterDataset or a DataLoader of Grain's, or "
        f"have len and indices; got {type(source).__name__}."
    )


class _OfGrain(Stage):
    name = "from_grain"

    def __init__(self, source: Any, signature: Any) -> None:
        super().__init__()
        self.source, self.signature = source, signature

    @cached_property
    def spec(self) -> Any:
        if self.signature is not None:
            return self.signature
        elements = self.iterator(Run(self))
        try:
            found = [spec_of(element) for element in islice(elements, _PEEKED)]
        finally:
            elements.close()
        if not found:
            raise ValueError(
                "from_grain: the element_spec of a source without elements is not known: give "
                "output_signature."
            )
        return reduce(lambda one, two: common_spec(one, two, self.name), found)


class _ByIndex(_OfGrain):
    """Elements by number, some of which may be None: they were filtered out."""

    def cardinality(self) -> int:
        if len(self.source) == sys.maxsize:  # what Grain calls infinite
            return INFINITE
        # Only Grain's own datasets can lack elements.
        return UNKNOWN if hasattr(self.source, "to_iter_dataset") else len(self.source)

    def iterator(self, run: Run) -> StageIterator:
        return _Counted(self.source, self.signature)


class _InTurn(_OfGrain):
    """Elements one after the other."""

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Iterated(self.source, self.signature)


class _GrainIterator(StageIterator):
    def __init__(self, source: Any, signature: Any) -> None:
        super().__init__()
        self._source, self._signature = source, signature
        self._at = -1

    def _next(self) -> Any:
        """What the source has next."""
        raise NotImplementedError

    def __next__(self) -> Any:
        try:
            value = self._next()
            found = normalised(value, f"from_grain: element {self._at}")
            if self._signature is not None:
                found = check_fits(found, self._signature, f"from_grain: element {self._at}")
        except StopIteration:
            raise
        except Exception as error:
            located(error, "from_grain", self._at)
            raise
        return found


class _Counted(_GrainIterator):
    def _next(self) -> Any:
        while self._at + 1 < len(self._source):
            self._at += 1
            value = self._source[self._at]
            if value is not None:
                return value
        raise StopIteration

    def close(self) -> None:
        self._source = ()


class _Iterated(_GrainIterator):
    _values: Iterator[Any] | None = None

    def _next(self) -> Any:
        if self._values is None:
            self._values = iter(self._source)
        self._at += 1
        return next(self._values)

    def close(self) -> None:
        end = getattr(self._values, "close", None)
        if end is not None:
            end()
        self._values = iter(())
