"""Frames of a signal, the short-time transforms built on them, cosine transforms and the mel
scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import Refusal
from gradtape.api.tensorflow.arguments import (
    DTypeLike,
    TensorLike,
    as_int,
    has_axes,
    one_axis,
    tensor,
)
from gradtape.api.tensorflow.shaping import pad
from gradtape.api.tensorflow.signal.fourier import REAL_SIGNAL, irfft, resized, rfft
from gradtape.api.tensorflow.signal.windows import hann_window, vorbis_window
from gradtape.convert import as_tensor
from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting, elementary, fourier, reductions, shaping
from gradtape.published import published

Window = Callable[..., Any]

_DCT_OF_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


@published("signal.frame")
def frame(
    signal: TensorLike,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Tensor:
    """Overlapping frames of `axis`, which becomes two axes: the frames, and the elements of each.

    Elements at the end that fill no frame are left out, or with `pad_end` filled up with
    `pad_value`.

    >>> import gradtape as tf
    >>> tf.signal.frame([1, 2, 3, 4, 5], frame_length=2, frame_step=2, pad_end=True).numpy()
    array([[1, 2],
           [3, 4],
           [5, 0]], dtype=int32)
    """
    x = _of_rank(signal, 1, "frame: signal")
    length, step = (
        _size(frame_length, "frame: frame_length", 0),
        _size(frame_step, "frame: frame_step", 1),
    )
    if has_axes(pad_value):
        raise ValueError(f"frame: pad_value must be one number, got {pad_value!r}.")
    rank = x.array.ndim
    place = one_axis(axis, rank, "frame: axis")
    if pad_end:
        size = x.array.shape[place]
        missing = (-(-size // step) - 1) * step + length - size
        if size and missing > 0:
            x = pad(
                x,
                [[0, missing if i == place else 0] for i in range(rank)],
                constant_values=pad_value,
            )
    if place == rank - 1:
        return fourier.frames(x, length=length, step=step)
    others = [i for i in range(rank) if i != place]
    framed = fourier.frames(shaping.transpose(x, perm=(*others, place)), length=length, step=step)
    back = (*range(place), rank - 1, rank, *range(place, rank - 1))
    return shaping.transpose(framed, perm=back)


@published("signal.overlap_and_add")
def overlap_and_add(signal: TensorLike, frame_step: Any, name: str | None = None) -> Tensor:
    """The signal that frames in the last two axes make when each begins `frame_step` after the one
    before, and they are added.

    >>> import gradtape as tf
    >>> tf.signal.overlap_and_add([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], frame_step=2).numpy()
    array([ 1.,  2., 13., 20., 30.], dtype=float32)
    """
    x = _of_rank(signal, 2, "overlap_and_add: signal")
    step = _size(frame_step, "overlap_and_add: frame_step", 1, ValueError)
    count, length = x.array.shape[-2:]
    return fourier.overlap_and_add(x, step=step, size=max(0, (count - 1) * step + length))


@published("signal.stft")
def stft(
    signals: TensorLike,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: the half spectra of frames of the last axis, each
    multiplied with a window.

    Without `fft_length`, it is the next power of 2 that a frame fits into.

    >>> import gradtape as tf
    >>> tf.signal.stft([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4, 2, window_fn=None).numpy()
    array([[10.+0.j, -2.+2.j, -2.+0.j],
           [18.+0.j, -2.+2.j, -2.+0.j]], dtype=complex64)
    """
    x = _of_rank(signals, 1, "stft: signals")
    length = _size(frame_length, "stft: frame_length", 1)
    size = _fft_length(fft_length, length, "stft")
    framed = frame(x, length, _size(frame_step, "stft: frame_step", 1), pad_end=pad_end)
    return rfft(_windowed(framed, window_fn, length), [size])


