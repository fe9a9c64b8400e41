"""The header of a checkpoint file: its objects, and where each array is.

It is checked completely before it is used.

A safetensors file is the length of a header in eight bytes, the header, which is JSON, and the
bytes of the arrays. gradtape adds metadata to the header: `objects`, `tensors` with a checksum of
each array, and from version 2 `header_sha256`, a checksum of the length and the header in which the
checksum itself is replaced by 64 zeros. So no bit of the file can change unnoticed.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.checkpoint.strict_json import parsed

FORMAT = "gradtape.checkpoint"
VERSION = 2
NO_CHECKSUM = "0" * 64
STORED_AS = {"complex64": np.float32, "complex128": np.float64} | {
    d.name: np.uint8 for d in dtypes.ALL if d.name.startswith("float8")
}
"""Dtypes that safetensors does not have everywhere, and what they are stored as."""

_LONGEST_HEADER = 100_000_000  # bytes, as in safetensors itself
_DEPTH = 3
_MOST_AXES = 64  # as in NumPy
_CHECKSUM = re.compile(rb'"header_sha256":"([^"\\]{64})"')
_METADATA = {"format", "version", "save_counter", "objects", "tensors"}
# Two of them are left, whichever two bytes of a header change; another file has none of them.
_MARKS = (FORMAT.encode(), b'"header_sha256"', b'"save_counter"', b'"objects"')
_CODES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32",
    "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64",
}  # fmt: skip


class GraphNode(NamedTuple):
    """An object: the objects below it by name, and the key of its own value, if it has one."""

    children: dict[str, int]
    tensor: str | None


class Place(NamedTuple):
    """An array in a file. `lengths` are those of strings, whose bytes follow each other."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    size: int
    crc32: int
    lengths: Sequence[int] | None


class Layout(NamedTuple):
    """The objects, the first being the root, and the arrays by key."""

    nodes: Sequence[GraphNode]
    places: Mapping[str, Place]


class DamagedError(Exception):
    """A file is not as it was written; the message says in what."""


def with_checksum(head: bytes) -> bytes:
    """The beginning of a file, up to the arrays, with its checksum in the place that is kept for
    it.
    """
    found = list(_CHECKSUM.finditer(head))
    if len(found) != 1 or found[0][1] != NO_CHECKSUM.encode():
        raise OSError(
            "the header that safetensors wrote does not contain the checksum's placeholder"
        )
    begin, end = found[0].span(1)
    return head[:begin] + hashlib.sha256(head).hexdigest().encode() + head[end:]


def read_head(opened: BinaryIO, size: int) -> bytes:
    """The beginning of a file of this size, up to the arrays: the length of the header,
    and the header.
    """
    start = opened.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise DamagedError("it is truncated, or does not begin with the length of its header")
    head = start + opened.read(length)
    if len(head) < 8 + length:
        raise DamagedError("it is shorter than it was")
    return head


def read_layout(opened: BinaryIO, size: int, file: Path) -> Layout:
    """What a file of this size holds.

    ValueError if no Checkpoint has written it, or that of a newer gradtape; else DamagedError.
    """
    head = read_head(opened, size)
    sums = list(_CHECKSUM.finditer(head))
    if sums:
        begin, end = sums[0].span(1)
        expected = (
            hashlib.sha256(head[:begin] + NO_CHECKSUM.encode() + head[end:]).hexdigest().encode()
        )
        if len(sums) > 1 or sums[0][1] != expected:
            raise DamagedError("its header is not the one that was written")
    header = _json(head[8:], "header")
    if not isinstance(header, dict):
        raise DamagedError("its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        if sum(mark in head for mark in _MARKS) > 1:
            raise DamagedError("its header does not say any more that it is a checkpoint")
        raise ValueError(
            f"'{file}' is a safetensors file, but not a checkpoint: read it with "
            "safetensors.numpy.load_file."
        )
    if not _is_number(metadata.get("version")):
        raise DamagedError("its version is not a number")
    version = int(metadata["version"])
    if version > VERSION:
        raise ValueError(
            f"'{file}' was written by a newer gradtape (format {version}): update "
            "gradtape to read it."
        )
    if version != (VERSION if sums else 1) or metadata.keys() != _METADATA | (
        {"header_sha256"} if sums else set()
    ):
        raise DamagedError("its metadata do not match its version")
    if not _is_number(
        metadata["save_counter"].removeprefix("-")
        if isinstance(metadata["save_counter"], str)
        else None
    ):
        raise DamagedError("its save counter is not a number")
    facts = _json(metadata["tensors"], "list of arrays")
    if not isinstance(facts, dict) or facts.keys() != header.keys():
        raise DamagedError("its metadata and its header list different arrays")
    places = {key: _place(key, facts[key], header[key]) for key in facts}
    _check_that_they_fill(places, size - len(head))
    shifted = {key: place._replace(begin=len(head) + place.begin) for key, place in places.items()}
    return Layout(_nodes(_json(metadata["objects"], "list of objects"), facts), shifted)


def _json(text: Any, what: str) -> Any:
    if not isinstance(text, (str, bytes)):
        raise DamagedError(f"its {what} is not a string")
    try:
        return parsed(text, _DEPTH)
    except ValueError as error:
        raise DamagedError(f"its {what} cannot be read: {error}") from None


def _is_number(text: Any) -> bool:
    return isinstance(text, str) and re.fullmatch("[0-9]{1,19}", text) is not None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_count, values))


