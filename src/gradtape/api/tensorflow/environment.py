"""Functions for graphs that do little in eager code, such as `group` and `no_op`, and queries about
shapes, types and the library itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import (
    DTypeLike,
    ShapeLike,
    TensorLike,
    as_list,
    as_shape,
    numpy_dtype,
)
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops.broadcasting import identity
from gradtape.published import published
from gradtape.shapes import TensorShape

if TYPE_CHECKING:
    from logging import Logger


@published("AggregationMethod")
class AggregationMethod:
    """How gradients that meet are added in a graph; in gradtape they are always added one by one.

    >>> import gradtape as tf
    >>> tf.AggregationMethod.DEFAULT == tf.AggregationMethod.ADD_N
    True
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@published("no_op")
def no_op(name: str | None = None) -> None:
    """Does nothing.

    >>> import gradtape as tf
    >>> tf.no_op()
    """


@published("group")
def group(*inputs: Any, **kwargs: Any) -> None:
    """Does nothing: in eager code every op in `inputs` has run already.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> tf.group(v.assign(2.0), v.assign_add(1.0))
    >>> v.numpy()
    np.float32(3.0)
    """


@published("control_dependencies")
def control_dependencies(control_inputs: Any) -> AbstractContextManager[Any]:
    """A block whose ops run after `control_inputs`, as eager code does anyway;
    functions among them are called.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> with tf.control_dependencies([v.assign(5.0)]):
    ...     x = v * 2.0
    >>> x.numpy()
    np.float32(10.0)
    """
    for control_input in [] if control_inputs is None else list(control_inputs):
        if callable(control_input):
            control_input()
    return nullcontext()


@published("tuple")
def tuple(tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """The list of tensors as it is: in eager code all of them have been computed.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.tuple([tf.constant(1), tf.constant(2)])]
    [np.int32(1), np.int32(2)]
    """
    return as_list(tensors, "tuple: tensors")


@published("identity_n")
def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """A list of the same tensors.

    >>> import gradtape as tf
    >>> [x.numpy() for x in tf.identity_n([tf.constant(1), tf.constant(2.0)])]
    [np.int32(1), np.float32(2.0)]
    """
    input = as_list(input, "identity_n: input")
    if not input:
        raise invalid_argument("identity_n: input must have at least one tensor.")
    return [identity(TENSORFLOW.tensor(x, f"identity_n: input[{i}]")) for i, x in enumerate(input)]


@published("shape_n")
def shape_n(
    input: Sequence[TensorLike], out_type: DTypeLike = dtypes.int32, name: str | None = None
) -> list[Tensor]:
    """The shape of each of several tensors, as tensors.

    >>> import gradtape as tf
    >>> [shape.numpy() for shape in tf.shape_n([tf.ones([2, 3]), tf.ones([1])])]
    [array([2, 3], dtype=int32), array([1], dtype=int32)]
    """
    input = as_list(input, "shape_n: input")
    if not input:
        raise invalid_argument("shape_n: input must have at least one tensor.")
    wanted = numpy_dtype(out_type)
    return [
        Tensor(np.array(TENSORFLOW.tensor(x, f"shape_n: input[{i}]").array.shape, wanted))
        for i, x in enumerate(input)
    ]


@published("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Tensor:
    """The shape to which two shapes broadcast, as a tensor.

    >>> import gradtape as tf
    >>> tf.broadcast_dynamic_shape([2, 1], [3]).numpy()
    array([2, 3], dtype=int32)
    """
    shapes = [
        as_shape(shape, f"broadcast_dynamic_shape: {a}")
        for shape, a in ((shape_x, "shape_x"), (shape_y, "shape_y"))
    ]
    wide = any(
        getattr(getattr(shape, "dtype", None), "name", "") == "int64"
        for shape in (shape_x, shape_y)
    )
    try:
        found = np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise invalid_argument(
            f"broadcast_dynamic_shape: {shapes[0]} and {shapes[1]} do not broadcast."
        ) from error
    return Tensor(np.array(found, np.int64 if wide else np.int32))


@published("broadcast_static_shape")
def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """What is known of the shape to which two shapes, in which sizes may be unknown, broadcast.

    >>> import gradtape as tf
    >>> tf.broadcast_static_shape(tf.TensorShape([None, 1]), tf.TensorShape([3]))
    TensorShape([None, 3])
    """
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    if x.rank is None or y.rank is None:
        return TensorShape(None)
    rank = max(x.rank, y.rank)
    pairs = zip(
        [1] * (rank - x.rank) + x.as_list(), [1] * (rank - y.rank) + y.as_list(), strict=True
    )
    sizes: list[int | None] = []
    for a, b in pairs:
        if a is None or b is None:
            known = a if b is None else b
            sizes.append(None if known == 1 else known)
        elif a != b and 1 not in (a, b):
            raise ValueError(f"broadcast_static_shape: {x} and {y} do not broadcast.")
        else:
            sizes.append(b if a == 1 else a)
    return TensorShape(sizes)


@published("get_static_value")
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The values of a tensor as a NumPy array; None for a Variable, whose value may change,
    and for what has no values yet.

    >>> import gradtape as tf
    >>> tf.get_static_value(tf.constant([1, 2]))
    array([1, 2], dtype=int32)
    """
    if isinstance(tensor, Variable) or is_traced(tensor):
        return None
    return tensor.numpy() if isinstance(tensor, Tensor) else tensor


@published("is_symbolic_tensor")
def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether a tensor has no values yet; those of eager code have.

    >>> import gradtape as tf
    >>> tf.is_symbolic_tensor(tf.constant(1.0))
    False
    """
    return is_traced(tensor)


@published("inside_function")
def inside_function() -> bool:
    """Whether a function is being traced; eager code is not.

    >>> import gradtape as tf
    >>> tf.inside_function()
    False
    """
    return here.state.trace is not None


@published("guarantee_const")
def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """The same tensor; a promise to TensorFlow's graphs that it never changes.

    >>> import gradtape as tf
    >>> tf.guarantee_const([1, 2]).numpy()
    array([1, 2], dtype=int32)
    """
    return identity(TENSORFLOW.tensor(input, "guarantee_const: input"))


@published("get_logger")
def get_logger() -> Logger:
    """The logger to which gradtape writes its warnings.

    >>> import gradtape as tf
    >>> tf.get_logger().name
    'gradtape'
    """
    import logging  # noqa: PLC0415 - it takes 2 ms, and most programs never ask

    return logging.getLogger("gradtape")
