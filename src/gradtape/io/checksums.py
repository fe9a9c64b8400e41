"""The checksum of TFRecords and of TensorFlow's other files: CRC-32C, masked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gradtape.io.extras import needed_for


@cache
def crc32c() -> Callable[[bytes], int]:
    """The function that computes the CRC-32C of bytes."""
    found: Callable[[bytes], int] = needed_for("A TFRecord", "google_crc32c", "io").value
    return found


def masked(checksum: int) -> int:
    """A checksum as it is stored: that of data which holds checksums itself says more this way."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
