"""Tensors as TensorFlow's files hold them: `tf.io.serialize_tensor` and `parse_tensor`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape import dtypes, errors
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike
from gradtape.convert import TENSORFLOW, on_host
from gradtape.core.tensor import Tensor
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import is_traced
from gradtape.io.byte_strings import one_string
from gradtape.io.messages import decode_error, message_class
from gradtape.published import published

_NUMBERS = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn",
    26: "float8_e4m3fnuz", 27: "float8_e4m3b11fnuz", 28: "float8_e5m2fnuz",
}  # fmt: skip
"""By TensorFlow's number of a dtype, its name."""

_BY_NAME = {name: number for number, name in _NUMBERS.items()}

_VALUES = {
    "float32": "float_val", "float64": "double_val", "int64": "int64_val", "bool": "bool_val",
    "uint32": "uint32_val", "uint64": "uint64_val", "complex64": "scomplex_val",
    "complex128": "dcomplex_val", "float16": "half_val", "bfloat16": "half_val",
    "string": "string_val",
}  # fmt: skip
"""The fields that hold values one by one; those of other integers are in `int_val`."""

_LARGEST = 2**31
"""In bytes: what no message of protobuf's can be longer than."""


@published("io.serialize_tensor")
def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """A tensor as one string, a serialized TensorProto, which `parse_tensor` reads.

    >>> import gradtape as tf
    >>> data = tf.io.serialize_tensor(tf.constant([1.0, 2.0]))
    >>> tf.io.parse_tensor(data, tf.float32).numpy()
    array([1., 2.], dtype=float32)
    """
    given = TENSORFLOW.tensor(tensor, "serialize_tensor: tensor")
    if is_traced(given):
        raise BeyondXlaError(
            "serialize_tensor: a compiled program cannot hold strings: call it outside the "
            "function."
        )
    found = np.empty((), object)
    found[()] = proto_of(on_host(given.array)).SerializeToString()
    return Tensor(found)


@published("io.parse_tensor")
def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor that `serialize_tensor`, here or in TensorFlow, made a string of.

    >>> import gradtape as tf
    >>> tf.io.parse_tensor(tf.io.serialize_tensor([1, 2]), tf.int32).numpy()
    array([1, 2], dtype=int32)
    """
    data, wanted = one_string(serialized, "parse_tensor: serialized"), dtypes.as_dtype(out_type)
    try:
        proto = message_class("TensorProto").FromString(data)
    except decode_error() as error:
        raise errors.invalid_argument(
            f"parse_tensor: the {len(data)} bytes are no serialized TensorProto."
        ) from error
    array = array_in(proto, "parse_tensor")
    if dtypes.from_numpy(array.dtype) is not wanted:
        raise errors.invalid_argument(
            f"parse_tensor: serialized holds {dtypes.from_numpy(array.dtype).name}, but out_type "
            f"is {wanted.name}."
        )
    return Tensor(array)


def proto_of(array: Any) -> Any:
    """The TensorProto of an array."""
    array = np.asarray(array)
    kind = dtypes.from_numpy(array.dtype)
    proto = message_class("TensorProto")(dtype=_BY_NAME[kind.name])
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if kind is dtypes.string:
        proto.string_val.extend(array.reshape(-1).tolist())
    else:
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        proto.tensor_content = little.tobytes()
    return proto


def array_in(proto: Any, function: str) -> np.ndarray[Any, Any]:
    """The array of a TensorProto, which is checked; errors name the function."""
    name = _NUMBERS.get(proto.dtype)
    if name is None:
        raise errors.invalid_argument(
            f"{function}: the tensor has TensorFlow's dtype number {proto.dtype}, which gradtape "
            "does not have."
        )
    kind = dtypes.as_dtype(name)
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    count = math.prod(shape)
    if any(size < 0 for size in shape):
        raise errors.invalid_argument(f"{function}: the tensor's shape {shape} is unknown.")
    if count * kind.numpy.itemsize > _LARGEST:
        raise errors.invalid_argument(
            f"{function}: a tensor of shape {shape} is larger than such a message can be."
        )
    if proto.tensor_content:
        if kind is dtypes.string or len(proto.tensor_content) != count * kind.size:
            raise errors.invalid_argument(
                f"{function}: {len(proto.tensor_content)} bytes are no tensor of {name} of shape "
                f"{shape}."
            )
        found = np.frombuffer(proto.tensor_content, kind.numpy.newbyteorder("<"))
        return found.astype(kind.numpy).reshape(shape)
    return _filled(_values_in(proto, kind), count, kind).reshape(shape)


def _values_in(proto: Any, kind: dtypes.DType) -> Any:
    """The values that stand one by one in a message."""
    if kind.name.startswith("float8"):
        data = getattr(proto, "float8_val", b"")
        return np.frombuffer(data if isinstance(data, bytes) else b"".join(data), kind.numpy)
    values = getattr(proto, _VALUES.get(kind.name, "int_val"))
    if kind is dtypes.string:
        found = np.empty(len(values), object)
        found[:] = list(values)
        return found
    if kind.is_complex:
        pairs = np.array(values, kind.real_dtype.numpy)
        return pairs[: len(pairs) // 2 * 2].view(kind.numpy)
    if kind in (dtypes.float16, dtypes.bfloat16):
        return np.array(values, np.int64).astype(np.uint16).view(kind.numpy)
    return np.array(values, np.int64 if kind.is_integer and not kind.is_unsigned else None).astype(
        kind.numpy
    )


def _filled(values: Any, count: int, kind: dtypes.DType) -> Any:
    """As many values as the shape has: the last one stands for those that are not there."""
    nothing: Any = b"" if kind is dtypes.string else 0
    found = np.full(count, values[-1] if len(values) else nothing, kind.numpy)
    found[: len(values)] = values[:count]
    return found
