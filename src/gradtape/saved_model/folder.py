"""A SavedModel on the disk: `saved_model.json`, which says what there is, a safetensors file with
the values of Variables, and a file of StableHLO for each program.

The other files are named by their contents' checksums, and `saved_model.json` is replaced last and
at once. So a folder holds the old SavedModel or the new one, whenever saving ends. No file holds
code of Python's, and each is compared with its checksum before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradtape.api.tensorflow.checkpoint.atomic_file import write_atomically
from gradtape.api.tensorflow.checkpoint.layout import GraphNode
from gradtape.api.tensorflow.checkpoint.strict_json import parsed
from gradtape.api.tensorflow.checkpoint.tensor_file import read_tensors, write_tensors
from gradtape.errors import DataLossError, NotFoundError

FORMAT, VERSION = "gradtape.saved_model", 1
_NAME = "saved_model.json"
_DEPTH = 64
_FILE = re.compile(r"(program|variables)-[0-9a-f]{16}\.(stablehlo|safetensors)")


def is_saved_model(folder: str | os.PathLike[str]) -> bool:
    try:
        return _read_manifest(Path(folder))["format"] == FORMAT
    except (OSError, ValueError, TypeError, KeyError):
        return False


class Writing:
    """Files that are put into a folder, and in the end become its SavedModel."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._sums: dict[str, str] = {}
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"saved_model.save: '{folder}' is a file: give the path of a folder.")
        self._folder.mkdir(parents=True, exist_ok=True)

    def program(self, data: bytes) -> str:
        """Writes a program, and returns the name of its file."""
        checksum = hashlib.sha256(data).hexdigest()
        name = f"program-{checksum[:16]}.stablehlo"
        write_atomically(self._folder / name, lambda temporary: _write(temporary, data))
        self._sums[name] = checksum
        return name

    def variables(self, arrays: Mapping[str, Any]) -> str:
        nodes = [GraphNode({key: i + 1 for i, key in enumerate(arrays)}, None)]
        nodes += [GraphNode({}, key) for key in arrays]
        file = self._folder / "variables.safetensors.new"
        write_tensors(str(file), nodes, arrays, 0)
        written = file.with_name(f"{file.name}.safetensors")
        checksum = _checksum(written)
        name = f"variables-{checksum[:16]}.safetensors"
        written.replace(self._folder / name)
        self._sums[name] = checksum
        return name

    def finish(self, entries: Mapping[str, Any]) -> None:
        """Makes what was written the folder's SavedModel, and removes the old one's files."""
        before = _files_of(self._folder)
        manifest = {"format": FORMAT, "version": VERSION, **entries, "files": self._sums}
        body = json.dumps(manifest, indent=1, allow_nan=False)
        checksum = hashlib.sha256(body.encode()).hexdigest()
        text = f"{body}\n{checksum}\n".encode()
        write_atomically(self._folder / _NAME, lambda temporary: _write(temporary, text))
        for name in before - self._sums.keys():
            (self._folder / name).unlink(missing_ok=True)


class Reading:
    """A folder's SavedModel."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        try:
            self.manifest = _read_manifest(self._folder)
        except FileNotFoundError:
            raise NotFoundError(None, None, _what_is_there(self._folder)) from None
        except (ValueError, TypeError) as error:
            raise self.damaged(str(error)) from error
        if self.manifest["version"] > VERSION:
            raise ValueError(
                f"'{folder}' was saved by a newer gradtape (format {self.manifest['version']}): "
                "update gradtape to load it."
            )

    def damaged(self, why: str) -> DataLossError:
        return DataLossError(None, None, f"The SavedModel '{self._folder}' is damaged ({why}).")

    def program(self, name: str) -> bytes:
        return self._checked(name)

    def variables(self, name: str) -> dict[str, Any]:
        self._checked(name)
        return read_tensors(self._folder / name).arrays

    def _checked(self, name: Any) -> bytes:
        """The contents of a file that are as they were written."""
        if not isinstance(name, str) or _FILE.fullmatch(name) is None:
            raise self.damaged(f"{name!r} is not the name of one of its files")
        try:
            data = (self._folder / name).read_bytes()
        except FileNotFoundError:
            raise self.damaged(f"its file '{name}' is not there") from None
        if hashlib.sha256(data).hexdigest() != self.manifest["files"].get(name):
            raise self.damaged(f"'{name}' does not match its checksum")
        return data


def _read_manifest(folder: Path) -> dict[str, Any]:
    body, _, checksum = (folder / _NAME).read_bytes().rstrip(b"\n").rpartition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError(f"'{_NAME}' does not match its checksum")
    manifest = parsed(body, _DEPTH)
    if (
        not isinstance(manifest, dict)
        or manifest.get("format") != FORMAT
        or type(manifest.get("version")) is not int
        or not isinstance(manifest.get("files"), dict)
    ):
        raise ValueError(f"'{_NAME}' does not describe a SavedModel")
    return manifest


def _files_of(folder: Path) -> set[str]:
    try:
        found = _read_manifest(folder)["files"]
    except (OSError, ValueError, TypeError):
        return set()
    return {name for name in found if _FILE.fullmatch(name)}


def _what_is_there(folder: Path) -> str:
    if (folder / "saved_model.pb").exists():
        return (
            f"'{folder}' is a SavedModel of TensorFlow's, whose functions gradtape cannot run: make"
            " the model here, and read its weights with tf.train.Checkpoint(model)"
            f".restore('{folder}')."
        )
    return f"There is no SavedModel '{folder}': saved_model.json is not there."


def _write(file: Path, data: bytes) -> None:
    file.write_bytes(data)


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
