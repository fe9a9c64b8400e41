"""TFRecords: files of byte strings, each with its length and checksums.

A record is its length in 8 bytes, the checksum of these, the bytes themselves, and their checksum.
`read_records` reads a file, `TFRecordWriter` writes one.
"""

from __future__ import annotations

import io
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from struct import Struct
from typing import Any, BinaryIO, Self
from weakref import finalize

from gradtape import errors
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.crc32c import checksum_function, masked
from gradtape.io.inflating import WINDOW_BITS, inflated
from gradtape.io.paths import PathLike, file_errors, open_binary, text_of
from gradtape.published import published

_LENGTH, _CHECKSUM, _HEADER = Struct("<Q"), Struct("<I"), Struct("<QI")
_AT_ONCE = 2**24  # bytes of one record that are asked for before some have arrived
_HELD = 2**18  # bytes of records that a writer collects


# Reading


def read_records(path: PathLike, compression_type: str | None = "") -> Iterator[bytes]:
    """The records of a file, one after the other.

    A record that is damaged or cut off raises a DataLossError, which names the file and where the
    record begins; nothing is left out.
    """
    name = text_of(path, "read_records: path")
    kind = _checked_type(compression_type)
    return _records(name, kind)


def _records(name: str, kind: str) -> Iterator[bytes]:
    checksum_of, read_header, read_checksum = (
        checksum_function(),
        _HEADER.unpack,
        _CHECKSUM.unpack_from,
    )
    offset = 0
    with open_binary(name, buffering=_HELD) as file, file_errors(name):
        read = (inflated(file, kind, name) if kind else file).read
        while header := read(12):
            if len(header) < 12:
                raise _lost(name, offset, "the file ends within its header")
            length, expected = read_header(header)
            if masked(checksum_of(header[:8])) != expected:
                hint = "" if offset else ", so this may be no TFRecord file, or a compressed one"
                raise _lost(name, offset, f"its length does not match its checksum{hint}")
            data = read(length + 4) if length < _AT_ONCE else _read_much(read, length + 4)
            if len(data) < length + 4:
                raise _lost(
                    name, offset,
                    f"the file ends within it, after {len(data)} of {length + 4} bytes",
                )  # fmt: skip
            record = data[:length]
            if masked(checksum_of(record)) != read_checksum(data, length)[0]:
                raise _lost(name, offset, "its bytes do not match their checksum")
            yield record
            offset += length + 16


def _read_much(read: Callable[[int], bytes], size: int) -> bytes:
    """Reads in pieces: a length may be wrong, and memory for it must not be asked for at once."""
    found = bytearray()
    while len(found) < size and (piece := read(min(_AT_ONCE, size - len(found)))):
        found += piece
    return bytes(found)


def _lost(name: str, offset: int, reason: str) -> errors.DataLossError:
    return errors.DataLossError(
        None, None, f"{name}: the record at byte {offset} is damaged: {reason}."
    )


def tf_record_iterator(path: PathLike, options: Any = None) -> Iterator[bytes]:
    """The records of a TFRecord file.

    >>> import gradtape as tf, tempfile
    >>> path = tempfile.mkdtemp() + "/two.tfrecord"
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> from gradtape.io.tfrecord import tf_record_iterator
    >>> list(tf_record_iterator(path))
    [b'one', b'two']
    """
    return read_records(path, TFRecordOptions.get_compression_type_string(options))


# Writing


