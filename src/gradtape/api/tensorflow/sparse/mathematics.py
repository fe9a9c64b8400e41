"""Computing with SparseTensors: sums, products, extrema, softmax, and the segment sums of
`tf.sparse`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, INEXACT, NUMERIC, REAL, of_kind
from gradtape.api.tensorflow.arguments import (
    AxisLike,
    DTypeLike,
    TensorLike,
    as_int,
    integers,
    known,
    numpy_dtype,
    one_axis,
)
from gradtape.api.tensorflow.sparse.tensors import (
    coordinates,
    flat_places,
    given,
    indices_of,
    known_indices,
    new_sparse,
    picked,
    places,
    shape_of,
)
from gradtape.convert import TENSORFLOW, as_indices
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, elementary, segments
from gradtape.ops.broadcasting import cast, conj, stop_gradient
from gradtape.ops.indexing import scatter_rows, take
from gradtape.ops.shaping import concat, reshape, transpose
from gradtape.ops.sparse import dots_at, sparse_matmul
from gradtape.published import published


@published("sparse.add")
def add(a: SparseTensor | TensorLike, b: SparseTensor | TensorLike, threshold: Any = 0) -> Any:
    """The sum of two SparseTensors, or of one and a dense tensor of its shape, which is dense.

    Where both have an element and their sum is smaller than `threshold`, the result has none.

    >>> import gradtape as tf
    >>> x, y = (
    ...     tf.sparse.SparseTensor([[0], [2]], [1.0, 2.0], [4]),
    ...     tf.sparse.SparseTensor([[2]], [3.0], [4]),
    ... )
    >>> tf.sparse.to_dense(tf.sparse.add(x, y)).numpy()
    array([1., 0., 5., 0.], dtype=float32)
    """
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        x, y, shape = _pair(a, b, "add")
        flat, (at_x, at_y) = _united(x, y, "add")
        values = scatter_rows(
            concat(x.values, y.values, axis=0), np.concatenate([at_x, at_y]), shape=(len(flat),)
        )
        given = of_kind(threshold, REAL, "add", "threshold")
        small = known(given, "add: threshold", "use a Python number")
        if small.ndim:
            raise invalid_argument(f"add: threshold must be a scalar, got shape {small.shape}.")
        if small != 0:
            both = np.isin(np.arange(len(flat)), at_x) & np.isin(np.arange(len(flat)), at_y)
            found = known(values, "add: threshold", "leave the threshold 0")
            kept = np.flatnonzero(~(both & (np.abs(found) < small)))
            flat, values = flat[kept], picked(values, kept)
        return new_sparse(coordinates(flat, shape), values, shape)
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError(
            "add: at least one of a and b must be a SparseTensor: use gradtape.add for two dense "
            "tensors."
        )
    sp, other = (a, b) if isinstance(a, SparseTensor) else (b, a)
    assert isinstance(sp, SparseTensor)
    values, dense = TENSORFLOW.tensors([sp.values, other], ["add: a", "add: b"])
    shape = shape_of(sp)
    if dense.array.shape != shape:
        raise invalid_argument(
            f"add: the shapes {list(shape)} and {dense.shape} differ, and sparse tensors do not "
            "broadcast."
        )
    spread = scatter_rows(values, places(sp, "add"), shape=(math.prod(shape),))
    return arithmetic.add(dense, reshape(spread, shape=shape))


@published("sparse.maximum")
def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The larger of two SparseTensors, element by element;
    an element that only one has is compared with zero.

    >>> import gradtape as tf
    >>> x, y = (
    ...     tf.sparse.SparseTensor([[0], [2]], [1.0, -2.0], [4]),
    ...     tf.sparse.SparseTensor([[0]], [3.0], [4]),
    ... )
    >>> tf.sparse.maximum(x, y).values.numpy()
    array([3., 0.], dtype=float32)
    """
    return _extremum(sp_a, sp_b, arithmetic.maximum, "maximum")


