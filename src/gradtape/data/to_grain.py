"""Pipelines as datasets of Grain's. It is imported by those who call `to_grain`, and given here."""

from __future__ import annotations

from functools import cache
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.data.iterators import Iterator, as_numpy
from gradtape.data.rows import Columns, Pack
from gradtape.data.stage import Pass, Stage
from gradtape.data.structure import map_leaves, one_of


def rows(stage: Stage, grain: Any) -> Any:
    """A MapDataset of elements that are rows of arrays in memory; None if they are not."""
    found = stage.addressed()
    if found is None or found.size is None:
        return None
    return grain.MapDataset.source(Rows(found.span(0, found.size), found.pack, found.size))


def pipeline(stage: Stage, grain: Any) -> Any:
    """An IterDataset of any pipeline."""
    return _classes(grain)(stage)


class Rows:
    """Rows of arrays as Grain's sources are: with `len` and indices."""

    def __init__(self, columns: Columns, pack: Pack, size: int) -> None:
        self._columns, self._pack, self._size = columns, pack, size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> Any:
        element = self._pack([Tensor(one_of(column, number)) for column in self._columns])
        return map_leaves(as_numpy, element)


@cache
def _classes(grain: Any) -> Any:
    """The class of IterDatasets that go through a pipeline."""

    class Elements(grain.DatasetIterator):  # type: ignore[misc]
        def __init__(self, stage: Stage) -> None:
            super().__init__()
            self._elements = Iterator(stage)

        def __next__(self) -> Any:
            return map_leaves(as_numpy, next(self._elements))

        def get_state(self) -> dict[str, Any]:
            position, errors, passes = self._elements.place
            return {"position": position, "errors": errors, "passes": [list(p) for p in passes]}

        def set_state(self, state: dict[str, Any]) -> None:
            passes = [Pass(*found) for found in state["passes"]]
            self._elements.place = state["position"], state["errors"], passes

        def close(self) -> None:
            self._elements.close()
            super().close()

    class Pipeline(grain.IterDataset):  # type: ignore[misc]
        def __init__(self, stage: Stage) -> None:
            super().__init__()
            self._stage = stage

        def __iter__(self) -> Any:
            return Elements(self._stage)

    return Pipeline
