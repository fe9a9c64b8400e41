"""Elements in files: what `save`, `snapshot` and `cache` with a file name write.

A dataset is a folder. `dataset.json` says what the elements are and which files hold them; it is
written last, so that a folder without it is not complete. Each file is in the format of
safetensors and holds the bytes of some elements, leaf by leaf, with a checksum of each; a leaf that
is ragged or sparse is several tensors. Nothing in them is executed when they are read.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gradtape import dtypes
from gradtape.api.tensorflow.type_specs import SparseTensorSpec
from gradtape.errors import DataLossError, NotFoundError
from gradtape.ragged.spec import RaggedTensorSpec
from gradtape.shapes import TensorSpec

FORMAT, VERSION = "gradtape.dataset", 1
INDEX = "dataset.json"
_MOST_ELEMENTS, _MOST_BYTES = 1024, 1 << 24


def damaged(path: Path, why: object) -> DataLossError:
    return DataLossError(None, None, f"'{path}' is not a dataset as it was saved: {why}.")


# Specs as JSON


def described(spec: Any) -> Any:
    """A structure of specs, as JSON can hold it."""
    if isinstance(spec, (TensorSpec, RaggedTensorSpec, SparseTensorSpec)):
        shape = None if spec.shape.rank is None else spec.shape.as_list()
        found = {"dtype": spec.dtype.name, "shape": shape}
        if isinstance(spec, RaggedTensorSpec):
            return {"ragged": spec.ragged_rank, "splits": spec.row_splits_dtype.name, **found}
        return {"sparse": True, **found} if isinstance(spec, SparseTensorSpec) else found
    if isinstance(spec, dict):
        return {"dict": [[key, described(part)] for key, part in spec.items()]}
    if isinstance(spec, tuple):
        named = {"fields": list(spec._fields)} if hasattr(spec, "_fields") else {}
        return {"tuple": [described(part) for part in spec], **named}
    raise TypeError(f"save: only datasets of tensors can be saved, not of {spec!r}.")


def spec_from(text: Any) -> Any:
    """The structure of specs that JSON describes."""
    match text:
        case {"ragged": int(depth), "splits": str(splits), "dtype": str(name), "shape": shape}:
            return RaggedTensorSpec(shape, dtypes.as_dtype(name), depth, dtypes.as_dtype(splits))
        case {"sparse": True, "dtype": str(name), "shape": None | list() as shape}:
            return SparseTensorSpec(shape, dtypes.as_dtype(name))
        case {"dtype": str(name), "shape": None | list() as shape}:
            return TensorSpec(shape, dtypes.as_dtype(name))
        case {"dict": list(parts)}:
            return {key: spec_from(part) for key, part in parts}
        case {"tuple": list(parts)}:
            return tuple(spec_from(part) for part in parts)
    raise ValueError(f"{text!r} describes no element")


# Writing


class Writer:
    """Writes elements, given as the arrays of their leaves, to a folder that is new."""

    def __init__(self, folder: Path, *, compressed: bool = False) -> None:
        self._folder, self._compressed = folder, compressed
        self._held: list[Sequence[Any]] = []
        self._bytes = self._count = 0
        self._files: list[list[Any]] = []
        folder.mkdir(parents=True)

    def add(self, arrays: Sequence[Any]) -> None:
        self._held.append(arrays)
        self._bytes += sum(array.nbytes for array in arrays)
        if len(self._held) >= _MOST_ELEMENTS or self._bytes >= _MOST_BYTES:
            self._flush()

    def _flush(self) -> None:
        name = f"{len(self._files):06}.safetensors"
        tensors, facts = {}, []
        for place, column in enumerate(zip(*self._held, strict=True)):
            data, fact = _packed(column)
            fact["crc32"] = zlib.crc32(data)
            if self._compressed:
                data = zlib.compress(data)
            tensors[str(place)] = np.frombuffer(data, np.uint8)
            facts.append(fact)
        metadata = {"leaves": json.dumps(facts), "compressed": str(int(self._compressed))}
        save_file(tensors, self._folder / name, metadata=metadata)
        self._files.append([name, len(self._held)])
        self._count += len(self._held)
        self._held, self._bytes = [], 0

    def finish(self, spec: Any) -> None:
        """Writes the rest, and what makes the folder a dataset."""
        if self._held:
            self._flush()
        index = {
            "format": FORMAT,
            "version": VERSION,
            "element_spec": described(spec),
            "count": self._count,
            "files": self._files,
        }
        part = self._folder / f"{INDEX}.part"
        part.write_text(json.dumps(index), encoding="utf-8")
        os.replace(part, self._folder / INDEX)  # noqa: PTH105 - the same, and atomic


def _packed(column: Sequence[Any]) -> tuple[bytes, dict[str, Any]]:
    """The bytes of arrays, one after the other, and what is needed to read them."""
    shapes = [list(array.shape) for array in column]
    fact: dict[str, Any] = {"dtype": dtypes.from_numpy(column[0].dtype).name}
    fact["shapes"] = shapes[:1] if all(shape == shapes[0] for shape in shapes) else shapes
    if column[0].dtype != object:
        return b"".join(np.ascontiguousarray(array).tobytes() for array in column), fact
    texts = [text for array in column for text in array.reshape(-1).tolist()]
    fact["lengths"] = [len(text) for text in texts]
    return b"".join(texts), fact


# Reading


class Reader:
    """A saved dataset: its specs, and its elements as the arrays of their leaves' parts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFoundError(
                None, None, f"'{folder}' holds no dataset that was saved completely."
            ) from error
        except ValueError as error:
            raise damaged(folder / INDEX, error) from error
        try:
            if index["format"] != FORMAT:
                raise ValueError(f"its format is {index['format']!r}")
            if index["version"] > VERSION:
                raise ValueError("it was written by a newer gradtape")
            self.spec = spec_from(index["element_spec"])
            # Named tuples are read as tuples: their classes are the program's.
            self.has_named_tuples = '"fields"' in json.dumps(index["element_spec"])
            self.count = int(index["count"])
            self._files = [(str(name), int(count)) for name, count in index["files"]]
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(folder / INDEX, error) from error

    def elements(self, parts: int) -> Iterator[list[Any]]:
        """The arrays of each element, of which there are as many as its leaves have parts."""
        for name, count in self._files:
            path = self._folder / name
            if Path(name).name != name:
                raise damaged(path, "it lies outside the folder")
            columns = _columns(path, parts, count)
            for number in range(count):
                yield [column[number] for column in columns]


