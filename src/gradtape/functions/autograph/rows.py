"""What a `for` loop of a program runs over: the rows of tensors, or numbers up to one that only the program knows."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.tape import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.trace import inside_a_program
from gradtape.core.variable import Variable
from gradtape.core.xla_tensor import is_traced
from gradtape.ops.arithmetic import greater, less, logical_and, logical_or
from gradtape.ops.broadcasting import cast
from gradtape.ops.convert import as_tensor
from gradtape.ops.shaping import getitem


class Rows:
    """The rows of tensors of one length; `entry` makes what the loop's variable is from a row of each."""

    def __init__(self, tensors: Sequence[Tensor], entry: Callable[[Sequence[Tensor]], Any]) -> None:
        self.tensors = list(tensors)
        self.entry = entry
        self.length = min(len(t.array) for t in self.tensors)
        self.tensors = [self._part(t, slice(0, self.length)) if len(t.array) > self.length else t for t in self.tensors]

    @staticmethod
    def _part(tensor: Tensor, part: slice) -> Tensor:
        return getitem(tensor, key=(part,))

    @staticmethod
    def at(tensor: Tensor, place: Any) -> Any:
        return tensor[place]

    def first(self, count: int | None) -> Rows:
        """No more than so many rows."""
        if count is None or count >= self.length:
            return self
        return Rows([self._part(t, slice(0, count)) for t in self.tensors], self.entry)

    def after_first(self) -> Rows:
        return Rows([self._part(t, slice(1, None)) for t in self.tensors], self.entry)


class Progression:
    """The numbers from `start` in steps of `step` before `stop`, one of which is a tensor of the program."""

    def __init__(self, start: Any, stop: Any, step: Any, dtype: Any = None) -> None:
        given = [as_tensor(source_object(value), argument="range") for value in (start, stop, step)]
        if dtype is None:
            dtype = given[0].array.dtype
            for tensor in given[1:]:
                dtype = dtypes.promote(dtype, tensor.array.dtype)
        self.start, self.stop, self.step = (cast(t, dtype=np.dtype(dtype)) for t in given)

    def contains(self, number: Tensor) -> Tensor:
        """Whether a number is before the end."""
        up = logical_and(greater(self.step, 0), less(number, self.stop))
        return logical_or(up, logical_and(less(self.step, 0), greater(number, self.stop)))

    def __gradtape_tensor__(self) -> Tensor:
        raise ValueError(
            "range: in a gradtape.function the number of elements must be known when it is traced; over numbers up to a tensor of "
            "the function only a `for` loop can run."
        )


def rows_of(iterated: Any) -> Rows | Progression | None:
    """What a loop over a value runs over in a program; None if it is Python's to run."""
    if isinstance(iterated, (Rows, Progression)):
        return iterated
    value = source_object(iterated)
    if not inside_a_program() or not isinstance(value, (Tensor, Variable)):
        return None
    tensor = as_tensor(value)
    if not tensor.array.ndim:
        raise TypeError("Cannot iterate over a scalar tensor.")
    return Rows([tensor], lambda rows: rows[0])


def range_(*args: Any) -> Any:
    """`range`: over tensors, it is what `gradtape.range` gives."""
    if not inside_a_program() or not any(isinstance(source_object(arg), (Tensor, Variable)) for arg in args):
        return range(*args)
    start, stop, step = (args[0], args[1], args[2] if len(args) > 2 else 1) if len(args) > 1 else (0, args[0], 1)
    return tensor_range(start, stop, step) or _known(start, stop, step)


def _known(*bounds: Any) -> Tensor:
    arrays = [as_tensor(source_object(bound)).array for bound in bounds]
    return Tensor(np.arange(*[int(array) for array in arrays], dtype=np.result_type(*arrays)))


def tensor_range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None) -> Progression | None:
    """What `gradtape.range` cannot give: numbers whose bounds only the program will know. None if they are all known."""
    bounds = (0, start, delta) if limit is None else (start, limit, delta)
    return Progression(*bounds, None if dtype is None else dtypes.as_dtype(dtype).numpy) if any(map(is_traced, bounds)) else None


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    rows = rows_of(iterable)
    if not isinstance(rows, Rows):
        return builtins.enumerate(iterable, start)
    numbers = Tensor(np.arange(rows.length, dtype=np.int32)) + start
    return Rows([numbers, *rows.tensors], lambda entries: (entries[0], rows.entry(entries[1:])))


def zip_(*iterables: Any, strict: bool = False) -> Any:
    found = [rows_of(iterable) for iterable in iterables]
    rows = [r for r in found if isinstance(r, Rows)]
    if not rows or len(rows) < len(found):
        return builtins.zip(*iterables, strict=strict)
    if strict and len({r.length for r in rows}) > 1:
        raise ValueError(f"zip: the arguments differ in length: {[r.length for r in rows]}.")
    ends = np.cumsum([len(r.tensors) for r in rows]).tolist()

    def entry(entries: Sequence[Tensor]) -> tuple[Any, ...]:
        parts = [entries[end - len(r.tensors) : end] for r, end in builtins.zip(rows, ends, strict=True)]
        return tuple(r.entry(part) for r, part in builtins.zip(rows, parts, strict=True))

    return Rows([tensor for r in rows for tensor in r.tensors], entry)
