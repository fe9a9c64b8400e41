"""Making and converting tensors, and asking for their shape: `tf.constant`, `tf.zeros`, `tf.cast`,
`tf.shape` and related functions.
"""

from __future__ import annotations

import builtins
import math
from typing import Any, TypeVar, overload

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import (
    DTypeLike,
    ShapeLike,
    TensorLike,
    as_int,
    as_shape,
    numpy_dtype,
    one_axis,
)
from gradtape.convert import TENSORFLOW, as_indices, as_tensor, operand, to_array
from gradtape.core.composite import CompositeOperand, itself, takes_composites
from gradtape.core.device import new_tensor
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.messages import log_warning
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.errors import UnimplementedError, invalid_argument
from gradtape.ops import activations, broadcasting, selection, shaping
from gradtape.published import published
from gradtape.shapes import TensorShape

Sparse = TypeVar("Sparse", IndexedSlices, SparseTensor)


@published("constant")
def constant(
    value: Any, dtype: DTypeLike = None, shape: ShapeLike | None = None, name: str = "Const"
) -> Tensor:
    """A tensor of the given values; with `shape`, values are reshaped and a single one is repeated.

    >>> import gradtape as tf
    >>> tf.constant([1, 2, 3, 4], shape=[2, 2]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    found = _constant(value, dtype)
    if shape is None:
        return found
    sizes = tuple(TensorShape(shape).as_list())
    count = found.array.size
    if found.array.shape == sizes:
        return found
    if count == TensorShape(sizes).num_elements():
        return shaping.reshape(found, shape=sizes)
    if count == 1:
        return broadcasting.broadcast_to(shaping.reshape(found, shape=()), shape=sizes)
    raise TypeError(f"constant: value has {count} elements, which do not fill shape={list(sizes)}.")


def _constant(value: Any, dtype: DTypeLike) -> Tensor:
    """A Tensor as it is, and the values of anything else: nothing flows back to a Variable."""
    if isinstance(value, Tensor) and dtype is not None and value.dtype != dtypes.as_dtype(dtype):
        wanted = dtypes.as_dtype(dtype).name
        raise TypeError(
            f"constant: value is a tensor of dtype {value.dtype.name}, not {wanted}: convert it "
            "with gradtape.cast."
        )
    return _not_composite(
        as_tensor(
            value.numpy() if isinstance(value, Variable) else value,
            dtype,
            argument="constant: value",
        )
    )


def _not_composite(found: Tensor) -> Tensor:
    """A Tensor, unless it stands for a RaggedTensor, which no tensor can hold."""
    if isinstance(found, CompositeOperand):
        found.refuse()
    return found


@published("convert_to_tensor")
def convert_to_tensor(
    value: Any, dtype: DTypeLike = None, dtype_hint: DTypeLike = None, name: str | None = None
) -> Tensor:
    """`value` as a tensor: a Tensor itself, a read of a Variable, or numbers in `dtype`, or in
    `dtype_hint` if they fit it.

    >>> import gradtape as tf
    >>> tf.convert_to_tensor([1, 2], dtype_hint=tf.float32).numpy()
    array([1., 2.], dtype=float32)
    """
    if dtype is None and dtype_hint is not None:
        try:
            return as_tensor(value, dtype_hint, argument="convert_to_tensor: value")
        except (TypeError, ValueError):
            return _not_composite(as_tensor(value, argument="convert_to_tensor: value"))
    return _not_composite(as_tensor(value, dtype, argument="convert_to_tensor: value"))


@published("is_tensor")
def is_tensor(x: Any) -> bool:
    """Whether `x` is a Tensor, a Variable or an IndexedSlices.

    >>> import gradtape as tf
    >>> tf.is_tensor(tf.Variable(1.0)), tf.is_tensor([1.0])
    (True, False)
    """
    return isinstance(x, (Tensor, Variable)) or hasattr(x, "__gradtape_tensor__")


@published("zeros")
def zeros(
    shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros; for strings, empty ones.

    >>> import gradtape as tf
    >>> tf.zeros([2, 3]).numpy()
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return new_tensor(
        _full(as_shape(shape, "zeros: shape"), _zero(numpy_dtype(dtype)), numpy_dtype(dtype))
    )


@published("ones")
def ones(
    shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """Ones.

    >>> import gradtape as tf
    >>> tf.ones([3], tf.int32).numpy()
    array([1, 1, 1], dtype=int32)
    """
    return new_tensor(
        _full(as_shape(shape, "ones: shape"), 1, _with_a_one(numpy_dtype(dtype), "ones", TypeError))
    )


@published("zeros_like")
@takes_composites
def zeros_like(
    input: TensorLike, dtype: DTypeLike = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros in the shape of `input`, and in its dtype unless another is given.

    >>> import gradtape as tf
    >>> tf.zeros_like([1, 2]).numpy()
    array([0, 0], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "zeros_like: input")
    wanted = numpy_dtype(dtype, x.dtype)
    return (
        Tensor(_full(x.array.shape, b"", wanted))
        if wanted.kind == "O"
        else selection.zeros_like(x, dtype=wanted)
    )


@published("ones_like")
@takes_composites
def ones_like(
    input: TensorLike, dtype: DTypeLike = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Ones in the shape of `input`, and in its dtype unless another is given.

    >>> import gradtape as tf
    >>> tf.ones_like([1, 2], dtype=tf.float32).numpy()
    array([1., 1.], dtype=float32)
    """
    x = TENSORFLOW.tensor(input, "ones_like: input")
    return selection.ones_like(
        x, dtype=_with_a_one(numpy_dtype(dtype, x.dtype), "ones_like", invalid_argument)
    )