@published("sparse.minimum")
def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The smaller of two SparseTensors, element by element;
    an element that only one has is compared with zero.

    >>> import gradtape as tf
    >>> x, y = (
    ...     tf.sparse.SparseTensor([[0], [2]], [1.0, -2.0], [4]),
    ...     tf.sparse.SparseTensor([[0]], [3.0], [4]),
    ... )
    >>> tf.sparse.minimum(x, y).values.numpy()
    array([ 1., -2.], dtype=float32)
    """
    return _extremum(sp_a, sp_b, arithmetic.minimum, "minimum")


def _extremum(sp_a: Any, sp_b: Any, op: Callable[..., Any], function: str) -> SparseTensor:
    x, y, shape = _pair(given(sp_a, function, "sp_a"), given(sp_b, function, "sp_b"), function)
    flat, at = _united(x, y, function)
    spread = [
        scatter_rows(sp.values, rows, shape=(len(flat),))
        for sp, rows in zip((x, y), at, strict=True)
    ]
    return new_sparse(coordinates(flat, shape), op(*spread), shape)


def _pair(
    a: SparseTensor, b: SparseTensor, function: str
) -> tuple[SparseTensor, SparseTensor, tuple[int, ...]]:
    """Two SparseTensors of one shape."""
    shape = shape_of(a)
    if shape != shape_of(b):
        raise invalid_argument(
            f"{function}: the shapes {list(shape)} and {list(shape_of(b))} differ, and sparse "
            "tensors do not broadcast."
        )
    return a, b, shape


def _united(a: SparseTensor, b: SparseTensor, function: str) -> tuple[Any, tuple[Any, Any]]:
    """The places where at least one has an element, sorted,
    and for the elements of each which of these is theirs.
    """
    for sp in (a, b):
        known_indices(sp, function)
    one, two = places(a, function), places(b, function)
    flat, back = np.unique(np.concatenate([one, two]), return_inverse=True)
    return flat, (back[: len(one)], back[len(one) :])


# Reductions


@published("sparse.reduce_sum")
def reduce_sum(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The sum over some axes, all of them unless they are given.

    >>> import gradtape as tf
    >>> tf.sparse.reduce_sum(
    ...     tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3]), axis=1
    ... ).numpy()
    array([1., 2.], dtype=float32)
    """

    def summed(values: Tensor, ids: Any, size: int) -> Any:
        return segments.segment_sum(values, ids, size=size)

    return _reduced(sp_input, summed, axis, keepdims, output_is_sparse, "reduce_sum")


