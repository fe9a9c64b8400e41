"""`TensorArray`: a list of tensors of one dtype that is written and read by index.

In eager code it is a Python list.

In a program that is being traced, an array that is written or read at an index known only at run
time is one tensor, whose rows are the entries. In this form it passes through the program's loops
and branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, integers
from gradtape.convert import as_indices, as_tensor, operand
from gradtape.core.tensor import Tensor
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import is_traced
from gradtape.core.xla.trace import inside_a_program
from gradtape.errors import OutOfRangeError, invalid_argument
from gradtape.ops.indexing import set_rows, take
from gradtape.ops.shaping import concat, reshape, split, stack, unstack
from gradtape.published import published
from gradtape.shapes import TensorShape

_CLEARED = object()


@published("TensorArray")
class TensorArray:
    """A list of tensors; what is written into it and read from it again is differentiable.

    Writing changes the array itself and gives it back, so that `array = array.write(i, x)` works
    here as in a graph. A read with `read` clears the entry, unless `clear_after_read` is False. In
    a `function`, as in a graph, writing gives another array, and the size must be known while the
    function is traced.

    >>> import gradtape as tf
    >>> array = tf.TensorArray(tf.float32, size=3)
    >>> for i in range(3):
    ...     array = array.write(i, float(i) ** 2)
    >>> array.stack().numpy()
    array([0., 1., 4.], dtype=float32)
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            raise ValueError("TensorArray: handle is for TensorFlow's graphs: leave it out.")
        if size is None:
            raise ValueError("TensorArray: size must be given; with dynamic_size=True it may be 0.")
        if is_traced(size):
            raise BeyondXlaError(
                "TensorArray: in a gradtape.function size must be known while the function is "
                "traced: pass a number, or take it from "
                "a shape."
            )
        self._dtype = dtypes.as_dtype(dtype)
        self._entries: list[Any] = [None] * as_int(size, "TensorArray: size")
        self._rows: Tensor | None = None  # the entries as one tensor, in a program
        self._dynamic = bool(dynamic_size)
        self._clears = True if clear_after_read is None else bool(clear_after_read)
        self._infers = bool(infer_shape)
        self._element_shape = TensorShape(element_shape)

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of the entries."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether the array grows when something is written behind its end."""
        return self._dynamic

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the entries."""
        return self._element_shape

    @property
    def flow(self) -> Tensor:
        """A scalar that stands for the order of writes in a graph."""
        return Tensor(np.array(0, np.int32))

    @property
    def handle(self) -> None:
        """The resource in a graph; there is none in eager code."""

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def size(self, name: str | None = None) -> Tensor:
        """How many entries there are."""
        return Tensor(np.array(len(self), np.int32))

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The entry at `index`; zeros if nothing was written there and the shape is known."""
        if self._by_rows(index):
            return take(self._as_rows(), self._row(index, "read"), axis=0, sparse=False)
        place = as_int(index, "TensorArray.read: index")
        self._check_place(place, "read")
        entry = self._entry(place)
        if self._clears and not inside_a_program():
            self._entries[place] = _CLEARED
        return entry

    def write(self, index: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        """Puts `value` at `index`, in the place of what was there."""
        array, entry = self._to_change(), self._converted(value, "TensorArray.write: value")
        if self._by_rows(index):
            array._fit(entry)
            row = reshape(array._row(index, "write"), shape=(1,))
            array._rows = set_rows(
                array._as_rows(), row, reshape(entry, shape=(1, *entry.array.shape))
            )
            return array
        place = as_int(index, "TensorArray.write: index")
        if place < 0 or (place >= len(self) and not self._dynamic):
            raise OutOfRangeError(
                None,
                None,
                (
                    f"TensorArray.write: index {place} is not in [0, {len(self)}): use "
                    "dynamic_size=True to let the array grow."
                ),
            )
        array._put(place, entry)
        return array

    def stack(self, name: str | None = None) -> Tensor:
        """All entries as one tensor, with a new first axis."""
        return self._stacked(range(len(self._entries))) if self._rows is None else self._rows

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The entries at `indices` as one tensor, with a new first axis."""
        if self._by_rows(indices):
            return take(
                self._as_rows(),
                as_indices(indices, "TensorArray.gather: indices"),
                axis=0,
                sparse=False,
            )
        places = integers(indices, "TensorArray.gather: indices")
        for place in places:
            self._check_place(place, "gather")
        return self._stacked(places)

    def concat(self, name: str | None = None) -> Tensor:
        """All entries joined along their first axis."""
        if self._rows is not None and self._rows.ndim > 1:
            count, rows, *rest = self._rows.array.shape
            return reshape(self._rows, shape=(count * rows, *rest))
        entries = [self._entry(place) for place in range(len(self))]
        if not entries:
            return self._zeros((0, *self._known_shape()[1:]))
        for place, entry in enumerate(entries):
            if not entry.array.ndim:
                raise invalid_argument(f"TensorArray.concat: entry {place} is a scalar: use stack.")
        return concat(*entries, axis=0)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Makes the slices of `value` along its first axis the entries."""
        whole = self._with_axis(value, "unstack")
        count = whole.array.shape[0]
        if count > len(self) and not self._dynamic:
            raise ValueError(
                f"TensorArray.unstack: {count} slices do not fit an array of size {len(self)}."
            )
        array = self._to_change()
        if inside_a_program():
            array._fit_shape(whole.array.shape[1:])
            array._entries, array._rows = [], whole
        else:
            array._replace(unstack(whole, axis=0))
        return array

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Writes the slices of `value` along its first axis at `indices`."""
        whole = self._with_axis(value, "scatter")
        by_rows = self._by_rows(indices)
        places: Any = (
            as_indices(indices, "TensorArray.scatter: indices")
            if by_rows
            else integers(indices, "TensorArray.scatter: indices")
        )
        count = places.array.size if by_rows else len(places)
        if count != whole.array.shape[0]:
            raise invalid_argument(
                f"TensorArray.scatter: there are {count} indices, but "
                f"{whole.array.shape[0]} slices."
            )
        array = self._to_change()
        if by_rows:
            array._fit_shape(whole.array.shape[1:])
            array._rows = set_rows(array._as_rows(), reshape(places, shape=(count,)), whole)
            return array
        for place, entry in zip(places, unstack(whole, axis=0), strict=True):
            array = array.write(place, entry)
        return array

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Makes parts of `value`, `lengths` rows each, the entries."""
        sizes, whole = (
            integers(lengths, "TensorArray.split: lengths"),
            self._with_axis(value, "split"),
        )
        if sum(sizes) != whole.array.shape[0]:
            raise invalid_argument(
                f"TensorArray.split: lengths={list(sizes)} do not add up to "
                f"{whole.array.shape[0]} rows."
            )
        if len(sizes) != len(self) and not self._dynamic:
            raise invalid_argument(
                f"TensorArray.split: {len(sizes)} parts do not fit an array of size {len(self)}."
            )
        array = self._to_change()
        array._replace(split(whole, sizes=sizes, axis=0), shapes=False)
        return array

    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> Any:
        """Not for eager code: a GradientTape follows what is written and read."""
        raise NotImplementedError(
            "TensorArray.grad is for TensorFlow's graphs: use a GradientTape."
        )

    def close(self, name: str | None = None) -> None:
        """Drops all entries."""
        if not inside_a_program():
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries) if self._rows is None else self._rows.array.shape[0]

    # In loops and branches of a program

    def __gradtape_flatten__(self) -> list[Tensor]:
        """The entries as one tensor; nothing as long as no shape is known."""
        return [self._as_rows()] if self._has_shape() else []

    def __gradtape_unflatten__(self, tensors: Iterator[Tensor]) -> TensorArray:
        """An array like this with other entries."""
        array = self._copy()
        if self._has_shape():
            array._entries, array._rows = [], next(tensors)
        return array

    def _has_shape(self) -> bool:
        return self._rows is not None or self._element_shape.is_fully_defined()

    def __gradtape_like__(self, other: TensorArray) -> TensorArray:
        """This array with the element shape that another one,
        into which something was written, has.
        """
        array = self._copy()
        array._element_shape = other._element_shape
        return array

    def _copy(self) -> TensorArray:
        array = object.__new__(TensorArray)
        array.__dict__.update(self.__dict__)
        array._entries = list(self._entries)
        return array

    def _to_change(self) -> TensorArray:
        """The array that a write changes: a program may run what was traced any number of times,
        so that this one stays.
        """
        return self._copy() if inside_a_program() else self

    def _by_rows(self, index: Any) -> bool:
        return (
            self._rows is not None
            or is_traced(index)
            or (isinstance(index, (list, tuple)) and any(map(is_traced, index)))
        )

    def _row(self, index: Any, method: str) -> Tensor:
        """The number of a row as a tensor."""
        if is_traced(index):
            if self._dynamic and method == "write":
                raise BeyondXlaError(
                    "TensorArray.write: in a gradtape.function an array cannot grow at an index "
                    "that is known only to the compiled program: give the array its full size, "
                    "without dynamic_size."
                )
            return as_indices(index, f"TensorArray.{method}: index")
        place = as_int(index, f"TensorArray.{method}: index")
        self._check_place(place, method)
        return Tensor(np.array(place, np.int32))

    def _check_place(self, place: int, method: str) -> None:
        if not 0 <= place < len(self):
            raise OutOfRangeError(
                None, None, f"TensorArray.{method}: index {place} is not in [0, {len(self)})."
            )

    def _as_rows(self) -> Tensor:
        if self._rows is not None:
            return self._rows
        shape = self._known_shape()
        if not self._entries or all(entry is None for entry in self._entries):
            return self._zeros((len(self), *shape))
        return self._stacked(range(len(self)))

    # Entries

    def _converted(self, value: Any, argument: str) -> Tensor:
        """A value to write: a plain one takes the array's dtype, a tensor must have it."""
        found = operand(value)
        if isinstance(found, Tensor):
            if found.dtype != self._dtype:
                raise invalid_argument(
                    f"{argument} has dtype {found.dtype.name}, but the array holds "
                    f"{self._dtype.name}."
                )
            return found
        return as_tensor(value, self._dtype, argument=argument)

    def _with_axis(self, value: Any, method: str) -> Tensor:
        whole = self._converted(value, f"TensorArray.{method}: value")
        if not whole.array.ndim:
            raise invalid_argument(
                f"TensorArray.{method}: value must have at least one axis, got a scalar."
            )
        return whole

    def _fit(self, entry: Tensor) -> None:
        """Checks an entry's shape; where shapes are inferred, all others must have it too."""
        self._fit_shape(entry.array.shape)

    def _fit_shape(self, shape: Any) -> None:
        if not self._element_shape.is_compatible_with(shape):
            raise ValueError(
                f"TensorArray: an entry of shape {TensorShape(shape)} does not fit the element "
                f"shape {self._element_shape}."
            )
        if self._infers or inside_a_program():
            self._element_shape = self._element_shape.merge_with(shape)

    def _put(self, place: int, entry: Tensor) -> None:
        self._fit(entry)
        self._entries.extend([None] * (place + 1 - len(self._entries)))
        self._entries[place] = entry

    def _replace(self, entries: list[Tensor], *, shapes: bool = True) -> None:
        self._rows, self._entries = None, [None] * len(entries)
        for place, entry in enumerate(entries):
            if shapes:
                self._put(place, entry)
            else:
                self._entries[place] = entry

    def _entry(self, place: int) -> Tensor:
        entry = self._entries[place]
        if entry is _CLEARED:
            raise invalid_argument(
                f"TensorArray: entry {place} was cleared when it was read: use "
                "clear_after_read=False to read it again."
            )
        return self._zeros(self._known_shape()) if entry is None else entry

    def _stacked(self, places: Any) -> Tensor:
        entries = [self._entry(place) for place in places]
        if entries:
            return stack(*entries, axis=0)
        return self._zeros(
            (0, *(self._known_shape() if self._element_shape.is_fully_defined() else ()))
        )

    def _known_shape(self) -> tuple[int, ...]:
        if not self._element_shape.is_fully_defined():
            raise ValueError(
                "TensorArray: an entry was never written, and the element shape is "
                f"{self._element_shape}: give element_shape."
            )
        return tuple(self._element_shape)

    def _zeros(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor(np.zeros(shape, self._dtype.numpy))
