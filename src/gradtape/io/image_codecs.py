"""`tf.io.decode_image`, `decode_png`, `encode_png` and their kin, which `tf.image` has too."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from gradtape import dtypes, errors
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, integers
from gradtape.api.tensorflow.image.color import convert_image_dtype
from gradtape.convert import TENSORFLOW, on_host
from gradtape.core.tensor import Tensor
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import is_traced
from gradtape.extras import needed_for
from gradtape.io import images, png_files
from gradtape.io.byte_strings import one_string, strings
from gradtape.published import published

# Decoding


@published("io.decode_image", "image.decode_image")
def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a JPEG, PNG, GIF or BMP file: [height, width, channels], and [frames, height,
    width, 3] for a GIF file, of which only the first frame is given without `expand_animations`.

    `channels` is 1, 3 or 4, or 0 for those that the file has. Floats are between 0 and 1.

    >>> import gradtape as tf
    >>> data = tf.io.encode_png(tf.constant([[[0], [255]]], tf.uint8))
    >>> tf.io.decode_image(data, dtype=tf.float32).numpy().tolist()
    [[[0.0], [1.0]]]
    """
    data = one_string(contents, "decode_image: contents")
    count = _channels(0 if channels is None else channels, "decode_image")
    wanted = dtypes.as_dtype(dtype)
    kind = images.kind_of(data, "decode_image")
    pixels = _pixels(data, kind, count, "decode_image", all_frames=expand_animations)
    if wanted is dtypes.uint8:
        return Tensor(_of_8_bits(pixels))
    if wanted.is_floating and wanted is not dtypes.float64:  # float16 has no 65535
        most = 65535 if kind == "PNG" else 255
        wide = _of_16_bits(pixels) if kind == "PNG" else pixels
        floats = Tensor(wide.astype(np.float32) * np.float32(1 / most))
        return convert_image_dtype(floats, wanted)
    wide = _of_16_bits(pixels) if kind == "PNG" else pixels.astype(np.uint16) << 8
    return convert_image_dtype(Tensor(wide), wanted)


@published("io.decode_png", "image.decode_png")
def decode_png(
    contents: TensorLike,
    channels: int = 0,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
) -> Tensor:
    """The pixels of a PNG file, of uint8 or uint16; it reads JPEG files and GIF files of one frame,
    too.

    >>> import gradtape as tf
    >>> tf.io.decode_png(tf.io.encode_png(tf.zeros([2, 3, 1], tf.uint8))).shape
    TensorShape([2, 3, 1])
    """
    wanted = dtypes.as_dtype(dtype)
    if wanted not in (dtypes.uint8, dtypes.uint16):
        raise errors.invalid_argument(
            f"decode_png: dtype must be uint8 or uint16, got {wanted.name}: use decode_image."
        )
    data = one_string(contents, "decode_png: contents")
    pixels, kind = _one_image(data, channels, "decode_png")
    if wanted is dtypes.uint8:
        return Tensor(_of_8_bits(pixels))
    return Tensor(_of_16_bits(pixels) if kind == "PNG" else pixels.astype(np.uint16) << 8)


@published("io.decode_jpeg", "image.decode_jpeg")
def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG file; it reads PNG files and GIF files of one frame, too.

    `ratio` is 1, 2, 4 or 8: the image is made smaller by it while it is read. It is always read
    with the accurate transform, which TensorFlow calls "INTEGER_ACCURATE".

    >>> import gradtape as tf
    >>> tf.io.decode_jpeg(tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8)), ratio=2).shape
    TensorShape([2, 3, 3])
    """
    data = one_string(contents, "decode_jpeg: contents")
    _check_jpeg(fancy_upscaling, dct_method, "decode_jpeg")
    pixels, _ = _one_image(
        data, channels, "decode_jpeg", ratio=ratio, recover=try_recover_truncated
    )
    return Tensor(_of_8_bits(pixels))


@published("io.decode_and_crop_jpeg", "image.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG file: `crop_window` is [top, left, height, width].

    >>> import gradtape as tf
    >>> data = tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))
    >>> tf.io.decode_and_crop_jpeg(data, [1, 2, 2, 3]).shape
    TensorShape([2, 3, 3])
    """
    function = "decode_and_crop_jpeg"
    data = one_string(contents, f"{function}: contents")
    _check_jpeg(fancy_upscaling, dct_method, function)
    _require_ratio(ratio, function)
    window = integers(crop_window, f"{function}: crop_window")
    if len(window) != 4:
        raise errors.invalid_argument(
            f"{function}: crop_window must be [top, left, height, width], got {list(window)}."
        )
    count = _channels(channels, function)
    pixels = images.jpeg_pixels(data, count, function, ratio, recover=try_recover_truncated)
    top, left, height, width = window
    if (
        min(top, left) < 0
        or min(height, width) < 1
        or (top + height > pixels.shape[0] or left + width > pixels.shape[1])
    ):
        raise errors.invalid_argument(
            f"{function}: crop_window={list(window)} is not inside of the image, which is "
            f"{pixels.shape[0]} x {pixels.shape[1]}."
        )
    return Tensor(np.ascontiguousarray(pixels[top : top + height, left : left + width]))


