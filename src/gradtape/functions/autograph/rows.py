"""What a `for` loop of a program iterates over: the rows of tensors, or a range whose bounds are
known only when the program runs.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.convert import as_tensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import is_traced
from gradtape.core.xla.trace import inside_a_program
from gradtape.functions.autograph.values import location
from gradtape.ops.arithmetic import greater, less, logical_and, logical_or
from gradtape.ops.broadcasting import cast
from gradtape.ops.shaping import getitem


class LoopRows:
    """The rows of tensors of the same length; `entry` makes the loop variable's value from a row of
    each.
    """

    def __init__(self, tensors: Sequence[Tensor], entry: Callable[[Sequence[Tensor]], Any]) -> None:
        self.entry = entry
        self.length: int = min(t.array.shape[0] for t in tensors)
        self.tensors = [
            t if t.array.shape[0] == self.length else _part(t, slice(self.length)) for t in tensors
        ]

    def number(self, place: Any) -> Any:
        """The entry of a row; its number may be a tensor."""
        return self.entry([tensor[place] for tensor in self.tensors])

    def __iter__(self) -> Iterator[Any]:
        """The entries one by one, for what is not a loop of the program."""
        return map(self.number, range(self.length))

    def first(self, count: int | None) -> LoopRows:
        """The first rows, at most this many."""
        return (
            self
            if count is None
            else LoopRows([_part(t, slice(count)) for t in self.tensors], self.entry)
        )

    def after_first(self) -> LoopRows:
        return LoopRows([_part(t, slice(1, None)) for t in self.tensors], self.entry)


def _part(tensor: Tensor, part: slice) -> Tensor:
    return getitem(tensor, key=(part,))


class Progression:
    """The numbers from `start` in steps of `step` up to `stop`, where one of the three is a traced
    tensor.
    """

    def __init__(self, start: Any, stop: Any, step: Any, *, dtype: Any = None) -> None:
        given = [as_tensor(source_object(value), argument="range") for value in (start, stop, step)]
        if dtype is None:
            dtype = functools.reduce(dtypes.promote, [tensor.array.dtype for tensor in given])
        self.start, self.stop, self.step = (cast(t, dtype=np.dtype(dtype)) for t in given)

    def contains(self, number: Tensor) -> Tensor:
        """Whether a number is before the end."""
        up = logical_and(greater(self.step, 0), less(number, self.stop))
        return logical_or(up, logical_and(less(self.step, 0), greater(number, self.stop)))

    def __gradtape_tensor__(self, *others: Any) -> Any:
        raise BeyondXlaError(
            f"{location()}: in a gradtape.function only a `for` loop can run over a range whose "
            "bound is a tensor; elsewhere its length must be known while the function is traced: "
            "use a Python integer, or take it from a shape."
        )

    __iter__ = __len__ = __getitem__ = __neg__ = __abs__ = __gradtape_tensor__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        __gradtape_tensor__
    )
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = (
        __rmatmul__
    ) = __gradtape_tensor__
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __gradtape_tensor__
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__gradtape_tensor__()


def rows_of(iterated: Any) -> LoopRows | Progression | None:
    """What a loop over a value iterates over in a program; None if Python runs the loop."""
    if isinstance(iterated, (LoopRows, Progression)):
        return iterated
    value = source_object(iterated)
    if not inside_a_program() or not isinstance(value, (Tensor, Variable)):
        return None
    tensor = as_tensor(value)
    if not tensor.array.ndim:
        raise TypeError(f"{location()}: cannot iterate over a scalar tensor.")
    if tensor.array.dtype == object:  # strings, which are known
        return None
    return LoopRows([tensor], lambda rows: rows[0])


def range_(*args: Any) -> Any:
    """`range`: over tensors, it is what `gradtape.range` gives."""
    if not inside_a_program() or not any(
        isinstance(source_object(arg), (Tensor, Variable)) for arg in args
    ):
        return range(*args)
    start, stop, step = (
        (args[0], args[1], args[2] if len(args) > 2 else 1) if len(args) > 1 else (0, args[0], 1)
    )
    return tensor_range(start, stop, step) or _known(start, stop, step)


def _known(*bounds: Any) -> Tensor:
    arrays = [as_tensor(source_object(bound), argument="range").array for bound in bounds]
    return Tensor(
        np.arange(
            *arrays, dtype=functools.reduce(dtypes.promote, [array.dtype for array in arrays])
        )
    )


def tensor_range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Progression | None:
    """What `gradtape.range` cannot return: a range whose bounds are traced tensors.

    None if they are all known.
    """
    bounds = (0, start, delta) if limit is None else (start, limit, delta)
    if not any(map(is_traced, bounds)):
        return None
    return Progression(*bounds, dtype=None if dtype is None else dtypes.as_dtype(dtype).numpy)


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    rows = rows_of(iterable)
    if not isinstance(rows, LoopRows):
        return builtins.enumerate(iterable, start)
    numbers = Tensor(np.arange(rows.length, dtype=np.int32)) + start
    return LoopRows([numbers, *rows.tensors], lambda entries: (entries[0], rows.entry(entries[1:])))


def zip_(*iterables: Any, strict: bool = False) -> Any:
    found = [rows_of(iterable) for iterable in iterables]
    rows = [r for r in found if isinstance(r, LoopRows)]
    if not rows or len(rows) < len(found):
        return builtins.zip(*iterables, strict=strict)
    if strict and len({r.length for r in rows}) > 1:
        raise ValueError(
            f"zip: all arguments must have the same length, got {[r.length for r in rows]}."
        )
    ends = np.cumsum([len(r.tensors) for r in rows]).tolist()

    def entry(entries: Sequence[Tensor]) -> tuple[Any, ...]:
        parts = [
            entries[end - len(r.tensors) : end] for r, end in builtins.zip(rows, ends, strict=True)
        ]
        return tuple(r.entry(part) for r, part in builtins.zip(rows, parts, strict=True))

    return LoopRows([tensor for r in rows for tensor in r.tensors], entry)
