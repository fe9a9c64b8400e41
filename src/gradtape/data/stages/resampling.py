"""Elements left out so that classes have certain frequencies: rejection_resample."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.convert import as_tensor
from gradtape.data.calling import UsersFunction
from gradtape.data.stage import UNKNOWN, RandomStage, Run, Seed, Stage, StageIterator
from gradtape.engines.numpy.engine import Quiet
from gradtape.errors import invalid_argument
from gradtape.shapes import TensorSpec


class Resampled(RandomStage):
    """Pairs of a class and an element, as frequent as `target` says."""

    name = "rejection_resample"

    def __init__(
        self,
        source: Stage,
        classes: UsersFunction,
        target: Any,
        initial: Any,
        *,
        seed: Seed,
    ) -> None:
        super().__init__(source, seed=seed, changes=True)
        self.classes = classes
        self.target = _frequencies(target, "target_dist")
        self.initial = None if initial is None else _frequencies(initial, "initial_dist")
        if self.initial is not None and self.initial.shape != self.target.shape:
            raise ValueError(
                "rejection_resample: target_dist and initial_dist must have as many classes, got "
                f"{len(self.target)} and {len(self.initial)}."
            )

    @cached_property
    def spec(self) -> Any:
        return TensorSpec([], dtypes.int32), self.input.spec

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Accepted(self, self.input.iterator(run), run.generator(self))


def _frequencies(given: Any, argument: str) -> Any:
    found = np.asarray(as_tensor(given, argument=f"rejection_resample: {argument}"), np.float64)
    if found.ndim != 1 or not found.size or (found < 0).any() or not found.any():
        raise ValueError(
            f"rejection_resample: {argument} must be a list of numbers of at least 0, not all 0, "
            f"got {given!r}."
        )
    return found / found.sum()


class _Accepted(StageIterator):
    def __init__(
        self, stage: Resampled, source: StageIterator, generator: np.random.Generator
    ) -> None:
        super().__init__(source)
        self._stage, self._generator = stage, generator
        self._seen = np.ones(len(stage.target))  # of each class, beginning as if all were alike
        self._at = 0

    def __next__(self) -> Any:
        stage = self._stage
        while True:
            element = next(self.inputs[0])
            self._at += 1
            found = stage.classes(element, self._at - 1)
            number = int(found)
            if not 0 <= number < len(stage.target):
                raise invalid_argument(
                    f"rejection_resample: class_func gave {number} for element {self._at - 1}, but "
                    f"target_dist has {len(stage.target)} classes."
                )
            self._seen[number] += 1
            if self._generator.random() < self._chance(number):
                return as_tensor(np.int32(number)), element

    def _chance(self, number: int) -> float:
        """How likely an element of a class is to be kept."""
        initial = self._stage.initial
        known = self._seen / self._seen.sum() if initial is None else initial
        with Quiet():
            ratios = np.where(known > 0, self._stage.target / known, 0.0)
        largest = ratios.max()
        return float(ratios[number] / largest) if largest else 0.0
