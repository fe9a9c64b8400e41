"""Window functions for the frames of a signal: `tf.signal.hann_window` and related functions.

A window is computed in double precision and rounded once, except where a gradient can flow to its
parameter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, has_axes
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting, elementary, reductions, shaping, special_bessel
from gradtape.published import published


@published("signal.hann_window")
def hann_window(
    window_length: Any,
    periodic: Any = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The Hann window, a raised cosine; `periodic` leaves out the last point of an even length,
    as a spectrum wants it.

    >>> import gradtape as tf
    >>> tf.signal.hann_window(4).numpy().round(2)
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.5, "hann_window")


@published("signal.hamming_window")
def hamming_window(
    window_length: Any,
    periodic: Any = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The Hamming window, a raised cosine that does not go down to 0.

    >>> import gradtape as tf
    >>> tf.signal.hamming_window(4).numpy().round(2)
    array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.54, "hamming_window")


@published("signal.vorbis_window")
def vorbis_window(
    window_length: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """The window of the Vorbis format: the squares of its two halves add up to 1,
    as `mdct` needs it.

    >>> import gradtape as tf
    >>> tf.signal.vorbis_window(4).numpy().round(3)
    array([0.228, 0.974, 0.974, 0.228], dtype=float32)
    """
    length = _length(window_length, "vorbis_window")
    wanted = _floating(dtype, "vorbis_window")
    sines = np.sin(np.pi * (np.arange(length) + 0.5) / max(length, 1))
    return Tensor(np.sin(np.pi / 2 * sines**2).astype(wanted))


@published("signal.kaiser_window")
def kaiser_window(
    window_length: Any,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The Kaiser window, which is the narrower the larger `beta` is; differentiable by `beta`.

    >>> import gradtape as tf
    >>> tf.signal.kaiser_window(4, beta=2.0).numpy().round(3)
    array([0.439, 0.924, 0.924, 0.439], dtype=float32)
    """
    length = _length(window_length, "kaiser_window")
    return _kaiser(length, beta, _floating(dtype, "kaiser_window"), "kaiser_window")


@published("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(
    window_length: Any,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The window that running sums of a Kaiser window give:
    the squares of its two halves add up to 1, as `mdct` needs it.

    >>> import gradtape as tf
    >>> tf.signal.kaiser_bessel_derived_window(4, beta=2.0).numpy().round(3)
    array([0.483, 0.875, 0.875, 0.483], dtype=float32)
    """
    half = _length(window_length, "kaiser_bessel_derived_window") // 2
    wanted = _floating(dtype, "kaiser_bessel_derived_window")
    sums = reductions.cumsum(
        _kaiser(half + 1, beta, wanted, "kaiser_bessel_derived_window"), axis=0
    )
    rising = elementary.sqrt(
        shaping.getitem(sums, key=(slice(half),)) / shaping.getitem(sums, key=(half,))
    )
    return shaping.concat(rising, shaping.reverse(rising, axis=(0,)), axis=0)


def _raised_cosine(
    window_length: Any, periodic: Any, dtype: Any, middle: float, function: str
) -> Tensor:
    """As in TensorFlow, a periodic window of an odd length is the symmetric one."""
    length = _length(window_length, function)
    wanted = _floating(dtype, function)
    if length == 1:
        return Tensor(np.ones(1, wanted))
    period = length - 1 + (bool(periodic) and length % 2 == 0)
    cosines = np.cos(2 * np.pi * np.arange(length) / period)
    return Tensor((middle - (1 - middle) * cosines).astype(wanted))


def _kaiser(length: int, beta: Any, wanted: Any, function: str) -> Any:
    """A ratio of Bessel functions, scaled so that neither overflows.

    The window is the same for `beta` and `-beta`.
    """
    x = as_tensor(beta, argument=f"{function}: beta")
    if x.array.ndim:
        raise ValueError(f"{function}: beta must be a number, got shape {x.shape}.")
    x = arithmetic.absolute(x if x.array.dtype == wanted else broadcasting.cast(x, dtype=wanted))
    places = np.linspace(-1, 1, length) if length > 1 else np.zeros(length)
    scaled = x * np.sqrt(1 - places**2).astype(wanted)
    ratio = special_bessel.bessel_ie(scaled, order=0) / special_bessel.bessel_ie(x, order=0)
    return ratio * elementary.exp(scaled - x)


def _length(value: Any, function: str) -> int:
    if has_axes(value):
        raise ValueError(f"{function}: window_length must be one integer, got {value!r}.")
    length = as_int(value, f"{function}: window_length")
    if length < 0:
        raise invalid_argument(f"{function}: window_length must be 0 or more, got {length}.")
    return length


def _floating(dtype: Any, function: str) -> Any:
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"{function}: dtype must be a floating-point type, got {found.name}.")
    return found.numpy
