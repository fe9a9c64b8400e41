"""Fourier transforms: `tf.signal.fft` and related functions.

As in TensorFlow, plain values become single precision (tensors keep theirs), and the transforms of
complex numbers refuse real tensors. `fft_length` crops each axis or pads it with zeros before the
transform; for an inverse real transform it is the length of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import COMPLEX, Kind, Refusal
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike, integers, tensor
from gradtape.api.tensorflow.arguments import axes as as_axes
from gradtape.convert import operand, to_array
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import fourier, shaping
from gradtape.published import published

REAL_SIGNAL = Kind("float32 or float64", frozenset({dtypes.float32.numpy, dtypes.float64.numpy}))

_NORMS = ("backward", "ortho", "forward")


@published("signal.fft")
def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """The discrete Fourier transform along the last axis.

    >>> import gradtape as tf
    >>> tf.signal.fft([1 + 0j, 2, 3, 4]).numpy()
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return fourier.fft(_to_transform(input, 1, "fft"), axes=(-1,))


@published("signal.fft2d")
def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """The discrete Fourier transform over the last two axes.

    >>> import gradtape as tf
    >>> tf.signal.fft2d([[1 + 0j, 2], [3, 4]]).numpy()
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return fourier.fft(_to_transform(input, 2, "fft2d"), axes=(-2, -1))


@published("signal.fft3d")
def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """The discrete Fourier transform over the last three axes.

    >>> import gradtape as tf
    >>> tf.signal.fft3d([[[1 + 0j, 2], [3, 4]]]).numpy()
    array([[[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]]])
    """
    return fourier.fft(_to_transform(input, 3, "fft3d"), axes=(-3, -2, -1))


@published("signal.ifft")
def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of the discrete Fourier transform along the last axis.

    >>> import gradtape as tf
    >>> tf.signal.ifft([10 + 0j, -2]).numpy()
    array([4.+0.j, 6.+0.j])
    """
    return fourier.ifft(_to_transform(input, 1, "ifft"), axes=(-1,))


@published("signal.ifft2d")
def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of the discrete Fourier transform over the last two axes.

    >>> import gradtape as tf
    >>> tf.signal.ifft2d([[10 + 0j, -2], [-4, 0]]).numpy()
    array([[1.+0.j, 2.+0.j],
           [3.+0.j, 4.+0.j]])
    """
    return fourier.ifft(_to_transform(input, 2, "ifft2d"), axes=(-2, -1))


@published("signal.ifft3d")
def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of the discrete Fourier transform over the last three axes.

    >>> import gradtape as tf
    >>> tf.signal.ifft3d([[[10 + 0j, -2], [-4, 0]]]).numpy()
    array([[[1.+0.j, 2.+0.j],
            [3.+0.j, 4.+0.j]]])
    """
    return fourier.ifft(_to_transform(input, 3, "ifft3d"), axes=(-3, -2, -1))


@published("signal.rfft")
def rfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real signals along the last axis:
    the first half of the frequencies, which the others mirror.

    >>> import gradtape as tf
    >>> tf.signal.rfft([1.0, 2.0, 3.0, 4.0]).numpy()
    array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _rfft(input_tensor, fft_length, 1, "rfft")


@published("signal.rfft2d")
def rfft2d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers over the last two axes,
    with half of the frequencies along the last.

    >>> import gradtape as tf
    >>> tf.signal.rfft2d([[1.0, 2.0, 0.0], [3.0, 4.0, 0.0]], fft_length=[2, 2]).numpy()
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]], dtype=complex64)
    """
    return _rfft(input_tensor, fft_length, 2, "rfft2d")


@published("signal.rfft3d")
def rfft3d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers over the last three axes,
    with half of the frequencies along the last.

    >>> import gradtape as tf
    >>> tf.signal.rfft3d([[[1.0, 2.0], [3.0, 4.0]]]).numpy()
    array([[[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]]], dtype=complex64)
    """
    return _rfft(input_tensor, fft_length, 3, "rfft3d")


@published("signal.irfft")
def irfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The real signals of half spectra along the last axis; without `fft_length`,
    of an even length.

    >>> import gradtape as tf
    >>> tf.signal.irfft([10 + 0j, -2 + 2j, -2]).numpy()
    array([1., 2., 3., 4.], dtype=float32)
    """
    return _irfft(input_tensor, fft_length, 1, "irfft")


@published("signal.irfft2d")
def irfft2d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The real numbers whose transform over the last two axes is given, with half of the
    frequencies along the last.

    >>> import gradtape as tf
    >>> tf.signal.irfft2d([[10 + 0j, -2], [-4, 0]]).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _irfft(input_tensor, fft_length, 2, "irfft2d")


@published("signal.irfft3d")
def irfft3d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The real numbers whose transform over the last three axes is given, with half of the
    frequencies along the last.

    >>> import gradtape as tf
    >>> tf.signal.irfft3d([[[10 + 0j, -2], [-4, 0]]]).numpy()
    array([[[1., 2.],
            [3., 4.]]], dtype=float32)
    """
    return _irfft(input_tensor, fft_length, 3, "irfft3d")


