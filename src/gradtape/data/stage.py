"""`Stage`: one step of a pipeline, and what every step can be asked.

A stage knows the specs of its elements, how many there are, and how to go through them:

- `iterator(run)` gives them one by one. It is the general way, and all stages have it.
- `rows(run)` gives several at once, stacked, where elements are rows of arrays; None elsewhere.
- `addressed()` gives any of them by number, where each is the same in every pass; None elsewhere.

`gradtape.data.rows` says what stages make of the last two. Stages know nothing of `Dataset`, which
is the users' view of a stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from gradtape.api.tensorflow.random.sequence import seed_words

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


class Seed(NamedTuple):
    """What random numbers come from, and whether the user has said it."""

    first: int
    second: int
    given: bool


def seed_of(seed: Any, argument: str) -> Seed:
    """The seed of a stage: the user's, or one that is drawn now."""
    return Seed(*seed_words(seed, argument), seed is not None)


_made = count()


class RandomStage(Stage):
    """A stage whose passes draw random numbers, from its seed and the number of the pass."""

    def __init__(self, *inputs: Stage, seed: Seed, changes: bool) -> None:
        super().__init__(*inputs)
        self.seed = seed
        self.changes = changes  # whether each pass has numbers of its own
        self.made = next(_made)
        self._passes = 0

    def next_pass(self) -> int:
        """The number of a pass that begins now."""
        number = self._passes
        self._passes += 1
        return number

    def go_on_from(self, number: int) -> None:
        """The next pass comes after this one, which was perhaps another process's."""
        self._passes = max(self._passes, number + 1)


class DatasetsStage(RandomStage):
    """A stage whose function gives datasets, in which random numbers may be drawn.

    Its pass has a number for them, and the seed of those to which the user has given none.
    """

    def __init__(self, *inputs: Stage) -> None:
        super().__init__(*inputs, seed=seed_of(None, ""), changes=True)


Words = tuple[int, ...]
"""What random numbers come from."""


class Pass(NamedTuple):
    """A pass of a random stage: what decides its random numbers, in any process."""

    first: int
    second: int
    number: int


class Run:
    """One iteration over a pipeline: which pass of each of its random stages it is.

    A run that is given these passes draws the same random numbers again.
    """

    def __init__(self, pipeline: Stage, passes: Sequence[Words] | None = None) -> None:
        stages = pipeline.random_stages()
        if passes is None:
            passes = [Pass(*stage.seed[:2], stage.next_pass()) for stage in stages]
        self._passes = dict(zip(stages, passes, strict=True))
        self._repetitions: dict[RandomStage, int] = {}

    @property
    def passes(self) -> list[Pass]:
        """The passes of the stages, in the order of `random_stages`."""
        return [Pass(*words) for words in self._passes.values()]

    def _next(self, stage: RandomStage) -> Words:
        """What the random numbers of the next pass of a stage within this run come from."""
        words = self._passes[stage]
        if not stage.changes:
            return words[:2]
        repetition = self._repetitions.get(stage, 0)
        self._repetitions[stage] = repetition + 1
        return (*words, repetition)

    def generator(self, stage: RandomStage) -> np.random.Generator:
        """The random numbers of the next pass of a stage within this run."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self._next(stage))))

    def inside(self, stage: DatasetsStage) -> Inside:
        """What goes through the datasets that a stage's function gives in the next pass."""
        first, second, *place = self._next(stage)
        return Inside((first, second), (list(self._passes).index(stage), *place))


class Inside:
    """Goes through the datasets that a function gives in one pass of its stage.

    Their random numbers come from the seed of the pass and from where they are drawn, not from when
    they are: a restored iterator goes to its place in another way, and threads go through several
    datasets at once. Stages may be made anew for each dataset, and are not kept alive.
    """

    def __init__(self, seed: tuple[int, int], place: Words) -> None:
        self._seed, self._place = seed, place
        self._given = 0

    def iterator(self, function: Callable[[], Stage]) -> StageIterator:
        """The elements of the next dataset, which `function` gives."""
        before, place = next(_made), (*self._place, self._given)
        self._given += 1
        dataset = function()
        passes = [
            self._begin(stage, (*place, number), stage.made > before)
            for number, stage in enumerate(dataset.random_stages())
        ]
        return dataset.iterator(Run(dataset, passes))

    def _begin(self, stage: RandomStage, place: Words, made_now: bool) -> Words:
        """What was there before keeps its one order, in which others may have gone through it."""
        if not stage.seed.given and (made_now or stage.changes):
            return (*self._seed, *place)
        return (*stage.seed[:2], 0) if made_now else (*stage.seed[:2], *place)


def first_run(pipeline: Stage) -> Run:
    """A run that looks at a pipeline, and is no pass of its own."""
    return Run(pipeline, [Pass(*stage.seed[:2], 0) for stage in pipeline.random_stages()])


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