@published("io.TFRecordOptions")
class TFRecordOptions:
    """How a TFRecordWriter compresses: `compression_type` is "GZIP", "ZLIB" or "", and the other
    arguments are zlib's, with zlib's defaults.

    >>> import gradtape as tf
    >>> tf.io.TFRecordOptions("GZIP", compression_level=9).compression_type
    'GZIP'
    """

    def __init__(
        self,
        compression_type: str | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        _checked_type(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @staticmethod
    def get_compression_type_string(options: TFRecordOptions | str | None) -> str:
        """The name of the compression of options, which may be such a name: "" for none."""
        return _checked_type(
            options.compression_type if isinstance(options, TFRecordOptions) else options
        )

    def compressor(self) -> Any:
        """zlib's object that compresses; None if nothing is compressed."""
        kind = _checked_type(self.compression_type)
        if not kind:
            return None
        try:
            return zlib.compressobj(
                level=_or_default(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
                method=_or_default(self.compression_method, zlib.DEFLATED),
                wbits=_window(self.window_bits, kind),
                memLevel=_or_default(self.mem_level, 9),
                strategy=_or_default(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
            )
        except (TypeError, ValueError, OverflowError, zlib.error) as error:
            raise errors.invalid_argument(
                f"TFRecordOptions: zlib takes no {vars(self)}: {error}."
            ) from error


def _or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def _window(bits: int | None, kind: str) -> int:
    """zlib's window; 16 more make a gzip file of it, and TensorFlow's users give them or not."""
    if bits is None:
        return WINDOW_BITS[kind]
    return bits + 16 if kind == "GZIP" and bits <= 15 else bits


def _checked_type(kind: Any) -> str:
    """The name of a compression: "", "GZIP" or "ZLIB"."""
    if kind is None:
        return ""
    if not isinstance(kind, str) or kind not in {"", *WINDOW_BITS}:
        raise ValueError(f"compression_type must be '', 'GZIP' or 'ZLIB', got {kind!r}.")
    return kind


@published("io.TFRecordWriter")
class TFRecordWriter:
    """Writes byte strings to a TFRecord file; `options` is a TFRecordOptions or "GZIP" or "ZLIB".

    Threads may share it. It is closed at the end of a `with` block, by `close`, or when the program
    ends. An interrupt leaves only whole records in the file.

    >>> import gradtape as tf, tempfile
    >>> from gradtape.io.tfrecord import read_records
    >>> path = tempfile.mkdtemp() + "/two.tfrecord"
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> list(read_records(path))
    [b'one', b'two']
    """

    def __init__(self, path: PathLike, options: TFRecordOptions | str | None = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        name = text_of(path, "TFRecordWriter: path")
        compressor, checksum_of = options.compressor(), checksum_function()
        self._checksum_of = checksum_of
        self._output = _Output(name, compressor)
        self._finalize = finalize(self, self._output.close, os.getpid())

    def write(self, record: bytes | bytearray | str) -> None:
        """Adds a record."""
        if isinstance(record, (Tensor, Variable)):
            record = record.numpy()
        if isinstance(record, str):
            record = record.encode()
        elif not isinstance(record, bytes):
            if not isinstance(record, (bytearray, memoryview)):
                raise TypeError(
                    "TFRecordWriter.write: record must be bytes, got "
                    f"{record!r} of type {type(record).__name__}: for a message of protobuf's, "
                    "give its SerializeToString()."
                )
            record = bytes(record)
        size, checksum_of = _LENGTH.pack(len(record)), self._checksum_of
        before = _CHECKSUM.pack(masked(checksum_of(size)))
        after = _CHECKSUM.pack(masked(checksum_of(record)))
        self._output.add(b"".join((size, before, record, after)))

    def flush(self) -> None:
        """Hands all records so far to the operating system."""
        self._output.flush()

    def close(self) -> None:
        """Writes what is left and closes the file; a second call does nothing."""
        self._output.close(os.getpid())
        self._finalize.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _Output:
    """The file of a writer, and what is not in it yet.

    A signal may interrupt everything here. How much of the pending parts was written is therefore
    asked of the file, and what becomes of a record is added by a single call of C code, such as
    `list.extend` of a `map`.
    """

    def __init__(self, name: str, compressor: Any) -> None:
        self._name = name
        self._compressor = compressor
        self._lock = threading.RLock()
        self._file: BinaryIO | None = open_binary(name, "wb", buffering=0)
        # The place in the file where the pending parts begin, and these.
        self._pending: tuple[int, list[bytes]] = (0, [])
        self._size = 0  # about how many bytes are pending

    def add(self, record: bytes) -> None:
        with self._lock:
            self._require_open()
            if self._compressor is None:
                self._pending[1].append(record)
            else:
                self._pending[1].extend(map(self._compressor.compress, (record,)))
            self._size += len(record)
            if self._size >= _HELD:
                self._write_pending()

    def flush(self) -> None:
        with self._lock:
            self._require_open()
            if self._compressor is not None:
                self._pending[1].extend(map(self._compressor.flush, (zlib.Z_SYNC_FLUSH,)))
            self._write_pending()

    def close(self, process: int) -> None:
        if process != os.getpid():
            if isinstance(self._file, io.FileIO):
                self._file.close()
            return  # a fork has a copy of what its parent will write
        with self._lock:
            if self._file is None:
                return
            try:
                if self._compressor is not None:
                    self._pending[1].extend(map(self._compressor.flush, (zlib.Z_FINISH,)))
                self._write_pending()
            except errors.OpError:
                raise
            except BaseException:  # an interrupt: the file must have its end nevertheless
                if self._compressor is not None:
                    with suppress(zlib.error):  # it has ended already
                        self._pending[1].extend(map(self._compressor.flush, (zlib.Z_FINISH,)))
                self._write_pending()
                raise
            finally:
                file, self._file = self._file, None
                with file_errors(self._name):
                    file.close()

    def _write_pending(self) -> None:
        file, (begin, parts) = self._file, self._pending
        assert file is not None
        data = b"".join(parts)
        with file_errors(self._name):
            while (done := file.tell() - begin) < len(data):
                file.write(memoryview(data)[done:])
        self._pending = (begin + len(data), [])
        self._size = 0

    def _require_open(self) -> None:
        if self._file is None:
            raise errors.FailedPreconditionError(
                None, None, f"TFRecordWriter: '{self._name}' is closed already: open a new writer."
            )
