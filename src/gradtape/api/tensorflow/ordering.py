"""Sorting: `sort`, `argsort` and `top_k`. Each is a gather, and differentiable as one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradtape.api.tensorflow.accepted import ORDERED, REAL, of_kind
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, numpy_dtype, one_axis
from gradtape.api.tensorflow.indexing import gather
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import ordering
from gradtape.ops.broadcasting import cast
from gradtape.ops.indexing import take
from gradtape.ops.shaping import transpose
from gradtape.published import published

_INT32 = np.dtype(np.int32)


class TopK(NamedTuple):
    """The result of `top_k`."""

    values: Tensor
    indices: Tensor


@published("argsort")
def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The indices that would sort `values` along `axis`; equal elements keep their order.

    >>> import gradtape as tf
    >>> tf.argsort([3.0, 1.0, 2.0]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    x = of_kind(values, ORDERED, "argsort", "values")
    last, back = _axis_last(x, axis, "argsort")
    found = ordering.argsort(last, descending=_descending(direction, "argsort"))
    return transpose(cast(found, dtype=_INT32), perm=back)


@published("sort")
def sort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """`values` sorted along `axis`.

    >>> import gradtape as tf
    >>> tf.sort([3.0, 1.0, 2.0], direction="DESCENDING").numpy()
    array([3., 2., 1.], dtype=float32)
    """
    x = of_kind(values, REAL, "sort", "values")
    last, back = _axis_last(x, axis, "sort")
    return transpose(
        _picked(last, ordering.argsort(last, descending=_descending(direction, "sort"))), perm=back
    )


@published("math.top_k", "nn.top_k")
def top_k(
    input: TensorLike,
    k: Any = 1,
    sorted: bool = True,
    index_type: DTypeLike = "int32",
    name: str | None = None,
) -> TopK:
    """The `k` largest elements of the last axis, the largest first, and where they stood;
    at a tie the first stands first.

    >>> import gradtape as tf
    >>> values, indices = tf.math.top_k([1.0, 3.0, 2.0], k=2)
    >>> values.numpy(), indices.numpy()
    (array([3., 2.], dtype=float32), array([1, 2], dtype=int32))
    """
    x = of_kind(input, REAL, "top_k", "input")
    count = as_int(k, "top_k: k")
    if not x.array.ndim or not 0 <= count <= x.array.shape[-1]:
        raise invalid_argument(
            f"top_k: input of shape {x.shape} has fewer than k={count} elements in its last axis: "
            "choose a smaller k."
        )
    indices = ordering.top_indices(x, count=count)
    return TopK(_picked(x, indices), cast(indices, dtype=numpy_dtype(index_type)))


def _picked(x: Tensor, indices: Tensor) -> Tensor:
    """The elements of the last axis at indices of their own for every row; a gradient is dense,
    as most are picked.
    """
    if x.array.ndim == 1:
        return take(x, indices, axis=0, sparse=False)
    return gather(x, indices, axis=-1, batch_dims=x.array.ndim - 1)


def _axis_last(x: Tensor, axis: Any, function: str) -> tuple[Tensor, tuple[int, ...]]:
    """`x` with an axis moved to the end, and the order of axes that brings it back."""
    if not x.array.ndim:
        raise invalid_argument(f"{function}: values must have at least one axis, got a scalar.")
    rank = x.array.ndim
    moved = one_axis(axis, rank, f"{function}: axis")
    order = (*(i for i in range(rank) if i != moved), moved)
    return transpose(x, perm=order), tuple(order.index(i) for i in range(rank))


def _descending(direction: str, function: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"{function}: direction must be 'ASCENDING' or 'DESCENDING', got {direction!r}."
        )
    return direction == "DESCENDING"
