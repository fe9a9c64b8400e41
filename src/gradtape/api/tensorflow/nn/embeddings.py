"""Rows of a table by their ids: `tf.nn.embedding_lookup`. For bags of ids, which are the rows of a
SparseTensor, they are combined: `tf.nn.embedding_lookup_sparse` and its safe form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import FLOATING, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_float, known
from gradtape.api.tensorflow.sparse.tensors import (
    fill_empty_rows,
    given,
    indices_of,
    known_indices,
    new_sparse,
    picked,
    reshape,
    shape_of,
)
from gradtape.convert import TENSORFLOW, as_indices
from gradtape.core.composite import takes_composites
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, elementary, reductions, shaping
from gradtape.ops.broadcasting import cast
from gradtape.ops.indexing import take
from gradtape.ops.segments import segment_sum
from gradtape.ops.selection import where, zeros_like
from gradtape.published import published

_COMBINERS = ("mean", "sqrtn", "sum")


@published("nn.embedding_lookup")
@takes_composites
def embedding_lookup(
    params: Any, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Tensor:
    """The rows of `params` at `ids`; their gradient is sparse, an `IndexedSlices`.

    A list of tensors stands for their rows one after another. With `max_norm`, longer rows are
    shortened to that length.

    >>> import gradtape as tf
    >>> table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> tf.nn.embedding_lookup(table, [2, 0]).numpy()
    array([[5., 6.],
           [1., 2.]], dtype=float32)
    """
    if params is None:
        raise ValueError(
            "embedding_lookup: params must be a tensor, a Variable or a list of them, got None."
        )
    if isinstance(params, (list, tuple)):
        if not params:
            raise ValueError(
                "embedding_lookup: params must have at least one tensor, got an empty list."
            )
        parts = TENSORFLOW.tensors(params, "embedding_lookup: params")
        table = parts[0] if len(parts) == 1 else shaping.concat(*parts, axis=0)
    else:
        table = TENSORFLOW.tensor(params, "embedding_lookup: params")
    if not table.ndim:
        raise invalid_argument("embedding_lookup: params must have rows, got a scalar.")
    rows = take(table, as_indices(ids, "embedding_lookup: ids"), axis=0)
    if max_norm is None:
        return rows
    width = tuple(range(rows.ndim - table.ndim + 1, rows.ndim))
    squares = reductions.reduce_sum(arithmetic.square(rows), axis=width, keepdims=True)
    too_long = arithmetic.greater(squares, as_float(max_norm, "embedding_lookup: max_norm") ** 2)
    length = elementary.sqrt(where(too_long, squares, 1.0))
    return rows * where(too_long, max_norm / length, 1.0)


@published("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each row of ids, the embeddings of its ids combined: their sum, their mean, or their sum
    over the norm of the weights.

    The result ends with the last row that has an id; rows without any are zero. The gradient of
    `params` is sparse.

    >>> import gradtape as tf
    >>> ids = tf.sparse.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 0, 1], [2, 2])
    >>> tf.nn.embedding_lookup_sparse(
    ...     tf.constant([[1.0], [2.0], [3.0]]), ids, None, combiner="mean"
    ... ).numpy()
    array([[2.],
           [2.]], dtype=float32)
    """
    function = "embedding_lookup_sparse"
    kind = _checked_combiner(combiner or "mean", function)
    sp = given(sp_ids, function, "sp_ids")
    weights = _weights(sp_weights, sp, function)
    rows, size = indices_of(sp)[:, 0], shape_of(sp)[0]
    if not isinstance(
        rows, Tensor
    ):  # where nothing is traced, the last row with an id is the last row
        if (np.diff(rows) < 0).any():
            raise invalid_argument(
                f"{function}: the rows of sp_ids must be in order: use sparse.reorder."
            )
        size = int(rows.max(initial=-1)) + 1
    return _combined(params, sp.values, weights, rows, size, kind, max_norm)


