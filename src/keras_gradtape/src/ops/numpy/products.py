"""Keras's products of tensors: dot, matmul, einsum and their relatives."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import KerasVariable

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops import sparse
from keras_gradtape.src.ops.numpy.declare import product
from keras_gradtape.src.ops.operands import (
    by_rule,
    cast_to,
    floating,
    inexact,
    is_settled,
    result_type,
    sum_dtype,
    tensors,
)

dot = product("dot")
vdot = product("vdot")
inner = product("inner")
outer = product("outer")
kron = product("kron")


def _without_overflow(values: Any) -> Any:
    """Tensors in the dtype in which they meet; sums of products of int8 need 32 bits."""
    if is_settled(values):
        return values
    values = [convert_to_tensor(value) for value in values]
    found = [value.dtype.name for value in values]
    dtype = "int32" if set(found) == {"int8"} else result_type(*found)
    return [cast_to(value, dtype) for value in values]


def matmul(x1: Any, x2: Any) -> Any:
    """The product of matrices, or of matrices and vectors."""
    if type(x2) is not tf.Tensor and isinstance(x2, KerasVariable):
        x2 = x2.value
    if (
        type(x1) is tf.Tensor
        and type(x2) is tf.Tensor
        and x1.dtype is tf.float32 is x2.dtype
        and x1.ndim > 1 < x2.ndim
    ):
        return tf.matmul(x1, x2)
    if sparse.is_sparse(x1) or sparse.is_sparse(x2):
        return sparse.product(matmul, x1, x2)
    return gnp.matmul(*_without_overflow((x1, x2)))


def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Any:
    """The sum of products that the subscripts say."""
    return gnp.einsum(subscripts, *_without_overflow(operands), **kwargs)


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    """The sums of products over the given axes of both."""
    x1, x2 = tensors((x1, x2))
    return gnp.tensordot(x1, x2, axes)


def cross(
    x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The products of vectors of 2 or 3 components that are normal to both."""
    x1, x2 = tensors((x1, x2))
    return gnp.cross(x1, x2, axisa, axisb, axisc, axis)


def correlate(x1: Any, x2: Any, mode: str = "valid") -> Any:
    """The correlation of two sequences."""
    x1, x2 = tensors((x1, x2), rule=inexact)
    return gnp.correlate(x1, x2, mode)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sums of the diagonals."""
    return gnp.trace(by_rule(x, sum_dtype), offset=offset, axis1=axis1, axis2=axis2)


def slogdet(x: Any) -> Any:
    """The signs and the logarithms of the absolute values of determinants."""
    return tuple(gnp.linalg.slogdet(convert_to_tensor(x)))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of `y` along an axis by the trapezoidal rule."""
    y = by_rule(y, floating)
    return gnp.trapezoid(
        y, None if x is None else convert_to_tensor(x, y.dtype.name), dx=dx, axis=axis
    )


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """The differences of neighbours along an axis, `n` times."""
    return gnp.diff(convert_to_tensor(a), n=n, axis=axis)