def _full(shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
    found = np.full(shape, value, dtype)
    return found if found.dtype.kind == "O" else found[()]  # a bare string has no dtype


def _zero(dtype: Any) -> Any:
    return b"" if dtype.kind == "O" else 0


def _with_a_one(dtype: Any, function: str, refusal: Any) -> Any:
    if dtype.kind == "O":
        raise refusal(f"{function}: dtype must be numeric, got string.")
    return dtype


@published("fill")
def fill(dims: ShapeLike, value: TensorLike, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of shape `dims` that holds one value; a gradient flows back to the value.

    >>> import gradtape as tf
    >>> tf.fill([2, 3], 7).numpy()
    array([[7, 7, 7],
           [7, 7, 7]], dtype=int32)
    """
    x = TENSORFLOW.tensor(value, "fill: value")
    if x.array.ndim:
        raise invalid_argument(
            f"fill: value must be a scalar, got shape {x.shape}: use gradtape.broadcast_to."
        )
    return broadcasting.broadcast_to(x, shape=as_shape(dims, "fill: dims"))


@published("eye", "linalg.eye")
def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a batch of them.

    >>> import gradtape as tf
    >>> tf.eye(2, 3).numpy()
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    rows = as_int(num_rows, "eye: num_rows")
    sizes = as_shape(
        [rows, rows if num_columns is None else as_int(num_columns, "eye: num_columns")],
        "eye: size",
    )
    batch = () if batch_shape is None else as_shape(batch_shape, "eye: batch_shape")
    matrix = np.eye(*sizes, dtype=_with_a_one(numpy_dtype(dtype), "eye", TypeError))
    return new_tensor(np.array(np.broadcast_to(matrix, (*batch, *sizes))) if batch else matrix)


@published("range")
def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike = None,
    name: str = "range",
) -> Tensor:
    """The numbers from `start` up to, not including, `limit` in steps of `delta`;
    from 0 if only one number is given.

    >>> import gradtape as tf
    >>> tf.range(3).numpy(), tf.range(1.0, 2.0, 0.25).numpy()
    (array([0, 1, 2], dtype=int32), array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    given = (
        {"start": 0, "limit": start, "delta": delta}
        if limit is None
        else {"start": start, "limit": limit, "delta": delta}
    )
    wanted = None if dtype is None else numpy_dtype(dtype)
    arrays = [
        _range_bound(value, wanted, f"range: {argument}") for argument, value in given.items()
    ]
    common = arrays[0].dtype
    for array in arrays[1:]:
        common = dtypes.promote(common, array.dtype)
    first, last, step = (array.astype(common)[()] for array in arrays)
    if not ((step > 0 and first <= last) or (step < 0 and first >= last)):
        raise invalid_argument(
            f"range: delta={step} does not lead from start={first} to limit={last}."
        )
    if common.kind in "iu":
        return new_tensor(np.arange(first, last, step, dtype=common))
    count = (last - first) / step
    if not np.isfinite(count):
        raise invalid_argument(
            f"range: start={first}, limit={last} and delta={step} must be finite."
        )
    return new_tensor(first + np.arange(math.ceil(count)).astype(common) * step)


def _range_bound(value: Any, dtype: Any, argument: str) -> Any:
    """A bound as a NumPy scalar; a tensor is cast to the dtype of the range,
    a plain number must fit it.
    """
    x = operand(value)
    if isinstance(x, Tensor):
        array = x.array if dtype is None else x.array.astype(dtype)
    else:
        array = to_array(value, dtype, argument=argument)
    if array.ndim or array.dtype.kind in "Oc":
        raise invalid_argument(f"{argument} must be one real number, got {value!r}.")
    return array


@published("linspace")
def linspace(
    start: TensorLike, stop: TensorLike, num: int, name: str | None = None, axis: int = 0
) -> Tensor:
    """`num` evenly spaced values from `start` to `stop`, both included, along a new axis.

    >>> import gradtape as tf
    >>> tf.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    first, last = _inexact(TENSORFLOW.tensors([start, stop], ["linspace: start", "linspace: stop"]))
    count = as_int(num, "linspace: num")
    if count < 0:
        raise invalid_argument(f"linspace: num must not be negative, got {count}.")
    rank = max(first.array.ndim, last.array.ndim)
    place = one_axis(axis, rank + 1, "linspace: axis")
    first, last = (_with_axis(x, place, rank) for x in (first, last))
    column = (count, *(1,) * (rank - place))
    steps = np.arange(count).reshape(column)
    between = first + (last - first) / max(count - 1, 1) * steps.astype(first.array.dtype)
    return selection.where(Tensor((steps == count - 1) & (count > 1)), last, between)


def _inexact(tensors: list[Tensor]) -> list[Tensor]:
    """Two tensors in one dtype; integers become float64."""
    common = dtypes.promote(tensors[0].array.dtype, tensors[1].array.dtype)
    wanted = np.dtype(np.float64) if common.kind in "biu" else common
    return [x if x.array.dtype == wanted else broadcasting.cast(x, dtype=wanted) for x in tensors]


def _with_axis(x: Tensor, place: int, rank: int) -> Tensor:
    """`x` with leading axes of size 1 up to `rank`, and one more such axis at `place`."""
    sizes = (1,) * (rank - x.array.ndim) + x.array.shape
    return shaping.reshape(x, shape=(*sizes[:place], 1, *sizes[place:]))


@published("one_hot")
@takes_composites
def one_hot(
    indices: TensorLike,
    depth: int,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike = None,
    name: str | None = None,
) -> Tensor:
    """`on_value` at each index along a new axis of size `depth` and `off_value` elsewhere,
    also for an index outside of it.

    >>> import gradtape as tf
    >>> tf.one_hot([0, 2], depth=3).numpy()
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    labels = TENSORFLOW.tensor(indices, "one_hot: indices")
    if labels.array.dtype.kind == "b" or not labels.array.size:
        labels = broadcasting.cast(labels, dtype=np.dtype(np.int32))
    labels = as_indices(labels, "one_hot: indices")
    count = as_int(depth, "one_hot: depth")
    if count < 0:
        raise invalid_argument(f"one_hot: depth must not be negative, got {count}.")
    rank = labels.array.ndim
    place = rank if axis is None or axis == -1 else as_int(axis, "one_hot: axis")
    if not 0 <= place <= rank:
        raise invalid_argument(f"one_hot: axis must be -1 or from 0 to {rank}, got {axis}.")
    values = _hot_values(on_value, off_value, dtype)
    hot = activations.one_hot(
        labels, depth=count, dtype=values if isinstance(values, np.dtype) else np.dtype(bool)
    )
    if place != rank:
        axes = builtins.range(rank)
        hot = shaping.transpose(hot, perm=(*axes[:place], rank, *axes[place:]))
    return hot if isinstance(values, np.dtype) else selection.where(hot, *values)


def _hot_values(on: Any, off: Any, dtype: DTypeLike) -> Any:
    """The two values of `one_hot` as Tensors of one dtype,
    or that dtype alone if they are 1 and 0.
    """
    wanted = None if dtype is None else numpy_dtype(dtype)
    if on is None and off is None:
        return _with_a_one(numpy_dtype(wanted, dtypes.float32), "one_hot", TypeError)
    found = {
        name: TENSORFLOW.tensor(v, f"one_hot: {name}")
        for name, v in (("on_value", on), ("off_value", off))
        if v is not None
    }
    for name, x in found.items():
        if x.array.ndim:
            raise invalid_argument(f"one_hot: {name} must be a scalar, got shape {x.shape}.")
        if wanted is not None and not isinstance(
            operand(on if name == "on_value" else off), Tensor
        ):
            found[name] = as_tensor(x.array, wanted, argument=f"one_hot: {name}")
    kinds = {x.array.dtype for x in found.values()} | ({wanted} if wanted is not None else set())
    if len(kinds) > 1:
        names = sorted(dtypes.from_numpy(kind).name for kind in kinds)
        raise TypeError(
            f"one_hot: on_value, off_value and dtype must agree, got {' and '.join(names)}."
        )
    (kind,) = kinds
    return [
        found["on_value"]
        if on is not None
        else Tensor(_full((), 1, _with_a_one(kind, "one_hot: on_value", TypeError))),
        found["off_value"] if off is not None else Tensor(_full((), _zero(kind), kind)),
    ]


@overload
def identity(  # type: ignore[overload-overlap]
    input: IndexedSlices, name: str | None = None
) -> IndexedSlices: ...
@overload
def identity(input: TensorLike, name: str | None = None) -> Tensor: ...
@published("identity")
def identity(input: TensorLike, name: str | None = None) -> Any:
    """The same values as a new tensor that the input's gradient flows through.

    >>> import gradtape as tf
    >>> tf.identity([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    if isinstance(input, IndexedSlices):
        return input.with_values(broadcasting.identity(input.values))
    return broadcasting.identity(TENSORFLOW.tensor(input, "identity: input"))


@overload
def stop_gradient(  # type: ignore[overload-overlap]
    input: IndexedSlices, name: str | None = None
) -> IndexedSlices: ...
@overload
def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor: ...
@published("stop_gradient")
@takes_composites
def stop_gradient(input: TensorLike, name: str | None = None) -> Any:
    """The same values, which no gradient flows through.

    >>> import gradtape as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * tf.stop_gradient(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(3.0)
    """
    if isinstance(input, IndexedSlices):
        return input.with_values(broadcasting.stop_gradient(input.values))
    return broadcasting.stop_gradient(TENSORFLOW.tensor(input, "stop_gradient: input"))


@overload
def cast(x: Sparse, dtype: DTypeLike, name: str | None = None) -> Sparse: ...
@overload
def cast(x: Variable, dtype: DTypeLike, name: str | None = None) -> Tensor | Any: ...
@overload
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor: ...
@published("cast")
def cast(x: TensorLike | SparseTensor, dtype: DTypeLike, name: str | None = None) -> Any:
    """`x` in another dtype; `x` itself if it has that dtype already. What is sparse stays sparse.

    >>> import gradtape as tf
    >>> tf.cast([1.8, -1.8], tf.int32).numpy()
    array([ 1, -1], dtype=int32)
    """
    if dtype is None:
        raise TypeError("cast: dtype must be a dtype such as gradtape.float32, got None.")
    wanted = numpy_dtype(dtype)
    if isinstance(x, (IndexedSlices, SparseTensor)):
        return x.with_values(cast(x.values, dtype))
    given = x if isinstance(x, Variable) else TENSORFLOW.tensor(x, "cast: x")
    found = given.array.dtype
    if found == wanted:
        return itself(given)
    if object in (found, wanted):
        names = f"{dtypes.from_numpy(found).name} to {dtypes.from_numpy(wanted).name}"
        raise UnimplementedError(None, None, f"cast: cannot cast {names}.")
    if found.kind == "c" and wanted.kind not in "cb":
        log_warning(
            "cast from %s to %s drops the imaginary part.", found, dtypes.from_numpy(wanted).name
        )
    return broadcasting.cast(given, dtype=wanted)


@published("shape")
@takes_composites
def shape(input: TensorLike, out_type: DTypeLike = None, name: str | None = None) -> Tensor:
    """The shape of `input` as a tensor of integers.

    >>> import gradtape as tf
    >>> tf.shape([[1, 2, 3]]).numpy()
    array([1, 3], dtype=int32)
    """
    wanted = _index_dtype(out_type, "shape")
    if isinstance(input, SparseTensor):
        return broadcasting.cast(input.dense_shape, dtype=wanted)
    return Tensor(np.array(TENSORFLOW.tensor(input, "shape: input").array.shape, dtype=wanted))


@published("size")
@takes_composites
def size(input: TensorLike, out_type: DTypeLike = None, name: str | None = None) -> Tensor:
    """How many elements `input` has.

    >>> import gradtape as tf
    >>> tf.size([[1, 2, 3]]).numpy()
    np.int32(3)
    """
    wanted = _index_dtype(out_type, "size")
    if isinstance(input, SparseTensor):
        sizes = broadcasting.cast(input.dense_shape, dtype=wanted)
        axes = builtins.range(len(input.shape))
        return as_tensor(math.prod((sizes[axis] for axis in axes), start=Tensor(wanted.type(1))))
    return Tensor(wanted.type(TENSORFLOW.tensor(input, "size: input").array.size))


@published("rank")
@takes_composites
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """How many axes `input` has.

    >>> import gradtape as tf
    >>> tf.rank([[1, 2, 3]]).numpy()
    np.int32(2)
    """
    if isinstance(input, SparseTensor):
        return Tensor(np.int32(len(input.shape)))
    return Tensor(np.int32(TENSORFLOW.tensor(input, "rank: input").array.ndim))


def _index_dtype(dtype: DTypeLike, function: str) -> Any:
    wanted = numpy_dtype(dtype, dtypes.int32)
    if wanted not in (np.int32, np.int64):
        raise invalid_argument(
            f"{function}: out_type must be int32 or int64, got {dtypes.from_numpy(wanted).name}."
        )
    return wanted


@published("ensure_shape")
def ensure_shape(x: TensorLike, shape: ShapeLike | None, name: str | None = None) -> Tensor:
    """`x`, refused unless its shape fits `shape`, in which None stands for any size.

    >>> import gradtape as tf
    >>> tf.ensure_shape([[1.0, 2.0]], [None, 2]).numpy()
    array([[1., 2.]], dtype=float32)
    """
    given = TENSORFLOW.tensor(x, "ensure_shape: x")
    wanted = TensorShape(shape)
    if not wanted.is_compatible_with(given.array.shape):
        raise invalid_argument(
            f"ensure_shape: x has shape {given.shape}, which does not fit {wanted}."
        )
    return broadcasting.identity(given)


@published("executing_eagerly")
def executing_eagerly() -> bool:
    """Whether ops run as they are called.

    >>> import gradtape as tf
    >>> tf.executing_eagerly()
    True
    """
    return here.state.trace is None
