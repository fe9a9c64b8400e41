"""Arrays of every dtype in a safetensors file, each with a checksum, and the graph of the objects
that they belong to.

safetensors has no complex128 and no strings, older versions have no complex64, and its NumPy reader
has no float8. Those are stored as arrays of other dtypes, and the file's metadata say what they
are: complex numbers as pairs of real ones, float8 as bytes, strings as their bytes one after the
other, with their lengths. `layout` says how the rest of the file is checked.
"""

from __future__ import annotations

import json
import re
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.checkpoint.atomic_file import write_atomically
from gradtape.api.tensorflow.checkpoint.bundle.graph import read_graph
from gradtape.api.tensorflow.checkpoint.bundle.reader import (
    OBJECT_GRAPH,
    Bundle,
    is_single_file,
    prefix_of,
)
from gradtape.api.tensorflow.checkpoint.layout import (
    FORMAT,
    NO_CHECKSUM,
    STORED_AS,
    VERSION,
    DamagedError,
    GraphNode,
    Place,
    read_head,
    read_layout,
    with_checksum,
)
from gradtape.errors import DataLossError, NotFoundError

SUFFIX = ".safetensors"
_PIECE = 2**22  # bytes that are read at once where an array is checked only


class Contents(NamedTuple):
    """What a checkpoint holds: the objects, the first being the root, and the arrays by key.

    `full_names` are those of the variables in a file of TensorFlow's, by the object's number. One
    that TensorFlow 1 wrote has no objects.
    """

    nodes: Sequence[GraphNode]
    arrays: dict[str, Any]
    full_names: Mapping[int, str] = {}


def file_of(path: Any) -> Path:
    """The file of a checkpoint, which users name without its suffix."""
    text = str(path)
    return Path(text if text.endswith(SUFFIX) else text + SUFFIX)


def write_tensors(
    path: Any, nodes: Sequence[GraphNode], arrays: Mapping[str, Any], save_counter: int
) -> None:
    """Writes a checkpoint's file whole or not at all."""
    from safetensors import SafetensorError  # noqa: PLC0415 - few programs save checkpoints
    from safetensors.numpy import save_file  # noqa: PLC0415

    stored, facts = {}, {}
    for key, array in arrays.items():
        stored[key], facts[key] = _encoded(array)
        facts[key]["crc32"] = zlib.crc32(_bytes_of(stored[key]))
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "save_counter": str(save_counter),
        "objects": json.dumps(
            [{"children": node.children, "tensor": node.tensor} for node in nodes]
        ),
        "tensors": json.dumps(facts),
        "header_sha256": NO_CHECKSUM,
    }

    def write(temporary: Path) -> None:
        try:
            save_file(stored, temporary, metadata=metadata)
        except SafetensorError as error:
            raise OSError(f"'{path}' could not be written: {error}") from error
        with temporary.open("r+b") as opened:
            head = read_head(opened, temporary.stat().st_size)
            opened.seek(0)
            opened.write(with_checksum(head))

    write_atomically(file_of(path), write)


def read_tensors(path: Any) -> Contents:
    """Reads and checks a whole checkpoint, of gradtape's or of TensorFlow's."""
    file = file_of(path)
    if not file.exists():
        prefix = prefix_of(path)
        if prefix is not None:
            return _read_bundle(prefix)
        raise NotFoundError(
            None, None, f"There is no checkpoint '{path}': {_what_is_there(file, path)}"
        )
    try:
        size = _size_of(file)
        with file.open("rb") as opened:
            layout = read_layout(opened, size, file)
            arrays = {key: _read(opened, place, key) for key, place in layout.places.items()}
    except DamagedError as error:
        whole = _whole_beside(file)
        advice = (
            "and no other checkpoint in its folder is intact"
            if whole is None
            else f"restore '{whole}', which is intact"
        )
        raise DataLossError(
            None, None, f"The checkpoint '{file}' is damaged ({error}): {advice}."
        ) from error
    return Contents(layout.nodes, arrays)


def _read_bundle(prefix: Path) -> Contents:
    """A checkpoint that TensorFlow wrote, whole."""
    try:
        bundle = Bundle(prefix)
        graph = read_graph(bundle)
        arrays = {key: bundle.read(key) for key in bundle.entries if key != OBJECT_GRAPH}
    except DamagedError as error:
        raise DataLossError(
            None, None, f"The checkpoint '{prefix}' of TensorFlow's is damaged ({error})."
        ) from error
    return (
        Contents((), arrays) if graph is None else Contents(graph.nodes, arrays, graph.full_names)
    )


def is_checkpoint(file: Path) -> bool:
    """Whether a Checkpoint has written a file, whole or not."""
    try:
        with file.open("rb") as opened:
            return FORMAT.encode() in read_head(opened, _size_of(file))
    except (OSError, DamagedError):
        return False


