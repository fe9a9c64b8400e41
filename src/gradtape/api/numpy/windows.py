"""Window functions for signals: `numpy.hanning` and related functions.

They are computed in double precision and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import FLOAT32, inexact, tensor_of
from gradtape.api.tensorflow.signal.windows import kaiser_window
from gradtape.convert import is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.published import published


@published("numpy.bartlett")
def bartlett(M: Any) -> Tensor:
    """A triangle of `M` points that begins and ends with 0.

    >>> import gradtape as tf
    >>> tf.numpy.bartlett(5).numpy()
    array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _rounded(np.bartlett(_length(M, "bartlett")))


@published("numpy.blackman")
def blackman(M: Any) -> Tensor:
    """A sum of two cosines over `M` points.

    >>> import gradtape as tf
    >>> tf.numpy.blackman(5).numpy().round(2)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ], dtype=float32)
    """
    return _rounded(np.blackman(_length(M, "blackman")))


@published("numpy.hamming")
def hamming(M: Any) -> Tensor:
    """A raised cosine over `M` points that does not go down to 0.

    >>> import gradtape as tf
    >>> tf.numpy.hamming(5).numpy().round(2)
    array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return _rounded(np.hamming(_length(M, "hamming")))


@published("numpy.hanning")
def hanning(M: Any) -> Tensor:
    """A raised cosine over `M` points that begins and ends with 0.

    >>> import gradtape as tf
    >>> tf.numpy.hanning(5).numpy().round(2)
    array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _rounded(np.hanning(_length(M, "hanning")))


@published("numpy.kaiser")
def kaiser(M: Any, beta: Any) -> Tensor:
    """The window of `M` points that is the narrower the larger `beta` is; differentiable by `beta`.

    >>> import gradtape as tf
    >>> tf.numpy.kaiser(4, 2.0).numpy().round(3)
    array([0.439, 0.924, 0.924, 0.439], dtype=float32)
    """
    length = _length(M, "kaiser")
    if not is_tensor_like(beta):
        return _rounded(np.kaiser(length, beta))
    shape = inexact(tensor_of(beta, "kaiser", "beta"))
    return kaiser_window(max(length, 0), shape, shape.dtype)


def _length(M: Any, function: str) -> int:
    try:
        return int(M.__index__())
    except (AttributeError, TypeError) as error:
        raise TypeError(f"{function}: M must be an integer, got {M!r}.") from error


def _rounded(window: Any) -> Tensor:
    return Tensor(window.astype(FLOAT32))
