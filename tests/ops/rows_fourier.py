"""Rows of `gradtape.ops.fourier`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import fourier as f

from .table import COMPLEX, FLOATS, INTS, Case, fails, real, sample

WIDE = ("float32", "float64")
OVER_AXES = [
    sample(real(2, 3), axes=(-1,)), sample(real(3, 2, 4), axes=(0, 2)),
    sample(real(5), axes=(0,), norm="ortho"), sample(real(2, 4), axes=(-2, -1), norm="forward"),
    sample(real(1), axes=(0,)), sample(real(0, 3), axes=(1,)), sample(real(2, 0), axes=(1,)),
    sample(real(2, 2), axes=()),
]  # fmt: skip


def transform(of):
    return lambda x, axes, norm="backward": of(x, axes=axes, norm=norm) if x.size and axes else x


def rfft(x, axis, norm="backward"):
    return np.fft.rfft(x, axis=axis, norm=norm) if x.shape[axis] else x.astype(np.complex128)


def irfft(x, length, axis, norm="backward"):
    """By the definition: the whole spectrum, then its complex transform."""
    x = np.moveaxis(x, axis, -1)
    if not length:
        return np.zeros(x.shape).swapaxes(axis, -1)
    tail = np.conj(x[..., 1 : (length + 1) // 2][..., ::-1])
    whole = np.concatenate([x[..., : length // 2 + 1], tail], -1)
    whole[..., 0] = whole[..., 0].real
    if length % 2 == 0:
        whole[..., length // 2] = whole[..., length // 2].real
    return np.moveaxis(np.fft.ifft(whole, norm=norm).real, -1, axis)


def frames(x, length, step):
    starts = range(0, x.shape[-1] - length + 1, step)
    return (
        np.stack([x[..., i : i + length] for i in starts], -2)
        if starts
        else np.zeros((*x.shape[:-1], 0, length), x.dtype)
    )


def overlap_and_add(x, step, size):
    out = np.zeros((*x.shape[:-2], size), x.dtype)
    for i in range(x.shape[-2]):
        out[..., i * step : i * step + x.shape[-1]] += x[..., i, :]
    return out


ROWS = [
    Case(
        f.fft, transform(np.fft.fftn), OVER_AXES, dtypes=COMPLEX,
        failures=[
            fails(np.ones(3, np.complex64), axes=(1,), says=["fft", "complex64[3]", "axes=(1,)"])],
    ),
    Case(f.ifft, transform(np.fft.ifftn), OVER_AXES, dtypes=COMPLEX),
    Case(
        f.rfft, rfft,
        [
            sample(real(2, 5), axis=-1), sample(real(6, 2), axis=0),
            sample(real(4), axis=0, norm="ortho"), sample(real(1), axis=0),
            sample(real(2), axis=-1, norm="forward"), sample(real(0, 3), axis=1),
            sample(real(2, 0), axis=-1),
        ],
        dtypes=WIDE,
    ),
    Case(
        f.irfft, irfft,
        [
            sample(real(2, 3), length=5, axis=-1), sample(real(4, 2), length=6, axis=0),
            sample(real(1), length=1, axis=0), sample(real(2), length=2, axis=0, norm="ortho"),
            sample(real(3), length=4, axis=0, norm="forward"), sample(real(0, 3), length=4, axis=1),
            sample(real(2, 0), length=0, axis=-1),
        ],
        dtypes=COMPLEX,
    ),
    Case(
        f.frames, frames,
        [
            sample(real(2, 7), length=3, step=2), sample(real(6), length=2, step=3),
            sample(real(4), length=5, step=1), sample(real(3), length=0, step=1),
            sample(real(0, 4), length=2, step=1), sample(real(5), length=4, step=1),
        ],
        dtypes=FLOATS + COMPLEX + INTS,
    ),
    Case(
        f.overlap_and_add, overlap_and_add,
        [
            sample(real(3, 4), step=2, size=8), sample(real(2, 2, 3), step=1, size=4),
            sample(real(5, 3), step=2, size=12), sample(real(4, 2), step=3, size=11),
            sample(real(0, 5), step=2, size=3), sample(real(2, 0), step=2, size=2),
            sample(real(0, 2, 3), step=1, size=4),
        ],
        dtypes=FLOATS + COMPLEX + ("int32", "int64"),
    ),
]  # fmt: skip
