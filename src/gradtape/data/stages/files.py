"""Sources in files: lines of text, records of a fixed length, TFRecords, and names of files."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import IO, Any

import numpy as np

from gradtape import dtypes
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.stage import UNKNOWN, Run, Stage, StageIterator
from gradtape.errors import DataLossError, NotFoundError, invalid_argument
from gradtape.shapes import TensorSpec

_CHUNK = 256 * 1024
_COMPRESSIONS = ("", "GZIP", "ZLIB")

Read = Callable[[str], Iterator[bytes]]
"""The records of a file."""


def matching(pattern: Any) -> list[bytes]:
    """The names of the files that match a pattern, or one of several, sorted."""
    patterns = as_tensor(pattern, argument="list_files: file_pattern")
    if patterns.dtype != dtypes.string:
        raise TypeError(
            f"list_files: file_pattern must be text, got a tensor of {patterns.dtype.name}."
        )
    texts = [os.fsdecode(text) for text in patterns.array.reshape(-1).tolist()]
    found = sorted({name for text in texts for name in glob.glob(text)})  # noqa: PTH207
    if not found:
        raise invalid_argument(f"list_files: no files matched {', '.join(map(repr, texts))}.")
    return [os.fsencode(name) for name in found]


class Records(Stage):
    """The records of files, one file after the other; the names are another stage's elements."""

    def __init__(self, names: Stage, read: Read, name: str) -> None:
        super().__init__(names)
        self.name = name
        self._read = read

    @cached_property
    def spec(self) -> Any:
        return TensorSpec([], dtypes.string)

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return RecordsOfFiles(self.input.iterator(run), self._read)


class RecordsOfFiles(StageIterator):
    """The records of one file after the other; an error of one does not end the others."""

    def __init__(self, names: StageIterator, read: Read) -> None:
        super().__init__(names)
        self._read = read
        self._now: Iterator[bytes] | None = None

    def __next__(self) -> Any:
        record = self.next_record()
        if record is None:
            raise StopIteration
        return Tensor(_text(record))

    def next_record(self, *, stay: bool = False) -> bytes | None:
        """The next record, None at the end; with `stay`, at the end of the file of now."""
        while True:
            if self._now is None:
                if stay:
                    return None
                name = next(self.inputs[0], None)
                if name is None:
                    return None
                self._now = self._read(os.fsdecode(name.array[()]))
            try:
                return next(self._now)
            except StopIteration:
                self._now = None
            except Exception:
                self._now = None  # the next call goes on with the next file
                raise

    def close(self) -> None:
        end = getattr(self._now, "close", None)
        if end is not None:
            end()
        self._now = iter(())
        super().close()


def _text(record: bytes) -> Any:
    found = np.empty((), object)
    found[()] = record
    return found


def check_compression(compression: str | None, stage: str) -> str:
    kind = "" if compression is None else compression
    if kind not in _COMPRESSIONS:
        raise invalid_argument(
            f"{stage}: compression_type must be one of '', 'GZIP' and 'ZLIB', got {compression!r}."
        )
    return kind


def lines_of(path: str, compression: str) -> Iterator[bytes]:
    """The lines of a file, without their ends."""
    rest = b""
    for chunk in chunks(path, compression):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
    if rest:
        yield rest.removesuffix(b"\r")


def fixed_records(
    path: str, compression: str, *, size: int, header: int, footer: int
) -> Iterator[bytes]:
    """Records of `size` bytes, between a header and a footer."""
    held, skipped, place = b"", 0, 0
    for chunk in chunks(path, compression):
        held += chunk
        if skipped < header:
            cut = min(header - skipped, len(held))
            held, skipped = held[cut:], skipped + cut
        at = 0
        while len(held) - at >= size + footer:
            yield held[at : at + size]
            at += size
            place += 1
        held = held[at:]
    if skipped < header or len(held) != footer:
        raise DataLossError(
            None,
            None,
            f"FixedLengthRecordDataset: '{path}' has {len(held)} bytes after record {place} in "
            f"place of a footer of {footer}: without header and footer, its length must be a "
            f"multiple of {size} bytes.",
        )


def chunks(path: str, compression: str) -> Iterator[bytes]:
    """The bytes of a file, decompressed."""
    try:
        with _opened(path, compression) as opened:
            if compression == "ZLIB":
                yield from _inflated(opened)
                return
            while chunk := opened.read(_CHUNK):
                yield chunk
    except FileNotFoundError as error:
        raise NotFoundError(None, None, f"{path}: there is no such file.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataLossError(
            None, None, f"{path}: is not a complete file of compression {compression}: {error}"
        ) from error


def _opened(path: str, compression: str) -> IO[bytes]:
    if compression == "GZIP":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return open(path, "rb")  # noqa: PTH123 - the caller closes it


def _inflated(opened: IO[bytes]) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    while chunk := opened.read(_CHUNK):
        yield stream.decompress(chunk)
    yield stream.flush()
    if not stream.eof:
        raise EOFError("it ends in the middle")
