"""Discrete Fourier transforms: `numpy.fft`.

The lengths `n` and `s` crop axes or pad them with zeros before the transform; for the inverse of a
half spectrum the last one is the length of the result. `norm` says which transform divides by the
number of elements: the inverse one ('backward'), the forward one ('forward'), or both, each by its
square root ('ortho').
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import (
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    axes_of,
    axis_of,
    converted,
    inexact,
    into,
    tensor_of,
)
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike, as_list
from gradtape.api.tensorflow.signal.fourier import resized
from gradtape.convert import is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.ops import broadcasting, fourier, shaping
from gradtape.published import published

Shape = tuple[int, ...]

# Complex transforms


@published("numpy.fft.fft", "scipy.fft.fft", "array_api.fft.fft")
def fft(
    a: TensorLike, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """The discrete Fourier transform along an axis.

    >>> import gradtape as tf
    >>> tf.numpy.fft.fft([1.0, 2.0, 3.0, 4.0]).numpy()
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return into(out, _complex_transform(fourier.fft, a, _alone(n), (axis,), norm, "fft"), "fft")


@published("numpy.fft.ifft", "scipy.fft.ifft", "array_api.fft.ifft")
def ifft(
    a: TensorLike, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """The inverse of the discrete Fourier transform along an axis.

    >>> import gradtape as tf
    >>> tf.numpy.fft.ifft([10.0, -2.0]).numpy()
    array([4.+0.j, 6.+0.j], dtype=complex64)
    """
    return into(out, _complex_transform(fourier.ifft, a, _alone(n), (axis,), norm, "ifft"), "ifft")


@published("numpy.fft.fft2", "scipy.fft.fft2")
def fft2(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The discrete Fourier transform over two axes.

    >>> import gradtape as tf
    >>> tf.numpy.fft.fft2([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]], dtype=complex64)
    """
    return into(out, _complex_transform(fourier.fft, a, s, axes, norm, "fft2"), "fft2")


@published("numpy.fft.ifft2", "scipy.fft.ifft2")
def ifft2(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform over two axes.

    >>> import gradtape as tf
    >>> tf.numpy.fft.ifft2([[10.0, -2.0], [-4.0, 0.0]]).numpy()
    array([[1.+0.j, 2.+0.j],
           [3.+0.j, 4.+0.j]], dtype=complex64)
    """
    return into(out, _complex_transform(fourier.ifft, a, s, axes, norm, "ifft2"), "ifft2")


@published("numpy.fft.fftn", "scipy.fft.fftn", "array_api.fft.fftn")
def fftn(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The discrete Fourier transform over some axes, or over all.

    >>> import gradtape as tf
    >>> tf.numpy.fft.fftn([[1.0, 2.0], [3.0, 4.0]], axes=[0], norm="forward").numpy()
    array([[ 2.+0.j,  3.+0.j],
           [-1.+0.j, -1.+0.j]], dtype=complex64)
    """
    return into(out, _complex_transform(fourier.fft, a, s, axes, norm, "fftn"), "fftn")


@published("numpy.fft.ifftn", "scipy.fft.ifftn", "array_api.fft.ifftn")
def ifftn(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform over some axes, or over all.

    >>> import gradtape as tf
    >>> tf.numpy.fft.ifftn([[2.0, 3.0], [-1.0, -1.0]], axes=[0], norm="forward").numpy()
    array([[1.+0.j, 2.+0.j],
           [3.+0.j, 4.+0.j]], dtype=complex64)
    """
    return into(out, _complex_transform(fourier.ifft, a, s, axes, norm, "ifftn"), "ifftn")


# Real signals, whose spectra are symmetric, so that half of the frequencies say it all


@published("numpy.fft.rfft", "scipy.fft.rfft", "array_api.fft.rfft")
def rfft(
    a: TensorLike, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """The Fourier transform of real numbers along an axis: the first half of the frequencies,
    which the others mirror.

    >>> import gradtape as tf
    >>> tf.numpy.fft.rfft([1.0, 2.0, 3.0, 4.0]).numpy()
    array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return into(out, _to_half_spectrum(a, _alone(n), (axis,), norm, "rfft"), "rfft")


@published("numpy.fft.irfft", "scipy.fft.irfft", "array_api.fft.irfft")
def irfft(
    a: TensorLike, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """The real numbers whose half spectrum is given; without `n`, of an even length.

    >>> import gradtape as tf
    >>> tf.numpy.fft.irfft([10.0, -2.0 + 2.0j, -2.0]).numpy()
    array([1., 2., 3., 4.], dtype=float32)
    """
    return into(out, _from_half_spectrum(a, _alone(n), (axis,), norm, "irfft"), "irfft")


@published("numpy.fft.rfft2", "scipy.fft.rfft2")
def rfft2(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The Fourier transform of real numbers over two axes,
    with half of the frequencies along the last of them.

    >>> import gradtape as tf
    >>> tf.numpy.fft.rfft2([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]], dtype=complex64)
    """
    return into(out, _to_half_spectrum(a, s, axes, norm, "rfft2"), "rfft2")


@published("numpy.fft.irfft2", "scipy.fft.irfft2")
def irfft2(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The real numbers whose transform over two axes is given,
    with half of the frequencies along the last of them.

    >>> import gradtape as tf
    >>> tf.numpy.fft.irfft2([[10.0, -2.0], [-4.0, 0.0]]).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return into(out, _from_half_spectrum(a, s, axes, norm, "irfft2"), "irfft2")


@published("numpy.fft.rfftn", "scipy.fft.rfftn", "array_api.fft.rfftn")
def rfftn(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The Fourier transform of real numbers over some axes or all,
    with half of the frequencies along the last of them.

    >>> import gradtape as tf
    >>> tf.numpy.fft.rfftn([[1.0, 2.0], [3.0, 4.0]], norm="forward").numpy()
    array([[ 2.5+0.j, -0.5+0.j],
           [-1. +0.j,  0. +0.j]], dtype=complex64)
    """
    return into(out, _to_half_spectrum(a, s, axes, norm, "rfftn"), "rfftn")


@published("numpy.fft.irfftn", "scipy.fft.irfftn", "array_api.fft.irfftn")
def irfftn(
    a: TensorLike,
    s: Any = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Any = None,
) -> Tensor:
    """The real numbers whose transform over some axes or all is given,
    with half of the frequencies along the last of them.

    >>> import gradtape as tf
    >>> tf.numpy.fft.irfftn([[2.5, -0.5], [-1.0, 0.0]], norm="forward").numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return into(out, _from_half_spectrum(a, s, axes, norm, "irfftn"), "irfftn")


@published("numpy.fft.hfft", "scipy.fft.hfft", "array_api.fft.hfft")
def hfft(
    a: TensorLike, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """The real spectrum of a symmetric signal, of which the first half is given.

    >>> import gradtape as tf
    >>> tf.numpy.fft.hfft([1.0, 2.0, 3.0]).numpy()
    array([ 8., -2.,  0., -2.], dtype=float32)
    """
    signal = broadcasting.conj(_complex(a, "hfft"))
    return into(
        out,
        _from_half_spectrum(
            signal, _alone(n), (axis,), fourier.ADJOINT[_norm(norm, "hfft")], "hfft"
        ),
        "hfft",
    )


@published("numpy.fft.ihfft", "scipy.fft.ihfft", "array_api.fft.ihfft")
def ihfft(
    a: TensorLike, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None
) -> Tensor:
    """The first half of the symmetric signal whose real spectrum is given: the inverse of `hfft`.

    >>> import gradtape as tf
    >>> tf.numpy.fft.ihfft([8.0, -2.0, 0.0, -2.0]).numpy()
    array([1.-0.j, 2.-0.j, 3.-0.j], dtype=complex64)
    """
    spectrum = _to_half_spectrum(
        a, _alone(n), (axis,), fourier.ADJOINT[_norm(norm, "ihfft")], "ihfft"
    )
    return into(out, broadcasting.conj(spectrum), "ihfft")


# Frequencies


@published("numpy.fft.fftfreq", "scipy.fft.fftfreq")
def fftfreq(n: int, d: Any = 1.0, device: Any = None) -> Tensor:
    """The frequencies of the `fft` of `n` samples that are `d` apart, in its order.

    >>> import gradtape as tf
    >>> tf.numpy.fft.fftfreq(4, d=0.5).numpy()
    array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    count = _samples(n, "fftfreq")
    middle = (count - 1) // 2 + 1
    return _frequencies(
        np.concatenate([np.arange(middle), np.arange(-(count // 2), 0)]), count, d, "fftfreq"
    )


@published("numpy.fft.rfftfreq", "scipy.fft.rfftfreq")
def rfftfreq(n: int, d: Any = 1.0, device: Any = None) -> Tensor:
    """The frequencies of the `rfft` of `n` samples that are `d` apart.

    >>> import gradtape as tf
    >>> tf.numpy.fft.rfftfreq(4, d=0.5).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    count = _samples(n, "rfftfreq")
    return _frequencies(np.arange(count // 2 + 1), count, d, "rfftfreq")


def _samples(n: Any, function: str) -> int:
    try:
        return int(n.__index__())
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{function}: n must be an integer, got {n!r}.") from error


def _frequencies(numbers: Any, count: int, d: Any, function: str) -> Tensor:
    """Recorded by `d` if that is a Tensor, and else computed in double precision and rounded
    once.
    """
    if not is_tensor_like(d):
        return Tensor((numbers / (count * d)).astype(FLOAT32))
    spacing = inexact(tensor_of(d, function, "d"))
    return Tensor(numbers.astype(spacing.array.dtype)) / (spacing * count)


@published("numpy.fft.fftshift", "scipy.fft.fftshift", "array_api.fft.fftshift")
def fftshift(x: TensorLike, axes: AxisLike = None) -> Tensor:
    """The frequency zero moved from the beginning of `axes`, or of all, to their middle.

    >>> import gradtape as tf
    >>> tf.numpy.fft.fftshift([0, 1, 2, -2, -1]).numpy()
    array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _shifted(x, axes, lambda size: size // 2, "fftshift")


@published("numpy.fft.ifftshift", "scipy.fft.ifftshift", "array_api.fft.ifftshift")
def ifftshift(x: TensorLike, axes: AxisLike = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> import gradtape as tf
    >>> tf.numpy.fft.ifftshift([-2, -1, 0, 1, 2]).numpy()
    array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _shifted(x, axes, lambda size: -(size // 2), "ifftshift")


def _shifted(x: Any, axes: Any, steps: Any, function: str) -> Tensor:
    values = tensor_of(x, function)
    places = axes_of(axes, values.array.ndim, function, "axes")
    places = tuple(range(values.array.ndim)) if places is None else places
    return shaping.roll(
        values, shift=tuple(steps(values.array.shape[i]) for i in places), axis=places
    )


# How transforms take their arguments


def _complex_transform(op: Any, a: Any, s: Any, axes: Any, norm: Any, function: str) -> Tensor:
    x = _complex(a, function)
    places, sizes = _places(x, s, axes, function)
    return op(resized(x, places, sizes), axes=places, norm=_norm(norm, function))


def _to_half_spectrum(a: Any, s: Any, axes: Any, norm: Any, function: str) -> Tensor:
    x = _single_or_double(a, function)
    if x.array.dtype.kind == "c":
        raise TypeError(
            f"{function}: a must be real, got dtype {x.dtype.name}: use a transform that takes "
            "complex numbers, such as fft."
        )
    places, sizes = _places(x, s, axes, function)
    way = _norm(norm, function)
    spectrum = fourier.rfft(resized(x, places, sizes), axis=places[-1], norm=way)
    return fourier.fft(spectrum, axes=places[:-1], norm=way) if len(places) > 1 else spectrum


def _from_half_spectrum(a: Any, s: Any, axes: Any, norm: Any, function: str) -> Tensor:
    x = _complex(a, function)
    places, sizes = _places(x, s, axes, function, back=True)
    way = _norm(norm, function)
    x = resized(x, places, [*sizes[:-1], fourier.half(sizes[-1])])
    if len(places) > 1:
        x = fourier.ifft(x, axes=places[:-1], norm=way)
    return fourier.irfft(x, length=sizes[-1], axis=places[-1], norm=way)


def _alone(n: Any) -> Any:
    """A length as a list of lengths."""
    return None if n is None else (n,)


def _places(
    x: Tensor, s: Any, axes: Any, function: str, *, back: bool = False
) -> tuple[Shape, Shape]:
    """The axes to transform and their lengths; on the way `back` from half a spectrum the last is
    that of the result.
    """
    shape = x.array.shape
    if axes is None:
        axes = range(len(shape)) if s is None else range(-len(s), 0)
    places = tuple(
        axis_of(axis, len(shape), function, "axes") for axis in as_list(axes, f"{function}: axes")
    )
    if not places:
        raise ValueError(
            f"{function}: axes must name at least one axis of a, got shape {x.shape} and axes "
            f"{tuple(axes)}."
        )
    if s is None:
        sizes = [shape[i] for i in places]
        if back:
            sizes[-1] = 2 * (sizes[-1] - 1)
    else:
        sizes = [shape[i] if size == -1 else int(size) for size, i in zip(s, places, strict=False)]
        if len(s) != len(places):
            raise ValueError(
                f"{function}: s has {len(s)} entries, but there are {len(places)} axes."
            )
    if any(size < 1 for size in sizes):
        raise ValueError(
            f"{function}: every transformed axis must have at least one point, got {sizes}."
        )
    return places, tuple(sizes)


def _norm(norm: Any, function: str) -> str:
    if norm is not None and (not isinstance(norm, str) or norm not in fourier.ADJOINT):
        raise ValueError(
            f"{function}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}."
        )
    return norm or "backward"


def _single_or_double(a: Any, function: str) -> Tensor:
    """There is no transform in half precision."""
    x = inexact(tensor_of(a, function, "a"))
    return converted(x, FLOAT32) if x.array.dtype.itemsize < 4 else x


def _complex(a: Any, function: str) -> Tensor:
    x = _single_or_double(a, function)
    return (
        x
        if x.array.dtype.kind == "c"
        else converted(x, COMPLEX128 if x.array.dtype == FLOAT64 else COMPLEX64)
    )
