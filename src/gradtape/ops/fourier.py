"""Discrete Fourier transforms, complex and real, and the overlapping frames of a signal.

All are linear, and the pulls are adjoints. A transform and its inverse are each other's adjoint if
the division is moved from one to the other: `norm` says which of them divides, in NumPy's words.
The half spectrum of a real signal has one frequency for two of the whole spectrum, except for the
first and, if the length is even, the last: the adjoint of `irfft` counts those twice, and that of
`rfft` counts half of what `irfft` counts twice. Single precision stays single precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gradtape.ops.batching import as_it_is, shifted
from gradtape.ops.declare import op
from gradtape.ops.links import mixed_along_axes

Shape = tuple[int, ...]

_MOST_SLICES = 32  # of frames on XLA: more would be too long a program, and a gather is taken

ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def half(length: int) -> int:
    """How many frequencies the half spectrum of a real signal has. Nothing has none."""
    return length // 2 + 1 if length else 0


def _along_axes(transform: str) -> Any:
    """A complex transform over one axis after the other."""

    def kernel(xp: Any, x: Any, *, axes: Shape, norm: str = "backward") -> Any:
        found = _transforms(xp)
        for axis in axes:
            x = getattr(found, transform)(x, axis=axis, norm=norm) if x.shape[axis] else x
        return x

    return kernel


def _transforms(xp: Any) -> Any:
    """The transforms of an array library; for NumPy they are scipy's, which take several lines at
    once and are up to nine times as fast in single precision.
    """
    if xp is not np:
        return xp.fft
    import scipy.fft  # noqa: PLC0415 - scipy is loaded when a function first needs it

    return scipy.fft


def _rfft(xp: Any, x: Any, *, axis: int, norm: str = "backward") -> Any:
    if x.shape[axis]:
        return _transforms(xp).rfft(x, axis=axis, norm=norm)
    return xp.zeros(x.shape, xp.result_type(x, xp.complex64))


def _irfft(xp: Any, x: Any, *, length: int, axis: int, norm: str = "backward") -> Any:
    """The signal of a half spectrum; the imaginary parts of the frequencies that stand for one
    alone mean nothing.
    """
    return (
        _transforms(xp).irfft(x, length, axis=axis, norm=norm)
        if length
        else xp.zeros(x.shape, x.real.dtype)
    )


def _counted(length: int, doubled: float, shape: Shape, axis: int) -> Any:
    """`doubled` for each frequency of a half spectrum that stands for two, 1 for the others,
    to multiply `shape` with.
    """
    counts = np.full(half(length), doubled, np.float32)
    counts[:1] = 1
    if length % 2 == 0:
        counts[-1:] = 1
    return counts.reshape(-1, *(1,) * (len(shape) - 1 - axis % len(shape)))


def _rfft_adjoint(g: Any, x_shape: Shape, axis: int, norm: str) -> Any:
    length = x_shape[axis]
    return irfft(
        g * _counted(length, 0.5, x_shape, axis), length=length, axis=axis, norm=ADJOINT[norm]
    )


def _irfft_adjoint(g: Any, x_shape: Shape, length: int, axis: int, norm: str) -> Any:
    return rfft(g, axis=axis, norm=ADJOINT[norm]) * _counted(length, 2, x_shape, axis)


def _frames(xp: Any, x: Any, *, length: int, step: int) -> Any:
    """A view of the frames that fit into the last axis,
    each beginning `step` after the one before.
    """
    count = max(0, 1 + (x.shape[-1] - length) // step)
    if not count or not length:
        return xp.zeros((*x.shape[:-1], count, length), x.dtype)
    return sliding_window_view(x, length, axis=-1)[..., ::step, :]


def _overlap_and_add(xp: Any, x: Any, *, step: int, size: int) -> Any:
    """Frame by frame, or piece by piece of `step` elements for all frames at once:
    whatever is done in fewer rounds.
    """
    *batch, count, length = x.shape
    pieces = -(-length // step)
    if count <= pieces:
        out = np.zeros((*batch, size), x.dtype)
        for i in range(count):
            out[..., i * step : i * step + length] += x[..., i, :]
        return out
    rows = max(count + pieces, -(-size // step))
    table = np.zeros((*batch, rows, step), x.dtype)
    for i in range(pieces):
        piece = x[..., i * step : (i + 1) * step]
        table[..., i : i + count, : piece.shape[-1]] += piece
    return table.reshape(*batch, rows * step)[..., :size]


def _frames_on_xla(xp: Any, x: Any, *, length: int, step: int) -> Any:
    """Side by side, the slices that hold the first `step` elements of all frames,
    then the next ones, and so on.
    """
    count = max(0, 1 + (x.shape[-1] - length) // step)
    pieces = -(-length // step)
    if not count or not length or pieces > _MOST_SLICES:
        places = np.arange(count)[:, None] * step + np.arange(length)
        return (
            xp.take(x, places, axis=-1)
            if count and length
            else xp.zeros((*x.shape[:-1], count, length), x.dtype)
        )
    size = (count + pieces - 1) * step
    fitted = xp.pad(x[..., :size], [*[(0, 0)] * (x.ndim - 1), (0, max(0, size - x.shape[-1]))])
    table = fitted.reshape(*x.shape[:-1], count + pieces - 1, step)
    return xp.concatenate([table[..., i : i + count, :] for i in range(pieces)], axis=-1)[
        ..., :length
    ]


def _overlap_and_add_on_xla(xp: Any, x: Any, *, step: int, size: int) -> Any:
    """The transpose of the same slices, each padded to its place."""
    *batch, count, length = x.shape
    pieces = -(-length // step)
    if not count or not length or pieces > _MOST_SLICES:
        places = (np.arange(count)[:, None] * step + np.arange(length)).reshape(-1)
        return (
            xp.zeros((*batch, size), x.dtype)
            .at[..., places]
            .add(x.reshape(*batch, count * length), mode="drop")
        )
    front = [(0, 0)] * len(batch)
    x = xp.pad(x, [*front, (0, 0), (0, pieces * step - length)])
    parts = [x[..., i * step : (i + 1) * step] for i in range(pieces)]
    table = sum(xp.pad(part, [*front, (i, pieces - 1 - i), (0, 0)]) for i, part in enumerate(parts))
    flat = table.reshape(*batch, (count + pieces - 1) * step)[..., :size]
    return xp.pad(flat, [*front, (0, size - flat.shape[-1])])


fft = op(
    "fft",
    _along_axes("fft"),
    [lambda g, axes, norm: ifft(g, axes=axes, norm=ADJOINT[norm])],
    linear=True,
    conjugate=False,
    batch=shifted("axes"),
    links=mixed_along_axes,
)
ifft = op(
    "ifft",
    _along_axes("ifft"),
    [lambda g, axes, norm: fft(g, axes=axes, norm=ADJOINT[norm])],
    linear=True,
    conjugate=False,
    batch=shifted("axes"),
    links=mixed_along_axes,
)
rfft = op(
    "rfft",
    _rfft,
    [_rfft_adjoint],
    linear=True,
    conjugate=False,
    batch=shifted("axis"),
    links=mixed_along_axes,
)
irfft = op(
    "irfft",
    _irfft,
    [_irfft_adjoint],
    linear=True,
    conjugate=False,
    batch=shifted("axis"),
    links=mixed_along_axes,
)

frames = op(
    "frames",
    _frames,
    [lambda g, x_shape, step: overlap_and_add(g, step=step, size=x_shape[-1])],
    linear=True,
    moves=True,
    batch=as_it_is,
    xla=_frames_on_xla,  # XLA has no views, and its gathers and scatters go element by element
)
overlap_and_add = op(
    "overlap_and_add",
    _overlap_and_add,
    [lambda g, x_shape, step: frames(g, length=x_shape[-1], step=step)],
    linear=True,
    batch=as_it_is,
    xla=_overlap_and_add_on_xla,
)
