"""A sparse matrix as the solvers take it: its values as a Tensor, and where they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.needed_ops import needed
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor

DOUBLE = np.dtype(np.float64)


class Coordinates(NamedTuple):
    """A square matrix: `values[i]` is at `rows[i]`, `columns[i]`; there they add up."""

    values: Tensor
    rows: Tensor
    columns: Tensor
    size: int

    def transposed(self) -> Coordinates:
        return self._replace(rows=self.columns, columns=self.rows)


def coordinates(who: str, matrix: Any) -> Coordinates:
    """The entries of a SparseTensor, or of one of SciPy's sparse matrices, whose values are
    constants.
    """
    if isinstance(matrix, SparseTensor):
        if matrix.dense_shape.array.shape != (2,):
            raise ValueError(f"{who}: A must be a matrix, got {matrix!r}.")
        indices = matrix.indices
        rows, columns = (needed.getitem(indices, key=(slice(None), i)) for i in (0, 1))
        shape = tuple(int(n) for n in matrix.shape)
        values = matrix.values
    elif hasattr(matrix, "tocoo"):
        found = matrix.tocoo()
        shape, values = found.shape, as_tensor(found.data)
        rows, columns = (Tensor(np.array(i, np.int64)) for i in (found.row, found.col))
    else:
        raise TypeError(
            f"{who}: A must be a SparseTensor or one of SciPy's sparse matrices, got "
            f"{type(matrix).__name__}: use gradtape.linalg.solve for a dense matrix."
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{who}: A must be a square matrix, got shape {shape}.")
    return Coordinates(in_double(who, values, "A"), rows, columns, shape[0])


def in_double(who: str, x: Tensor, name: str) -> Tensor:
    kind = x.array.dtype
    if kind.kind not in "iufV":
        raise TypeError(f"{who}: {name} must hold real numbers, got dtype {x.dtype.name}.")
    return x if kind == DOUBLE else needed.cast(x, dtype=DOUBLE)


def result_dtype(*tensors: Any) -> Any:
    """float32 if no argument is more precise."""
    kinds = [np.dtype(getattr(t, "dtype", t) or DOUBLE) for t in tensors]
    single = all(kind.itemsize <= 4 and kind.kind in "fV" for kind in kinds)
    return np.dtype(np.float32) if single else DOUBLE
