"""The arrays of a checkpoint that TensorFlow wrote."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.checkpoint.bundle import wire
from gradtape.api.tensorflow.checkpoint.bundle.slices import (
    Slice,
    is_key_of_slice,
    joined,
    slices_of,
)
from gradtape.api.tensorflow.checkpoint.bundle.table import FOOTER, entries, is_table
from gradtape.api.tensorflow.checkpoint.layout import DamagedError
from gradtape.crc32c import crc32c, masked, masked_crc32c

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_LARGEST_INDEX = 2**30  # bytes
_MOST_AXES = 64  # as in NumPy
_VERSION = 1  # of the format, which has not changed since TensorFlow 1.0
# TensorFlow's numbers of dtypes. Quantized ones, resources and variants are no arrays.
_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip


class Entry(NamedTuple):
    """Where an array or a slice lies, and what it is; an array in slices lies nowhere itself."""

    dtype: str
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    slices: tuple[Slice, ...]


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
        needed = [wire.number(wire.grouped(said).get(2)) for said in wire.parts(header.get(3))]
        if max(needed, default=0) > _VERSION:
            raise DamagedError(f"it needs version {max(needed)} of the format, not {_VERSION}")
        of_slices = {key: found.pop(key) for key in [*found] if is_key_of_slice(key)}
        self.entries: Mapping[str, Entry] = dict(_entries(found, self._shards))
        self._of_slices = {
            key: _entry(message, "a slice", self._shards) for key, message in of_slices.items()
        }
        self._sizes = Counter[int]()
        for entry in [*self.entries.values(), *self._of_slices.values()]:
            if entry is not None:
                self._sizes[entry.shard] += entry.size

    def read(self, key: str) -> Any:
        """One array, whose bytes are as they were written."""
        entry = self.entries[key]
        if not entry.slices:
            return self._read(entry, key)
        return joined(key, entry.shape, [(part, self._part(part, key)) for part in entry.slices])

    def _part(self, part: Slice, key: str) -> Any:
        """One slice of an array."""
        entry = self._of_slices.get(part.key)
        if entry is None:
            raise DamagedError(f"a slice of '{key}' is not there")
        if (entry.dtype, entry.shape) != (self.entries[key].dtype, part.shape):
            raise DamagedError(f"a slice of '{key}' has another dtype or shape")
        return self._read(entry, key)

    def _read(self, entry: Entry, key: str) -> Any:
        file = self._prefix.with_name(
            f"{self._prefix.name}.data-{entry.shard:05d}-of-{self._shards:05d}"
        )
        try:
            size = file.stat().st_size
            if size < max(self._sizes[entry.shard], entry.offset + entry.size):
                raise DamagedError(f"'{file.name}' is shorter than its values")
            with file.open("rb") as opened:
                opened.seek(entry.offset)
                raw = opened.read(entry.size)
        except FileNotFoundError:
            raise DamagedError(f"its file '{file.name}' is not there") from None
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


def is_single_file(path: Any) -> bool:
    """Whether a checkpoint has the format of the first versions: a table with the arrays."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - FOOTER))
        return is_table(opened.read())


def _index_of(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.index")


def _entries(found: Mapping[bytes, bytes], shards: int) -> Iterator[tuple[str, Entry]]:
    for raw, message in found.items():
        try:
            key = raw.decode()
        except UnicodeDecodeError:
            raise DamagedError("it has a key that is not UTF-8") from None
        entry = _entry(message, key, shards)
        if entry is not None:
            yield key, entry


def _entry(message: bytes, key: str, shards: int) -> Entry | None:
    """What a message says; None of a resource or a quantized array, which no Variable can have."""
    said = wire.grouped(message)
    name = _DTYPES.get(wire.number(said.get(1)))
    if name is None:
        return None
    shape = _shape(wire.parts(said.get(2)), key)
    entry = Entry(
        name, shape, wire.number(said.get(3)), wire.number(said.get(4)), wire.number(said.get(5)),
        wire.number(said.get(6)), slices_of(key, shape, wire.parts(said.get(7))),
    )  # fmt: skip
    if not 0 <= entry.shard < shards or min(entry.offset, entry.size) < 0:
        raise DamagedError(f"the place of '{key}' is invalid")
    return entry


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
