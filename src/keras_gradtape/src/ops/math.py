"""Keras's `math` namespace: segments, the largest elements, Fourier transforms,
special functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradtape as tf
import gradtape.numpy as gnp
from gradtape import signal
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import by_rule, cast_to, floating, result_type, together

# Segments


def _segment_count(segment_ids: Any, num_segments: int | None) -> int:
    """How many segments there are; without a number, the ids must be known."""
    return int(gnp.max(segment_ids)) + 1 if num_segments is None else num_segments


def _extremum(function: Callable[..., Any], of_nothing: float) -> Callable[..., Any]:
    """The largest or smallest elements of segments; those of a segment without elements are
    infinite, where there is infinity.
    """

    def call(
        data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
    ) -> Any:
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _segment_count(ids, num_segments)
        found = function(data, ids, count)
        if not data.dtype.is_floating:
            return found
        sizes = tf.math.unsorted_segment_sum(gnp.ones_like(ids), ids, count)
        return gnp.where(
            gnp.reshape(sizes, (count,) + (1,) * (data.ndim - 1)) > 0, found, of_nothing
        )

    return call


segment_max = _extremum(tf.math.unsorted_segment_max, -float("inf"))
segment_min = _extremum(tf.math.unsorted_segment_min, float("inf"))


def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Any:
    """The sums of the slices of `data` that have the same id;
    a negative id belongs to no segment.
    """
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    return tf.math.unsorted_segment_sum(data, ids, _segment_count(ids, num_segments))


def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Any:
    """The products of the slices of `data` that have the same id;
    a negative id belongs to no segment.
    """
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    return tf.math.unsorted_segment_prod(data, ids, _segment_count(ids, num_segments))


# The largest elements


def top_k(x: Any, k: int, sorted: bool = True) -> Any:
    """The `k` largest elements along the last axis, and their places."""
    return tuple(tf.math.top_k(convert_to_tensor(x), k, sorted))


def in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    """Whether fewer than `k` elements of a row are larger than the one at the row's target;
    NaN is never large.
    """
    targets, predictions = convert_to_tensor(targets), convert_to_tensor(predictions)
    ours = gnp.take_along_axis(predictions, targets[..., None], axis=-1)
    ours = gnp.where(gnp.isnan(ours), -float("inf"), ours)
    return gnp.sum(cast_to(predictions > ours, "int32"), axis=-1) < k


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of the exponentials along axes."""
    return tf.reduce_logsumexp(by_rule(x, floating), axis, keepdims)


def cdist(x: Any, y: Any) -> Any:
    """The distance between every row of `x` and every row of `y`;
    the gradient of a distance of 0 is 0.
    """
    x, y = together((x, y), float)
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError("`cdist` inputs must have rank >= 2")
    if x.shape[-1] != y.shape[-1]:
        raise ValueError("Last dimension of inputs to `cdist` must match")
    squares = gnp.sum(gnp.square(x[..., :, None, :] - y[..., None, :, :]), axis=-1)
    apart = squares > 0
    return gnp.where(apart, gnp.sqrt(gnp.where(apart, squares, 1.0)), squares)


# Fourier transforms: Keras gives and takes complex numbers as pairs of real tensors


def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Any:
    """The frames of the last axis, each `sequence_stride` after the one before."""
    return signal.frame(convert_to_tensor(x), sequence_length, sequence_stride)


