"""Passing many cotangents or tangents through an op at once: what an op may declare as its `rows`,
for Jacobians.

Rows are a NumPy array with one more axis in front. An op without such a rule runs its pulls on a
batch; these are fast paths for the ops in which most Jacobians spend their time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape.engines.arrays import sum_array_to

Shape = tuple[int, ...]


class RowRule(NamedTuple):
    """An op on rows.

    `pulls` has one entry for each argument: it takes rows of the output's cotangent and, by name,
    what the op's own pull saved, as arrays. `push` takes a list with rows of each argument's
    tangent, None where there is none, a function that gives what the pull of an argument saved, and
    the op's parameters by name. Either may give None: then the op's pulls are used.

    `fresh` says that results are new arrays, which may be written to; `in_order`, that the output
    has the elements of the argument in the same order. `factor` serves products: from an argument's
    number, what its pull saved, and how many examples and elements there are, it gives the matrix
    whose rows are the pulled rows of an identity matrix, and whether it is to be transposed.
    """

    pulls: Sequence[Callable[..., Any]]
    push: Callable[..., Any]
    fresh: bool = False
    in_order: bool = False
    factor: Callable[[int, dict[str, Any], int, int], tuple[Any, bool] | None] | None = None


def moving(
    pull: Callable[..., Any], push: Callable[..., Any], *, in_order: bool = False
) -> RowRule:
    """The rule of an op with one argument that only moves or adds elements;
    `push` takes its rows and the op's parameters.
    """
    return RowRule(
        [pull], lambda tangents, saved, **params: push(tangents[0], **params), in_order=in_order
    )


def multiplies_rows(factor: Any) -> bool:
    """Whether one product does for all rows: with a matrix, and not one that XLA has."""
    return type(factor) is np.ndarray and factor.ndim == 2


def lined_up(rows: Any, rank: int) -> Any:
    """Rows of tensors of lower rank as rows of tensors of `rank`, with axes of size 1 in front."""
    missing = rank + 1 - rows.ndim
    return rows.reshape(len(rows), *(1,) * missing, *rows.shape[1:]) if missing else rows


def spread(rows: Any, shape: Shape) -> Any:
    """Rows broadcast to a shape."""
    return np.broadcast_to(lined_up(rows, len(shape)), (len(rows), *shape))


def rows_summed(rows: Any, shape: Shape) -> Any:
    """Rows summed back to the shape from which they had been broadcast."""
    count = len(rows)
    return sum_array_to(rows, (count, *(1,) * (rows.ndim - 1 - len(shape)), *shape)).reshape(
        count, *shape
    )
