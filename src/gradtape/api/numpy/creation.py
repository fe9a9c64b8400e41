"""NumPy's functions that make arrays: from values (`array`), of one value (`zeros`, `full`),
and from files and buffers.

Without a dtype, and for Python's `float` and `int`, the result is float32 or int32. Tensors among
the arguments are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradtape.api.numpy.indexing import indices
from gradtape.api.numpy.operands import (
    FLOAT32,
    converted,
    dtype_of,
    tensor_of,
    tensors_of,
    values_of,
)
from gradtape.api.numpy.shaping import stretched
from gradtape.api.tensorflow.arguments import DTypeLike, ShapeLike, TensorLike, as_int, integers
from gradtape.convert import is_tensor_like, numpy_array
from gradtape.core.device import check_device
from gradtape.core.tensor import Tensor
from gradtape.ops import selection, shaping
from gradtape.published import published

Shape = tuple[int, ...]


@published("numpy.array")
def array(
    object: Any,
    dtype: DTypeLike = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Tensor:
    """Values as a Tensor, with at least `ndmin` axes; lists may hold Tensors,
    which are stacked and stay recorded.

    >>> import gradtape as tf
    >>> tf.numpy.array([[1, 2.5], [3, 4]]).numpy()
    array([[1. , 2.5],
           [3. , 4. ]], dtype=float32)
    """
    x = _converted(object, dtype, "array", "object")
    missing = as_int(ndmin, "array: ndmin") - x.array.ndim
    return shaping.reshape(x, shape=(1,) * missing + x.array.shape) if missing > 0 else x


@published("numpy.asarray", "array_api.asarray")
def asarray(
    a: Any,
    dtype: DTypeLike = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Tensor:
    """Values as a Tensor; a Tensor stays what it is.

    >>> import gradtape as tf
    >>> tf.numpy.asarray([1, 2], dtype="float32").numpy()
    array([1., 2.], dtype=float32)
    """
    check_device(device)
    found = _converted(a, dtype, "asarray", "a")
    if copy is False and found is not a:
        raise ValueError(
            f"asarray: a Tensor cannot share the memory of {type(a).__name__} without a copy: "
            "leave copy=False out, or use "
            "gradtape.numpy.from_dlpack(a, copy=False)."
        )
    return found


asanyarray = asarray


@published("numpy.ascontiguousarray")
def ascontiguousarray(a: Any, dtype: DTypeLike = None, *, like: Any = None) -> Tensor:
    """Values as a Tensor with at least one axis; how they lie in memory is not seen.

    >>> import gradtape as tf
    >>> tf.numpy.ascontiguousarray(1.0).shape
    TensorShape([1])
    """
    x = _converted(a, dtype, "ascontiguousarray", "a")
    return x if x.array.ndim else shaping.reshape(x, shape=(1,))


asfortranarray = ascontiguousarray


@published("numpy.asarray_chkfinite")
def asarray_chkfinite(a: Any, dtype: DTypeLike = None, order: Any = None) -> Tensor:
    """Values as a Tensor, refused if one of them is infinite or NaN.

    >>> import gradtape as tf
    >>> tf.numpy.asarray_chkfinite([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    x = _converted(a, dtype, "asarray_chkfinite", "a")
    if x.array.dtype.kind in "fc" and not np.isfinite(values_of(x, "asarray_chkfinite", "a")).all():
        raise ValueError("asarray_chkfinite: a must not contain infinity or NaN.")
    return x


def _converted(value: Any, dtype: DTypeLike, function: str, argument: str) -> Tensor:
    """Anything as a Tensor, in `dtype` if it is given."""
    if isinstance(value, (list, tuple)) and any(map(_holds_tensors, value)):
        value = _stacked(value, function, argument)
    if is_tensor_like(value) or dtype is None:
        x = tensor_of(value, function, argument)
        return converted(x, dtype_of(dtype, x.array.dtype))
    wanted = dtype_of(dtype, getattr(value, "dtype", None))
    checked = numpy_array(value, f"{function}: {argument}")
    if checked.dtype.kind not in "biufcV":
        checked = np.asarray(tensor_of(value, function, argument).array)
    return Tensor(checked.astype(wanted)[()])


def _holds_tensors(value: Any) -> bool:
    return (
        any(map(_holds_tensors, value))
        if isinstance(value, (list, tuple))
        else is_tensor_like(value)
    )


def _stacked(values: Sequence[Any], function: str, argument: str) -> Tensor:
    """A nested list with Tensors in it; they meet in one dtype,
    and plain numbers beside them take it.
    """
    rows = [
        _stacked(value, function, f"{argument}[{i}]")
        if isinstance(value, (list, tuple)) and _holds_tensors(value)
        else value
        for i, value in enumerate(values)
    ]
    tensors = tensors_of(rows, function, argument)
    shapes = [x.array.shape for x in tensors]
    if len(set(shapes)) > 1:
        raise ValueError(f"{function}: the entries of {argument} have different shapes: {shapes}.")
    return shaping.stack(*tensors, axis=0)


# Of one value


@published("numpy.zeros", "array_api.zeros")
def zeros(
    shape: ShapeLike,
    dtype: DTypeLike = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Zeros.

    >>> import gradtape as tf
    >>> tf.numpy.zeros((2, 3)).numpy()
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    check_device(device)
    return Tensor(np.zeros(_sizes(shape, "zeros"), dtype_of(dtype, FLOAT32)))


@published("numpy.ones", "array_api.ones")
def ones(
    shape: ShapeLike,
    dtype: DTypeLike = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Ones.

    >>> import gradtape as tf
    >>> tf.numpy.ones(3, dtype=int).numpy()
    array([1, 1, 1], dtype=int32)
    """
    check_device(device)
    return Tensor(np.ones(_sizes(shape, "ones"), dtype_of(dtype, FLOAT32)))


@published("numpy.empty", "array_api.empty")
def empty(
    shape: ShapeLike,
    dtype: DTypeLike = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Zeros: a Tensor does not change, so there is nothing to be filled in later.

    >>> import gradtape as tf
    >>> tf.numpy.empty(2).numpy()
    array([0., 0.], dtype=float32)
    """
    check_device(device)
    return Tensor(np.zeros(_sizes(shape, "empty"), dtype_of(dtype, FLOAT32)))


@published("numpy.full", "array_api.full")
def full(
    shape: ShapeLike,
    fill_value: TensorLike,
    dtype: DTypeLike = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """A value, or what broadcasts to the shape; a gradient flows back to it.

    >>> import gradtape as tf
    >>> tf.numpy.full((2, 2), [1, 2]).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    check_device(device)
    return stretched(
        _converted(fill_value, dtype, "full", "fill_value"), _sizes(shape, "full"), "full"
    )


def _sizes(shape: ShapeLike, function: str) -> Shape:
    sizes = integers(shape, f"{function}: shape")
    if min(sizes, default=0) < 0:
        raise ValueError(f"{function}: shape={sizes} has a negative size.")
    return sizes


@published("numpy.zeros_like", "array_api.zeros_like")
def zeros_like(
    a: TensorLike,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """Zeros in the shape and the dtype of `a`, unless others are given.

    >>> import gradtape as tf
    >>> tf.numpy.zeros_like([1, 2]).numpy()
    array([0, 0], dtype=int32)
    """
    check_device(device)
    return _like(
        selection.zeros_like, np.zeros, tensor_of(a, "zeros_like", "a"), dtype, shape, "zeros_like"
    )


@published("numpy.ones_like", "array_api.ones_like")
def ones_like(
    a: TensorLike,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """Ones in the shape and the dtype of `a`, unless others are given.

    >>> import gradtape as tf
    >>> tf.numpy.ones_like([1, 2], shape=3).numpy()
    array([1, 1, 1], dtype=int32)
    """
    check_device(device)
    return _like(
        selection.ones_like, np.ones, tensor_of(a, "ones_like", "a"), dtype, shape, "ones_like"
    )


@published("numpy.empty_like", "array_api.empty_like")
def empty_like(
    prototype: TensorLike,
    /,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """Zeros in the shape and the dtype of `prototype`, unless others are given.

    >>> import gradtape as tf
    >>> tf.numpy.empty_like([1.0, 2.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    check_device(device)
    return _like(
        selection.zeros_like,
        np.zeros,
        tensor_of(prototype, "empty_like", "prototype"),
        dtype,
        shape,
        "empty_like",
    )


def _like(
    op: Callable[..., Any],
    make: Callable[..., Any],
    x: Tensor,
    dtype: DTypeLike,
    shape: Any,
    function: str,
) -> Tensor:
    wanted = dtype_of(dtype, x.array.dtype)
    return op(x, dtype=wanted) if shape is None else Tensor(make(_sizes(shape, function), wanted))


@published("numpy.full_like", "array_api.full_like")
def full_like(
    a: TensorLike,
    fill_value: TensorLike,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Tensor:
    """A value in the shape and the dtype of `a`, unless others are given;
    a gradient flows back to the value.

    >>> import gradtape as tf
    >>> tf.numpy.full_like([1.0, 2.0], 7).numpy()
    array([7., 7.], dtype=float32)
    """
    check_device(device)
    x = tensor_of(a, "full_like", "a")
    value = _converted(fill_value, dtype_of(dtype, x.array.dtype), "full_like", "fill_value")
    return stretched(
        value, x.array.shape if shape is None else _sizes(shape, "full_like"), "full_like"
    )


@published("numpy.eye", "array_api.eye")
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = float,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """Ones on diagonal `k` of an N by M matrix, and zeros elsewhere.

    >>> import gradtape as tf
    >>> tf.numpy.eye(2, 3, k=1).numpy()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    check_device(device)
    columns = None if M is None else as_int(M, "eye: M")
    return Tensor(
        np.eye(as_int(N, "eye: N"), columns, as_int(k, "eye: k"), dtype_of(dtype, FLOAT32))
    )


@published("numpy.identity")
def identity(n: int, dtype: DTypeLike = None, *, like: Any = None) -> Tensor:
    """The identity matrix.

    >>> import gradtape as tf
    >>> tf.numpy.identity(2).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return Tensor(np.identity(as_int(n, "identity: n"), dtype_of(dtype, FLOAT32)))


# From elsewhere


@published("numpy.fromfunction")
def fromfunction(
    function: Callable[..., Any],
    shape: ShapeLike,
    *,
    dtype: DTypeLike = float,
    like: Any = None,
    **kwargs: Any,
) -> Any:
    """What a function gives for the coordinates of a grid, one Tensor for each axis.

    >>> import gradtape as tf
    >>> tf.numpy.fromfunction(lambda i, j: i + j, (2, 2)).numpy()
    array([[0., 1.],
           [1., 2.]], dtype=float32)
    """
    return function(*shaping.unstack(indices(shape, dtype=dtype), axis=0), **kwargs)


@published("numpy.frombuffer")
def frombuffer(
    buffer: Any, dtype: DTypeLike = None, count: int = -1, offset: int = 0, *, like: Any = None
) -> Tensor:
    """The numbers in a buffer of bytes, as float32 unless another dtype is given.

    >>> import gradtape as tf
    >>> tf.numpy.frombuffer(b"abc", dtype="uint8").numpy()
    array([97, 98, 99], dtype=uint8)
    """
    return Tensor(np.array(np.frombuffer(buffer, dtype_of(dtype, FLOAT32), count, offset)))


@published("numpy.fromiter")
def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1, *, like: Any = None) -> Tensor:
    """The numbers that an iterable gives.

    >>> import gradtape as tf
    >>> tf.numpy.fromiter((i * i for i in range(3)), dtype=int).numpy()
    array([0, 1, 4], dtype=int32)
    """
    return Tensor(np.fromiter(iter, dtype_of(dtype), count))


@published("numpy.fromstring")
def fromstring(
    string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str, like: Any = None
) -> Tensor:
    """The numbers in a text, between which `sep` stands.

    >>> import gradtape as tf
    >>> tf.numpy.fromstring("1, 2", sep=",").numpy()
    array([1., 2.], dtype=float32)
    """
    return Tensor(np.fromstring(string, dtype_of(dtype), count, sep=sep))


@published("numpy.fromfile")
def fromfile(
    file: Any,
    dtype: DTypeLike = None,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    *,
    like: Any = None,
) -> Tensor:
    """The numbers in a binary file, or in a text file in which `sep` stands between them.

    >>> import tempfile
    >>> import gradtape as tf
    >>> with tempfile.TemporaryFile() as file:
    ...     tf.constant([1.0, 2.0]).numpy().tofile(file)
    ...     place = file.seek(0)
    ...     print(tf.numpy.fromfile(file).numpy())
    [1. 2.]
    """
    return Tensor(np.fromfile(file, dtype_of(dtype, FLOAT32), count, sep, offset))


@published("numpy.loadtxt")
def loadtxt(fname: Any, dtype: DTypeLike = float, **options: Any) -> Tensor:
    r"""The numbers in a text file, a row for each line; the options are those of `numpy.loadtxt`.

    >>> import io
    >>> import gradtape as tf
    >>> tf.numpy.loadtxt(io.StringIO("1 2\n3 4")).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return Tensor(np.loadtxt(fname, dtype_of(dtype), **options))


@published("numpy.genfromtxt")
def genfromtxt(fname: Any, dtype: DTypeLike = float, **options: Any) -> Tensor:
    r"""The numbers in a text file in which some may be missing;
    the options are those of `numpy.genfromtxt`.

    >>> import io
    >>> import gradtape as tf
    >>> tf.numpy.genfromtxt(io.StringIO("1,2\n3,"), delimiter=",").numpy()
    array([[ 1.,  2.],
           [ 3., nan]], dtype=float32)
    """
    return Tensor(np.genfromtxt(fname, dtype_of(dtype), **options))


@published("numpy.load")
def load(file: Any, mmap_mode: Any = None, allow_pickle: bool = False, **options: Any) -> Any:
    """The array in a file that `save` wrote, as a Tensor; of a file with several arrays,
    a dict of them.

    >>> import tempfile
    >>> import gradtape as tf
    >>> with tempfile.TemporaryFile() as file:
    ...     tf.numpy.save(file, tf.constant([1.0, 2.0]))
    ...     place = file.seek(0)
    ...     print(tf.numpy.load(file).numpy())
    [1. 2.]
    """
    found = np.load(file, mmap_mode, allow_pickle, **options)
    if isinstance(found, np.ndarray):
        return Tensor(np.array(found))
    with found:
        return {name: Tensor(found[name]) for name in found.files}


PUBLISHED = {"numpy.asanyarray": asanyarray, "numpy.asfortranarray": asfortranarray}
