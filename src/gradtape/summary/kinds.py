"""The kinds of summaries that TensorBoard has pages for: scalars, histograms, images, text and
sound.
"""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from gradtape import dtypes, errors
from gradtape.api.tensorflow.arguments import TensorLike, as_int
from gradtape.api.tensorflow.image.color import convert_image_dtype
from gradtape.core.tensor import Tensor
from gradtape.engines.numpy.engine import Quiet
from gradtape.io import png_files
from gradtape.published import published
from gradtape.summary.recording import STRING, record, tag_of
from gradtape.summary.writers import tensorboards

_BUCKETS = 30
_LARGE, _SMALL = np.finfo(np.float64).max / 4, 1e-290
# What the header of a WAV file holds of 16-bit samples; bytes a second are its 32-bit number.
_MOST_CHANNELS, _MOST_RATE = (2**16 - 1) // 2, (2**32 - 1) // 2


def _about(plugin: str, description: str | None, **more: Any) -> Any:
    """What says which page of TensorBoard's shows a summary."""
    metadata = tensorboards(f"plugins.{plugin}.metadata")
    if plugin == "audio":
        more["encoding"] = metadata.Encoding.Value("WAV")
    return metadata.create_summary_metadata(display_name=None, description=description, **more)


@published("summary.scalar")
def scalar(name: str, data: TensorLike, step: Any = None, description: str | None = None) -> Tensor:
    """Writes a number; True if it was written, False if there is no default writer.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     print(tf.summary.scalar("loss", 0.5, step=1).numpy())
    True
    """

    def shown(array: Any) -> Any:
        if np.ndim(array):
            raise ValueError(f"scalar: data must be a scalar, got shape {np.shape(array)}.")
        return _real(array, "scalar").astype(np.float32)

    return record(
        tag_of(name), data, shown, step, lambda: _about("scalar", description), "scalar: data"
    )


def _real(array: Any, function: str) -> Any:
    array = np.asarray(array)
    if array.dtype == STRING:
        raise errors.invalid_argument(f"{function}: data must be numbers, got strings.")
    return array.real if array.dtype.kind == "c" else array


