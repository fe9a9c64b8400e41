"""Matrices for the rows of linear algebra: well conditioned, with values that lie apart, and
Hermitian where an op wants that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.ops.broadcasting import conj
from gradtape.ops.shaping import matrix_transpose

from .table import Arg, Case, Sample


@dataclass(frozen=True)
class Shifted(Arg):
    """Random numbers plus an array."""

    add: Any = 0.0

    def make(self, rng: np.random.Generator, dtype: str) -> Any:
        return (super().make(rng, dtype) + self.add).astype(dtypes.as_dtype(dtype).numpy)


def matrix(*shape: int, add: Any = None) -> Arg:
    """A matrix with a diagonal of 2, 3, 4, ... that dominates,
    unless it is to be shifted by another array.
    """
    rows, columns = shape[-2:]
    diagonal = np.zeros((rows, columns))
    np.fill_diagonal(diagonal, np.arange(2, 2 + min(rows, columns)))
    return Shifted(shape, -0.4, 0.4, add=diagonal if add is None else add)


class HermitianCase(Case):
    """A row for an op of Hermitian matrices: what is checked is the op of `x + xᴴ`,
    a sum which keeps nothing alive.
    """

    def function(self, one: Sample) -> Callable[..., Any]:
        return lambda x: self.op(x + conj(matrix_transpose(x)), **one.params)


def of_hermitian(reference: Callable[..., Any]) -> Callable[..., Any]:
    """A reference of such a row."""
    return lambda x, **params: reference(x + x.conj().mT, **params)