@published("signal.fftnd")
def fftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete Fourier transform over `axes` (None: all),
    each cut or filled to its entry of `fft_length`.

    What it divides by: 'backward' (None) nothing, 'forward' the number of elements, 'ortho' the
    square root of that.

    >>> import gradtape as tf
    >>> tf.signal.fftnd(tf.constant([[1 + 0j, 2], [3, 4]]), axes=[0], norm="forward").numpy()
    array([[ 2.+0.j,  3.+0.j],
           [-1.+0.j, -1.+0.j]])
    """
    x, places, sizes = _over_axes(
        _to_transform(input_tensor, 0, "fftnd", halve=True), fft_length, axes, "fftnd"
    )
    return fourier.fft(resized(x, places, sizes), axes=places, norm=_norm(norm, "fftnd"))


@published("signal.ifftnd")
def ifftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `fftnd` with the same `norm`.

    >>> import gradtape as tf
    >>> tf.signal.ifftnd(tf.constant([[2 + 0j, 3], [-1, -1]]), axes=[0], norm="forward").numpy()
    array([[1.+0.j, 2.+0.j],
           [3.+0.j, 4.+0.j]])
    """
    x, places, sizes = _over_axes(
        _to_transform(input_tensor, 0, "ifftnd", halve=True), fft_length, axes, "ifftnd"
    )
    return fourier.ifft(resized(x, places, sizes), axes=places, norm=_norm(norm, "ifftnd"))


