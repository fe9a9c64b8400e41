"""Arrays of every dtype in a safetensors file, with a checksum each, and the graph of the objects that they belong to.

safetensors has no complex128, older versions no complex64, and its NumPy reader no float8; nor has it strings. Those are stored as
arrays that it has, and the file's metadata say what they are: complex numbers as pairs of real ones, float8 as bytes, strings as their
bytes one after the other, with their lengths.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.checkpoint.atomic_file import write_atomically
from gradtape.errors import DataLossError, NotFoundError

SUFFIX = ".safetensors"
_FORMAT = "gradtape.checkpoint"
_VERSION = 1
_STORED_AS = {"complex64": np.float32, "complex128": np.float64} | {
    d.name: np.uint8 for d in dtypes.ALL if d.name.startswith("float8")
}


class Node(NamedTuple):
    """An object: the objects below it by name, and the key of its own value, if it has one."""

    children: dict[str, int]
    tensor: str | None


class Contents(NamedTuple):
    """What a checkpoint holds: the objects, the first being the root, and the arrays by key."""

    nodes: Sequence[Node]
    arrays: dict[str, Any]


def file_of(path: Any) -> Path:
    """The file of a checkpoint, which users name without its suffix."""
    text = str(path)
    return Path(text if text.endswith(SUFFIX) else text + SUFFIX)


def write_tensors(path: Any, nodes: Sequence[Node], arrays: Mapping[str, Any], save_counter: int) -> None:
    """Writes a checkpoint's file whole or not at all."""
    from safetensors import SafetensorError  # noqa: PLC0415 - few programs save checkpoints
    from safetensors.numpy import save_file  # noqa: PLC0415

    stored, facts = {}, {}
    for key, array in arrays.items():
        stored[key], facts[key] = _encoded(array)
        facts[key]["crc32"] = _checksum(stored[key])
    metadata = {
        "format": _FORMAT,
        "version": str(_VERSION),
        "save_counter": str(save_counter),
        "objects": json.dumps([{"children": node.children, "tensor": node.tensor} for node in nodes]),
        "tensors": json.dumps(facts),
    }

    def write(temporary: Path) -> None:
        try:
            save_file(stored, temporary, metadata=metadata)
        except SafetensorError as error:
            raise OSError(f"'{path}' could not be written: {error}") from error

    write_atomically(file_of(path), write)


def read_tensors(path: Any) -> Contents:
    """Reads and checks a whole checkpoint."""
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415

    file = file_of(path)
    if not file.is_file():
        raise NotFoundError(None, None, f"There is no checkpoint '{path}': {_what_is_there(file, path)}")
    try:
        with safe_open(file, framework="np") as opened:
            metadata = opened.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise ValueError(
                    f"'{file}' is a safetensors file that no Checkpoint has written: read it with safetensors.numpy.load_file."
                )
            if int(metadata["version"]) > _VERSION:
                raise ValueError(
                    f"'{file}' was written by a newer gradtape (format {metadata['version']}): update gradtape to read it."
                )
            facts = json.loads(metadata["tensors"])
            nodes = [Node(node["children"], node["tensor"]) for node in json.loads(metadata["objects"])]
            arrays = {key: _decoded(opened.get_tensor(key), facts[key], key, file) for key in facts}
    except SafetensorError as error:
        raise _damaged(file, str(error)) from error
    return Contents(nodes, arrays)


def _encoded(array: Any) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """An array as safetensors takes it, and what has to be known to get it back."""
    array = np.asarray(array, order="C")
    name = dtypes.from_numpy(array.dtype).name
    facts: dict[str, Any] = {"dtype": name}
    if name == "string":
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.ravel().tolist()]
        facts |= {"shape": array.shape, "lengths": [len(text) for text in texts]}
        return np.frombuffer(b"".join(texts), np.uint8), facts
    if name in _STORED_AS:
        stored = np.dtype(_STORED_AS[name])
        pair = (2,) if name.startswith("complex") else ()
        return array.reshape(-1).view(stored).reshape(array.shape + pair), facts
    return array, facts


def _decoded(stored: Any, facts: Mapping[str, Any], key: str, file: Path) -> Any:
    if _checksum(stored) != facts["crc32"]:
        raise _damaged(file, f"the values of '{key}' are not those that were written")
    name = facts["dtype"]
    if name == "string":
        ends = np.cumsum([0, *facts["lengths"]])
        texts = [stored[begin:end].tobytes() for begin, end in pairwise(ends)]
        array = np.empty(len(texts), object)
        array[:] = texts
        return array.reshape(facts["shape"])
    if name in _STORED_AS:
        shape = stored.shape[:-1] if name.startswith("complex") else stored.shape
        return stored.reshape(-1).view(dtypes.as_dtype(name).numpy).reshape(shape)
    return stored


def _checksum(array: np.ndarray[Any, Any]) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data)


def _damaged(file: Path, what: str) -> DataLossError:
    return DataLossError(None, None, f"The checkpoint '{file}' is damaged ({what}): restore an earlier one.")


def _what_is_there(file: Path, path: Any) -> str:
    """What the caller may have meant instead of a file that is not there."""
    if Path(f"{path}.index").exists():
        return "this is a checkpoint of TensorFlow, which gradtape does not read."
    if Path(path).is_dir():
        return "this is a folder; gradtape.train.latest_checkpoint(folder) gives the path of its latest checkpoint."
    if not file.parent.is_dir():
        return f"the folder '{file.parent}' does not exist."
    stem = file.name.removesuffix(SUFFIX)
    numbered = sorted(
        found.name.removesuffix(SUFFIX)
        for found in file.parent.iterdir()
        if found.name.startswith(f"{stem}-") and found.name.endswith(SUFFIX)
    )
    if numbered:
        return f"save() adds a number to its prefix, and has written {', '.join(numbered)} here."
    return f"'{file}' does not exist."