@published("signal.inverse_stft")
def inverse_stft(
    stfts: TensorLike,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signal of short-time spectra: their frames, each multiplied with a window,
    overlapped and added.

    `inverse_stft_window_fn` gives the window that makes this the inverse of `stft`, where frames
    overlap fully.

    >>> import gradtape as tf
    >>> spectra = tf.signal.stft([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4, 2)
    >>> window = tf.signal.inverse_stft_window_fn(2)
    >>> tf.signal.inverse_stft(spectra, 4, 2, window_fn=window).numpy().round(3)[2:4]
    array([3., 4.], dtype=float32)
    """
    x = _of_rank(stfts, 2, "inverse_stft: stfts")
    length, step = (
        _size(frame_length, "inverse_stft: frame_length", 1),
        _size(frame_step, "inverse_stft: frame_step", 1),
    )
    framed = irfft(x, [_fft_length(fft_length, length, "inverse_stft")])
    return overlap_and_add(_windowed(resized(framed, [-1], [length]), window_fn, length), step)


@published("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """The function that gives the window of `inverse_stft` for a `stft` with this step and window.

    >>> import gradtape as tf
    >>> tf.signal.inverse_stft_window_fn(2)(4, tf.float32).numpy().round(3)
    array([0., 1., 1., 1.], dtype=float32)
    """
    step = _size(frame_step, "inverse_stft_window_fn: frame_step", 1)

    def inverse_window(frame_length: Any, dtype: DTypeLike) -> Tensor:
        """The forward window over the sum of the squares of all windows that overlap at a place."""
        length = _size(frame_length, "inverse_stft_window_fn: frame_length", 0)
        window = as_tensor(
            forward_window_fn(length, dtype=dtype), argument="inverse_stft_window_fn: the window"
        )
        overlaps = -(-length // step)
        squares = resized(arithmetic.square(window), [0], [overlaps * step])
        sums = reductions.reduce_sum(shaping.reshape(squares, shape=(overlaps, step)), axis=(0,))
        return window / resized(shaping.tile(sums, multiples=(overlaps,)), [0], [length])

    return inverse_window


@published("signal.dct", "scipy.fft.dct")
def dct(
    input: TensorLike,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of type 1, 2, 3 or 4 along `axis`,
    cut or filled with zeros to `n` elements.

    The norm 'ortho' makes types 2, 3 and 4 orthogonal; types 2 and 3 are then each other's inverse.

    >>> import gradtape as tf
    >>> tf.signal.dct([1.0, 2.0, 4.0]).numpy().round(3)
    array([14.   , -5.196,  1.   ], dtype=float32)
    """
    return _dct(input, type, n, axis, norm, "dct")


@published("signal.idct")
def idct(
    input: TensorLike,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dct` with the norm 'ortho'; without, the inverse times 2n,
    for type 1 times 2(n - 1).

    >>> import gradtape as tf
    >>> tf.signal.idct(tf.signal.dct([1.0, 2.0, 3.0], norm="ortho"), norm="ortho").numpy().round(3)
    array([1., 2., 3.], dtype=float32)
    """
    if type not in _DCT_OF_INVERSE:
        raise ValueError(f"idct: type must be 1, 2, 3 or 4, got {type!r}.")
    return _dct(input, _DCT_OF_INVERSE[type], n, axis, norm, "idct")


@published("signal.mdct")
def mdct(
    signals: TensorLike,
    frame_length: Any,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform: frames that overlap by half, each folded to its half
    and transformed (type 4).

    >>> import gradtape as tf
    >>> tf.signal.mdct([1.0, 2.0, 3.0, 4.0], frame_length=4).numpy().round(3)
    array([[-8.398,  0.243]], dtype=float32)
    """
    x = _of_rank(signals, 1, "mdct: signals")
    length = _size(frame_length, "mdct: frame_length", 1)
    if length % 4:
        raise ValueError(f"mdct: frame_length must be a multiple of 4, got {length}.")
    framed = _halved_window(frame(x, length, length // 2, pad_end=pad_end), window_fn, length)
    a, b, c, d = (_piece(framed, i * length // 4, (i + 1) * length // 4) for i in range(4))
    folded = shaping.concat(-_backwards(c) - d, a - _backwards(b), axis=-1)
    return _dct(folded, 4, None, -1, norm, "mdct")


@published("signal.inverse_mdct")
def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Window | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The signal of `mdct` with the same window and norm,
    except for the first and the last half of a frame.

    >>> import gradtape as tf
    >>> coefficients = tf.signal.mdct([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], frame_length=4)
    >>> tf.signal.inverse_mdct(coefficients).numpy().round(3)[2:4]
    array([3., 4.], dtype=float32)
    """
    x = _of_rank(mdcts, 2, "inverse_mdct: mdcts")
    half = x.array.shape[-1]
    if half % 2:
        raise invalid_argument(
            "inverse_mdct: mdcts must have an even number of coefficients in the last "
            f"axis, got {half}."
        )
    halves = _dct(x, 4, None, -1, norm, "inverse_mdct")
    if norm is None:
        halves = halves * (0.5 / max(half, 1))
    first, second = _piece(halves, 0, half // 2), _piece(halves, half // 2, half)
    unfolded = shaping.concat(second, -_backwards(second), -_backwards(first), -first, axis=-1)
    framed = _halved_window(unfolded, window_fn, 2 * half)
    return overlap_and_add(framed, max(half, 1))


@published("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: TensorLike = 8000,
    lower_edge_hertz: TensorLike = 125.0,
    upper_edge_hertz: TensorLike = 3800.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The matrix that takes spectra (from `stft`) to bands of the mel scale: triangles that overlap
    by half, with peaks of 1.

    >>> import gradtape as tf
    >>> tf.signal.linear_to_mel_weight_matrix(2, 5).numpy().round(3)
    array([[0.   , 0.   ],
           [0.721, 0.279],
           [0.   , 0.903],
           [0.   , 0.346],
           [0.   , 0.   ]], dtype=float32)
    """
    function = "linear_to_mel_weight_matrix"
    wanted = dtypes.as_dtype(dtype)
    if not wanted.is_floating:
        raise ValueError(f"{function}: dtype must be a floating-point type, got {wanted.name}.")
    bands, bins = (
        as_int(num_mel_bins, f"{function}: num_mel_bins"),
        as_int(num_spectrogram_bins, f"{function}: num_spectrogram_bins"),
    )
    if bands < 1:
        raise ValueError(f"{function}: num_mel_bins must be positive, got {bands}.")
    if bins < 0:
        raise invalid_argument(f"{function}: num_spectrogram_bins must be 0 or more, got {bins}.")
    rate, lower, upper = (
        broadcasting.cast(as_tensor(value, argument=f"{function}: {argument}"), dtype=wanted.numpy)
        for value, argument in (
            (sample_rate, "sample_rate"), (lower_edge_hertz, "lower_edge_hertz"),
            (upper_edge_hertz, "upper_edge_hertz")
        )
    )  # fmt: skip
    _check_edges(rate, lower, upper, function)
    rows = max(bins, 1)
    frequencies = rate * (np.linspace(0, 0.5, rows)[1:, None]).astype(wanted.numpy)
    places, low = _mel(frequencies), _mel(lower)
    edges = low + (_mel(upper) - low) * np.linspace(0, 1, bands + 2).astype(wanted.numpy)
    left, peak, right = (_piece(edges, i, bands + i) for i in range(3))
    rising, falling = (places - left) / (peak - left), (right - places) / (right - peak)
    weights = arithmetic.maximum(arithmetic.minimum(rising, falling), 0)
    return shaping.pad(weights, paddings=((1, 0), (0, 0)))


@published("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """The mel-frequency cepstral coefficients of log-mel spectrograms:
    a scaled cosine transform of the last axis.

    >>> import gradtape as tf
    >>> tf.signal.mfccs_from_log_mel_spectrograms([[1.0, 2.0, 4.0]]).numpy().round(3)
    array([[ 5.715, -2.121,  0.408]], dtype=float32)
    """
    x = _of_rank(log_mel_spectrograms, 1, "mfccs_from_log_mel_spectrograms: log_mel_spectrograms")
    bands = x.array.shape[-1]
    if not bands:
        raise ValueError(
            "mfccs_from_log_mel_spectrograms: the last axis must not be empty, got shape "
            f"{x.shape}."
        )
    return _dct(x, 2, None, -1, None, "mfccs_from_log_mel_spectrograms") * (
        1 / math.sqrt(2 * bands)
    )


def _dct(input: Any, kind: Any, n: Any, axis: Any, norm: Any, function: str) -> Any:
    """Cosine transforms through real Fourier transforms of signals that are longer and symmetric,
    or filled with zeros.
    """
    if kind not in _DCT_OF_INVERSE:
        raise ValueError(f"{function}: type must be 1, 2, 3 or 4, got {kind!r}.")
    if norm not in (None, "ortho"):
        raise ValueError(f"{function}: norm must be None or 'ortho', got {norm!r}.")
    if kind == 1 and norm:
        raise ValueError(f"{function}: norm must be None for type 1.")
    x = _of_rank(input, 1, f"{function}: input")
    if x.array.dtype not in REAL_SIGNAL.dtypes:
        raise TypeError(
            f"{function}: the input has dtype {x.dtype.name}, but must be float32 or float64: use "
            "gradtape.cast."
        )
    rank = x.array.ndim
    place = one_axis(axis, rank, f"{function}: axis")
    if n is not None:
        size = as_int(n, f"{function}: n")
        if size < 1:
            raise ValueError(f"{function}: n must be a positive integer or None, got {size}.")
        x = resized(x, [place], [size])
    order = (*[i for i in range(rank) if i != place], place)
    moved = x if place == rank - 1 else shaping.transpose(x, perm=order)
    if not x.array.shape[place]:
        return x
    if kind == 1 and x.array.shape[place] < 2:
        raise ValueError(f"{function}: type 1 needs at least two elements in the last axis.")
    transformed = _DCTS[int(kind)](moved, bool(norm))
    return (
        transformed
        if place == rank - 1
        else shaping.transpose(transformed, perm=tuple(order.index(i) for i in range(rank)))
    )


def _dct1(x: Any, ortho: bool) -> Any:
    mirrored = shaping.concat(x, _backwards(_piece(x, 1, x.array.shape[-1] - 1)), axis=-1)
    return broadcasting.real(fourier.rfft(mirrored, axis=-1))


def _dct2(x: Any, ortho: bool) -> Any:
    size = x.array.shape[-1]
    factors = 2 * np.exp(-0.5j * np.pi / size * np.arange(size))
    if ortho:
        factors *= math.sqrt(0.5 / size)
        factors[0] *= math.sqrt(0.5)
    spectrum = fourier.rfft(resized(x, [-1], [2 * size]), axis=-1)
    return broadcasting.real(_piece(spectrum, 0, size) * factors)


def _dct3(x: Any, ortho: bool) -> Any:
    """The cosines of places between those of a Fourier transform:
    the factors move it by half a place.
    """
    size = x.array.shape[-1]
    factors = np.exp(0.5j * np.pi / size * np.arange(size))
    if ortho:
        factors *= math.sqrt(0.5 / size)
        factors[0] *= math.sqrt(2)
    spectrum = broadcasting.cast(x, dtype=np.result_type(x.array.dtype, np.complex64)) * factors
    signal = fourier.irfft(
        resized(spectrum, [-1], [size + 1]), length=2 * size, axis=-1, norm="forward"
    )
    return _piece(signal, 0, size)


def _dct4(x: Any, ortho: bool) -> Any:
    """Every second element of a type 2 transform of twice the length."""
    size = x.array.shape[-1]
    odd = shaping.getitem(
        _dct2(resized(x, [-1], [2 * size]), ortho=False), key=(..., slice(1, None, 2))
    )
    return odd * math.sqrt(0.5 / size) if ortho else odd


_DCTS = {1: _dct1, 2: _dct2, 3: _dct3, 4: _dct4}


def _mel(frequency: Any) -> Any:
    return elementary.log1p(frequency / 700.0) * 1127.0


def _check_edges(rate: Any, lower: Any, upper: Any, function: str) -> None:
    """Refuses bands that do not lie in the spectrum; in a `vmap` the values are many, while tracing
    none: they are not looked at.
    """
    if any(isinstance(value, BatchedTensor) or is_traced(value) for value in (rate, lower, upper)):
        return
    rate, lower, upper = (float(value.array) for value in (rate, lower, upper))
    if rate <= 0:
        raise ValueError(f"{function}: sample_rate must be positive, got {rate}.")
    if lower < 0:
        raise ValueError(f"{function}: lower_edge_hertz must be 0 or more, got {lower}.")
    if lower >= upper:
        raise ValueError(
            f"{function}: lower_edge_hertz must be less than upper_edge_hertz, got {lower} and "
            f"{upper}."
        )
    if upper > rate / 2:
        raise ValueError(
            f"{function}: upper_edge_hertz must be at most half of sample_rate, got "
            f"{upper} and {rate}."
        )


def _windowed(framed: Any, window_fn: Window | None, length: int) -> Any:
    if window_fn is None:
        return framed
    if not callable(window_fn):
        raise TypeError(
            f"window_fn must be a function of a length and a dtype, or None, got {window_fn!r}."
        )
    return framed * window_fn(length, dtype=framed.dtype)


def _halved_window(framed: Any, window_fn: Window | None, length: int) -> Any:
    """Frames of a transform whose halves overlap: no window means the flat one,
    with halves whose squares add up to 1.
    """
    return framed * math.sqrt(0.5) if window_fn is None else _windowed(framed, window_fn, length)


def _piece(x: Any, start: int, stop: int) -> Any:
    return shaping.getitem(x, key=(..., slice(start, stop)))


def _backwards(x: Any) -> Any:
    return shaping.reverse(x, axis=(-1,))


def _of_rank(value: Any, rank: int, argument: str) -> Tensor:
    x = tensor(value, argument)
    if x.array.ndim < rank:
        raise ValueError(f"{argument} must have rank {rank} or more, got shape {x.shape}.")
    return x


def _size(value: Any, argument: str, least: int, refusal: Refusal = invalid_argument) -> int:
    """A length or a step: one integer of at least `least`."""
    if has_axes(value):
        raise ValueError(f"{argument} must be one integer, got {value!r}.")
    try:
        size = as_int(value, argument)
    except TypeError as error:
        raise refusal(str(error)) from error
    if size < least:
        raise invalid_argument(f"{argument} must be at least {least}, got {size}.")
    return size


def _fft_length(given: Any, frame_length: int, function: str) -> int:
    if given is None:
        return 1 << (frame_length - 1).bit_length()
    return _size(given, f"{function}: fft_length", 1)