@published("io.decode_gif", "image.decode_gif")
def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """The frames of a GIF file, [frames, height, width, 3]; it reads JPEG and PNG files as one
    frame.

    >>> import gradtape as tf
    >>> tf.io.decode_gif(tf.io.encode_png(tf.zeros([2, 3, 3], tf.uint8))).shape
    TensorShape([1, 2, 3, 3])
    """
    data = one_string(contents, "decode_gif: contents")
    kind = images.kind_of(data, "decode_gif")
    if kind == "BMP":
        raise _other_kind(kind, "decode_gif")
    pixels = _of_8_bits(_pixels(data, kind, 3, "decode_gif", all_frames=True))
    return Tensor(pixels if pixels.ndim == 4 else pixels[None])


@published("io.decode_bmp", "image.decode_bmp")
def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    r"""The pixels of a BMP file.

    >>> import gradtape as tf
    >>> head = "42 4d 3a000000 00000000 36000000 28000000 01000000 01000000 0100 1800"
    >>> data = bytes.fromhex(head) + bytes(24) + b"\x01\x02\x03\x00"
    >>> tf.io.decode_bmp(data).numpy().tolist()
    [[[3, 2, 1]]]
    """
    data = one_string(contents, "decode_bmp: contents")
    count = _channels(channels, "decode_bmp")
    kind = images.kind_of(data, "decode_bmp")
    if kind != "BMP":
        raise _other_kind(kind, "decode_bmp")
    return Tensor(images.bmp_pixels(data, count, "decode_bmp"))


