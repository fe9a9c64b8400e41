"""The arrays of a checkpoint that TensorFlow wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.checkpoint.bundle import wire
from gradtape.api.tensorflow.checkpoint.bundle.table import entries
from gradtape.api.tensorflow.checkpoint.layout import DamagedError
from gradtape.crc32c import crc32c, masked, masked_crc32c

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_LARGEST_INDEX = 2**30  # bytes
_MOST_AXES = 64  # as in NumPy
# TensorFlow's numbers of dtypes. Quantized ones, resources and variants are no arrays.
_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip


class Entry(NamedTuple):
    """Where an array lies, and what it is."""

    dtype: str
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int


class Bundle:
    """A checkpoint's arrays by key, each read when it is asked for."""

    def __init__(self, prefix: Path) -> None:
        self._prefix = prefix
        index = _index_of(prefix)
        if index.stat().st_size > _LARGEST_INDEX:
            raise DamagedError("its index is larger than any that TensorFlow writes")
        found = dict(entries(index.read_bytes()))
        header = wire.grouped(found.pop(b"", b""))
        self._shards = wire.number(header.get(1))
        if self._shards < 1:
            raise DamagedError("its index does not say how many data files there are")
        if wire.number(header.get(2)):
            raise DamagedError("it was written on a machine whose numbers begin with high bytes")
        self.entries: Mapping[str, Entry] = dict(_entries(found, self._shards))

    def read(self, key: str) -> Any:
        """One array, whose bytes are as they were written."""
        entry = self.entries[key]
        file = self._prefix.with_name(
            f"{self._prefix.name}.data-{entry.shard:05d}-of-{self._shards:05d}"
        )
        try:
            with file.open("rb") as opened:
                opened.seek(entry.offset)
                raw = opened.read(entry.size) if entry.size <= file.stat().st_size else b""
        except FileNotFoundError:
            raise DamagedError(f"its file '{file.name}' is not there") from None
        if len(raw) != entry.size:
            raise DamagedError(f"'{file.name}' ends before the values of '{key}'")
        if entry.dtype == "string":
            return _strings(raw, entry, key)
        if masked_crc32c(raw) != entry.checksum:
            raise DamagedError(f"the values of '{key}' do not match their checksum")
        dtype = np.dtype(dtypes.as_dtype(entry.dtype).numpy)
        if entry.size != math.prod(entry.shape) * dtype.itemsize:
            raise DamagedError(f"'{key}' does not have the number of bytes that its shape asks for")
        return np.frombuffer(raw, dtype).reshape(entry.shape).copy()


def prefix_of(path: Any) -> Path | None:
    """The prefix of a checkpoint's files, if there is one: `path` itself, without `.index`, or the
    variables of a SavedModel in the folder `path`.
    """
    given = Path(path)
    for prefix in (
        given,
        Path(str(given).removesuffix(".index")),
        given / "variables" / "variables",
    ):
        if prefix.name and _index_of(prefix).is_file():
            return prefix
    return None


def _index_of(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.index")


def _entries(found: Mapping[bytes, bytes], shards: int) -> Iterator[tuple[str, Entry]]:
    for raw, message in found.items():
        try:
            key = raw.decode()
        except UnicodeDecodeError:
            raise DamagedError("it has a key that is not UTF-8") from None
        said = wire.grouped(message)
        if 7 in said:
            raise DamagedError(f"'{key}' was saved in slices, which gradtape does not put together")
        name = _DTYPES.get(wire.number(said.get(1)))
        if name is None:
            continue  # a resource or a quantized array: nothing that a Variable can have
        entry = Entry(
            name, _shape(wire.parts(said.get(2)), key), wire.number(said.get(3)),
            wire.number(said.get(4)), wire.number(said.get(5)), wire.number(said.get(6)),
        )  # fmt: skip
        if not 0 <= entry.shard < shards or min(entry.offset, entry.size) < 0:
            raise DamagedError(f"the place of '{key}' is invalid")
        yield key, entry


def _shape(messages: list[bytes], key: str) -> tuple[int, ...]:
    """A shape, each of whose sizes is a message of its own."""
    sizes = [
        wire.number(wire.grouped(size).get(1))
        for message in messages[-1:]
        for size in wire.parts(wire.grouped(message).get(2))
    ]
    if len(sizes) > _MOST_AXES or min(sizes, default=0) < 0 or math.prod(sizes) >= 2**60:
        raise DamagedError(f"the shape of '{key}' is invalid")
    return tuple(sizes)


def _strings(raw: bytes, entry: Entry, key: str) -> Any:
    """Texts: their lengths, a checksum of the lengths, and the texts one after the other.

    The checksums are those of the lengths as integers of four bytes, or eight where one does not
    fit, and then of the checksum and the texts themselves.
    """
    count = math.prod(entry.shape)
    if count > len(raw):
        raise DamagedError(f"'{key}' has fewer bytes than texts")
    at, lengths = 0, []
    for _ in range(count):
        length, at = wire.varint(raw, at)
        lengths.append(length)
    begin = at + 4
    if begin + sum(lengths) != len(raw):
        raise DamagedError(f"the lengths of the texts of '{key}' do not add up to its bytes")
    checksum = 0
    for length in lengths:
        checksum = crc32c(length.to_bytes(4 if length < 2**32 else 8, "little"), checksum)
    if masked(checksum) != int.from_bytes(raw[at:begin], "little"):
        raise DamagedError(f"the lengths of the texts of '{key}' do not match their checksum")
    if masked(crc32c(raw[at:], checksum)) != entry.checksum:
        raise DamagedError(f"the texts of '{key}' do not match their checksum")
    texts = np.empty(count, object)
    texts[:] = [raw[a:b] for a, b in pairwise(np.cumsum([begin, *lengths]).tolist())]
    return texts.reshape(entry.shape)
