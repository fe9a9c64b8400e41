"""`numpy.emath` on Tensors: roots, logarithms and the like that return complex numbers where there
is no real result.

Whether a result is complex depends on the values of the argument, so these functions cannot run
where values are unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.api.numpy import arithmetic, elementary
from gradtape.api.numpy.operands import (
    COMPLEX64,
    COMPLEX128,
    converted,
    inexact,
    tensor_of,
    tensors_of,
    values_of,
)
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor


def sqrt(x: TensorLike) -> Tensor:
    """The square root; complex if a negative number is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.sqrt(tf.constant([-4.0, 9.0])).numpy()
    array([0.+2.j, 3.+0.j], dtype=complex64)
    """
    return arithmetic.sqrt(_complex_if_negative(x, "sqrt"))


def log(x: TensorLike) -> Tensor:
    """The natural logarithm; complex if a negative number is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.log(tf.constant([-1.0, 1.0])).numpy().round(4)
    array([0.+3.1416j, 0.+0.j    ], dtype=complex64)
    """
    return elementary.log(_complex_if_negative(x, "log"))


def log2(x: TensorLike) -> Tensor:
    """The logarithm to the base 2; complex if a negative number is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.log2(tf.constant([-2.0, 8.0])).numpy().round(4)
    array([1.+4.5324j, 3.+0.j    ], dtype=complex64)
    """
    return elementary.log2(_complex_if_negative(x, "log2"))


def log10(x: TensorLike) -> Tensor:
    """The logarithm to the base 10; complex if a negative number is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.log10(tf.constant([-10.0, 100.0])).numpy().round(4)
    array([1.+1.3644j, 2.+0.j    ], dtype=complex64)
    """
    return elementary.log10(_complex_if_negative(x, "log10"))


def logn(n: TensorLike, x: TensorLike) -> Tensor:
    """The logarithm to the base `n`; complex if a negative number is in `x` or `n`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.logn(2.0, tf.constant([4.0, 8.0])).numpy().round(4)
    array([2., 3.], dtype=float32)
    """
    base, value = tensors_of([n, x], "logn", ["n", "x"])
    return elementary.log(_complex_if_negative(value, "logn")) / elementary.log(
        _complex_if_negative(base, "logn", "n")
    )


def power(x: TensorLike, p: TensorLike) -> Tensor:
    """`x` to the power of `p`; complex if a negative number is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.power(tf.constant([-4.0, 9.0]), 1.5).numpy().round(4)
    array([ 0.-8.j, 27.+0.j], dtype=complex64)
    """
    base, exponent = tensors_of([x, p], "power", ["x", "p"])
    if exponent.array.dtype.kind in "iu" and (values_of(exponent, "power", "p") < 0).any():
        exponent = inexact(exponent)
    return arithmetic.power(_complex_if(base, lambda values: values < 0, "power"), exponent)


def arccos(x: TensorLike) -> Tensor:
    """The inverse cosine; complex if a number beyond -1 and 1 is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.arccos(tf.constant([0.0, 1.0])).numpy().round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return elementary.arccos(_complex_if_large(x, "arccos"))


def arcsin(x: TensorLike) -> Tensor:
    """The inverse sine; complex if a number beyond -1 and 1 is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.arcsin(tf.constant([0.0, 1.0])).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return elementary.arcsin(_complex_if_large(x, "arcsin"))


def arctanh(x: TensorLike) -> Tensor:
    """The inverse hyperbolic tangent; complex if a number beyond -1 and 1 is in `x`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.emath.arctanh(tf.constant([0.0, 0.5])).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return elementary.arctanh(_complex_if_large(x, "arctanh"))


def _complex_if_negative(x: TensorLike, function: str, argument: str = "x") -> Tensor:
    return _complex_if(
        inexact(tensor_of(x, function, argument)), lambda values: values < 0, function, argument
    )


def _complex_if_large(x: TensorLike, function: str) -> Tensor:
    return _complex_if(inexact(tensor_of(x, function)), lambda values: np.abs(values) > 1, function)


def _complex_if(
    x: Tensor, has_no_real_result: Callable[[Any], Any], function: str, argument: str = "x"
) -> Tensor:
    """`x` as complex numbers if that is said of any real number in it."""
    if (
        x.array.dtype.kind == "c"
        or not has_no_real_result(values_of(x, f"emath.{function}", argument)).any()
    ):
        return x
    return converted(x, COMPLEX128 if x.array.dtype.itemsize == 8 else COMPLEX64)