def _place(key: str, facts: Any, entry: Any) -> Place:
    """Where an array lies, by what our metadata and safetensors' header say of it,
    which must agree.
    """
    name = facts.get("dtype") if isinstance(facts, dict) else None
    text = name == "string"
    if not isinstance(name, str) or not (text or name in _CODES or name in STORED_AS):
        raise DamagedError(f"the dtype of '{key}' is unknown")
    if facts.keys() != {"dtype", "crc32"} | (
        {"shape", "lengths"} if text else set()
    ) or not _is_count(facts["crc32"]):
        raise DamagedError(f"the metadata of '{key}' are incomplete")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise DamagedError(f"the header's entry for '{key}' is incomplete")
    stored = np.dtype(np.uint8 if text else STORED_AS.get(name, dtypes.as_dtype(name).numpy))
    code = "U8" if text else _CODES[dtypes.from_numpy(stored).name]
    shape, offsets = entry["shape"], entry["data_offsets"]
    if entry["dtype"] != code or not _is_shape(shape, stored.itemsize):
        raise DamagedError(f"the dtype or shape of '{key}' is invalid")
    if (
        not _are_counts(offsets)
        or len(offsets) != 2
        or offsets[1] - offsets[0] != math.prod(shape) * stored.itemsize
    ):
        raise DamagedError(f"'{key}' does not have the number of bytes that its shape asks for")
    size = offsets[1] - offsets[0]
    if not text:
        if name.startswith("complex") and shape[-1:] != [2]:
            raise DamagedError(f"'{key}' is not an array of complex numbers")
        own = shape[:-1] if name.startswith("complex") else shape
        return Place(name, tuple(own), offsets[0], size, facts["crc32"], None)
    lengths = facts["lengths"]
    if not _is_shape(facts["shape"], 8) or not _are_counts(lengths):
        raise DamagedError(f"the shape or the lengths of '{key}' are invalid")
    if len(lengths) != math.prod(facts["shape"]) or sum(lengths) != size or shape != [size]:
        raise DamagedError(f"the lengths of the strings of '{key}' do not add up to its bytes")
    return Place(name, tuple(facts["shape"]), offsets[0], size, facts["crc32"], lengths)


def _is_shape(shape: Any, itemsize: int) -> bool:
    """Whether NumPy can make an array of this shape; where one size is zero,
    the others still have to fit.
    """
    return (
        _are_counts(shape)
        and len(shape) <= _MOST_AXES
        and math.prod(n for n in shape if n) * itemsize < 2**63
    )


def _check_that_they_fill(places: Mapping[str, Place], size: int) -> None:
    """That arrays lie one after the other, without gaps, and end where the file ends."""
    spans = sorted((place.begin, place.begin + place.size) for place in places.values())
    bounds = [(0, 0), *spans, (size, size)]
    if any(end != begin for (_, end), (begin, _) in pairwise(bounds)):
        raise DamagedError("its arrays do not fill the file without gaps or overlaps")


def _nodes(objects: Any, keys: Mapping[str, Any]) -> list[GraphNode]:
    """The objects; each key belongs to one of them."""
    if not isinstance(objects, list) or not objects:
        raise DamagedError("it has no objects")
    nodes = []
    for found in objects:
        if (
            not isinstance(found, dict)
            or found.keys() != {"children", "tensor"}
            or not isinstance(found["children"], dict)
        ):
            raise DamagedError("one of its objects does not have the entries of an object")
        if not all(
            _is_count(number) and number < len(objects) for number in found["children"].values()
        ):
            raise DamagedError("an object refers to one that does not exist")
        if found["tensor"] is not None and (
            not isinstance(found["tensor"], str) or found["children"]
        ):
            raise DamagedError("the value of an object is invalid")
        nodes.append(GraphNode(found["children"], found["tensor"]))
    named = [node.tensor for node in nodes if node.tensor is not None]
    if sorted(named) != sorted(keys):
        raise DamagedError("its objects and its arrays do not match")
    return nodes
