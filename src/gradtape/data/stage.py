"""`Stage`: one step of a pipeline, and what every step can be asked.

A stage knows the specs of its elements, how many there are, and how to go through them:

- `iterator(run)` gives them one by one. It is the general way, and all stages have it.
- `rows(run)` gives several at once, stacked, where elements are rows of arrays; None elsewhere.
- `addressed()` gives any of them by number, where each is the same in every pass; None elsewhere.

`gradtape.data.rows` says what stages make of the last two. Stages know nothing of `Dataset`, which
is the users' view of a stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from gradtape.data.rows import Addressed, RowStream

INFINITE, UNKNOWN = -1, -2
"""How many elements there are where that is no number."""


class Stage:
    """One step of a pipeline. `inputs` are the stages that it takes elements from."""

    name = "dataset"
    """What errors call it."""

    def __init__(self, *inputs: Stage) -> None:
        self.inputs = inputs

    @property
    def input(self) -> Stage:
        """The stage before, where there is one."""
        return self.inputs[0]

    @cached_property
    def spec(self) -> Any:
        """The specs of an element's leaves, in its structure."""
        return self.input.spec

    def cardinality(self) -> int:
        """How many elements there are."""
        return self.input.cardinality()

    def iterator(self, run: Run) -> StageIterator:
        """The elements one by one."""
        raise NotImplementedError

    def rows(self, run: Run) -> RowStream | None:
        """The elements as rows of arrays, or None."""
        return None

    def addressed(self) -> Addressed | None:
        """The elements by their numbers, or None."""
        return None

    @property
    def computes(self) -> bool:
        """Whether rows are computed by a function of the user's, at this stage or before."""
        return any(stage.computes for stage in self.inputs)

    @property
    def has_ragged_rows(self) -> bool:
        """Whether some elements, here or before, are rows of RaggedTensors."""
        return any(stage.has_ragged_rows for stage in self.inputs)

    def options(self) -> list[Any]:
        """What users have asked of the pipeline, the oldest first."""
        return [found for stage in self.inputs for found in stage.options()]

    def random_stages(self) -> list[RandomStage]:
        """The stages of the pipeline that draw random numbers, each once."""
        found: dict[int, Any] = {}
        for stage in self.inputs:
            found |= {id(below): below for below in stage.random_stages()}
        if isinstance(self, RandomStage):
            found[id(self)] = self
        return list(found.values())


class RandomStage(Stage):
    """A stage whose passes draw random numbers, from its seed and the number of the pass."""

    def __init__(self, *inputs: Stage, seed: tuple[int, int], changes: bool) -> None:
        super().__init__(*inputs)
        self._seed = seed
        self._changes = changes  # whether each pass has numbers of its own
        self._passes = 0

    def next_pass(self) -> int:
        """The number of a pass that begins now."""
        number = self._passes
        self._passes += 1
        return number

    def generator(self, number: int, repetition: int) -> np.random.Generator:
        """The random numbers of a pass, of which one iteration may make several."""
        words = [*self._seed, number, repetition] if self._changes else [*self._seed]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


class Run:
    """One iteration over a dataset: which pass of each random stage it is.

    A run that is given these numbers draws the same random numbers again.
    """

    def __init__(self, numbers: dict[int, int] | None = None) -> None:
        self.numbers = {} if numbers is None else numbers
        self._repetitions: dict[int, int] = {}

    def begin(self, stage: RandomStage) -> int:
        """The number of this run's pass of a stage."""
        if id(stage) not in self.numbers:
            self.numbers[id(stage)] = stage.next_pass()
        return self.numbers[id(stage)]

    def generator(self, stage: RandomStage) -> np.random.Generator:
        """The random numbers of the next pass of a stage within this run."""
        repetition = self._repetitions.get(id(stage), 0)
        self._repetitions[id(stage)] = repetition + 1
        return stage.generator(self.begin(stage), repetition)


class StageIterator:
    """The elements of a stage one by one.

    After an error, unless it is a StopIteration, the next call goes on with the next element:
    iterators are objects rather than generators, which an error would end.
    """

    def __init__(self, *inputs: StageIterator) -> None:
        self.inputs = inputs

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def skip(self, count: int) -> None:
        """Leaves elements out, as if they had been taken."""
        for _ in range(count):
            if next(self, self) is self:
                return

    def close(self) -> None:
        """Ends what works for this iterator, such as threads; what is closed gives nothing more."""
        for below in self.inputs:
            below.close()


def raised_later(error: BaseException) -> NoReturn:
    """Raises an error that came about before, and keeps nothing alive with it: the frame that
    raises an error which it has a name for would be held by it, with the iterator and its threads.
    """
    try:
        raise error
    finally:
        del error


def located(error: BaseException, stage: str, number: int) -> None:
    """Adds to an error of the user's function at which element of which stage it came about."""
    error.add_note(f"This happened in {stage} of a tf.data.Dataset, at its element {number}.")
