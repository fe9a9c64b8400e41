"""NumPy's functions for the shape and the dtype of an array: `reshape`, `transpose`,
`squeeze`, `astype` and related functions.

A Tensor is immutable and has no memory layout: where NumPy returns a view or a copy, the result is
a Tensor with those values, and `order` matters only where it says in which order elements are read.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, overload

import numpy as np

from gradtape import dtypes
from gradtape.api.numpy.operands import (
    INT64,
    axes_of,
    axis_of,
    converted,
    dtype_of,
    plain,
    tensor_of,
    values_of,
)
from gradtape.api.tensorflow.arguments import (
    AxisLike,
    DTypeLike,
    ShapeLike,
    TensorLike,
    as_int,
    integers,
)
from gradtape.convert import common_dtype, is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.ops import broadcasting, conversion, shaping
from gradtape.ops.broadcasting import complex_from_parts, identity, imag, real
from gradtape.published import published

Shape = tuple[int, ...]


@published("numpy.reshape", "array_api.reshape")
def reshape(
    a: TensorLike, /, shape: ShapeLike, order: str = "C", *, copy: bool | None = None
) -> Tensor:
    """The same elements in another shape, of which one size may be -1;
    `order="F"` reads and fills the first axis fastest.

    >>> import gradtape as tf
    >>> tf.numpy.reshape([1, 2, 3, 4], (2, -1), order="F").numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x = tensor_of(a, "reshape", "a")
    sizes = _complete(integers(shape, "reshape: shape"), x.array.shape)
    if not _first_axis_fastest(order, "reshape"):
        return shaping.reshape(x, shape=sizes)
    return _reversed(shaping.reshape(_reversed(x), shape=sizes[::-1]))


