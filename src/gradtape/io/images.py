"""Images as files hold them: `tf.io.decode_image` and its kin, with Pillow (extra `image`).

A decoder gives an array [height, width, channels] of uint8, or of uint16 for a PNG file of 16 bits.
What a file says of its size is checked before memory is asked for.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from gradtape import errors
from gradtape.extras import needed_for
from gradtape.io import png_files
from gradtape.io.png_files import DamagedImageError

_SIGNATURES = {
    b"\xff\xd8\xff": "JPEG", png_files.SIGNATURE: "PNG", b"GIF87a": "GIF", b"GIF89a": "GIF",
    b"BM": "BMP",
}  # fmt: skip
_LARGEST = 2**29
"""How many values an image may have, as in TensorFlow: a small file can say that it has more."""

# What a grey pixel has of each colour, and how it is rounded, is libpng's business, which
# TensorFlow asks.
_RED, _GREEN = 9797, 19234
_BLUE = 2**15 - _RED - _GREEN


def kind_of(data: bytes, function: str) -> str:
    """The kind of an image file, by how it begins."""
    for beginning, kind in _SIGNATURES.items():
        if data.startswith(beginning):
            return kind
    if not data:
        raise errors.invalid_argument(f"{function}: contents is empty.")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        raise errors.UnimplementedError(
            None, None, f"{function}: contents is a WebP image, which gradtape does not read."
        )
    raise errors.invalid_argument(
        f"{function}: contents is no JPEG, PNG, GIF or BMP image: it begins with {data[:8]!r}."
    )


# Pillow's plugins raise these for files that are not as they should be.
_UNREADABLE = (
    DamagedImageError, OSError, SyntaxError, ValueError, TypeError, IndexError, KeyError, EOFError,
    OverflowError, AssertionError, AttributeError,
)  # fmt: skip


class _Reading:
    """A block in which Pillow reads an image: what it raises names the function and the image."""

    def __init__(self, data: bytes, function: str, kind: str) -> None:
        self._size, self._function, self._kind = len(data), function, kind

    def __enter__(self) -> Any:
        self._library = needed_for(self._function, "PIL.Image", "image")
        return self._library

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        library = self._library
        what = f"{self._function}: this {self._kind} image"
        if isinstance(error, errors.OpError):
            return
        if isinstance(error, (library.DecompressionBombError, library.DecompressionBombWarning)):
            raise errors.invalid_argument(f"{what} is too large: {error}") from error
        if isinstance(error, (*_UNREADABLE, library.UnidentifiedImageError)):
            raise errors.invalid_argument(
                f"{what} of {self._size} bytes cannot be read: "
                f"{str(error).rstrip('.') or type(error).__name__}."
            ) from error


def _opened(library: Any, data: bytes, kind: str) -> Any:
    return library.open(io.BytesIO(data), formats=[kind])


def _require_size(*sizes: int) -> None:
    count = 1
    for size in sizes:
        count *= size
    if count > _LARGEST:
        shown = " x ".join(map(str, sizes))
        raise DamagedImageError(f"its size, {shown}, is more than {_LARGEST} values")


# Channels


def with_channels(pixels: Any, channels: int) -> Any:
    """An image with 1, 3 or 4 channels; 0 leaves those that it has."""
    found = pixels.shape[2]
    if channels in (0, found):
        return pixels
    if channels == 1:
        return pixels[..., :1] if found == 2 else _grey(pixels)
    color, alpha = (pixels, None) if found % 2 else (pixels[..., :-1], pixels[..., -1:])
    if color.shape[2] == 1:
        color = np.repeat(color, 3, axis=2)
    if channels == 3:
        return np.ascontiguousarray(color)
    if alpha is None:
        alpha = np.full((*color.shape[:2], 1), np.iinfo(color.dtype).max, color.dtype)
    return np.concatenate([color, alpha], axis=2)


def _grey(pixels: Any) -> Any:
    red, green, blue = (pixels[..., i].astype(np.uint32) for i in range(3))
    rounding = 2**14 if pixels.dtype == np.uint16 else 0
    mixed = (_RED * red + _GREEN * green + _BLUE * blue + rounding) >> 15
    same = (red == green) & (red == blue)
    return np.where(same, red, mixed).astype(pixels.dtype)[..., None]


# Files


def png_pixels(data: bytes, channels: int, function: str) -> Any:
    """The pixels of a PNG file."""
    with _Reading(data, function, "PNG") as library:
        width, height, depth, kind = png_files.header(data)
        _require_size(width, height, 4, 2 if depth == 16 else 1)
        png_files.check_chunks(data)
        image = _opened(library, data, "PNG")
        if depth == 16 and kind:
            pixels = png_files.pixels_of_16_bits(image, _opened(library, data, "PNG"), kind)
        elif depth == 16:
            pixels = np.asarray(image).astype(np.uint16)
        else:
            pixels = np.asarray(_converted(image))
        pixels = pixels.reshape(height, width, -1)
        if channels == 4 and pixels.shape[2] in (1, 3) and "transparency" in image.info:
            alike = (pixels == np.array(image.info["transparency"])).all(axis=2, keepdims=True)
            alpha = np.where(alike, 0, np.iinfo(pixels.dtype).max).astype(pixels.dtype)
            pixels = np.concatenate([with_channels(pixels, 3), alpha], axis=2)
    return with_channels(pixels, channels)


def _converted(image: Any) -> Any:
    """An image whose colours stand in its pixels; one of a palette has an alpha channel if some of
    its colours are transparent.
    """
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image.convert("L") if image.mode == "1" else image


def jpeg_pixels(
    data: bytes, channels: int, function: str, ratio: int = 1, *, recover: bool = False
) -> Any:
    """The pixels of a JPEG file, of which every `ratio`-th is wanted."""
    if channels == 4:
        raise errors.invalid_argument(f"{function}: a JPEG image cannot have channels=4.")
    with _Reading(data, function, "JPEG") as library:
        # Where a file is cut off, its end can be put there: what is missing is grey.
        image = _opened(library, data + b"\xff\xd9" if recover else data, "JPEG")
        width, height = image.size
        _require_size(width, height, 4)
        image.draft("L" if channels == 1 else None, (width / ratio, height / ratio))
        pixels = np.asarray(image)
    if image.mode == "CMYK":
        if channels == 1:
            raise errors.invalid_argument(
                f"{function}: this JPEG image is in CMYK, and cannot be read with channels=1."
            )
        ink, black = pixels[..., :3].astype(np.uint16), pixels[..., 3:].astype(np.uint16)
        pixels = ((255 - ink) * (255 - black) // 255).astype(np.uint8)
    return with_channels(pixels.reshape(*pixels.shape[:2], -1), channels)


def jpeg_shape(data: bytes, function: str) -> tuple[int, int, int]:
    """The height, the width and the number of channels of a JPEG file."""
    with _Reading(data, function, "JPEG") as library:
        image = _opened(library, data, "JPEG")
        width, height = image.size
        return height, width, len(image.getbands())


def bmp_pixels(data: bytes, channels: int, function: str) -> Any:
    """The pixels of a BMP file."""
    if channels == 1:
        raise errors.invalid_argument(
            f"{function}: channels must be 0, 3 or 4 for a BMP image, got 1."
        )
    with _Reading(data, function, "BMP") as library:
        image = _opened(library, data, "BMP")
        width, height = image.size
        _require_size(width, height, 4)
        if image.tile and "BGRX" in image.tile[0][3]:  # Pillow leaves its fourth byte out
            codec, box, offset, arguments = image.tile[0]
            image._mode = "RGBA"
            image.tile = [(codec, box, offset, ("BGRA", *arguments[1:]))]
        pixels = np.asarray(_converted(image)).reshape(height, width, -1)
    return with_channels(pixels, channels)


def gif_frames(data: bytes, function: str, *, only_first: bool = False) -> Any:
    """The frames of a GIF file, [frames, height, width, 3]; what is transparent is black."""
    with _Reading(data, function, "GIF") as library:
        count = _frames_in(data)
        image = _opened(library, data, "GIF")
        width, height = image.size
        frames = 1 if only_first else count
        _require_size(frames, width, height, 3)
        found = np.empty((frames, height, width, 3), np.uint8)
        for number in range(frames):
            image.seek(number)
            pixels = np.asarray(image.convert("RGBA"))
            found[number] = np.where(pixels[..., 3:] == 0, 0, pixels[..., :3])
    return found


def _frames_in(data: bytes) -> int:
    """How many images a GIF file has, which must be complete."""
    at = 13 + _palette_size(data[10:11])
    count = 0
    while True:
        match data[at : at + 1]:
            case b";":
                if not count:
                    raise DamagedImageError("there is no image in it")
                return count
            case b"!":
                at = _after_blocks(data, at + 2)
            case b",":
                count += 1
                at = _after_blocks(data, at + 11 + _palette_size(data[at + 9 : at + 10]))
            case b"":
                raise DamagedImageError(f"it ends after {len(data)} bytes, within its frames")
            case other:
                raise DamagedImageError(f"it has {other!r} at byte {at}, where a block begins")


def _palette_size(flags: bytes) -> int:
    return 3 << ((flags[0] & 7) + 1) if flags and flags[0] & 0x80 else 0


def _after_blocks(data: bytes, at: int) -> int:
    """The place after a row of blocks, the last of which is empty."""
    while at < len(data) and data[at]:
        at += data[at] + 1
    return at + 1
