"""Making complex numbers from their parts, and taking the parts of complex numbers: `tf.complex`,
`tf.math.real` and related functions.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math

from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    NUMERIC,
    of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.composite import itself
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, broadcasting, elementary
from gradtape.ops.selection import where, zeros_like
from gradtape.published import published


@published("complex")
def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Complex numbers from their real and imaginary parts: complex64 from float32,
    complex128 from float64.

    >>> import gradtape as tf
    >>> tf.complex([1.0, 2.0], [3.0, 4.0]).numpy()
    array([1.+3.j, 2.+4.j], dtype=complex64)
    """
    parts = tensors_of_kind(real, imag, FLOATING, "complex", ("real", "imag"), TypeError)
    if any(part.array.dtype.itemsize < 4 for part in parts):
        raise TypeError(
            "complex: real and imag must be float32 or float64: half precision has no complex "
            "dtype."
        )
    return broadcasting.complex_from_parts(*parts)


@published("math.real")
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part; a real tensor is returned as it is.

    >>> import gradtape as tf
    >>> tf.math.real([1.0 + 2.0j]).numpy()
    array([1.])
    """
    x = of_kind(input, NUMERIC, "real", "input", TypeError)
    return broadcasting.real(x) if x.array.dtype.kind == "c" else itself(x)


@published("math.imag")
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; for a real tensor constant zeros.

    >>> import gradtape as tf
    >>> tf.math.imag([1.0 + 2.0j]).numpy()
    array([2.])
    """
    x = of_kind(input, NUMERIC, "imag", "input", TypeError)
    return broadcasting.imag(x) if x.array.dtype.kind == "c" else zeros_like(x)


@published("math.conj")
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor is returned as it is.

    >>> import gradtape as tf
    >>> tf.math.conj([1.0 + 2.0j]).numpy()
    array([1.-2.j])
    """
    x = of_kind(x, NUMERIC, "conj", refusal=TypeError)
    return broadcasting.conj(x) if x.array.dtype.kind == "c" else itself(x)


@published("math.angle")
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angle of a complex number, from -π to π; for a real tensor the constant 0,
    or π where it is negative.

    >>> import gradtape as tf
    >>> tf.math.angle([1.0j, -1.0]).numpy().round(4)
    array([1.5708, 3.1416])
    """
    x = of_kind(input, INEXACT, "angle", "input", TypeError)
    if x.array.dtype.kind == "c":
        return elementary.atan2(broadcasting.imag(x), broadcasting.real(x))
    return where(arithmetic.less(x, 0), math.pi, zeros_like(x))
