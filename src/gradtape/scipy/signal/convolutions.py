"""`scipy.signal.convolve`, `fftconvolve` and `correlate`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gradtape.api.numpy import fft
from gradtape.api.numpy.operands import axes_of
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops.broadcasting import conj
from gradtape.ops.convolution import Windows, conv
from gradtape.ops.shaping import reshape, reverse
from gradtape.published import published
from gradtape.scipy.arguments import named_tensors

Shape = tuple[int, ...]
METHODS = ("auto", "direct", "fft")


@published("scipy.signal.convolve")
def convolve(in1: TensorLike, in2: TensorLike, mode: str = "full", method: str = "auto") -> Tensor:
    """The convolution of two arrays of one rank, as `scipy.signal.convolve`; floating-point where
    that is given integers.

    >>> import gradtape as tf
    >>> tf.scipy.signal.convolve([1.0, 2.0, 3.0], [1.0, 10.0], "same").numpy()
    array([ 1., 12., 23.], dtype=float32)
    """
    x, y = _of_one_rank(in1, in2, "convolve")
    return _convolved(x, y, mode, method, "convolve")


@published("scipy.signal.correlate")
def correlate(in1: TensorLike, in2: TensorLike, mode: str = "full", method: str = "auto") -> Tensor:
    """The sums of products of one array with the other, conjugated, moved along it, as
    `scipy.signal.correlate`.

    >>> import gradtape as tf
    >>> tf.scipy.signal.correlate([1.0, 2.0, 3.0], [1.0, 10.0], "valid").numpy()
    array([21., 32.], dtype=float32)
    """
    x, y = _of_one_rank(in1, in2, "correlate")
    if not x.array.ndim:
        return x * conj(y)
    axes = tuple(range(x.array.ndim))
    smaller = mode == "valid" and any(
        a < b for a, b in zip(x.array.shape, y.array.shape, strict=True)
    )
    if smaller:  # the one that is moved is the smaller one, and the result is turned back
        found = _convolved(conj(y), reverse(x, axis=axes), mode, method, "correlate")
        return reverse(found, axis=axes)
    return _convolved(x, reverse(conj(y), axis=axes), mode, method, "correlate")


@published("scipy.signal.fftconvolve")
def fftconvolve(
    in1: TensorLike, in2: TensorLike, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Tensor:
    """The convolution of two arrays by Fourier transforms, over all axes or some, while the others
    broadcast; as `scipy.signal.fftconvolve`.

    >>> import gradtape as tf
    >>> tf.scipy.signal.fftconvolve([1.0, 2.0, 3.0], [1.0, 10.0]).numpy().round(4)
    array([ 1., 12., 23., 30.], dtype=float32)
    """
    x, y = _of_one_rank(in1, in2, "fftconvolve")
    if not x.array.ndim:
        return x * y
    over = axes_of(axes, x.array.ndim, "fftconvolve", "axes") or tuple(range(x.array.ndim))
    return _by_transforms(x, y, mode, over, "fftconvolve")


def _of_one_rank(in1: Any, in2: Any, who: str) -> list[Tensor]:
    x, y = named_tensors(who, in1=in1, in2=in2)
    if x.array.ndim != y.array.ndim:
        raise ValueError(
            f"{who}: in1 and in2 must have as many axes as each other, got shapes {x.shape} and "
            f"{y.shape}."
        )
    return [x, y]


def _convolved(x: Tensor, y: Tensor, mode: str, method: str, who: str) -> Tensor:
    if method not in METHODS:
        raise ValueError(f"{who}: method must be 'auto', 'direct' or 'fft', got {method!r}.")
    if not x.array.ndim:
        return x * y
    axes = tuple(range(x.array.ndim))
    if method == "direct" and len(axes) > 3:
        raise NotImplementedError(
            f"{who}: method='direct' is for up to 3 axes, got {len(axes)}: use 'auto'."
        )
    smaller = min(math.prod(x.array.shape), math.prod(y.array.shape))
    direct = method == "direct" or (method == "auto" and len(axes) <= 3 and smaller <= 64)
    return (_directly if direct else _by_transforms)(x, y, mode, axes, who)


def _directly(x: Tensor, y: Tensor, mode: str, axes: Shape, who: str) -> Tensor:
    return _with_mode(x, y, mode, axes, who, _whole_directly)


def _by_transforms(x: Tensor, y: Tensor, mode: str, axes: Shape, who: str) -> Tensor:
    return _with_mode(x, y, mode, axes, who, _whole_by_transforms)


def _with_mode(
    x: Tensor,
    y: Tensor,
    mode: str,
    axes: Shape,
    who: str,
    whole: Callable[[Tensor, Tensor, Shape, Shape], Tensor],
) -> Tensor:
    """The part of a convolution that the mode names: what is as large as the first argument, or
    where one lies inside the other.
    """
    first, second = tuple(x.array.shape), tuple(y.array.shape)
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if i not in axes and 1 not in (a, b) and a != b:
            raise ValueError(
                f"{who}: in1 and in2 must broadcast along axis {i}, got shapes {first} and "
                f"{second}."
            )
    sizes = tuple(max(a + b - 1, 0) if a and b else 0 for a, b in zip(first, second, strict=True))
    if mode == "full":
        starts, lengths = [0] * len(sizes), list(sizes)
    elif mode == "same":
        starts = [(n - a) // 2 for n, a in zip(sizes, first, strict=True)]
        lengths = list(first)
    elif mode == "valid":
        _check_inside(first, second, axes, who)
        starts = [min(a, b) - 1 for a, b in zip(first, second, strict=True)]
        lengths = [abs(a - b) + 1 for a, b in zip(first, second, strict=True)]
    else:
        raise ValueError(f"{who}: mode must be 'full', 'same' or 'valid', got {mode!r}.")
    if not x.array.size or not y.array.size:
        raise ValueError(f"{who}: there must be elements, got shapes {first} and {second}.")
    found = whole(x, y, axes, sizes)
    cut = [slice(None)] * len(sizes)
    for i in axes:
        cut[i] = slice(starts[i], starts[i] + lengths[i])
    return found[tuple(cut)]


def _check_inside(first: Shape, second: Shape, axes: Shape, who: str) -> None:
    pairs = [(first[i], second[i]) for i in axes]
    if not (all(a >= b for a, b in pairs) or all(a <= b for a, b in pairs)):
        raise ValueError(
            f"{who}: with mode='valid', one argument must be at least as large as the other along "
            f"every axis, got shapes {first} and {second}."
        )


def _whole_directly(x: Tensor, y: Tensor, axes: Shape, sizes: Shape) -> Tensor:
    if y.array.size > x.array.size:
        x, y = y, x
    kernel = tuple(y.array.shape)
    padding = tuple((k - 1, k - 1) for k in kernel)
    ones = (1,) * len(kernel)
    found = conv(
        reshape(x, shape=(1, *x.array.shape, 1)),
        reshape(reverse(y, axis=axes), shape=(*kernel, 1, 1)),
        windows=Windows(kernel, ones, padding, ones),
        groups=1,
    )
    return reshape(found, shape=sizes)


def _whole_by_transforms(x: Tensor, y: Tensor, axes: Shape, sizes: Shape) -> Tensor:
    import scipy.fft  # noqa: PLC0415

    real = x.array.dtype.kind != "c"
    lengths = [scipy.fft.next_fast_len(sizes[i], real) for i in axes]
    if real:
        product = fft.rfftn(x, lengths, axes) * fft.rfftn(y, lengths, axes)
        return fft.irfftn(product, lengths, axes)
    return fft.ifftn(fft.fftn(x, lengths, axes) * fft.fftn(y, lengths, axes), lengths, axes)
