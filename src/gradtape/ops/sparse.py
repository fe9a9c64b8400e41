"""Products of sparse and dense matrices.

A sparse matrix is given by its values and their rows and columns.

The two ops are each other's derivatives: that of `sparse_matmul` with respect to its values is
`dots_at`, and that of `dots_at` with respect to a factor is `sparse_matmul`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.ops import jets, links
from gradtape.ops.batching import loop
from gradtape.ops.declare import op
from gradtape.ops.shaping import Shape, reshape, transpose


def _sparse_matmul(xp: Any, values: Any, b: Any, rows: Any, columns: Any, *, size: int) -> Any:
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy is imported at first use

    matrix = csr_array((values, (rows, columns)), shape=(size, b.shape[0]))
    return np.asarray(matrix @ np.ascontiguousarray(b))


def _sparse_matmul_on_xla(
    xp: Any, values: Any, b: Any, rows: Any, columns: Any, *, size: int
) -> Any:
    """XLA has no sparse matrices: rows of `b`, weighted, and added where they belong."""
    return xp.zeros((size, b.shape[1]), b.dtype).at[rows].add(values[:, None] * b[columns])


def _dots_at(xp: Any, x: Any, y: Any, rows: Any, columns: Any) -> Any:
    return xp.einsum("ik,ik->i", x[rows], y[columns])


def _batch_sparse_matmul(
    op: Any, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """With one matrix for all examples, their columns stand side by side."""
    if mapped != [False, True, False, False]:
        return loop(op, size, args, mapped, params)
    values, b, rows, columns = args
    _, inner, width = b.array.shape
    beside = reshape(transpose(b, perm=(1, 0, 2)), shape=(inner, size * width))
    found = sparse_matmul(values, beside, rows, columns, **params)
    return transpose(reshape(found, shape=(params["size"], size, width)), perm=(1, 0, 2))


def _by_b(g: Any, values: Any, rows: Any, columns: Any, b_shape: Shape) -> Any:
    return sparse_matmul(values, g, columns, rows, size=b_shape[0])


def _links(call: links.LinkedCall, index: int) -> links.Link:
    """By the values: each with its row.

    By the dense factor: rows that a value joins, column by column.
    """
    size, width = call.shape
    rows = call.saved(index, "rows")
    if index == 1:
        return links.Link(
            links.along(rows, call.saved(index, "columns"), (size, call.inputs[1][0]), 1, width)
        )
    by_row = links.pairs(rows, np.arange(len(rows)), size, len(rows))
    return links.Link(by_row, *links.aligned((size, width), "rc", (size,), "r").matrices)


sparse_matmul = op(
    "sparse_matmul",
    _sparse_matmul,
    [lambda g, b, rows, columns: dots_at(g, b, rows, columns), _by_b, None, None],
    apart=["rows", "columns"],
    batch=_batch_sparse_matmul,
    xla=_sparse_matmul_on_xla,
    jet=jets.bilinear,
    links=_links,
)
dots_at = op(
    "dots_at",
    _dots_at,
    [
        lambda g, y, rows, columns, x_shape: sparse_matmul(g, y, rows, columns, size=x_shape[0]),
        lambda g, x, rows, columns, y_shape: sparse_matmul(g, x, columns, rows, size=y_shape[0]),
        None,
        None,
    ],
    apart=["rows", "columns"],
    jet=jets.bilinear,
)
