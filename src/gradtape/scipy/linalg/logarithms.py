"""`scipy.linalg.logm`."""

from __future__ import annotations

import math

import numpy as np

from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.api.tensorflow.linalg.matrices import logm as complex_logm
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.ops.arithmetic import absolute, greater
from gradtape.ops.broadcasting import imag, real
from gradtape.ops.reductions import reduce_max
from gradtape.ops.selection import where
from gradtape.published import published
from gradtape.scipy.arguments import named_tensors


@published("scipy.linalg.logm")
def logm(A: TensorLike) -> Tensor:
    """The logarithm of a matrix. That of a real matrix is real, and NaN where it has none:
    `scipy.linalg.logm` gives a complex one, as this does for the matrix as complex numbers.

    >>> import gradtape as tf
    >>> tf.scipy.linalg.logm([[1.0, 1.0], [0.0, 1.0]]).numpy().round(4) + 0
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """
    (matrix,) = named_tensors("logm", A=A)
    kind = matrix.array.dtype
    if kind.kind == "c":
        return complex_logm(matrix)
    wide = np.complex128 if kind == np.float64 else np.complex64
    found = complex_logm(needed.cast(matrix, dtype=np.dtype(wide)))
    parts = absolute(imag(found))
    rounding = 1e3 * float(np.finfo(kind).eps) * matrix.array.shape[-1]
    size = reduce_max(absolute(real(found)), axis=(-2, -1), keepdims=True)
    return where(greater(parts, rounding * (size + 1)), math.nan, real(found))