@published("io.is_jpeg", "image.is_jpeg")
def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether strings begin as JPEG files do.

    >>> import gradtape as tf
    >>> tf.io.is_jpeg(tf.io.encode_jpeg(tf.zeros([2, 2, 3], tf.uint8))).numpy()
    np.True_
    """
    given = strings(contents, "is_jpeg: contents")
    found = [data.startswith(b"\xff\xd8\xff") for data in given.reshape(-1).tolist()]
    return Tensor(np.array(found, bool).reshape(given.shape)[()])


@published("io.extract_jpeg_shape", "image.extract_jpeg_shape")
def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """The height, the width and the number of channels of a JPEG file, without its pixels.

    >>> import gradtape as tf
    >>> data = tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))
    >>> tf.io.extract_jpeg_shape(data).numpy()
    array([4, 6, 3], dtype=int32)
    """
    wanted = dtypes.as_dtype(output_type)
    if wanted not in (dtypes.int32, dtypes.int64):
        raise errors.invalid_argument(
            f"extract_jpeg_shape: output_type must be int32 or int64, got {wanted.name}."
        )
    data = one_string(contents, "extract_jpeg_shape: contents")
    return Tensor(np.array(images.jpeg_shape(data, "extract_jpeg_shape"), wanted.numpy))


def _channels(channels: Any, function: str) -> int:
    found = as_int(channels, f"{function}: channels")
    if found not in (0, 1, 3, 4):
        raise errors.invalid_argument(f"{function}: channels must be 0, 1, 3 or 4, got {found}.")
    return found


def _one_image(
    data: bytes, channels: Any, function: str, *, ratio: Any = 1, recover: bool = False
) -> tuple[Any, str]:
    """The pixels of an image of one frame, and its kind."""
    count = _channels(channels, function)
    scale = _require_ratio(ratio, function)
    kind = images.kind_of(data, function)
    if kind == "BMP":
        raise _other_kind(kind, function)
    if kind == "JPEG":
        return images.jpeg_pixels(data, count, function, scale, recover=recover), kind
    pixels = _pixels(data, kind, count, function, all_frames=True)
    if kind == "GIF":
        if len(pixels) > 1:
            raise errors.invalid_argument(
                f"{function}: this GIF image has {len(pixels)} frames: use decode_gif or "
                "decode_image."
            )
        pixels = pixels[0]
    return pixels, kind


def _pixels(data: bytes, kind: str, channels: int, function: str, *, all_frames: bool) -> Any:
    match kind:
        case "PNG":
            return images.png_pixels(data, channels, function)
        case "JPEG":
            return images.jpeg_pixels(data, channels, function)
        case "BMP":
            return images.bmp_pixels(data, channels, function)
    if channels not in (0, 3):
        raise errors.invalid_argument(
            f"{function}: channels must be 0 or 3 for a GIF image, got {channels}."
        )
    frames = images.gif_frames(data, function, only_first=not all_frames)
    return frames if all_frames else frames[0]


def _require_ratio(ratio: Any, function: str) -> int:
    found = as_int(ratio, f"{function}: ratio")
    if found not in (1, 2, 4, 8):
        raise errors.invalid_argument(f"{function}: ratio must be 1, 2, 4 or 8, got {found}.")
    return found


def _check_jpeg(fancy_upscaling: Any, method: str, function: str) -> None:
    if method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise errors.invalid_argument(
            f"{function}: dct_method must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', got "
            f"{method!r}."
        )
    if not fancy_upscaling:
        raise errors.UnimplementedError(
            None, None, f"{function}: fancy_upscaling=False cannot be asked of Pillow."
        )


def _other_kind(kind: str, function: str) -> errors.InvalidArgumentError:
    return errors.invalid_argument(
        f"{function}: contents is a {kind} image: use decode_{kind.lower()} or decode_image."
    )


def _of_8_bits(pixels: Any) -> Any:
    return (pixels >> 8).astype(np.uint8) if pixels.dtype == np.uint16 else np.array(pixels)


def _of_16_bits(pixels: Any) -> Any:
    return pixels if pixels.dtype == np.uint16 else pixels.astype(np.uint16) * 257


# Encoding


@published("io.encode_png", "image.encode_png")
def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """PNG files of images [..., height, width, channels] of uint8 or uint16, with 1 to 4 channels;
    `compression` is 0 to 9, or -1 for zlib's default.

    >>> import gradtape as tf
    >>> image = tf.constant([[[1, 2, 3], [4, 5, 6]]], tf.uint8)
    >>> tf.io.decode_png(tf.io.encode_png(image)).numpy().tolist()
    [[[1, 2, 3], [4, 5, 6]]]
    """
    pixels = _given(image, "encode_png", (dtypes.uint8, dtypes.uint16))
    level = as_int(compression, "encode_png: compression")
    if not -1 <= level <= 9:
        raise errors.invalid_argument(f"encode_png: compression must be -1 to 9, got {level}.")
    if pixels.ndim < 3 or not 1 <= pixels.shape[-1] <= 4 or 0 in pixels.shape[-3:]:
        raise errors.invalid_argument(
            "encode_png: image must have shape [..., height, width, channels], with 1 to 4 "
            f"channels, got {pixels.shape}."
        )
    found = np.empty(pixels.shape[:-3], object)
    for place in np.ndindex(found.shape):
        found[place] = png_files.encoded(pixels[place], level)
    return Tensor(found)


@published("io.encode_jpeg", "image.encode_jpeg")
def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file of an image [height, width, channels] of uint8, with 1 or 3 channels.

    >>> import gradtape as tf
    >>> data = tf.io.encode_jpeg(tf.fill([8, 8, 3], tf.constant(100, tf.uint8)))
    >>> tf.io.decode_jpeg(data).numpy()[0, 0].tolist()
    [100, 100, 100]
    """
    pixels = _given(image, "encode_jpeg", (dtypes.uint8,))
    wanted = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}.get(format)
    level = as_int(quality, "encode_jpeg: quality")
    if wanted is None:
        raise errors.invalid_argument(
            f"encode_jpeg: format must be '', 'grayscale' or 'rgb', got {format!r}."
        )
    if pixels.ndim != 3 or pixels.shape[2] not in wanted or 0 in pixels.shape:
        raise errors.invalid_argument(
            "encode_jpeg: image must have shape [height, width, channels], with "
            f"{' or '.join(map(str, wanted))} channels, got {pixels.shape}."
        )
    if not 0 <= level <= 100:
        raise errors.invalid_argument(f"encode_jpeg: quality must be 0 to 100, got {level}.")
    if density_unit not in ("in", "cm"):
        raise errors.invalid_argument(
            f"encode_jpeg: density_unit must be 'in' or 'cm', got {density_unit!r}."
        )
    if max(pixels.shape) > 65535:
        raise errors.invalid_argument(
            f"encode_jpeg: a JPEG image has at most 65535 pixels a side, got {pixels.shape}."
        )
    library, written = needed_for("encode_jpeg", "PIL.Image", "image"), io.BytesIO()
    made = library.fromarray(
        np.ascontiguousarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    )
    more: dict[str, Any] = {"xmp": xmp_metadata.encode()} if xmp_metadata else {}
    made.save(
        written, "JPEG", quality=level, progressive=bool(progressive), optimize=bool(optimize_size),
        subsampling=2 if chroma_downsampling else 0, dpi=(x_density, y_density), **more,
    )  # fmt: skip
    found = np.empty((), object)
    found[()] = _with_unit(written.getvalue(), density_unit)
    return Tensor(found)


def _with_unit(data: bytes, unit: str) -> bytes:
    """A JPEG file whose densities are for inches or for centimetres; Pillow says inches."""
    assert data[6:11] == b"JFIF\0"
    return data[:13] + struct.pack("B", 2 if unit == "cm" else 1) + data[14:]


def _given(image: Any, function: str, allowed: tuple[dtypes.DType, ...]) -> Any:
    tensor = TENSORFLOW.tensor(image, f"{function}: image")
    if is_traced(tensor):
        raise BeyondXlaError(
            f"{function}: a compiled program cannot hold strings: call it outside the function."
        )
    if tensor.dtype not in allowed:
        raise errors.invalid_argument(
            f"{function}: image must be of {' or '.join(d.name for d in allowed)}, got "
            f"{tensor.dtype.name}: use image.convert_image_dtype."
        )
    return on_host(tensor.array)
