"""Functions of `tf.compat.v1` that today's interface has no longer, or that mean something else
there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import gradtape as tf
from gradtape.api.tensorflow.linalg.operators import described

Dimension = described.Dimension


def cast_to(dtype: Any) -> Callable[..., Any]:
    """`to_float` and others: a tensor in one dtype."""

    def cast(x: Any, name: str | None = None) -> Any:
        return tf.cast(x, dtype)

    cast.__doc__ = f"A tensor as {dtype.name}."
    return cast


to_bfloat16 = cast_to(tf.bfloat16)
to_complex64 = cast_to(tf.complex64)
to_complex128 = cast_to(tf.complex128)
to_double = cast_to(tf.float64)
to_float = cast_to(tf.float32)
to_int32 = cast_to(tf.int32)
to_int64 = cast_to(tf.int64)


def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Python 2's division: integers are divided without a remainder."""
    quotient = tf.math.floordiv if tf.convert_to_tensor(x).dtype.is_integer else tf.divide
    return quotient(x, y)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Elements of `x` and `y`; a vector as condition chooses whole rows."""
    if x is None and y is None:
        return tf.where(condition)
    condition, x, y = map(tf.convert_to_tensor, (condition, x, y))
    if x.shape.rank != y.shape.rank or condition.shape.rank not in (0, 1, x.shape.rank):
        raise ValueError(
            "tf.compat.v1.where: x and y must have one shape, and condition this shape or that of "
            f"its first axis, got {condition.shape}, {x.shape} and {y.shape}: tf.where broadcasts."
        )
    if condition.shape.rank == 1 and x.shape.rank > 1:
        condition = tf.reshape(condition, [-1] + [1] * (x.shape.rank - 1))
    return tf.where(condition, x, y)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """A tensor whose norm, divided by its number of elements, is at most `clip_norm`."""
    t = tf.convert_to_tensor(t)
    count = tf.cast(tf.size(t), t.dtype)
    scale = tf.minimum(tf.math.reciprocal_no_nan(tf.norm(t)) * count, 1.0 / clip_norm)
    return t * clip_norm * scale


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Along the last axis of `indices`, the elements of `params`, for each batch."""
    indices = tf.convert_to_tensor(indices)
    return tf.gather(params, indices, axis=-1, batch_dims=indices.shape.rank - 1)


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Elements of `x` that are kept with the probability `keep_prob`, and scaled."""
    if (keep_prob is None) == (rate is None):
        raise ValueError(
            f"tf.compat.v1.nn.dropout: give keep_prob or rate, got {keep_prob} and {rate}."
        )
    lost = rate if keep_prob is None else 1.0 - keep_prob
    return tf.nn.dropout(x, rate=lost, noise_shape=noise_shape, seed=seed)


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None, axis: Any = None
) -> Any:
    """The cross entropy of each row; no gradient goes to the labels."""
    return tf.nn.softmax_cross_entropy_with_logits(
        tf.stop_gradient(labels), logits, axis=dim if axis is None else axis
    )


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    """Rows of one table by their numbers."""
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise ValueError(
                f"tf.compat.v1.nn.embedding_lookup: params must be one table, got {len(params)} "
                "parts of one: join them with tf.concat, for which tf.nn.embedding_lookup counts "
                "their rows one part after the other."
            )
        params = params[0]
    return tf.nn.embedding_lookup(params, ids, max_norm=max_norm)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """`x @ weights + biases`."""
    return tf.matmul(x, weights) + biases


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """`relu(x @ weights + biases)`."""
    return tf.nn.relu(xw_plus_b(x, weights, biases))


def assign(
    ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: Any = None
) -> Any:
    """Gives a Variable a value."""
    return ref.assign(value)


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    """Adds to a Variable."""
    return ref.assign_add(value)


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    """Subtracts from a Variable."""
    return ref.assign_sub(value)


def scattered(method: str) -> Callable[..., Any]:
    """`scatter_add` and others: changes the rows `indices` of a Variable."""

    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: Any = None, name: Any = None
    ) -> Any:
        return getattr(ref, method)(tf.IndexedSlices(tf.convert_to_tensor(updates), indices))

    scatter.__doc__ = f"`Variable.{method}` for rows and their numbers."
    return scatter


def scattered_nd(method: str) -> Callable[..., Any]:
    """`scatter_nd_add` and others: changes parts of a Variable."""

    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: Any = None, name: Any = None
    ) -> Any:
        return getattr(ref, method)(indices, updates)

    scatter.__doc__ = f"`Variable.{method}` for parts and where they are."
    return scatter


scatter_add = scattered("scatter_add")
scatter_div = scattered("scatter_div")
scatter_max = scattered("scatter_max")
scatter_min = scattered("scatter_min")
scatter_mul = scattered("scatter_mul")
scatter_sub = scattered("scatter_sub")
scatter_update = scattered("scatter_update")
scatter_nd_add = scattered_nd("scatter_nd_add")
scatter_nd_sub = scattered_nd("scatter_nd_sub")
scatter_nd_update = scattered_nd("scatter_nd_update")


def print_and_pass(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """`Print`: prints `data` to stderr and gives `input_`."""
    tf.print(message or "", *data, output_stream=sys.stderr, summarize=summarize or 3)
    return tf.identity(input_)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """A block that does nothing: operations run where their tensors are."""
    return nullcontext()


def reset_default_graph() -> None:
    """Does nothing: there is no graph."""


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: Any = None) -> Any:
    """IndexedSlices as they are, anything else as a tensor."""
    return value if isinstance(value, tf.IndexedSlices) else tf.convert_to_tensor(value, dtype)


def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Any:
    """`tf.name_scope`, with another name if there is none."""
    found = default_name if name is None else name
    if found is None:
        raise ValueError("name_scope: give name or default_name.")
    return tf.name_scope(found)
