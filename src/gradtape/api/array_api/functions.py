"""The Array API functions whose name or signature differs from NumPy's; the others are those of
`gradtape.numpy`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy import elementwise, shaping
from gradtape.api.numpy.operands import FLOAT32, INT64, axis_of, dtype_of, tensor_of
from gradtape.api.tensorflow import ordering
from gradtape.core.device import check_device
from gradtape.core.tensor import Tensor
from gradtape.ops.broadcasting import cast
from gradtape.published import published


@published("array_api.clip")
def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """`x` with everything below `min` raised to it and everything above `max` lowered to it;
    None leaves a side open.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> xp.clip(xp.asarray([-2.0, 0.5, 2.0]), -1, 1).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return elementwise.clip(x, min, max)


@published("array_api.meshgrid")
def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of the points of a grid: one tensor for each axis.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> [part.numpy().tolist() for part in xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    return list(shaping.meshgrid(*arrays, indexing=indexing))


@published("array_api.broadcast_arrays")
def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """The arrays in the shape in which they meet.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> [part.numpy().tolist() for part in xp.broadcast_arrays(xp.asarray([1, 2]), xp.asarray(3))]
    [[1, 2], [3, 3]]
    """
    return list(shaping.broadcast_arrays(*arrays))


@published("array_api.sort")
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """`x` sorted along an axis.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True).numpy()
    array([3, 2, 1], dtype=int32)
    """
    found = tensor_of(x, "sort")
    return ordering.sort(found, axis_of(axis, found.array.ndim, "sort"), _direction(descending))


@published("array_api.argsort")
def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort `x` along an axis; equal elements keep their order.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> xp.argsort(xp.asarray([3, 1, 2])).numpy()
    array([1, 2, 0])
    """
    found = tensor_of(x, "argsort")
    return cast(
        ordering.argsort(found, axis_of(axis, found.array.ndim, "argsort"), _direction(descending)),
        dtype=INT64,
    )


def _direction(descending: bool) -> str:
    return "DESCENDING" if descending else "ASCENDING"


@published("array_api.fft.fftfreq")
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a discrete Fourier transform of `n` samples that are `d` apart.

    >>> import gradtape as tf
    >>> tf.array_api.fft.fftfreq(4, d=0.5).numpy()
    array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    return _frequencies(np.fft.fftfreq(n, d), dtype, device, "fftfreq")


@published("array_api.fft.rfftfreq")
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a discrete Fourier transform of `n` real samples that are `d` apart.

    >>> import gradtape as tf
    >>> tf.array_api.fft.rfftfreq(4, d=0.5).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return _frequencies(np.fft.rfftfreq(n, d), dtype, device, "rfftfreq")


def _frequencies(found: Any, dtype: Any, device: Any, function: str) -> Tensor:
    check_device(device)
    wanted = dtype_of(dtype, FLOAT32)
    if wanted.kind != "f":
        raise TypeError(f"{function}: dtype must be a real floating-point dtype, got {dtype!r}.")
    return Tensor(found.astype(wanted))
