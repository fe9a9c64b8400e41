"""The checksum of TensorFlow's files: CRC-32C, and the masked form in which it is stored.

A checksum that is stored beside its own data is masked, so that a checksum over both is no special
value. The package google-crc32c, which uses the processor's instruction for it, is imported when a
checksum is first wanted. Everything may use this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gradtape.extras import needed_for

_MASK = 0xA282EAD8


def crc32c(data: bytes, start: int = 0) -> int:
    """The checksum of bytes, or of what had the checksum `start` and then the bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    return _package().extend(start, data)


def masked(checksum: int) -> int:
    """A checksum as files store it."""
    return ((checksum >> 15 | checksum << 17) + _MASK) & 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum of bytes as files store it."""
    return masked(crc32c(data))


def checksum_function() -> Callable[[bytes], int]:
    """The function that computes the checksum of bytes, for those who call it often."""
    return _package().value


@cache
def _package() -> Any:
    return needed_for("A TFRecord or a checkpoint of TensorFlow's", "google_crc32c", "io")
