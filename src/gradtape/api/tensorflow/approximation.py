"""`approx_max_k` and `approx_min_k`, which are exact here, and Sobol points, which fill a cube
evenly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, of_kind
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, one_axis
from gradtape.api.tensorflow.indexing import gather
from gradtape.api.tensorflow.ordering import argsort
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops.shaping import getitem, transpose
from gradtape.published import published


class ApproxTopK(NamedTuple):
    """The result of `approx_max_k` and `approx_min_k`."""

    values: Tensor
    indices: Tensor


@published("math.approx_max_k", "nn.approx_max_k")
def approx_max_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The `k` largest elements along an axis and where they stand; all of them are found,
    whatever `recall_target` is.

    >>> import gradtape as tf
    >>> values, indices = tf.math.approx_max_k(tf.constant([1.0, 3.0, 2.0]), k=2)
    >>> values.numpy(), indices.numpy()
    (array([3., 2.], dtype=float32), array([1, 2], dtype=int32))
    """
    return _extreme(operand, k, reduction_dimension, "DESCENDING", "approx_max_k")


@published("math.approx_min_k", "nn.approx_min_k")
def approx_min_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The `k` smallest elements along an axis and where they stand; all of them are found,
    whatever `recall_target` is.

    >>> import gradtape as tf
    >>> values, indices = tf.math.approx_min_k(tf.constant([1.0, 3.0, 2.0]), k=2)
    >>> values.numpy(), indices.numpy()
    (array([1., 2.], dtype=float32), array([0, 2], dtype=int32))
    """
    return _extreme(operand, k, reduction_dimension, "ASCENDING", "approx_min_k")


def _extreme(operand: Any, k: Any, axis: Any, direction: str, function: str) -> ApproxTopK:
    x = of_kind(operand, FLOATING, function, "operand")
    rank = x.array.ndim
    along = one_axis(axis, rank, f"{function}: reduction_dimension")
    count = as_int(k, f"{function}: k")
    if not 0 <= count <= x.array.shape[along]:
        raise invalid_argument(
            f"{function}: operand of shape {x.shape} has fewer than k={count} elements along axis "
            f"{along}."
        )
    order = (*(i for i in range(rank) if i != along), along)
    back = tuple(order.index(i) for i in range(rank))
    last = transpose(x, perm=order)
    indices = getitem(argsort(last, direction=direction), key=(..., slice(0, count)))
    values = gather(last, indices, axis=rank - 1, batch_dims=rank - 1)
    return ApproxTopK(transpose(values, perm=back), transpose(indices, perm=back))


@published("math.sobol_sample")
def sobol_sample(
    dim: Any,
    num_results: Any,
    skip: Any = 0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The points of the Sobol sequence in the unit cube of `dim` dimensions,
    after the first `skip` of them.

    >>> import gradtape as tf
    >>> tf.math.sobol_sample(2, 3).numpy()
    array([[0.5 , 0.5 ],
           [0.75, 0.25],
           [0.25, 0.75]], dtype=float32)
    """
    from scipy.stats import qmc  # noqa: PLC0415 - scipy is imported at first use

    size, count, skipped = (
        as_int(value, f"sobol_sample: {argument}")
        for argument, value in (("dim", dim), ("num_results", num_results), ("skip", skip))
    )
    if size < 1 or count < 1 or skipped < 0:
        raise invalid_argument(
            f"sobol_sample: dim={size} and num_results={count} must be at least 1, and "
            f"skip={skipped} not negative."
        )
    wanted = dtypes.as_dtype(dtype)
    if wanted not in (dtypes.float32, dtypes.float64):
        raise invalid_argument(
            f"sobol_sample: dtype must be float32 or float64, got {wanted.name}."
        )
    points = qmc.Sobol(size, scramble=False).fast_forward(skipped + 1).random(count)
    return Tensor(np.asarray(points, dtype=wanted.numpy))