@published("sparse.reduce_max")
def reduce_max(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest element along some axes, all of them unless they are given;
    0 where there is no element.

    Elements that are equally large share the gradient.

    >>> import gradtape as tf
    >>> tf.sparse.reduce_max(
    ...     tf.sparse.SparseTensor([[0, 0], [0, 2]], [-1.0, -2.0], [2, 3]), axis=1
    ... ).numpy()
    array([-1.,  0.], dtype=float32)
    """

    def largest(values: Tensor, ids: Any, size: int) -> Any:
        return segments.segment_max(
            of_kind(values, REAL, "reduce_max", "sp_input"), ids, size=size, empty=0
        )

    return _reduced(sp_input, largest, axis, keepdims, output_is_sparse, "reduce_max")


def _reduced(
    sp_input: Any,
    reduce: Callable[..., Any],
    axis: Any,
    keepdims: Any,
    output_is_sparse: bool,
    function: str,
) -> Any:
    """`reduce(values, segments, count)` over the elements that agree in the axes that stay."""
    sp = given(sp_input, function)
    shape = shape_of(sp)
    rank = len(shape)
    gone = {
        one_axis(a, rank, f"{function}: axis")
        for a in (range(rank) if axis is None else integers(axis, f"{function}: axis"))
    }
    stay = [a for a in range(rank) if a not in gone]
    left = tuple(shape[a] for a in stay)
    result = tuple(1 if a in gone else shape[a] for a in range(rank)) if keepdims else left
    flat = places(sp, function, stay)
    if not output_is_sparse:
        return reshape(reduce(sp.values, flat, math.prod(left)), shape=result)
    known_indices(sp, function)
    found, ids = np.unique(flat, return_inverse=True)
    return new_sparse(coordinates(found, result), reduce(sp.values, ids, len(found)), result)


@published("sparse.softmax")
def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Softmax along the last axis over the elements that are there:
    the others count as minus infinity.

    >>> import gradtape as tf
    >>> x = tf.sparse.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 1.0, 5.0], [2, 3])
    >>> tf.sparse.softmax(x).values.numpy()
    array([0.5, 0.5, 1. ], dtype=float32)
    """
    sp = given(sp_input, "softmax")
    shape = shape_of(sp)
    if len(shape) < 2:
        raise invalid_argument(
            f"softmax: sp_input must have at least two axes, got shape {list(shape)}."
        )
    values = of_kind(sp.values, FLOATING, "softmax", "sp_input")
    ids, count = places(sp, "softmax", range(len(shape) - 1)), math.prod(shape[:-1])
    if not isinstance(ids, Tensor):  # most of many rows may be empty
        rows, ids = np.unique(ids, return_inverse=True)
        count = len(rows)
    largest = segments.segment_max(
        stop_gradient(values), ids, size=count, empty=0
    )  # any constant gives the same, this one the best
    powers = elementary.exp(arithmetic.subtract(values, segments.segment_take(largest, ids)))
    total = segments.segment_sum(powers, ids, size=count)
    return sp.with_values(arithmetic.divide(powers, segments.segment_take(total, ids)))


# Products


@published("sparse.sparse_dense_matmul")
def sparse_dense_matmul(
    sp_a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices of which one is sparse;
    each may be taken transposed and conjugated.

    >>> import gradtape as tf
    >>> x = tf.sparse.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    >>> tf.sparse.sparse_dense_matmul(x, [[1.0], [2.0], [3.0]]).numpy()
    array([[1.],
           [6.]], dtype=float32)
    """
    if not isinstance(sp_a, SparseTensor) and isinstance(b, SparseTensor):
        flipped = sparse_dense_matmul(b, sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a)
        return _adjoint(flipped, True)
    function = "sparse_dense_matmul"
    sp = given(sp_a, function, "sp_a")
    values, dense = TENSORFLOW.tensors(
        [of_kind(sp.values, NUMERIC, function, "sp_a"), b], [f"{function}: sp_a", f"{function}: b"]
    )
    if len(shape_of(sp)) != 2 or dense.array.ndim != 2:
        raise invalid_argument(
            f"{function}: both factors must be matrices, got shapes {list(shape_of(sp))} and "
            f"{dense.shape}."
        )
    places(sp, function)
    indices, size = indices_of(sp), shape_of(sp)
    rows, columns = indices[:, 0], indices[:, 1]
    if adjoint_a:
        rows, columns, size = columns, rows, size[::-1]
    dense = _adjoint(dense, adjoint_b)
    if dense.array.shape[0] != size[1]:
        raise invalid_argument(
            f"{function}: a matrix of shape {list(size)} and one of shape "
            f"{list(dense.array.shape)} cannot be multiplied."
        )
    return sparse_matmul(_conjugated(values, adjoint_a), dense, rows, columns, size=size[0])


def _adjoint(x: Tensor, wanted: bool) -> Tensor:
    return _conjugated(transpose(x, perm=(1, 0)), True) if wanted else x


def _conjugated(x: Tensor, wanted: bool) -> Tensor:
    return conj(x) if wanted and x.array.dtype.kind == "c" else x


@published("sparse.sampled_addmm")
def sampled_addmm(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    mat1: TensorLike,
    mat2: TensorLike,
    beta: Any = 1.0,
    alpha: Any = 1.0,
    output_type: DTypeLike = dtypes.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    """`alpha * (mat1 @ mat2) + beta * values` at `indices` alone: the indices, values and shape of
    a SparseTensor, or of a batch.

    >>> import gradtape as tf
    >>> tf.sparse.sampled_addmm([[1, 0]], [5.0], [2, 2], [[1.0], [2.0]], [[3.0, 4.0]])[1].numpy()
    array([11.], dtype=float32)
    """
    function = "sampled_addmm"
    at, shape = (
        as_indices(indices, f"{function}: indices"),
        as_indices(dense_shape, f"{function}: dense_shape"),
    )
    names = [f"{function}: values", f"{function}: mat1", f"{function}: mat2"]
    old, x, y = (
        of_kind(t, INEXACT, function, n)
        for t, n in zip(TENSORFLOW.tensors([values, mat1, mat2], names), names, strict=True)
    )
    dtype = numpy_dtype(output_type)
    old, x, y = (t if t.array.dtype == dtype else cast(t, dtype=dtype) for t in (old, x, y))
    batch = x.array.shape[:-2]
    if (
        x.array.ndim < 2
        or y.array.shape[:-1] != (*batch, x.array.shape[-1])
        or at.array.shape[:-2] != batch
    ):
        raise invalid_argument(
            f"{function}: mat1, mat2 and indices must be matrices, or batches of them, of "
            f"compatible shapes, got {x.shape}, {y.shape} and {at.shape}."
        )
    (height, inner), width, count = x.array.shape[-2:], y.array.shape[-1], math.prod(batch)
    pairs = math.prod(at.array.shape[:-1])
    flat: Any = cast(reshape(at, shape=(pairs, 2)), dtype=np.dtype(np.int64))
    if not is_traced(flat):
        flat = np.asarray(flat.array)
        if (flat < 0).any() or (flat >= (height, width)).any():
            raise invalid_argument(
                f"{function}: indices must be inside the product's shape {[height, width]}."
            )
    example = np.repeat(np.arange(count), pairs // count if count else 0)
    tall = reshape(x, shape=(count * height, inner))
    columns = transpose(y, perm=(*range(len(batch)), len(batch) + 1, len(batch)))
    products = dots_at(
        tall,
        reshape(columns, shape=(count * width, inner)),
        example * height + flat[:, 0],
        example * width + flat[:, 1],
    )
    found = arithmetic.add(
        arithmetic.multiply(reshape(products, shape=old.array.shape), alpha),
        arithmetic.multiply(old, beta),
    )
    return at, found, shape


# Sums by segment of some rows


@published("sparse.segment_sum")
def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sums of the rows `indices` of `data` that have the same number in `segment_ids`,
    which must be sorted.

    >>> import gradtape as tf
    >>> tf.sparse.segment_sum([[1.0], [2.0], [3.0]], [0, 2, 1], [0, 0, 1]).numpy()
    array([[4.],
           [2.]], dtype=float32)
    """
    return _segment_sum(data, indices, segment_ids, num_segments, sparse_gradient, "segment_sum")[0]


@published("sparse.segment_mean")
def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The means of the rows `indices` of `data` that have the same number in `segment_ids`,
    which must be sorted.

    >>> import gradtape as tf
    >>> tf.sparse.segment_mean([[1.0], [2.0], [3.0]], [0, 2, 1], [0, 0, 1]).numpy()
    array([[2.],
           [2.]], dtype=float32)
    """
    total, counts = _segment_sum(
        data, indices, segment_ids, num_segments, sparse_gradient, "segment_mean"
    )
    return arithmetic.divide(total, counts)


@published("sparse.segment_sqrt_n")
def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sums of `segment_sum`, each divided by the square root of how many rows it has.

    >>> import gradtape as tf
    >>> tf.sparse.segment_sqrt_n([[1.0], [1.0], [1.0], [1.0]], [0, 1, 2, 3], [0, 0, 0, 0]).numpy()
    array([[2.]], dtype=float32)
    """
    total, counts = _segment_sum(
        data, indices, segment_ids, num_segments, sparse_gradient, "segment_sqrt_n"
    )
    return arithmetic.divide(total, elementary.sqrt(counts))


def _segment_sum(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any,
    sparse_gradient: bool,
    function: str,
) -> tuple[Tensor, Any]:
    """The sums, and beside them how many rows each has, at least 1, in the same dtype."""
    x = of_kind(
        TENSORFLOW.tensor(data, f"{function}: data"),
        NUMERIC if function == "segment_sum" else INEXACT,
        function,
        "data",
    )
    rows, ids = (
        as_indices(indices, f"{function}: indices"),
        as_indices(segment_ids, f"{function}: segment_ids"),
    )
    if rows.array.ndim != 1 or ids.array.shape != rows.array.shape:
        raise invalid_argument(
            f"{function}: indices and segment_ids must be equally long vectors, got shapes "
            f"{rows.shape} and {ids.shape}."
        )
    size = _segments(
        ids,
        None if num_segments is None else as_int(num_segments, f"{function}: num_segments"),
        function,
    )
    total = segments.segment_sum(take(x, rows, axis=0, sparse=sparse_gradient), ids, size=size)
    counts = segments.segment_sum(np.ones(ids.array.shape, total.array.dtype), ids, size=size)
    return total, reshape(arithmetic.maximum(counts, 1), shape=(size, *(1,) * (x.array.ndim - 1)))


def _segments(ids: Tensor, wanted: int | None, function: str) -> int:
    """How many segments there are: as many as are wanted, or up to the largest number."""
    if wanted is not None and is_traced(ids):
        return wanted
    found = known(ids, f"{function}: segment_ids", "pass num_segments")
    if (np.diff(found) < 0).any() or (found < 0).any():
        raise invalid_argument(f"{function}: segment_ids must be sorted and not negative.")
    size = int(found.max(initial=-1)) + 1
    if wanted is not None and wanted < size:
        raise invalid_argument(
            f"{function}: segment_ids go up to {size - 1}, but num_segments is {wanted}."
        )
    return size if wanted is None else wanted


# Operators


def times(sp: SparseTensor, other: Any) -> SparseTensor:
    """`sp * other`."""
    return _with_dense(sp, other, arithmetic.multiply, "*")


def divided(sp: SparseTensor, other: Any) -> SparseTensor:
    """`sp / other`."""
    return _with_dense(sp, other, arithmetic.divide, "/")


def _with_dense(sp: SparseTensor, other: Any, op: Callable[..., Any], sign: str) -> SparseTensor:
    """`op` of the elements and what stands in their places in a dense tensor,
    which is broadcast to the shape.
    """
    values, dense = TENSORFLOW.tensors([sp.values, other], ["x", "y"])
    shape = shape_of(sp)
    try:
        fits = np.broadcast_shapes(shape, dense.array.shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise invalid_argument(
            f"SparseTensor {sign} y: y of shape {dense.shape} cannot be broadcast to the shape "
            f"{list(shape)}."
        )
    if not dense.array.ndim:
        return sp.with_values(op(values, dense))
    places(sp, f"SparseTensor {sign} y")
    padded = (1,) * (len(shape) - dense.array.ndim) + dense.array.shape
    at = indices_of(sp) * (np.array(padded) != 1).astype(np.int64)
    flat = flat_places(at, padded, range(len(padded)))
    return sp.with_values(op(values, picked(reshape(dense, shape=(dense.array.size,)), flat)))
