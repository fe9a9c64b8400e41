"""SparseTensors among the arrays that `fit`, `evaluate` and `predict` cut into batches.

A batch of one is a dense array: a compiled step takes sparse data as that.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from keras.src import tree

import gradtape as tf


def with_sparse(module: ModuleType) -> tuple[Any, Any]:
    """Keras's functions that ask whether an array can be cut, and that have it cut, for
    SparseTensors too.
    """
    can_slice_others, convert_others = module.can_slice_array, module.convert_to_sliceable

    class SparseSliceable(module.Sliceable):  # type: ignore[name-defined]
        """A SparseTensor by rows."""

        def __init__(self, array: Any) -> None:
            super().__init__(tf.sparse.reorder(array))
            self._indices = self.array.indices.numpy()
            self._values = self.array.values.numpy()
            self._starts = np.searchsorted(self._indices[:, 0], np.arange(array.shape[0] + 1))

        @property
        def shape(self) -> Any:
            return self.array.shape

        def __getitem__(self, rows: Any) -> Any:
            chosen = np.arange(self.shape[0])[np.asarray(rows) if type(rows) is list else rows]
            counts = self._starts[chosen + 1] - self._starts[chosen]
            row = np.repeat(np.arange(len(chosen)), counts)
            before = np.cumsum(counts) - counts
            at = self._starts[chosen][row] + np.arange(len(row)) - before[row]
            indices = np.concatenate([row[:, None], self._indices[at, 1:]], axis=1)
            return tf.SparseTensor(indices, self._values[at], [len(chosen), *self.shape[1:]])

        @classmethod
        def cast(cls, x: Any, dtype: Any) -> Any:
            return tf.cast(x, dtype)

        @classmethod
        def convert_to_numpy(cls, x: Any) -> Any:
            return tf.sparse.to_dense(x).numpy()

    def can_slice_array(x: Any) -> bool:
        return isinstance(x, tf.SparseTensor) or bool(can_slice_others(x))

    def convert_to_sliceable(arrays: Any, target_backend: str | None = None) -> Any:
        def convert(x: Any) -> Any:
            if not isinstance(x, tf.SparseTensor):
                return convert_others(x, target_backend)
            if x.dtype.is_floating and x.dtype.name != module.backend.floatx():
                x = SparseSliceable.cast(x, module.backend.floatx())
            return SparseSliceable(x)

        return tree.map_structure(convert, arrays)

    return can_slice_array, convert_to_sliceable
