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
import secrets
from collections.abc import Iterable, Mapping
from functools import partial
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


PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def is_saved_model(folder: PathLike) -> bool:
    try:
        return _read_manifest(_path(folder))["format"] == FORMAT
    except (OSError, ValueError, TypeError, KeyError):
        return False


class Writing:
    """Programs and values that become a folder's SavedModel. Nothing is written before all of it is
    there.
    """

    def __init__(self, folder: PathLike) -> None:
        self._folder = _path(folder)
        self._programs: dict[str, bytes] = {}
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(
                f"saved_model.save: '{self._folder}' is a file: give the path of a folder."
            )

    def program(self, data: bytes) -> str:
        """Takes a program, and returns the name of its file."""
        name = f"program-{hashlib.sha256(data).hexdigest()[:16]}.stablehlo"
        self._programs[name] = data
        return name

    def finish(self, entries: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Writes everything, makes it the folder's SavedModel, and removes the old one's files."""
        self._folder.mkdir(parents=True, exist_ok=True)
        before = _files_of(self._folder)
        sums: dict[str, str] = {}
        try:
            for name, data in self._programs.items():
                sums[name] = hashlib.sha256(data).hexdigest()
                write_atomically(self._folder / name, partial(_write, data=data))
            variables = self._variables(arrays, sums)
            manifest = {"format": FORMAT, "version": VERSION, **entries, "variables": variables}
            text = _signed(json.dumps(manifest | {"files": sums}, indent=1, allow_nan=False))
            write_atomically(self._folder / _NAME, partial(_write, data=text))
        except BaseException:
            self._remove(sums.keys() - _files_of(self._folder))
            raise
        self._remove(before - sums.keys())

    def _variables(self, arrays: Mapping[str, Any], sums: dict[str, str]) -> str:
        """Writes the values, and returns the name of their file."""
        nodes = [GraphNode({key: i + 1 for i, key in enumerate(arrays)}, None)]
        nodes += [GraphNode({}, key) for key in arrays]
        written = self._folder / f".variables-{secrets.token_hex(8)}.safetensors"
        try:
            write_tensors(str(written), nodes, arrays, 0)
            checksum = _checksum(written)
            name = f"variables-{checksum[:16]}.safetensors"
            sums[name] = checksum
            written.replace(self._folder / name)
        finally:
            written.unlink(missing_ok=True)
        return name

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)


class Reading:
    """A folder's SavedModel."""

    def __init__(self, folder: PathLike) -> None:
        self._folder = _path(folder)
        try:
            self.manifest = _read_manifest(self._folder)
        except FileNotFoundError:
            raise NotFoundError(None, None, _what_is_there(self._folder)) from None
        except (ValueError, TypeError) as error:
            raise self.damaged(str(error)) from error
        if self.manifest["version"] > VERSION:
            raise ValueError(
                f"'{self._folder}' was saved by a newer gradtape (format "
                f"{self.manifest['version']}): update gradtape to load it."
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


def _path(folder: PathLike) -> Path:
    return Path(os.fsdecode(folder))


def _signed(body: str) -> bytes:
    """The description with its checksum, if it can be read again."""
    try:
        parsed(body, _DEPTH)
    except ValueError as error:
        raise ValueError(
            f"saved_model.save: the description cannot be read again ({error}): give functions "
            "arguments and results that are nested less deeply."
        ) from None
    return f"{body}\n{hashlib.sha256(body.encode()).hexdigest()}\n".encode()


def _write(file: Path, data: bytes) -> None:
    file.write_bytes(data)


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
