"""Writing parts of a Variable: the `scatter_*` methods, which take rows or coordinates and refuse
those out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.core.buffered import Buffered
from gradtape.core.thread import here
from gradtape.core.values import array_of, to_array
from gradtape.core.writing import writing
from gradtape.engines.numpy.scatter import all_within, rows_to_combine
from gradtape.engines.xla import engine as xla_engine
from gradtape.errors import invalid_argument

if TYPE_CHECKING:
    from gradtape.core.indexed_slices import IndexedSlices
    from gradtape.core.variable import Variable


class SparseWrites(Buffered):
    """The methods of a Variable that change some of its entries."""

    if TYPE_CHECKING:

        def tell_recorders(self, value: Any = None, *, replaces: bool = True) -> None: ...
        def _compatible(self, value: Any, method: str, *, argument: str = "value") -> Any: ...
        def _updated(self, read_value: bool) -> Any: ...

    def write_at(
        self, key: Any, values: Any, ufunc: np.ufunc | None = None, *, given: Any = None
    ) -> None:
        """Sets `array[key]`, or combines it with `values` by `ufunc`, with every repetition of an
        index counted; `given` is what the values are from.
        """
        self.tell_recorders(given, replaces=False)
        trace: Any = here.state.trace
        if trace is not None:
            trace.write_at(self, key, values, ufunc, _changed)
            return
        if ufunc is not None:
            here.state.run_on_host(self._combine_at, key, values, ufunc)
            return
        array = self.array
        if self.owns(array):
            array[key] = values
            return
        with writing.lock:
            while not self.swap(array := self.array, _written(array, key, values)):
                pass

    def _combine_at(self, key: Any, values: Any, ufunc: np.ufunc) -> None:
        """`write_at` with a ufunc: combines what the entries hold with `values`."""
        array = self.array
        if self.owns(array):
            write, *arguments = _combination(ufunc, array, key, values)
            if self.owns(
                array, uses=1
            ):  # still: a handler that wrote meanwhile saw our reference, and wrote to a new array
                write(*arguments)
                return
            del arguments
        with writing.lock:
            while True:
                array = self.array
                copy = np.array(array)
                write, *arguments = _combination(ufunc, copy, key, values)
                write(*arguments)
                if self.swap(array, copy):
                    return

    def scatter_update(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        """Sets the rows that `sparse_delta` names."""
        return self._scatter(None, sparse_delta, "scatter_update")

    def scatter_add(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        """Adds to the rows that `sparse_delta` names.

        >>> import gradtape as tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_add(tf.IndexedSlices([10.0, 20.0], [0, 2])).numpy()
        array([11.,  2., 23.], dtype=float32)
        """
        return self._scatter(np.add, sparse_delta, "scatter_add")

    def scatter_sub(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        return self._scatter(np.subtract, sparse_delta, "scatter_sub")

    def scatter_mul(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        return self._scatter(np.multiply, sparse_delta, "scatter_mul")

    def scatter_div(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        if self.array.dtype.kind not in "fcV":
            raise TypeError(
                f"scatter_div: the variable is {self.array.dtype}; division needs a "
                "floating-point or complex dtype."
            )
        return self._scatter(np.divide, sparse_delta, "scatter_div")

    def scatter_max(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        return self._scatter(np.maximum, sparse_delta, "scatter_max")

    def scatter_min(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        return self._scatter(np.minimum, sparse_delta, "scatter_min")

    def _scatter(self, ufunc: np.ufunc | None, delta: Any, method: str) -> Variable:
        indices, values = self._slices(delta, method)
        check_indices(indices, self.array.shape[:1], method)
        self.write_at(
            indices,
            self._fitting(values, indices.shape + self.array.shape[1:], method),
            ufunc,
            given=values,
        )
        return self._updated(True)

    def batch_scatter_update(
        self,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        """Sets rows along the last axis of the indices, separately for each batch entry."""
        indices, values = self._slices(sparse_delta, "batch_scatter_update")
        batch = indices.ndim - 1
        if batch < 0 or self.array.shape[:batch] != indices.shape[:-1]:
            raise invalid_argument(
                f"batch_scatter_update: indices of shape {indices.shape} do not fit a variable of "
                f"shape {self.array.shape}."
            )
        check_indices(indices, self.array.shape[batch : batch + 1], "batch_scatter_update")
        key = (*np.indices(indices.shape)[:batch], indices)
        shape = indices.shape + self.array.shape[batch + 1 :]
        self.write_at(key, self._fitting(values, shape, "batch_scatter_update"), given=values)
        return self._updated(True)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Sets the entries at `indices`, whose last axis holds coordinates."""
        return self._scatter_nd(None, indices, updates, "scatter_nd_update")

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter_nd(np.add, indices, updates, "scatter_nd_add")

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter_nd(np.subtract, indices, updates, "scatter_nd_sub")

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter_nd(np.maximum, indices, updates, "scatter_nd_max")

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter_nd(np.minimum, indices, updates, "scatter_nd_min")

    def _scatter_nd(
        self,
        ufunc: np.ufunc | None,
        indices: Any,
        updates: Any,
        method: str,
    ) -> Variable:
        positions = _concrete(_positions(indices))
        depth = positions.shape[-1] if positions.ndim else 0
        if positions.dtype.kind not in "iu" or not 0 < depth <= self.array.ndim:
            raise invalid_argument(
                f"{method}: indices must be integers with a last axis of 1 to {self.array.ndim}, "
                f"got shape {positions.shape}, "
                f"dtype {positions.dtype}."
            )
        check_indices(positions, self.array.shape[:depth], method)
        shape = positions.shape[:-1] + self.array.shape[depth:]
        self.write_at(
            tuple(positions[..., i] for i in range(depth)),
            self._fitting(updates, shape, method),
            ufunc,
            given=updates,
        )
        return self._updated(True)

    def _slices(self, delta: Any, method: str) -> tuple[Any, Any]:
        if not (hasattr(delta, "indices") and hasattr(delta, "values")):
            raise TypeError(
                f"{method}: sparse_delta must be an IndexedSlices, got {type(delta).__name__}."
            )
        return _concrete(array_of(delta.indices)), delta.values

    def _fitting(self, values: Any, shape: tuple[int, ...], method: str) -> Any:
        array = self._compatible(values, method, argument="values")
        if array.shape not in ((), shape):
            raise invalid_argument(
                f"{method}: values have shape {array.shape}, but the indices select shape {shape}."
            )
        return array


