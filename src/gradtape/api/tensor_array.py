"""`TensorArray`: a list of tensors of one dtype that is written and read by index. In eager code it is a Python list."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.arguments import DTypeLike, TensorLike, as_int, integers
from gradtape.core.tensor import Tensor
from gradtape.errors import OutOfRangeError, invalid_argument
from gradtape.ops.convert import as_tensor
from gradtape.ops.op import operand
from gradtape.ops.shaping import concat, split, stack, unstack
from gradtape.shapes import TensorShape

_CLEARED = object()


class TensorArray:
    """A list of tensors; what is written into it and read from it again is differentiable.

    Writing changes the array itself and gives it back, so that `array = array.write(i, x)` works here as in a graph. A read
    with `read` clears the entry, unless `clear_after_read` is False.

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
            raise ValueError("TensorArray: handles are for graphs; leave handle out.")
        if size is None:
            raise ValueError("TensorArray: size is missing; with dynamic_size=True it may be 0.")
        self._dtype = dtypes.as_dtype(dtype)
        self._entries: list[Any] = [None] * as_int(size, "TensorArray: size")
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
        return Tensor(np.array(len(self._entries), np.int32))

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The entry at `index`; zeros if nothing was written there and the shape is known."""
        place = as_int(index, "TensorArray.read: index")
        if not 0 <= place < len(self._entries):
            raise OutOfRangeError(None, None, f"TensorArray.read: index {place} is not in [0, {len(self._entries)}).")
        entry = self._entry(place)
        if self._clears:
            self._entries[place] = _CLEARED
        return entry

    def write(self, index: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        """Puts `value` at `index`, in the place of what was there."""
        place = as_int(index, "TensorArray.write: index")
        if place < 0 or (place >= len(self._entries) and not self._dynamic):
            raise OutOfRangeError(
                None, None, f"TensorArray.write: index {place} is not in [0, {len(self._entries)}): use dynamic_size=True."
            )
        self._put(place, self._converted(value, "TensorArray.write: value"))
        return self

    def stack(self, name: str | None = None) -> Tensor:
        """All entries as one tensor, with a new first axis."""
        return self._stacked(range(len(self._entries)))

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The entries at `indices` as one tensor, with a new first axis."""
        places = integers(indices, "TensorArray.gather: indices")
        for place in places:
            if not 0 <= place < len(self._entries):
                raise OutOfRangeError(None, None, f"TensorArray.gather: index {place} is not in [0, {len(self._entries)}).")
        return self._stacked(places)

    def concat(self, name: str | None = None) -> Tensor:
        """All entries joined along their first axis."""
        entries = [self._entry(place) for place in range(len(self._entries))]
        if not entries:
            return self._zeros((0, *self._known_shape()[1:]))
        for place, entry in enumerate(entries):
            if not entry.array.ndim:
                raise invalid_argument(f"TensorArray.concat: the entry {place} is a scalar: use stack.")
        return concat(*entries, axis=0)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Makes the slices of `value` along its first axis the entries."""
        entries = unstack(self._with_axis(value, "unstack"), axis=0)
        if len(entries) > len(self._entries) and not self._dynamic:
            raise ValueError(f"TensorArray.unstack: {len(entries)} slices do not fit an array of size {len(self._entries)}.")
        self._replace(entries)
        return self

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes the slices of `value` along its first axis at `indices`."""
        places = integers(indices, "TensorArray.scatter: indices")
        entries = unstack(self._with_axis(value, "scatter"), axis=0)
        if len(places) != len(entries):
            raise invalid_argument(f"TensorArray.scatter: there are {len(places)} indices, but {len(entries)} slices.")
        for place, entry in zip(places, entries, strict=True):
            self.write(place, entry)
        return self

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Makes parts of `value`, `lengths` rows each, the entries."""
        sizes, whole = integers(lengths, "TensorArray.split: lengths"), self._with_axis(value, "split")
        if sum(sizes) != whole.array.shape[0]:
            raise invalid_argument(f"TensorArray.split: lengths={list(sizes)} do not add up to {whole.array.shape[0]} rows.")
        if len(sizes) != len(self._entries) and not self._dynamic:
            raise invalid_argument(f"TensorArray.split: {len(sizes)} parts do not fit an array of size {len(self._entries)}.")
        self._replace(split(whole, sizes=sizes, axis=0), shapes=False)
        return self

    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> Any:
        """Not for eager code: a GradientTape follows what is written and read."""
        raise NotImplementedError("TensorArray.grad is for graphs; use a GradientTape.")

    def close(self, name: str | None = None) -> None:
        """Drops all entries."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def _converted(self, value: Any, argument: str) -> Tensor:
        """A value to write: a plain one takes the array's dtype, a tensor must have it."""
        found = operand(value)
        if isinstance(found, Tensor):
            if found.dtype != self._dtype:
                raise invalid_argument(f"{argument} has dtype {found.dtype.name}, but the array holds {self._dtype.name}.")
            return found
        return as_tensor(value, self._dtype, argument=argument)

    def _with_axis(self, value: Any, method: str) -> Tensor:
        whole = self._converted(value, f"TensorArray.{method}: value")
        if not whole.array.ndim:
            raise invalid_argument(f"TensorArray.{method}: value must have at least one axis, got a scalar.")
        return whole

    def _put(self, place: int, entry: Tensor) -> None:
        if not self._element_shape.is_compatible_with(entry.array.shape):
            raise ValueError(
                f"TensorArray: an entry of shape {entry.shape} does not fit the element shape {self._element_shape}."
            )
        if self._infers:
            self._element_shape = self._element_shape.merge_with(entry.array.shape)
        self._entries.extend([None] * (place + 1 - len(self._entries)))
        self._entries[place] = entry

    def _replace(self, entries: list[Tensor], *, shapes: bool = True) -> None:
        self._entries = [None] * len(entries)
        for place, entry in enumerate(entries):
            if shapes:
                self._put(place, entry)
            else:
                self._entries[place] = entry

    def _entry(self, place: int) -> Tensor:
        entry = self._entries[place]
        if entry is _CLEARED:
            raise invalid_argument(
                f"TensorArray: the entry {place} was cleared when it was read: use clear_after_read=False to read it again."
            )
        return self._zeros(self._known_shape()) if entry is None else entry

    def _stacked(self, places: Any) -> Tensor:
        entries = [self._entry(place) for place in places]
        if entries:
            return stack(*entries, axis=0)
        return self._zeros((0, *(self._known_shape() if self._element_shape.is_fully_defined() else ())))

    def _known_shape(self) -> tuple[int, ...]:
        if not self._element_shape.is_fully_defined():
            raise ValueError(
                f"TensorArray: an entry was never written, and the element shape is {self._element_shape}: give element_shape."
            )
        return tuple(self._element_shape)

    def _zeros(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor(np.zeros(shape, self._dtype.numpy))