@published("summary.histogram")
def histogram(
    name: str,
    data: TensorLike,
    step: Any = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Tensor:
    """Writes how many numbers lie in each of `buckets` (30) equal ranges from the smallest to the
    largest.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     print(tf.summary.histogram("weights", [1.0, 2.0, 3.0], step=1).numpy())
    True
    """
    count = max(0, as_int(_BUCKETS if buckets is None else buckets, "histogram: buckets"))
    return record(
        tag_of(name), data, lambda array: _counted(_real(array, "histogram"), count), step,
        lambda: _about("histogram", description), "histogram: data",
    )  # fmt: skip


def _counted(array: Any, count: int) -> Any:
    """The left end, the right end and the number of values of each bucket."""
    values = array.reshape(-1).astype(np.float64)
    found = np.zeros((count, 3))
    if not values.size or not count:
        return found
    low, high = values.min(), values.max()
    if low == high:
        found[:, :2] = high
        found[-1, 2] = values.size
        return found
    scale = 1.0  # so that neither the range is infinite nor a bucket's width 0
    if max(-low, high) > _LARGE:
        scale = 4.0
    elif high / 2 - low / 2 < _SMALL:
        scale = 2.0**-600
    values, low, high = values / scale, low / scale, high / scale
    with Quiet():  # of infinite numbers
        edges = np.linspace(low, high, count + 1) * scale
    found[:, 0], found[:, 1] = edges[:-1], edges[1:]
    if np.isfinite(low) and np.isfinite(high):
        places = np.floor((values - low) / ((high - low) / count)).astype(np.int64)
        found[:, 2] = np.bincount(np.minimum(places, count - 1), minlength=count)
    return found


@published("summary.image")
def image(
    name: str,
    data: TensorLike,
    step: Any = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> Tensor:
    """Writes the first `max_outputs` of images [number, height, width, channels] with 1 to 4
    channels: integers, or floats from 0 to 1.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     print(tf.summary.image("noise", tf.random.uniform([2, 8, 8, 3]), step=1).numpy())
    True
    """
    most = as_int(max_outputs, "image: max_outputs")
    if most < 0:
        raise errors.invalid_argument(f"image: max_outputs must not be negative, got {most}.")

    def shown(array: Any) -> Any:
        pixels = np.asarray(array)
        if pixels.ndim != 4:
            raise ValueError(
                "image: data must have shape [number, height, width, channels], got "
                f"{pixels.shape}."
            )
        _, height, width, channels = pixels.shape
        if not 1 <= channels <= 4 or not height or not width:
            raise errors.invalid_argument(
                f"image: data must have 1 to 4 channels and some pixels, got shape {pixels.shape}."
            )
        if pixels.dtype.kind in "bc":
            raise errors.invalid_argument(
                f"image: data must be integers or floats, got dtype {pixels.dtype}: convert it "
                "with gradtape.cast."
            )
        bytes_of = convert_image_dtype(Tensor(pixels[:most]), dtypes.uint8, saturate=True).numpy()
        files = [png_files.encoded(one, -1) for one in bytes_of]
        return _strings([str(width).encode(), str(height).encode(), *files])

    return record(
        tag_of(name), data, shown, step, lambda: _about("image", description), "image: data"
    )


def _strings(values: list[bytes]) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found


@published("summary.text")
def text(name: str, data: TensorLike, step: Any = None, description: str | None = None) -> Tensor:
    """Writes text, which may be Markdown; a vector or a matrix of strings is shown as a table.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     print(tf.summary.text("note", "It is **learning**.", step=1).numpy())
    True
    """

    def shown(array: Any) -> Any:
        found = np.asarray(array)
        if found.dtype != STRING:
            raise TypeError(f"text: data must be strings, got dtype {found.dtype}.")
        return found

    return record(
        tag_of(name), data, shown, step, lambda: _about("text", description), "text: data"
    )


@published("summary.audio")
def audio(
    name: str,
    data: TensorLike,
    sample_rate: int,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Writes the first `max_outputs` of sounds [number, samples, channels] of floats from -1 to 1,
    as WAV files.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     print(tf.summary.audio("noise", tf.zeros([1, 100, 1]), 8000, step=1).numpy())
    True
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"audio: encoding must be 'wav', got {encoding!r}.")
    most = as_int(max_outputs, "audio: max_outputs")
    rate = as_int(sample_rate, "audio: sample_rate")
    if most < 0:
        raise errors.invalid_argument(f"audio: max_outputs must not be negative, got {most}.")
    if not 1 <= rate <= _MOST_RATE:
        raise errors.invalid_argument(
            f"audio: sample_rate must be from 1 to {_MOST_RATE}, got {rate}."
        )

    def shown(array: Any) -> Any:
        samples = _real(array, "audio")
        if samples.ndim != 3:
            raise ValueError(
                f"audio: data must have shape [number, samples, channels], got {samples.shape}."
            )
        if not 1 <= samples.shape[2] <= _MOST_CHANNELS:
            raise errors.invalid_argument(
                f"audio: data must have 1 to {_MOST_CHANNELS} channels, got shape {samples.shape}."
            )
        files = [_wave(one, rate) for one in samples[:most]]
        found = np.empty((len(files), 2), object)
        found[:, 0], found[:, 1] = _strings(files), b""
        return found

    return record(
        tag_of(name), data, shown, step, lambda: _about("audio", description), "audio: data"
    )


def _wave(samples: Any, rate: int) -> bytes:
    """A WAV file of 16 bits."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        loud = np.clip(np.nan_to_num(samples.astype(np.float64)), -1.0, 1.0)
        file.writeframes(np.round(loud * 32767.0).astype("<i2").tobytes())
    return written.getvalue()
