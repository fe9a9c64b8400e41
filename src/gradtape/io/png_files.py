"""PNG files: their parts, which are checked before Pillow reads them, and what Pillow cannot write.

Pillow skips the checksums of compressed data, and has no images of several channels of 16 bits:
`pixels_of_16_bits` has it read these a half at a time.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by the number of channels
_RAW_MODES = {"RGB": ("RGB;16B", "RGB;16L"), "RGBA": ("RGBA;16B", "RGBA;16L")}


class DamagedImageError(Exception):
    """What is wrong with an image."""


def check_chunks(data: bytes) -> None:
    """Raises an error unless a PNG file is complete and its parts match their checksums."""
    at, name = len(SIGNATURE), b""
    while name != b"IEND":
        if at + 12 > len(data):
            raise DamagedImageError(f"it ends after {len(data)} bytes, before its last chunk")
        size = int.from_bytes(data[at : at + 4], "big")
        name, end = data[at + 4 : at + 8], at + 8 + size
        if end + 4 > len(data):
            shown = name.decode("ascii", "backslashreplace")
            raise DamagedImageError(
                f"it ends after {len(data)} bytes, within the chunk {shown} at byte {at}"
            )
        expected = int.from_bytes(data[end : end + 4], "big")
        # A small first letter marks a part without which the image can be shown.
        if not name[0] & 0x20 and zlib.crc32(memoryview(data)[at + 4 : end]) != expected:
            shown = name.decode("ascii", "backslashreplace")
            raise DamagedImageError(f"the chunk {shown} at byte {at} does not match its checksum")
        at = end + 4


def header(data: bytes) -> tuple[int, int, int, int]:
    """The width, the height, the bits of a channel, and PNG's number of the kind of colours."""
    if len(data) < 33 or data[12:16] != b"IHDR":
        raise DamagedImageError("it does not begin with the chunk IHDR")
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    if not width or not height:
        raise DamagedImageError(f"its size is {width} x {height}")
    return width, height, depth, kind


def pixels_of_16_bits(opened: Any, again: Any, kind: int) -> Any:
    """The pixels of a PNG file with several channels of 16 bits, which was opened twice."""
    if kind == _COLOR_TYPES[2]:  # two channels of 16 bits are laid out as four of 8 bits
        opened._mode = "RGBA"
        _read_as(opened, "RGBA")
        return np.asarray(opened).view(">u2").astype(np.uint16)
    high, low = _RAW_MODES[opened.mode]
    _read_as(opened, high)
    _read_as(again, low)
    return np.asarray(opened).astype(np.uint16) << 8 | np.asarray(again)


def _read_as(image: Any, raw_mode: str) -> None:
    """Has Pillow take its bytes in another way than it had planned."""
    codec, box, offset, _ = image.tile[0]
    image.tile = [(codec, box, offset, raw_mode)]


def encoded(image: Any, compression: int) -> bytes:
    """A PNG file of an array of shape [height, width, channels], of uint8 or uint16."""
    height, width, channels = image.shape
    depth = image.dtype.itemsize * 8
    about = struct.pack(">IIBBBBB", width, height, depth, _COLOR_TYPES[channels], 0, 0, 0)
    big = np.ascontiguousarray(image.astype(image.dtype.newbyteorder(">"), copy=False))
    rows = big.reshape(height, -1).view(np.uint8)
    packed = zlib.compress(_filtered(rows, channels * depth // 8).tobytes(), compression)
    return SIGNATURE + _chunk(b"IHDR", about) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(data, zlib.crc32(name))
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)


def _filtered(rows: Any, step: int) -> Any:
    """Rows as differences from their neighbours, each in the way in which these are smallest; the
    number of the way stands before a row.
    """
    left, above = np.zeros_like(rows), np.zeros_like(rows)
    left[:, step:], above[1:] = rows[:, :-step], rows[:-1]
    corner = np.zeros_like(rows)
    corner[1:, step:] = rows[:-1, :-step]
    mean = ((left.astype(np.uint16) + above) // 2).astype(np.uint8)
    ways = [rows, rows - left, rows - above, rows - mean, rows - _paeth(left, above, corner)]
    costs = [np.abs(way.view(np.int8).astype(np.int16)).sum(axis=1, dtype=np.int64) for way in ways]
    chosen = np.argmin(costs, axis=0)
    found = np.empty((len(rows), rows.shape[1] + 1), np.uint8)
    found[:, 0] = chosen
    found[:, 1:] = np.choose(chosen[:, None], ways)
    return found


def _paeth(left: Any, above: Any, corner: Any) -> Any:
    """That of three neighbours which is nearest to left + above - corner."""
    a, b, c = (part.astype(np.int16) for part in (left, above, corner))
    from_a, from_b, from_c = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    nearest = np.where(from_b <= from_c, above, corner)
    return np.where((from_a <= from_b) & (from_a <= from_c), left, nearest)
