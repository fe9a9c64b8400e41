"""Conversions between dtypes other than `cast`: `tf.bitcast` and `tf.saturate_cast`."""

from __future__ import annotations

from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import NUMERIC, of_kind
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike
from gradtape.api.tensorflow.creation import cast
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import conversion
from gradtape.ops.arithmetic import maximum, minimum
from gradtape.ops.broadcasting import complex_from_parts, imag, real
from gradtape.published import published


@published("bitcast")
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """The same bits as another dtype: smaller elements take a new last axis,
    larger ones are made of the last axis.

    >>> import gradtape as tf
    >>> tf.bitcast(tf.constant([1.0, 2.0]), tf.int32).numpy()
    array([1065353216, 1073741824], dtype=int32)
    """
    x = of_kind(input, NUMERIC, "bitcast", "input")
    wanted = dtypes.as_dtype(type)
    if wanted.numpy not in NUMERIC.dtypes:
        raise invalid_argument(f"bitcast: type must be a numeric dtype, got {wanted.name}.")
    return conversion.bitcast(x, dtype=wanted.numpy)


@published("saturate_cast")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`value` in another dtype; what that cannot hold becomes the nearest number that it can.

    >>> import gradtape as tf
    >>> tf.saturate_cast([-1.5, 3.7, 300.0], tf.uint8).numpy()
    array([  0,   3, 255], dtype=uint8)
    """
    x = of_kind(value, NUMERIC, "saturate_cast", "value", TypeError)
    wanted = dtypes.as_dtype(dtype)
    if wanted.numpy not in NUMERIC.dtypes:
        raise TypeError(f"saturate_cast: dtype must be numeric, got {wanted.name}.")
    if wanted.is_integer:
        return conversion.saturate_to_integer(
            cast(x, dtypes.float64) if x.dtype.is_complex else x, dtype=wanted.numpy
        )
    if not x.dtype.is_complex:
        return cast(_within(x, wanted), wanted)
    if wanted.is_complex:
        return cast(complex_from_parts(_within(real(x), wanted), _within(imag(x), wanted)), wanted)
    return cast(_within(cast(x, x.dtype.real_dtype), wanted), wanted)


def _within(x: Any, wanted: dtypes.DType) -> Any:
    """Real numbers between the limits of `wanted`, if those are narrower."""
    limit = float(wanted.real_dtype.max)
    if limit >= float(x.dtype.max):
        return x
    return maximum(minimum(x, limit), -limit)