def _get_complex_tensor_from_tuple(x: Any) -> Any:
    """The complex tensor of a pair of real ones."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}"
        )
    real, imag = map(convert_to_tensor, x)
    if real.shape != imag.shape:
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and "
            "imaginary parts should have the "
            f"same shape. Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}"
        )
    if not (real.dtype.is_floating and imag.dtype.is_floating):
        raise ValueError(f"At least one tensor in input `x` is not of type float. Received: x={x}.")
    dtype = "float64" if "float64" in (real.dtype.name, imag.dtype.name) else "float32"
    return tf.complex(cast_to(real, dtype), cast_to(imag, dtype))


def _pair(x: Any) -> tuple[Any, Any]:
    return gnp.real(x), gnp.imag(x)


def fft(x: Any) -> Any:
    """The Fourier transform of the last axis."""
    return _pair(gnp.fft.fft(_get_complex_tensor_from_tuple(x)))


def fft2(x: Any) -> Any:
    """The Fourier transform of the last two axes."""
    return _pair(gnp.fft.fft2(_get_complex_tensor_from_tuple(x)))


def ifft2(x: Any) -> Any:
    """The inverse Fourier transform of the last two axes."""
    return _pair(gnp.fft.ifft2(_get_complex_tensor_from_tuple(x)))


def rfft(x: Any, fft_length: int | None = None) -> Any:
    """The half spectrum of the last axis, which is real."""
    return _pair(gnp.fft.rfft(by_rule(x, floating), fft_length))


def irfft(x: Any, fft_length: int | None = None) -> Any:
    """The real signal of a half spectrum in the last axis."""
    return gnp.fft.irfft(_get_complex_tensor_from_tuple(x), fft_length)


def stft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    """The half spectra of frames of the last axis, each multiplied with a window."""
    x = convert_to_tensor(x)
    if x.dtype.name not in ("float32", "float64"):
        raise TypeError(
            "Invalid input type. Expected `float32` or `float64`. Received: input "
            f"type={x.dtype.name}"
        )
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    shape_of = None if window is None else _window(window, sequence_length, fft_length, x.dtype)
    if center:
        x = gnp.pad(
            x, [(0, 0)] * (x.ndim - 1) + [(fft_length // 2, fft_length // 2)], mode="reflect"
        )
    return _pair(signal.stft(x, fft_length, sequence_stride, fft_length, shape_of))


def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    """The signal whose `stft` this is, where the frames overlap enough."""
    spectra = _get_complex_tensor_from_tuple(x)
    shape_of = None
    if window is not None:
        shape_of = signal.inverse_stft_window_fn(
            sequence_stride, _window(window, sequence_length, fft_length, spectra.dtype.real_dtype)
        )
    wave = signal.inverse_stft(spectra, fft_length, sequence_stride, fft_length, shape_of)
    start = fft_length // 2 if center else 0
    end = wave.shape[-1] - start if length is None else start + length
    return wave[..., start:end]


def _window(window: Any, sequence_length: int, fft_length: int, dtype: Any) -> Callable[..., Any]:
    """A window for `tf.signal`: in the middle of a frame of `fft_length`."""
    named = {"hann": signal.hann_window, "hamming": signal.hamming_window}
    if isinstance(window, str):
        if window not in named:
            raise ValueError(
                'If a string is passed to `window`, it must be one of `"hann"`, `"hamming"`. '
                f"Received: window={window}"
            )
        weights = named[window](sequence_length, dtype=dtype)
    else:
        weights = convert_to_tensor(window, dtype.name)
    if weights.shape != (sequence_length,):
        raise ValueError(
            "The shape of `window` must be equal to [sequence_length]. Received: window "
            f"shape={weights.shape}"
        )
    before = (fft_length - sequence_length) // 2
    padded = gnp.pad(weights, [(before, fft_length - sequence_length - before)])
    return lambda frame_length, dtype: padded


# Special functions


def rsqrt(x: Any) -> Any:
    """1 over the square root."""
    return tf.math.rsqrt(by_rule(x, result_type))


def erf(x: Any) -> Any:
    """The error function."""
    return tf.math.erf(by_rule(x, result_type))


def erfc(x: Any) -> Any:
    """1 less the error function."""
    return tf.math.erfc(by_rule(x, floating))


def erfinv(x: Any) -> Any:
    """The inverse of the error function."""
    return tf.math.erfinv(by_rule(x, floating))


def logdet(x: Any) -> Any:
    """The logarithm of the absolute value of the determinant."""
    return gnp.linalg.slogdet(convert_to_tensor(x))[1]