def _changed(array: Any, key: Any, values: Any, ufunc: np.ufunc | None) -> Any:
    """A copy with `array[key]` set, or combined with `values`."""
    if ufunc is None:
        return _written(array, key, values)
    copy = np.array(array)
    write, *arguments = _combination(ufunc, copy, key, values)
    write(*arguments)
    return copy


def _written(array: Any, key: Any, values: Any) -> Any:
    """A copy with `array[key]` set."""
    copy = np.array(array)
    copy[key] = values
    return copy


def _combination(ufunc: np.ufunc, array: Any, key: Any, values: Any) -> tuple[Any, ...]:
    """The single call that combines entries of an array with values, see `rows_to_combine`."""
    if type(key) is np.ndarray and key.ndim == 1 and values.shape[:1] == key.shape:
        return rows_to_combine(ufunc, array, key, values)
    return ufunc.at, array, key, values


def _positions(indices: Any) -> Any:
    array = array_of(indices)
    return to_array(indices, argument="indices") if array is None else array


def _concrete(array: Any) -> Any:
    """Indices as a NumPy array; those of a program that is being traced are returned unchanged."""
    return array if xla_engine.is_traced(array) else np.asarray(array)


def check_indices(indices: Any, sizes: Sequence[int], op: str) -> None:
    """Refuses an index outside its axis; `sizes` has one entry,
    or one for each place of the last axis.

    In a program that is being traced there are no values to check yet.
    """
    if xla_engine.is_traced(indices) or (len(sizes) == 1 and all_within(indices, sizes[0])):
        return
    limits = np.asarray(sizes)
    outside = (indices < 0) | (indices >= limits)
    if outside.any():
        place = tuple(int(i) for i in np.argwhere(outside)[0])
        limit = int(limits[place[-1]] if limits.size > 1 else limits[0])
        raise invalid_argument(
            f"{op}: indices{list(place)} = {int(indices[place])} is not in [0, {limit})."
        )