@published("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """`embedding_lookup_sparse` that leaves out negative ids and, unless it sums,
    weights that are not positive.

    A row without ids has the embedding of `default_id`, or zeros; the axes of the ids but the last
    are those of the result.

    >>> import gradtape as tf
    >>> ids = tf.sparse.SparseTensor([[0, 0], [0, 1]], [1, -1], [2, 2])
    >>> tf.nn.safe_embedding_lookup_sparse(tf.constant([[1.0], [2.0]]), ids).numpy()
    array([[2.],
           [0.]], dtype=float32)
    """
    function = "safe_embedding_lookup_sparse"
    if embedding_weights is None or (
        isinstance(embedding_weights, (list, tuple)) and not embedding_weights
    ):
        raise ValueError(f"{function}: embedding_weights must be given, got {embedding_weights}.")
    kind = _checked_combiner(combiner or "mean", function)
    sp = given(sparse_ids, function, "sparse_ids")
    weights = _weights(sparse_weights, sp, function)
    shape = shape_of(sp)
    flat = reshape(sp, [math.prod(shape[:-1]), shape[-1]])
    instead = "use embedding_lookup_sparse, with at least one valid id in every row"
    kept = (
        known(as_indices(sp.values, f"{function}: sparse_ids"), f"{function}: sparse_ids", instead)
        >= 0
    )
    if weights is not None and kind != "sum":
        kept = kept & (known(weights, f"{function}: sparse_weights", instead) > 0)
    chosen = np.flatnonzero(kept)
    ids = new_sparse(
        known_indices(flat, function)[chosen], picked(flat.values, chosen), shape_of(flat)
    )
    filled, empty = fill_empty_rows(ids, np.asarray(default_id or 0, ids.values.array.dtype))
    if weights is not None:
        weights = fill_empty_rows(ids.with_values(picked(weights, chosen)), 1.0)[0].values
    found = _combined(
        embedding_weights,
        filled.values,
        weights,
        filled.indices.array[:, 0],
        shape_of(flat)[0],
        kind,
        max_norm,
    )
    if default_id is None:
        lacking = shaping.reshape(empty, shape=(-1, *(1,) * (found.array.ndim - 1)))
        found = where(lacking, zeros_like(found), found)
    return shaping.reshape(found, shape=(*shape[:-1], *found.array.shape[1:]))


def _combined(
    params: Any,
    ids: Tensor,
    weights: Tensor | None,
    rows: Any,
    size: int,
    combiner: str,
    max_norm: float | None,
) -> Tensor:
    found = embedding_lookup(params, ids, max_norm)
    width = (1,) * (found.array.ndim - 1)
    if weights is None:
        total = segment_sum(found, rows, size=size)
        if combiner == "sum":
            return total
        counts = segment_sum(Tensor(np.ones(ids.array.shape, total.array.dtype)), rows, size=size)
        counts = shaping.reshape(arithmetic.maximum(counts, 1), shape=(size, *width))
        return arithmetic.divide(total, counts if combiner == "mean" else elementary.sqrt(counts))
    if weights.array.dtype != found.array.dtype:
        weights = cast(weights, dtype=found.array.dtype)
    each = shaping.reshape(weights, shape=(*weights.array.shape, *width))
    total = segment_sum(arithmetic.multiply(found, each), rows, size=size)
    if combiner == "sum":
        return total
    if combiner == "mean":
        return arithmetic.divide_no_nan(total, segment_sum(each, rows, size=size))
    return arithmetic.divide_no_nan(
        total, elementary.sqrt(segment_sum(arithmetic.square(each), rows, size=size))
    )


def _checked_combiner(combiner: str, function: str) -> str:
    if combiner not in _COMBINERS:
        raise ValueError(f"{function}: combiner must be one of {_COMBINERS}, got {combiner!r}.")
    return combiner


def _weights(sp_weights: Any, sp_ids: SparseTensor, function: str) -> Tensor | None:
    """The weights of the ids; they must stand in the same places."""
    if sp_weights is None:
        return None
    if not isinstance(sp_weights, SparseTensor):
        raise TypeError(
            f"{function}: the weights must be a SparseTensor or None, got "
            f"{type(sp_weights).__name__}."
        )
    if sp_weights.values.array.shape != sp_ids.values.array.shape or shape_of(
        sp_weights
    ) != shape_of(sp_ids):
        raise ValueError(
            f"{function}: the weights have {sp_weights.values.shape[0]} elements in the shape "
            f"{list(shape_of(sp_weights))}, but the ids have {sp_ids.values.shape[0]} in "
            f"{list(shape_of(sp_ids))}."
        )
    return of_kind(sp_weights.values, FLOATING, function, "the weights", TypeError)
