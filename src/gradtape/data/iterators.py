"""What users go through a dataset with: `Iterator` and `NumpyIterator`."""

from __future__ import annotations

import threading
from collections.abc import Iterator as AnyIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.convert import on_host
from gradtape.core.location import caller, locate
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here, init_scope
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.trace import inside_a_program
from gradtape.data.optional import Optional
from gradtape.data.stage import Pass, Run, Stage, StageIterator
from gradtape.data.structure import map_leaves
from gradtape.errors import OutOfRangeError
from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.data.dataset import Dataset


Place = tuple[int, int, list[Pass]]
"""How many elements were given, after how many errors, and in which passes of the random stages."""


def refuse_in_a_program(what: str) -> None:
    """A program cannot be compiled around a dataset: its elements are new at every call.

    The function then runs op by op, and means the same.
    """
    if inside_a_program():
        raise BeyondXlaError(
            f"{what}, at {locate(*caller())}: the elements of a dataset are not part of a compiled "
            "program. To have a step compiled, call it from the loop as a function of its own."
        )


@published("data.Iterator")
class Iterator:
    """The elements of a dataset one by one: what `iter(dataset)` gives.

    It can be saved in a `tf.train.Checkpoint`, which keeps its place. Threads may share it.

    >>> import gradtape as tf
    >>> elements = iter(tf.data.Dataset.range(2))
    >>> [int(x) for x in elements]
    [0, 1]
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lock = threading.RLock()
        self._saved: _Saved | None = None
        self._begin(Run(stage), 0, 0)

    def _begin(self, run: Run, position: int, errors: int) -> None:
        """Begins anew, with the random numbers of a run, and goes on to where so many elements were
        given, after so many errors. These happen again on the way: only going through all elements
        one by one shows which ones they cost. If it fails, the next call tries it again.
        """
        self._run, self._position, self._errors = run, position, errors
        self._ended, self._interrupted = False, True
        with init_scope():
            self._elements: StageIterator = self._stage.iterator(run)
            if errors:
                for _ in range(position + errors):
                    with suppress(Exception):
                        next(self._elements)
            elif position:
                self._elements.skip(position)
        self._interrupted = False

    def __iter__(self) -> AnyIterator[Any]:
        return self

    def __next__(self) -> Any:
        state = here.state
        if state.trace is not None:
            refuse_in_a_program("next(iterator)")
        with self._lock:
            if self._saved is not None:
                self._go_where_restored()
            if self._interrupted:
                self._go_back()
            if self._ended:
                raise _end()
            try:
                if state.recorders or state.op_by_op:
                    with init_scope():  # what a dataset computes is no part of a tape
                        element = next(self._elements)
                else:
                    element = next(self._elements)
            except StopIteration:
                self._ended = True
                self._elements.close()
                raise _end()  # noqa: B904 - it has a cause of its own
            except KeyboardInterrupt:
                self._interrupted = not self._ended
                raise
            except Exception:
                self._errors += 1
                raise
            self._position += 1
            return element

    def _go_back(self) -> None:
        """Goes to the place again at which Ctrl-C has come.

        It may have come between two stages, or between the features and their labels, so that what
        they hold fits together no longer.
        """
        self._elements.close()
        self._begin(Run(self._stage, self._run.passes), self._position, self._errors)

    def get_next(self) -> Any:
        """The next element; an `OutOfRangeError` if there is none.

        >>> import gradtape as tf
        >>> int(iter(tf.data.Dataset.range(3)).get_next())
        0
        """
        try:
            return next(self)
        except StopIteration:
            raise _out_of_range() from None

    def get_next_as_optional(self) -> Optional:
        """The next element as an Optional, which has no value at the end.

        >>> import gradtape as tf
        >>> bool(iter(tf.data.Dataset.range(0)).get_next_as_optional().has_value())
        False
        """
        try:
            return Optional((next(self),), self.element_spec)
        except StopIteration:
            return Optional((), self.element_spec)

    @property
    def element_spec(self) -> Any:
        """The specs of an element."""
        return self._stage.spec

    def close(self) -> None:
        """Ends the iteration, with all threads that work for it."""
        with self._lock:
            self._ended, self._interrupted = True, False
            self._elements.close()

    # Checkpoints

    def __gradtape_children__(self) -> AnyIterator[tuple[str, Variable]]:
        """The Variables in which a checkpoint keeps the place, with the values of now."""
        with self._lock:
            if self._saved is None:
                self._saved = _Saved(len(self._stage.random_stages()))
            else:
                self._go_where_restored()
            self._saved.write(*self.place)
        yield "position", self._saved.position
        yield "errors", self._saved.errors
        yield "passes", self._saved.passes

    def _go_where_restored(self) -> None:
        assert self._saved is not None
        restored = self._saved.changed()
        if restored is not None:
            self.place = restored

    @property
    def place(self) -> Place:
        """How many elements have been given, after how many errors, and the passes of the random
        stages.
        """
        with self._lock:
            return self._position, self._errors, self._run.passes

    @place.setter
    def place(self, wanted: Place) -> None:
        position, errors, passes = wanted
        with self._lock:
            self._elements.close()
            for random, known in zip(self._stage.random_stages(), passes, strict=True):
                random.go_on_from(known.number)
            self._begin(Run(self._stage, passes), position, errors)


class _Saved:
    """The place of an iterator in Variables, which a checkpoint saves and restores."""

    def __init__(self, passes: int) -> None:
        self.position = Variable(np.int64(0), trainable=False, name="position")
        self.errors = Variable(np.int64(0), trainable=False, name="errors")
        nothing = np.zeros((passes, len(Pass._fields)), np.int64)
        self.passes = Variable(nothing, trainable=False, name="passes")
        self._written: Place = (0, 0, [])

    def write(self, position: int, errors: int, passes: list[Pass]) -> None:
        self._written = (position, errors, passes)
        self.position.assign(np.int64(position), read_value=False)
        self.errors.assign(np.int64(errors), read_value=False)
        words = np.array(passes, np.uint64).reshape(-1, len(Pass._fields))
        self.passes.assign(words.view(np.int64), read_value=False)

    def changed(self) -> Place | None:
        """What a checkpoint has written; None if it has not."""
        position, errors = int(on_host(self.position.array)), int(on_host(self.errors.array))
        words = np.array(on_host(self.passes.array)).view(np.uint64).tolist()
        now = position, errors, [Pass(*row) for row in words]
        if now == self._written:
            return None
        self._written = now
        return now


def _out_of_range() -> OutOfRangeError:
    return OutOfRangeError(None, None, "End of sequence: the dataset has no more.")


def _end() -> StopIteration:
    """The end for a loop. A compiled function that it leaves raises its cause, as in TensorFlow."""
    found = StopIteration()
    found.__cause__ = _out_of_range()
    return found


@published("data.NumpyIterator")
class NumpyIterator:
    """The elements of a dataset as NumPy arrays: what `as_numpy_iterator` gives.

    >>> import gradtape as tf
    >>> list(tf.data.Dataset.range(3).as_numpy_iterator())
    [np.int64(0), np.int64(1), np.int64(2)]
    """

    def __init__(self, dataset: Dataset) -> None:
        self._elements = Iterator(dataset.stage)

    def __iter__(self) -> AnyIterator[Any]:
        return self

    def __next__(self) -> Any:
        return map_leaves(as_numpy, next(self._elements))

    def next(self) -> Any:
        """The next element."""
        return next(self)


def as_numpy(leaf: Any) -> Any:
    """A leaf of an element as NumPy has it."""
    if isinstance(leaf, Tensor):
        array = on_host(leaf.array)
        if array.dtype == object and not array.ndim:
            return array[()]
        return array.copy() if array.ndim else array[()]
    return getattr(leaf, "as_numpy_iterator", lambda: leaf)()
