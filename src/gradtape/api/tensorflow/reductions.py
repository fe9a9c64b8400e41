"""Reductions over axes (`tf.reduce_sum` and related functions), the index of an extremum, and
cumulative sums and products.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    NUMERIC,
    ORDERED,
    REAL,
    boolean,
    of_kind,
)
from gradtape.api.tensorflow.arguments import (
    AxisLike,
    DTypeLike,
    TensorLike,
    axes,
    numpy_dtype,
    one_axis,
    tensor,
)
from gradtape.core.composite import own_function, takes_composites
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting, elementary, reductions
from gradtape.published import published

_INDEX_DTYPES = (dtypes.int64, dtypes.int32, dtypes.int16, dtypes.uint16)


@published("reduce_sum", "math.reduce_sum")
def reduce_sum(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The sum over `axis`: an axis, a list of axes, or None for all of them;
    `keepdims` keeps them with size 1.

    >>> import gradtape as tf
    >>> tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([4., 6.], dtype=float32)
    """
    own = own_function(reduce_sum, input_tensor)
    if own is not None:
        return own(input_tensor, axis, keepdims)
    x = of_kind(input_tensor, NUMERIC, "reduce_sum", "input_tensor")
    return reductions.reduce_sum(
        x, axis=_axes(axis, x, "reduce_sum: axis"), keepdims=bool(keepdims)
    )