def _encoded(array: Any) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """An array as safetensors takes it, and what has to be known to get it back."""
    array = np.asarray(array, order="C")
    name = dtypes.from_numpy(array.dtype).name
    facts: dict[str, Any] = {"dtype": name}
    if name == "string":
        texts = [
            text if isinstance(text, bytes) else str(text).encode()
            for text in array.ravel().tolist()
        ]
        facts |= {"shape": array.shape, "lengths": [len(text) for text in texts]}
        return np.frombuffer(b"".join(texts), np.uint8), facts
    if name in STORED_AS:
        stored = np.dtype(STORED_AS[name])
        pair = (2,) if name.startswith("complex") else ()
        return array.reshape(-1).view(stored).reshape(array.shape + pair), facts
    return array, facts


def _read(opened: BufferedReader, place: Place, key: str) -> Any:
    """An array of a file, whose bytes are as they were written."""
    text = place.lengths is not None
    array = (
        np.empty(place.size, np.uint8)
        if text
        else np.empty(place.shape, dtypes.as_dtype(place.dtype).numpy)
    )
    raw = _bytes_of(array)
    opened.seek(place.begin)
    if opened.readinto(raw) != place.size or zlib.crc32(raw) != place.crc32:
        raise DamagedError(f"the values of '{key}' do not match their checksum")
    if place.dtype == "bool" and place.size and array.view(np.uint8).max() > 1:
        raise DamagedError(f"'{key}' holds values other than True and False")
    if place.lengths is None:
        return array
    texts = np.empty(len(place.lengths), object)
    texts[:] = [
        array[begin:end].tobytes() for begin, end in pairwise(np.cumsum([0, *place.lengths]))
    ]
    return texts.reshape(place.shape)


def _bytes_of(array: np.ndarray[Any, Any]) -> Any:
    return array.reshape(-1).view(np.uint8).data


def _size_of(file: Path) -> int:
    found = file.stat()
    if not stat.S_ISREG(found.st_mode):
        raise DamagedError("it is not a regular file")
    return found.st_size


def _whole_beside(file: Path) -> str | None:
    """The path of a checkpoint in the same folder that is whole: the one before a damaged one,
    if that can be.
    """
    try:
        return next(
            (str(other).removesuffix(SUFFIX) for other in _others(file) if _is_whole(other)), None
        )
    except OSError:  # the folder cannot be listed, or changes meanwhile
        return None


def _others(file: Path) -> Iterator[Path]:
    """The other checkpoints of a folder: those numbered before this one, the nearest first; then
    the rest, the newest first.
    """
    found = [
        other
        for other in file.parent.iterdir()
        if other.name.endswith(SUFFIX) and other.name != file.name and other.is_file()
    ]
    name, number = _numbered(file)
    before = {
        other: _numbered(other)[1]
        for other in found
        if _numbered(other)[0] == name and _numbered(other)[1] < number
    }
    yield from sorted(before, key=lambda other: before[other], reverse=True)
    yield from sorted(
        (other for other in found if other not in before),
        key=lambda other: other.stat().st_mtime,
        reverse=True,
    )


def _numbered(file: Path) -> tuple[str, int]:
    """A checkpoint's name without its number, and the number;
    those without one come before all others.
    """
    found = re.fullmatch(r"(.*)-([0-9]{1,19})", file.name.removesuffix(SUFFIX), re.DOTALL)
    return (found[1], int(found[2])) if found else (file.name, -1)


def _is_whole(file: Path) -> bool:
    """Whether a checkpoint could be restored.

    It takes little memory: the model whose checkpoint is damaged has the rest.
    """
    try:
        with file.open("rb") as opened:
            return all(
                _is_unchanged(opened, place)
                for place in read_layout(opened, _size_of(file), file).places.values()
            )
    except (OSError, ValueError, DamagedError):
        return False


def _is_unchanged(opened: BufferedReader, place: Place) -> bool:
    opened.seek(place.begin)
    checksum, left = 0, place.size
    while left:
        piece = opened.read(min(left, _PIECE))
        if not piece or (place.dtype == "bool" and max(piece) > 1):
            return False
        checksum, left = zlib.crc32(piece, checksum), left - len(piece)
    return checksum == place.crc32


def _what_is_there(file: Path, path: Any) -> str:
    """What the caller may have meant instead of a file that is not there."""
    if Path(path).is_dir():
        return (
            "this is a folder; gradtape.train.latest_checkpoint(folder) gives the path of its "
            "latest checkpoint."
        )
    if is_single_file(path):
        return (
            "this is one file, as TensorFlow before 1.0 wrote them, which gradtape does not read: "
            "write it again with tf.compat.v1.train.Saver where TensorFlow is installed."
        )
    if not file.parent.is_dir():
        return f"the folder '{file.parent}' does not exist."
    stem = file.name.removesuffix(SUFFIX)
    numbered = sorted(
        found.name.removesuffix(SUFFIX)
        for found in file.parent.iterdir()
        if found.name.startswith(f"{stem}-") and found.name.endswith(SUFFIX)
    )
    if numbered:
        return f"save() adds a number to its prefix, and wrote {', '.join(numbered)} here."
    return f"'{file}' does not exist."