def _columns(path: Path, parts: int, count: int) -> list[list[Any]]:
    try:
        with safe_open(path, "numpy") as opened:
            metadata = opened.metadata() or {}
            facts = json.loads(metadata["leaves"])
            found = [opened.get_tensor(str(place)).tobytes() for place in range(parts)]
        if metadata["compressed"] == "1":
            found = [zlib.decompress(data) for data in found]
        return [_unpacked(data, fact, count) for data, fact in zip(found, facts, strict=True)]
    except FileNotFoundError as error:
        raise NotFoundError(None, None, f"'{path}': there is no such file.") from error
    except (KeyError, TypeError, ValueError, SafetensorError, zlib.error) as error:
        raise damaged(path, error) from error


def _unpacked(data: bytes, fact: dict[str, Any], count: int) -> list[Any]:
    if zlib.crc32(data) != fact["crc32"]:
        raise ValueError("its checksum is wrong")
    shapes = fact["shapes"] * count if len(fact["shapes"]) == 1 else fact["shapes"]
    if len(shapes) != count:
        raise ValueError("it does not have as many elements as it should")
    dtype = dtypes.as_dtype(fact["dtype"]).numpy
    if dtype.kind == "O":
        return _texts(data, fact["lengths"], shapes)
    found, at = [], 0
    for shape in shapes:
        size = math.prod(shape) * dtype.itemsize
        if at + size > len(data):
            raise ValueError("it is too short")
        array = np.frombuffer(data, dtype, math.prod(shape), at).reshape(shape)
        found.append(array[()])
        at += size
    return found


def _texts(data: bytes, lengths: Sequence[int], shapes: Sequence[Any]) -> list[Any]:
    ends = np.cumsum([0, *lengths]).tolist()
    texts = [data[start:end] for start, end in pairwise(ends)]
    found, at = [], 0
    for shape in shapes:
        array = np.empty(math.prod(shape), object)
        array[:] = texts[at : at + array.size]
        at += array.size
        found.append(array.reshape(shape))
    return found