@published("reduce_mean", "math.reduce_mean")
def reduce_mean(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean over `axis`; the mean of integers is an integer, cut off towards 0.

    >>> import gradtape as tf
    >>> tf.reduce_mean([[1.0, 2.0], [3.0, 4.0]]).numpy()
    np.float32(2.5)
    """
    own = own_function(reduce_mean, input_tensor)
    if own is not None:
        return own(input_tensor, axis, keepdims)
    x = of_kind(input_tensor, NUMERIC, "reduce_mean", "input_tensor")
    return reductions.reduce_mean(
        x, axis=_axes(axis, x, "reduce_mean: axis"), keepdims=bool(keepdims)
    )


@published("reduce_prod", "math.reduce_prod")
@takes_composites
def reduce_prod(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The product over `axis`.

    >>> import gradtape as tf
    >>> tf.reduce_prod([[1.0, 2.0], [3.0, 4.0]], axis=1).numpy()
    array([ 2., 12.], dtype=float32)
    """
    x = of_kind(input_tensor, NUMERIC, "reduce_prod", "input_tensor")
    return reductions.reduce_prod(
        x, axis=_axes(axis, x, "reduce_prod: axis"), keepdims=bool(keepdims)
    )


@published("reduce_max", "math.reduce_max")
def reduce_max(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The largest element over `axis`; elements that tie share the gradient equally.

    >>> import gradtape as tf
    >>> tf.reduce_max([[1.0, 2.0], [3.0, 4.0]], axis=1, keepdims=True).numpy()
    array([[2.],
           [4.]], dtype=float32)
    """
    own = own_function(reduce_max, input_tensor)
    if own is not None:
        return own(input_tensor, axis, keepdims)
    x = of_kind(input_tensor, REAL, "reduce_max", "input_tensor")
    return reductions.reduce_max(
        x, axis=_axes(axis, x, "reduce_max: axis"), keepdims=bool(keepdims)
    )


@published("reduce_min", "math.reduce_min")
def reduce_min(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The smallest element over `axis`; elements that tie share the gradient equally.

    >>> import gradtape as tf
    >>> tf.reduce_min([[1.0, 2.0], [3.0, 4.0]], axis=[0, 1]).numpy()
    np.float32(1.0)
    """
    own = own_function(reduce_min, input_tensor)
    if own is not None:
        return own(input_tensor, axis, keepdims)
    x = of_kind(input_tensor, REAL, "reduce_min", "input_tensor")
    return reductions.reduce_min(
        x, axis=_axes(axis, x, "reduce_min: axis"), keepdims=bool(keepdims)
    )


@published("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """`log(reduce_sum(exp(x)))` over `axis`, without overflow for large `x`.

    >>> import gradtape as tf
    >>> tf.reduce_logsumexp([1000.0, 1000.0]).numpy().round(2)
    np.float32(1000.69)
    """
    x = of_kind(input_tensor, FLOATING, "reduce_logsumexp", "input_tensor")
    return reductions.reduce_logsumexp(
        x, axis=_axes(axis, x, "reduce_logsumexp: axis"), keepdims=bool(keepdims)
    )


@published("math.reduce_variance")
@takes_composites
def reduce_variance(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The variance over `axis`: the mean of the squared distance from the mean.

    >>> import gradtape as tf
    >>> tf.math.reduce_variance([1.0, 3.0]).numpy()
    np.float32(1.0)
    """
    return _variance(input_tensor, axis, keepdims, "reduce_variance")


@published("math.reduce_std")
@takes_composites
def reduce_std(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The standard deviation over `axis`: the square root of the variance.

    >>> import gradtape as tf
    >>> tf.math.reduce_std([[1.0, 3.0], [2.0, 8.0]], axis=1).numpy()
    array([1., 3.], dtype=float32)
    """
    return elementary.sqrt(_variance(input_tensor, axis, keepdims, "reduce_std"))


@published("math.reduce_euclidean_norm")
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares over `axis`, in the dtype of the input.

    >>> import gradtape as tf
    >>> tf.math.reduce_euclidean_norm([3.0, 4.0]).numpy()
    np.float32(5.0)
    """
    x = of_kind(input_tensor, NUMERIC, "reduce_euclidean_norm", "input_tensor")
    reduced = _axes(axis, x, "reduce_euclidean_norm: axis")
    computed = broadcasting.cast(x, dtype=dtypes.float64.numpy) if x.array.dtype.kind in "iu" else x
    norm = elementary.sqrt(
        reductions.reduce_sum(_squared_size(computed), axis=reduced, keepdims=bool(keepdims))
    )
    return (
        norm if norm.array.dtype == x.array.dtype else broadcasting.cast(norm, dtype=x.array.dtype)
    )


@published("reduce_all", "math.reduce_all")
@takes_composites
def reduce_all(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Whether all elements over `axis` are true.

    >>> import gradtape as tf
    >>> tf.reduce_all([[True, False], [True, True]], axis=1).numpy()
    array([False,  True])
    """
    x = boolean(input_tensor, "reduce_all", "input_tensor")
    return reductions.reduce_all(
        x, axis=_axes(axis, x, "reduce_all: axis"), keepdims=bool(keepdims)
    )


@published("reduce_any", "math.reduce_any")
@takes_composites
def reduce_any(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Whether an element over `axis` is true.

    >>> import gradtape as tf
    >>> tf.reduce_any([[True, False], [True, True]], axis=1).numpy()
    array([ True,  True])
    """
    x = boolean(input_tensor, "reduce_any", "input_tensor")
    return reductions.reduce_any(
        x, axis=_axes(axis, x, "reduce_any: axis"), keepdims=bool(keepdims)
    )


@published("math.count_nonzero")
def count_nonzero(
    input: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """How many elements over `axis` are not zero; of strings, how many are not empty.

    >>> import gradtape as tf
    >>> tf.math.count_nonzero([[0, 1], [2, 3]], axis=1).numpy()
    array([1, 2])
    """
    x = tensor(input, "count_nonzero: input")
    nonzero = (
        x
        if x.array.dtype.kind == "b"
        else arithmetic.not_equal(x, b"" if x.array.dtype.kind == "O" else 0)
    )
    ones = broadcasting.cast(nonzero, dtype=dtypes.int64.numpy)
    count = reductions.reduce_sum(
        ones, axis=_axes(axis, x, "count_nonzero: axis"), keepdims=bool(keepdims)
    )
    return broadcasting.cast(count, dtype=numpy_dtype(dtype))


@published("argmax", "math.argmax")
def argmax(
    input: TensorLike,
    axis: Any = None,
    output_type: DTypeLike = None,
    name: str | None = None,
) -> Tensor:
    """The index of the largest element along `axis` (None: the first axis); of several, the first.

    >>> import gradtape as tf
    >>> tf.argmax([[1, 5, 2], [7, 0, 1]], axis=1).numpy()
    array([1, 0])
    """
    x = of_kind(input, ORDERED, "argmax", "input")
    return reductions.argmax(
        x,
        axis=_one_axis(axis, x, "argmax: axis"),
        dtype=_index_dtype(output_type or dtypes.int64, "argmax"),
    )


@published("argmin", "math.argmin")
def argmin(
    input: TensorLike,
    axis: Any = None,
    output_type: DTypeLike = None,
    name: str | None = None,
) -> Tensor:
    """The index of the smallest element along `axis` (None: the first axis); of several, the first.

    >>> import gradtape as tf
    >>> tf.argmin([[1, 5, 2], [7, 0, 1]], axis=1).numpy()
    array([0, 1])
    """
    x = of_kind(input, ORDERED, "argmin", "input")
    return reductions.argmin(
        x,
        axis=_one_axis(axis, x, "argmin: axis"),
        dtype=_index_dtype(output_type or dtypes.int64, "argmin"),
    )


@published("cumsum", "math.cumsum")
def cumsum(
    x: TensorLike,
    axis: Any = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Running sums along `axis`; `exclusive` leaves out the element itself,
    `reverse` runs from the end.

    >>> import gradtape as tf
    >>> tf.cumsum([1.0, 2.0, 3.0]).numpy()
    array([1., 3., 6.], dtype=float32)
    """
    x = of_kind(x, NUMERIC, "cumsum")
    along = one_axis(axis, x.array.ndim, "cumsum: axis")
    return reductions.cumsum(x, axis=along, exclusive=bool(exclusive), reverse=bool(reverse))


@published("math.cumprod")
def cumprod(
    x: TensorLike,
    axis: Any = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Running products along `axis`; `exclusive` leaves out the element itself,
    `reverse` runs from the end.

    >>> import gradtape as tf
    >>> tf.math.cumprod([2.0, 3.0, 4.0], exclusive=True).numpy()
    array([1., 2., 6.], dtype=float32)
    """
    x = of_kind(x, NUMERIC, "cumprod")
    along = one_axis(axis, x.array.ndim, "cumprod: axis")
    return reductions.cumprod(x, axis=along, exclusive=bool(exclusive), reverse=bool(reverse))


def _axes(axis: Any, x: Tensor, argument: str) -> tuple[int, ...] | None:
    try:
        return axes(axis, x.array.ndim, argument)
    except TypeError as error:
        raise invalid_argument(str(error)) from error


def _one_axis(axis: Any, x: Tensor, argument: str) -> int:
    return one_axis(0 if axis is None else axis, x.array.ndim, argument)


def _index_dtype(output_type: Any, function: str) -> Any:
    dtype = dtypes.as_dtype(output_type)
    if dtype not in _INDEX_DTYPES:
        names = ", ".join(allowed.name for allowed in _INDEX_DTYPES)
        raise invalid_argument(f"{function}: output_type must be one of {names}, got {dtype.name}.")
    return dtype.numpy


def _variance(input_tensor: Any, axis: Any, keepdims: Any, function: str) -> Any:
    """Integers are refused with a TypeError, as in TensorFlow,
    since their variance is no integer.
    """
    x = of_kind(input_tensor, NUMERIC, function, "input_tensor")
    of_kind(x, INEXACT, function, "input_tensor", TypeError)
    reduced = _axes(axis, x, f"{function}: axis")
    if x.array.dtype.kind != "c":
        return reductions.reduce_variance(x, axis=reduced, keepdims=bool(keepdims))
    distance = arithmetic.subtract(x, reductions.reduce_mean(x, axis=reduced, keepdims=True))
    size = broadcasting.real(arithmetic.multiply(broadcasting.conj(distance), distance))
    return reductions.reduce_mean(size, axis=reduced, keepdims=bool(keepdims))


def _squared_size(x: Any) -> Any:
    """The square, or the squared modulus of complex numbers as a real number."""
    if x.array.dtype.kind != "c":
        return arithmetic.square(x)
    return broadcasting.real(arithmetic.multiply(broadcasting.conj(x), x))
