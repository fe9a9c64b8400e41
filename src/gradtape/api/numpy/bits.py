"""`packbits` and `unpackbits`. They have no derivative."""

from __future__ import annotations

import numpy as np

from gradtape.api.numpy.operands import tensor_of, values_of, wrapped
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.published import published


@published("numpy.packbits")
def packbits(a: TensorLike, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Eight truth values, along an axis or in one row, as the bits of each byte.

    >>> import gradtape as tf
    >>> tf.numpy.packbits([1, 0, 1]).numpy()
    array([160], dtype=uint8)
    """
    values = values_of(tensor_of(a, "packbits", "a"), "packbits", "a")
    return wrapped(np.packbits(values, axis, bitorder))  # type: ignore[call-overload]


@published("numpy.unpackbits")
def unpackbits(
    a: TensorLike,
    /,
    axis: int | None = None,
    count: int | None = None,
    bitorder: str = "big",
) -> Tensor:
    """The bits of bytes, each as a byte of 0 or 1.

    >>> import gradtape as tf
    >>> tf.numpy.unpackbits(tf.constant([160], tf.uint8)).numpy()
    array([1, 0, 1, 0, 0, 0, 0, 0], dtype=uint8)
    """
    found = values_of(tensor_of(a, "unpackbits", "a"), "unpackbits", "a")
    return wrapped(np.unpackbits(found, axis, count, bitorder))  # type: ignore[call-overload]
