"""Reading compressed files: gzip and zlib, as a stream of bytes."""

from __future__ import annotations

import io
import zlib
from typing import Any, BinaryIO

from gradtape import errors

WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}
"""By the name of a compression, how zlib is told of it."""

_PIECE = 2**16


def inflated(file: BinaryIO, kind: str, name: str) -> BinaryIO:
    """What a compressed file holds; errors name it."""
    return io.BufferedReader(_Inflated(file, kind, name), 4 * _PIECE)


class _Inflated(io.RawIOBase):
    """The bytes of a compressed file, of which no more are made than are asked for.

    Several compressed streams in one file are one after the other, as gzip has it.
    """

    def __init__(self, file: BinaryIO, kind: str, name: str) -> None:
        self._file = file
        self._kind = kind
        self._name = name
        self._stream: Any = None
        self._waiting = b""  # compressed bytes that are not needed yet

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if not self._waiting:
                self._waiting = self._file.read(_PIECE)
                if not self._waiting:
                    if self._stream is not None:
                        raise self._damaged("it ends before its compressed data do")
                    return 0
            if self._stream is None:
                self._stream = zlib.decompressobj(WINDOW_BITS[self._kind])
            try:
                found = self._stream.decompress(self._waiting, len(buffer))
            except zlib.error as error:
                raise self._damaged(f"its compressed data cannot be read ({error})") from error
            self._waiting = self._stream.unconsumed_tail
            if self._stream.eof:
                self._waiting, self._stream = self._stream.unused_data, None
            if found:
                buffer[: len(found)] = found
                return len(found)

    def _damaged(self, reason: str) -> errors.DataLossError:
        return errors.DataLossError(
            None, None, f"{self._name}: {reason}: is it a {self._kind} file?"
        )