@published("signal.rfftnd")
def rfftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`fftnd` of real numbers, with half of the frequencies along the last of `axes`.

    >>> import gradtape as tf
    >>> tf.signal.rfftnd([[1.0, 2.0], [3.0, 4.0]], norm="forward").numpy()
    array([[ 2.5+0.j, -0.5+0.j],
           [-1. +0.j,  0. +0.j]], dtype=complex64)
    """
    x, places, sizes = _over_axes(
        _real_signal(input_tensor, 0, "rfftnd"), fft_length, axes, "rfftnd", at_least=1
    )
    return _half_spectrum(resized(x, places, sizes), places, _norm(norm, "rfftnd"))


@published("signal.irfftnd")
def irfftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `rfftnd` with the same `norm`.

    >>> import gradtape as tf
    >>> tf.signal.irfftnd([[2.5 + 0j, -0.5], [-1, 0]], norm="forward").numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    x = _half_spectra(input_tensor, 0, "irfftnd")
    x, places, sizes = _over_axes(x, fft_length, axes, "irfftnd", at_least=1, back=True)
    return _from_half_spectrum(x, places, sizes, _norm(norm, "irfftnd"))


@published("signal.fftshift")
def fftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> Tensor:
    """The frequency zero moved from the beginning of `axes` (None: all) to their middle.

    >>> import gradtape as tf
    >>> tf.signal.fftshift([0, 1, 2, -2, -1]).numpy()
    array([-2, -1,  0,  1,  2], dtype=int32)
    """
    x = tensor(x, "fftshift: x")
    places = _axes(axes, x, "fftshift: axes")
    return shaping.roll(x, shift=tuple(x.array.shape[a] // 2 for a in places), axis=places)


@published("signal.ifftshift")
def ifftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> import gradtape as tf
    >>> tf.signal.ifftshift([-2, -1, 0, 1, 2]).numpy()
    array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    x = tensor(x, "ifftshift: x")
    places = _axes(axes, x, "ifftshift: axes")
    return shaping.roll(x, shift=tuple(-(x.array.shape[a] // 2) for a in places), axis=places)


def resized(x: Tensor, places: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """`x` with the axes at `places` cut off at `sizes`, or filled up to them with zeros."""
    shape = x.array.shape
    wanted = list(shape)
    for axis, size in zip(places, sizes, strict=True):
        wanted[axis] = size
    if any(new < old for new, old in zip(wanted, shape, strict=True)):
        x = shaping.getitem(
            x, key=tuple(slice(min(new, old)) for new, old in zip(wanted, shape, strict=True))
        )
    if any(new > old for new, old in zip(wanted, shape, strict=True)):
        x = shaping.pad(
            x,
            paddings=tuple((0, max(new - old, 0)) for new, old in zip(wanted, shape, strict=True)),
        )
    return x


def _rfft(value: Any, fft_length: Any, rank: int, function: str) -> Tensor:
    x = _real_signal(value, rank, function)
    x, places, sizes = _over_axes(x, fft_length, range(-rank, 0), function)
    return _half_spectrum(resized(x, places, sizes), places, "backward")


def _irfft(value: Any, fft_length: Any, rank: int, function: str) -> Tensor:
    x = _half_spectra(value, rank, function)
    x, places, sizes = _over_axes(x, fft_length, range(-rank, 0), function, back=True)
    return _from_half_spectrum(x, places, sizes, "backward")


def _half_spectrum(x: Any, places: tuple[int, ...], norm: str) -> Tensor:
    spectrum = fourier.rfft(x, axis=places[-1], norm=norm)
    return fourier.fft(spectrum, axes=places[:-1], norm=norm) if len(places) > 1 else spectrum


def _from_half_spectrum(
    x: Tensor, places: tuple[int, ...], sizes: Sequence[int], norm: str
) -> Tensor:
    x = resized(x, places, [*sizes[:-1], fourier.half(sizes[-1])])
    if len(places) > 1:
        x = fourier.ifft(x, axes=places[:-1], norm=norm)
    return fourier.irfft(x, length=sizes[-1], axis=places[-1], norm=norm)


def _over_axes(
    x: Tensor, fft_length: Any, given: Any, function: str, *, at_least: int = 0, back: bool = False
) -> tuple[Tensor, tuple[int, ...], tuple[int, ...]]:
    """What to transform, the axes, and their lengths; on the way `back` from a half spectrum the
    last is that of the signal.
    """
    places = _axes(given, x, f"{function}: axes")
    if len(places) < at_least:
        raise invalid_argument(
            f"{function}: axes must name at least one axis, the last of which has half of the "
            "frequencies."
        )
    if fft_length is not None:
        return x, places, _lengths(fft_length, len(places), function)
    sizes = tuple(x.array.shape[axis] for axis in places)
    if not back:
        return x, places, sizes
    if sizes[-1] == 1:
        raise invalid_argument(
            f"{function}: the length of the signal cannot be inferred from one frequency: pass "
            "fft_length."
        )
    return x, places, (*sizes[:-1], max(0, 2 * (sizes[-1] - 1)))


def _axes(given: Any, x: Tensor, argument: str) -> tuple[int, ...]:
    rank = x.array.ndim
    found = as_axes(tuple(given) if isinstance(given, range) else given, rank, argument)
    return tuple(range(rank)) if found is None else found


def _lengths(fft_length: Any, count: int, function: str) -> tuple[int, ...]:
    given = getattr(fft_length, "array", fft_length)
    if not hasattr(given, "__len__"):
        raise TypeError(
            f"{function}: fft_length must be a list with a length for each axis, got "
            f"{fft_length!r}."
        )
    sizes = integers(given, f"{function}: fft_length")
    if len(sizes) != count:
        raise invalid_argument(
            f"{function}: fft_length must have {count} entries, one for each axis, got "
            f"{list(sizes)}."
        )
    if any(size < 1 for size in sizes):
        raise invalid_argument(f"{function}: fft_length must be positive, got {list(sizes)}.")
    return sizes


def _norm(norm: Any, function: str) -> str:
    if norm is not None and norm not in _NORMS:
        raise ValueError(
            f"{function}: norm must be one of {', '.join(map(repr, _NORMS))} or None, got {norm!r}."
        )
    return norm or "backward"


def _to_transform(value: Any, rank: int, function: str, *, halve: bool = False) -> Tensor:
    """An argument of a complex transform.

    Python's complex numbers are complex128 unless `halve` is set.
    """
    argument = "input_tensor" if halve else "input"
    single = "iufc" if halve or hasattr(value, "dtype") else "iuf"
    return _checked(
        value,
        single,
        dtypes.complex64.numpy,
        COMPLEX,
        rank,
        f"{function}: {argument}",
        invalid_argument,
    )


def _real_signal(value: Any, rank: int, function: str) -> Tensor:
    return _checked(
        value,
        "iuf",
        dtypes.float32.numpy,
        REAL_SIGNAL,
        rank,
        f"{function}: input_tensor",
        ValueError,
    )


def _half_spectra(value: Any, rank: int, function: str) -> Tensor:
    return _checked(
        value,
        "iufc",
        dtypes.complex64.numpy,
        COMPLEX,
        rank,
        f"{function}: input_tensor",
        ValueError,
    )


def _checked(
    value: Any, takes: str, single: Any, kind: Kind, rank: int, argument: str, refusal: Refusal
) -> Tensor:
    """`value` as a Tensor of this kind and at least this rank; plain numbers of the kinds `takes`
    become `single` precision.
    """
    x = operand(value)
    if not isinstance(x, Tensor):
        array = to_array(x, argument=argument)
        x = Tensor(array.astype(single) if array.dtype.kind in takes else array)
    if x.array.dtype not in kind.dtypes:
        raise refusal(
            f"{argument} has dtype {x.dtype.name}, but must be {kind.words}: convert it with "
            "gradtape.cast."
        )
    if x.array.ndim < rank:
        raise refusal(f"{argument} must have rank {rank} or more, got shape {x.shape}.")
    return x
