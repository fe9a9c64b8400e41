"""Random cotangents that check in one walk whether a Jacobian has the structure it is assumed to
have.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from gradtape.engines.numpy.engine import Quiet


def probe_for(array: Any) -> Any:
    """A cotangent of random numbers with absolute values between 1 and 2, so that no element is
    smaller than that of a unit vector.
    """
    numbers = np.random.default_rng(0).uniform(-1, 1, array.shape)
    return np.asarray(numbers + np.sign(numbers)).astype(array.dtype)


def differ(found: Any, expected: Any, largest: Any, dtype: Any) -> bool:
    """Whether two computations of the same product differ by more than rounding, where `largest` is
    the size of the added terms.

    What is not finite proves nothing. Half precision is rounded at every op, so a larger difference
    is allowed there.
    """
    finfo: Any = np.finfo if dtype.kind == "c" else ml_dtypes.finfo
    precision = finfo(dtype)
    with Quiet():
        allowed = float(precision.eps) ** (1 / 3 if dtype.itemsize == 2 else 1 / 2) * np.maximum(
            largest, np.abs(expected)
        )
        return bool(np.any(np.abs(found - expected) > allowed))


def size_of(array: Any, axis: Any = None) -> Any:
    """The largest absolute value, found without a copy of the array."""
    if array.dtype.kind == "c":
        return np.maximum(size_of(array.real, axis), size_of(array.imag, axis))
    return np.maximum(np.max(array, axis), -np.min(array, axis))