def _complete(sizes: Shape, shape: Shape) -> Shape:
    """A new shape with -1 replaced by what is left."""
    total, known = math.prod(shape), math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known > 0 and total % known == 0:
        return tuple(total // known if size == -1 else size for size in sizes)
    if min(sizes, default=0) < 0 or known != total:
        raise ValueError(
            f"reshape: the {total} elements of a tensor of shape {shape} do not fill shape={sizes}."
        )
    return sizes


def _first_axis_fastest(order: str, function: str) -> bool:
    if order not in ("C", "F", "A", "K"):
        raise ValueError(
            f"{function}: order must be 'C' or 'F' ('A' and 'K' mean 'C' for a Tensor), got "
            f"{order!r}."
        )
    return order == "F"


def _reversed(x: Tensor) -> Tensor:
    """The axes from the last to the first."""
    return shaping.transpose(x, perm=tuple(reversed(range(x.array.ndim))))


@published("numpy.ravel", "numpy.flatten")
def ravel(a: TensorLike, order: str = "C") -> Tensor:
    """All elements in one row.

    >>> import gradtape as tf
    >>> tf.numpy.ravel([[1, 2], [3, 4]]).numpy()
    array([1, 2, 3, 4], dtype=int32)
    """
    x = tensor_of(a, "ravel", "a")
    return flat(_reversed(x) if _first_axis_fastest(order, "ravel") else x)


def flat(x: Tensor) -> Tensor:
    """The elements of a Tensor in one row."""
    return x if x.array.ndim == 1 else shaping.reshape(x, shape=(x.array.size,))


@published("numpy.transpose", "numpy.permute_dims", "array_api.permute_dims")
def transpose(a: TensorLike, axes: AxisLike = None) -> Tensor:
    """The axes in another order, reversed if none is given.

    >>> import gradtape as tf
    >>> tf.numpy.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
    array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int32)
    """
    x = tensor_of(a, "transpose", "a")
    if axes is None:
        return _reversed(x)
    order = axes_of(list(integers(axes, "transpose: axes")), x.array.ndim, "transpose", "axes")
    assert order is not None
    if len(order) != x.array.ndim:
        raise ValueError(
            f"transpose: axes={axes} must name each of the {x.array.ndim} axes of a once."
        )
    return shaping.transpose(x, perm=order)


@published("numpy.matrix_transpose", "array_api.matrix_transpose")
def matrix_transpose(x: TensorLike, /) -> Tensor:
    """The last two axes swapped.

    >>> import gradtape as tf
    >>> tf.numpy.matrix_transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    matrices = tensor_of(x, "matrix_transpose")
    if matrices.array.ndim < 2:
        raise ValueError(
            f"matrix_transpose: x must have at least two axes, got shape {matrices.shape}."
        )
    return shaping.matrix_transpose(matrices)


@published("numpy.moveaxis", "array_api.moveaxis")
def moveaxis(a: TensorLike, source: AxisLike, destination: AxisLike) -> Tensor:
    """Axes moved to other places; the rest keep their order.

    >>> import gradtape as tf
    >>> tf.numpy.moveaxis(tf.ones([2, 3, 4]), 0, -1).shape
    TensorShape([3, 4, 2])
    """
    x = tensor_of(a, "moveaxis", "a")
    rank = x.array.ndim
    origins = axes_of(list(integers(source, "moveaxis: source")), rank, "moveaxis", "source") or ()
    places = (
        axes_of(
            list(integers(destination, "moveaxis: destination")), rank, "moveaxis", "destination"
        )
        or ()
    )
    if len(origins) != len(places):
        raise ValueError(
            f"moveaxis: source={source} and destination={destination} must name the same number "
            "of axes."
        )
    order = [axis for axis in range(rank) if axis not in origins]
    for place, origin in sorted(zip(places, origins, strict=True)):
        order.insert(place, origin)
    return shaping.transpose(x, perm=tuple(order))


@published("numpy.rollaxis")
def rollaxis(a: TensorLike, axis: int, start: int = 0) -> Tensor:
    """One axis moved back until it stands before the axis that is now at `start`.

    >>> import gradtape as tf
    >>> tf.numpy.rollaxis(tf.ones([2, 3, 4]), 2).shape
    TensorShape([4, 2, 3])
    """
    x = tensor_of(a, "rollaxis", "a")
    rank = x.array.ndim
    origin = axis_of(axis, rank, "rollaxis")
    place = (
        axis_of(start, rank + 1, "rollaxis", "start")
        if as_int(start, "rollaxis: start") >= 0
        else axis_of(start, rank, "rollaxis", "start")
    )
    return moveaxis(x, origin, place - 1 if origin < place else place)


@published("numpy.swapaxes")
def swapaxes(a: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Two axes swapped.

    >>> import gradtape as tf
    >>> tf.numpy.swapaxes(tf.ones([2, 3, 4]), 0, 2).shape
    TensorShape([4, 3, 2])
    """
    x = tensor_of(a, "swapaxes", "a")
    order = list(range(x.array.ndim))
    first, second = (
        axis_of(v, len(order), "swapaxes", name) for v, name in ((axis1, "axis1"), (axis2, "axis2"))
    )
    order[first], order[second] = second, first
    return shaping.transpose(x, perm=tuple(order))


@published("numpy.squeeze", "array_api.squeeze")
def squeeze(a: TensorLike, axis: AxisLike = None) -> Tensor:
    """Without the axes of size 1, or without those of them that `axis` names.

    >>> import gradtape as tf
    >>> tf.numpy.squeeze([[[1], [2]]]).numpy()
    array([1, 2], dtype=int32)
    """
    x = tensor_of(a, "squeeze", "a")
    sizes = x.array.shape
    dropped = axes_of(axis, len(sizes), "squeeze")
    if dropped is None:
        dropped = tuple(i for i, size in enumerate(sizes) if size == 1)
    if any(sizes[i] != 1 for i in dropped):
        raise ValueError(
            f"squeeze: axis={axis} names an axis whose size is not 1; the shape is {sizes}."
        )
    return shaping.reshape(x, shape=tuple(size for i, size in enumerate(sizes) if i not in dropped))


@published("numpy.expand_dims", "array_api.expand_dims")
def expand_dims(a: TensorLike, axis: AxisLike) -> Tensor:
    """With new axes of size 1 where `axis` says.

    >>> import gradtape as tf
    >>> tf.numpy.expand_dims([1, 2], axis=(0, 2)).shape
    TensorShape([1, 2, 1])
    """
    x = tensor_of(a, "expand_dims", "a")
    count = len(axis) if isinstance(axis, (list, tuple)) else 1
    new = axes_of(axis, x.array.ndim + count, "expand_dims") or ()
    old = iter(x.array.shape)
    return shaping.reshape(
        x, shape=tuple(1 if i in new else next(old) for i in range(x.array.ndim + len(new)))
    )


@published("numpy.broadcast_to", "array_api.broadcast_to")
def broadcast_to(array: TensorLike, shape: ShapeLike, subok: bool = False) -> Tensor:
    """Repeated along axes of size 1, and along new ones in front, until it has the given shape.

    >>> import gradtape as tf
    >>> tf.numpy.broadcast_to([1, 2], (2, 2)).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    x = tensor_of(array, "broadcast_to", "array")
    return stretched(x, integers(shape, "broadcast_to: shape"), "broadcast_to")


def stretched(x: Tensor, shape: Shape, function: str) -> Tensor:
    """A Tensor in a shape that it broadcasts to."""
    sizes = x.array.shape
    if sizes == shape:
        return x
    added = len(shape) - len(sizes)
    if (
        added < 0
        or min(shape) < 0
        or any(n not in (1, m) for n, m in zip(sizes, shape[added:], strict=True))
    ):
        raise ValueError(f"{function}: a tensor of shape {sizes} cannot be broadcast to {shape}.")
    return broadcasting.broadcast_to(x, shape=shape)


@published("numpy.broadcast_shapes")
def broadcast_shapes(*args: ShapeLike) -> Shape:
    """The shape that arrays of these shapes have together.

    >>> import gradtape as tf
    >>> tf.numpy.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return np.broadcast_shapes(
        *(integers(shape, f"broadcast_shapes: args[{i}]") for i, shape in enumerate(args))
    )


@published("numpy.broadcast_arrays")
def broadcast_arrays(*args: TensorLike, subok: bool = False) -> tuple[Tensor, ...]:
    """All arguments in the shape that they have together.

    >>> import gradtape as tf
    >>> [x.numpy().tolist() for x in tf.numpy.broadcast_arrays([1, 2], [[3], [4]])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    tensors = [tensor_of(x, "broadcast_arrays", f"args[{i}]") for i, x in enumerate(args)]
    return tuple(broadcast_together(tensors, "broadcast_arrays"))


def broadcast_together(tensors: list[Tensor], function: str) -> list[Tensor]:
    """Tensors in the shape that they have together."""
    try:
        shape = np.broadcast_shapes(*(x.array.shape for x in tensors))
    except ValueError as error:
        raise ValueError(
            f"{function}: the shapes {[x.array.shape for x in tensors]} do not broadcast."
        ) from error
    return [stretched(x, shape, function) for x in tensors]


@overload
def atleast_1d(ary: TensorLike, /) -> Tensor: ...
@overload
def atleast_1d(*arys: TensorLike) -> tuple[Tensor, ...]: ...
@published("numpy.atleast_1d")
def atleast_1d(*arys: TensorLike) -> Any:
    """With at least one axis: a Tensor, or a tuple of them for several arguments.

    >>> import gradtape as tf
    >>> tf.numpy.atleast_1d(3.0).numpy()
    array([3.], dtype=float32)
    """
    return _each(arys, "atleast_1d", with_one_axis)


@overload
def atleast_2d(ary: TensorLike, /) -> Tensor: ...
@overload
def atleast_2d(*arys: TensorLike) -> tuple[Tensor, ...]: ...
@published("numpy.atleast_2d")
def atleast_2d(*arys: TensorLike) -> Any:
    """With at least two axes; a vector becomes a row.

    >>> import gradtape as tf
    >>> tf.numpy.atleast_2d([1, 2]).numpy()
    array([[1, 2]], dtype=int32)
    """
    return _each(arys, "atleast_2d", with_two_axes)


@overload
def atleast_3d(ary: TensorLike, /) -> Tensor: ...
@overload
def atleast_3d(*arys: TensorLike) -> tuple[Tensor, ...]: ...
@published("numpy.atleast_3d")
def atleast_3d(*arys: TensorLike) -> Any:
    """With at least three axes; those of a vector or a matrix stay in front of the last one.

    >>> import gradtape as tf
    >>> tf.numpy.atleast_3d([1, 2]).shape, tf.numpy.atleast_3d([[1, 2]]).shape
    (TensorShape([1, 2, 1]), TensorShape([1, 2, 1]))
    """
    return _each(arys, "atleast_3d", with_three_axes)


def _each(arys: tuple[Any, ...], function: str, change: Any) -> Any:
    found = [change(tensor_of(x, function, f"arys[{i}]")) for i, x in enumerate(arys)]
    return found[0] if len(found) == 1 else tuple(found)


def with_one_axis(x: Tensor) -> Tensor:
    return x if x.array.ndim else shaping.reshape(x, shape=(1,))


def with_two_axes(x: Tensor) -> Tensor:
    return x if x.array.ndim > 1 else shaping.reshape(x, shape=(1, x.array.size))


def with_three_axes(x: Tensor) -> Tensor:
    sizes = x.array.shape
    if len(sizes) > 2:
        return x
    return shaping.reshape(x, shape=(*sizes, 1) if len(sizes) == 2 else (1, x.array.size, 1))


@published("numpy.copy")
def copy(a: TensorLike, order: str = "K", subok: bool = False) -> Tensor:
    """The same values as a new Tensor.

    >>> import gradtape as tf
    >>> tf.numpy.copy([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    return identity(tensor_of(a, "copy", "a"))


@published("numpy.astype")
def astype(x: TensorLike, dtype: DTypeLike, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The values in another dtype; Python's `float`, `int` and `complex` mean float32, int32 and
    complex64, or those of twice the width if the values have 64 bits.

    >>> import gradtape as tf
    >>> tf.numpy.astype([1.8, -1.8], int).numpy()
    array([ 1, -1], dtype=int32)
    """
    given = tensor_of(x, "astype")
    wanted = None if dtype is None else dtype_of(dtype, given.array.dtype)
    if wanted is None or wanted.kind == "O":
        raise TypeError(
            f"astype: dtype must be a numeric dtype such as gradtape.float32, got {dtype!r}."
        )
    if given.array.dtype.kind == "c" and wanted.kind not in "cb":
        warnings.warn(
            "astype drops the imaginary part of complex numbers",
            np.exceptions.ComplexWarning,
            stacklevel=2,
        )
    return converted(given, wanted)


@published("numpy.view")
def view(x: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """The same bits read as another dtype, with more or fewer elements in the last axis if the
    sizes differ.

    >>> import gradtape as tf
    >>> tf.numpy.view(tf.constant([1.0, 2.0]), tf.int32).numpy()
    array([1065353216, 1073741824], dtype=int32)
    """
    given = tensor_of(x, "view")
    found, sizes = given.array.dtype, given.array.shape
    wanted = dtype_of(dtype, found)
    if wanted == found:
        return identity(given)
    if found.itemsize != wanted.itemsize and not sizes:
        raise ValueError(
            f"view: a scalar of dtype {given.dtype.name} cannot be read as "
            f"{dtypes.from_numpy(wanted).name}."
        )
    if found.itemsize < wanted.itemsize:
        return _gathered(given, wanted)
    if found.kind == "c" and wanted == dtypes.from_numpy(found).real_dtype.numpy:
        parts = shaping.stack(real(given), imag(given), axis=len(sizes))
    else:
        parts = conversion.bitcast(given, dtype=wanted)
    if found.itemsize == wanted.itemsize:
        return parts
    return shaping.reshape(
        parts, shape=(*sizes[:-1], sizes[-1] * found.itemsize // wanted.itemsize)
    )


def _gathered(x: Tensor, wanted: Any) -> Tensor:
    """Elements of the last axis put together to larger ones."""
    *before, last = x.array.shape
    ratio = wanted.itemsize // x.array.dtype.itemsize
    if last % ratio:
        raise ValueError(
            f"view: the last axis has {last} elements, which is not a multiple of {ratio}, the "
            f"number that make one {dtypes.from_numpy(wanted).name}."
        )
    grouped = shaping.reshape(x, shape=(*before, last // ratio, ratio))
    if wanted.kind == "c" and x.array.dtype == dtypes.from_numpy(wanted).real_dtype.numpy:
        return complex_from_parts(
            shaping.getitem(grouped, key=(..., 0)), shaping.getitem(grouped, key=(..., 1))
        )
    return conversion.bitcast(grouped, dtype=wanted)


@published("numpy.meshgrid")
def meshgrid(
    *xi: TensorLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Tensor, ...]:
    """The coordinates of a grid over vectors; `sparse` leaves them in axes of size 1 that broadcast
    to the grid.

    >>> import gradtape as tf
    >>> [x.numpy().tolist() for x in tf.numpy.meshgrid([1, 2, 3], [4, 5])]
    [[[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}.")
    vectors = [tensor_of(x, "meshgrid", f"xi[{i}]") for i, x in enumerate(xi)]
    places = list(range(len(vectors)))
    if indexing == "xy":
        places[:2] = places[1::-1] if len(places) > 1 else places
    lines = [_line(x, place, len(places)) for x, place in zip(vectors, places, strict=True)]
    return tuple(lines if sparse else broadcast_together(lines, "meshgrid"))


def _line(x: Tensor, axis: int, rank: int) -> Tensor:
    """The elements along one axis of `rank`."""
    return shaping.reshape(x, shape=tuple(x.array.size if i == axis else 1 for i in range(rank)))


@published("numpy.ix_")
def ix_(*args: TensorLike) -> tuple[Tensor, ...]:
    """Index vectors shaped so that they pick a grid: `x[ix_(rows, columns)]`; truth values stand
    for the places of the true ones.

    >>> import gradtape as tf
    >>> rows, columns = tf.numpy.ix_([0, 2], [1, 3, 4])
    >>> rows.shape, columns.shape
    (TensorShape([2, 1]), TensorShape([1, 3]))
    """
    lines = []
    for i, arg in enumerate(args):
        x = tensor_of(arg, "ix_", f"args[{i}]")
        if x.array.ndim != 1:
            raise ValueError(f"ix_: args[{i}] must be a vector, got shape {x.shape}.")
        if x.array.dtype.kind == "b":
            x = Tensor(np.flatnonzero(values_of(x, "ix_", f"args[{i}]")))
        elif not x.array.size:
            x = converted(x, INT64)
        lines.append(_line(x, i, len(args)))
    return tuple(lines)


@published("numpy.ndim")
def ndim(a: TensorLike) -> int:
    """How many axes there are.

    >>> import gradtape as tf
    >>> tf.numpy.ndim([[1, 2, 3]])
    2
    """
    return len(shape(a))


@published("numpy.shape")
def shape(a: TensorLike) -> Shape:
    """The size of each axis, as a tuple.

    >>> import gradtape as tf
    >>> tf.numpy.shape([[1, 2, 3]])
    (1, 3)
    """
    return tuple(a.array.shape) if isinstance(a, Tensor) else np.shape(plain(a))


@published("numpy.size")
def size(a: TensorLike, axis: AxisLike = None) -> int:
    """How many elements there are, in all or along some axes.

    >>> import gradtape as tf
    >>> tf.numpy.size([[1, 2, 3]]), tf.numpy.size([[1, 2, 3]], axis=0)
    (3, 1)
    """
    sizes = shape(a)
    counted = axes_of(axis, len(sizes), "size")
    return math.prod(sizes if counted is None else [sizes[i] for i in counted])


@published("numpy.result_type")
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype in which Tensors, arrays, numbers and dtypes meet, by gradtape's rule.

    >>> import gradtape as tf
    >>> (
    ...     tf.numpy.result_type(tf.constant([1, 2]), tf.float32),
    ...     tf.numpy.result_type(tf.constant(1.0), 2j),
    ... )
    (dtype('float32'), dtype('complex64'))
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: give at least one array or dtype.")
    strong, weak = [], []
    for i, given in enumerate(arrays_and_dtypes):
        if is_tensor_like(given):
            strong.append(tensor_of(given, "result_type", f"argument {i}").array.dtype)
        elif isinstance(given, (np.dtype, type, str, dtypes.DType)):
            strong.append(dtype_of(given))
        else:
            weak.append(tensor_of(given, "result_type", f"argument {i}").array.dtype)
    if not strong:
        return common_dtype(weak)
    found = common_dtype(strong)
    for dtype in weak:
        found = dtypes.promote_weak(found, dtype)
    return found
