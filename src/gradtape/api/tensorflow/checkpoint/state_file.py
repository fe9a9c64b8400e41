"""The file `checkpoint` of a folder, which names its latest checkpoint and all that are kept;
`latest_checkpoint` reads it.

It is JSON, with TensorFlow's names for the entries, and the bare names of files in the folder, so
that a folder can be moved. A file that TensorFlow wrote is read too. Files that it names may be
deleted, and a folder may come from an untrusted source: a name that leads out of the folder is
never followed.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gradtape.api.tensorflow.checkpoint.atomic_file import write_atomically
from gradtape.api.tensorflow.checkpoint.bundle.reader import prefix_of
from gradtape.api.tensorflow.checkpoint.strict_json import parsed
from gradtape.api.tensorflow.checkpoint.tensor_file import file_of
from gradtape.errors import DataLossError
from gradtape.published import published

_NAME = "checkpoint"
_LARGEST = 2**26  # bytes; a million names take half of it
_DEPTH = 2  # lists in an object
_TENSORFLOW_ENTRY = re.compile(rb'([a-z_]+): (?:"((?:[^"\\]|\\.)*)"|[0-9.e+-]+)')
_ENTRIES = {
    "model_checkpoint_path",
    "all_model_checkpoint_paths",
    "all_model_checkpoint_timestamps",
    "last_preserved_timestamp",
    "paths_being_deleted",
}


class State(NamedTuple):
    """What the file says. `leaving` are checkpoints whose deletion may have been interrupted.

    `orders`, which the file does not say, tell of what this process has saved which values are
    later.
    """

    latest: str
    kept: Sequence[str]
    times: Mapping[str, float] = {}
    last_preserved: float | None = None
    leaving: Sequence[str] = ()
    orders: Mapping[str, int] = {}


@published("train.latest_checkpoint")
def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """The path of a folder's latest checkpoint, or None where there is none.

    >>> import gradtape as tf
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.train.latest_checkpoint(folder) is None
    True
    >>> path = tf.train.Checkpoint(w=tf.Variable(1.0)).save(folder + "/model")
    >>> tf.train.latest_checkpoint(folder) == path
    True
    """
    folder = as_path(checkpoint_dir, "latest_checkpoint: checkpoint_dir")
    state = read_state(folder, latest_filename)
    if state is None:
        return None
    candidates = [
        os.path.join(folder, name)  # noqa: PTH118 - as given
        for name in (state.latest, *reversed(state.kept))
    ]
    return next(
        (path for path in candidates if file_of(path).is_file() or prefix_of(path) is not None),
        None,
    )


def as_path(value: Any, argument: str) -> str:
    """A path that a user gives, as a string."""
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise TypeError(
            f"{argument} must be a path: a string or a pathlib.Path, got {value!r} of type "
            f"{type(value).__name__}."
        ) from None
    if "\0" in path:
        raise ValueError(f"{argument} must not contain a null character, got {path!r}.")
    return path


def is_bare(name: Any) -> bool:
    """Whether it is the name of a file and nothing more: no folder, no drive, and not `..`."""
    if not isinstance(name, str) or name in ("", "..") or "\0" in name or Path(name).name != name:
        return False
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def read_state(folder: str | os.PathLike[str], name: str | None = None) -> State | None:
    """What a folder's file says, or None where there is none."""
    file = Path(folder, name or _NAME)
    try:
        found = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise ValueError("it is not a regular file, or a very large one")
        text = file.read_bytes()
        return _of_tensorflow(text) or _state(parsed(text, _DEPTH))
    except (ValueError, TypeError) as error:
        message = (
            f"'{file}' is not a list of checkpoints written by gradtape ({error}), so the latest "
            "is not known: give the path of a checkpoint to restore() yourself, or remove this "
            "file."
        )
        raise DataLossError(None, None, message) from error


def _of_tensorflow(text: bytes) -> State | None:
    """The state in a file that TensorFlow wrote; None if this is none.

    It may hold whole paths, of which the last part counts: the checkpoint lies in this folder, or
    the folder was moved.
    """
    found: dict[bytes, list[str]] = {}
    for line in text.splitlines():
        entry = _TENSORFLOW_ENTRY.fullmatch(line)
        if entry is None:
            return None
        if entry[2] is not None:
            found.setdefault(entry[1], []).append(_bare_name(entry[2]))
    latest = found.get(b"model_checkpoint_path")
    if not latest:
        return None
    return State(latest[-1], found.get(b"all_model_checkpoint_paths", []))


def _bare_name(quoted: bytes) -> str:
    """The last part of a path in quotation marks, in which bytes may be escaped as in C."""
    path = quoted.decode("unicode_escape").encode("latin-1").decode()
    name = path.replace("\\", "/").rpartition("/")[2]
    if not is_bare(name):
        raise ValueError(f"{path!r} does not name a checkpoint of this folder")
    return name


def _state(entries: Any) -> State:
    """The state that these entries are, or ValueError or TypeError."""
    missing = _ENTRIES - entries.keys() if isinstance(entries, dict) else _ENTRIES
    if missing:
        raise ValueError(f"it has no {', '.join(sorted(missing))}")
    latest, kept, leaving = (
        entries[name]
        for name in ("model_checkpoint_path", "all_model_checkpoint_paths", "paths_being_deleted")
    )
    for names in (kept, leaving):
        if not isinstance(names, list):
            raise TypeError(f"a list of names was expected, got {names!r}")
    for name in (latest, *kept, *leaving):
        if not is_bare(name):
            raise ValueError(f"{name!r} does not name a checkpoint of this folder")
    moments, last_preserved = (
        entries["all_model_checkpoint_timestamps"],
        entries["last_preserved_timestamp"],
    )
    for moment in (*moments, last_preserved):
        if moment is not None and not _is_time(moment):
            raise TypeError(f"{moment!r} is not a time")
    times = {name: moment for name, moment in zip(kept, moments, strict=True) if moment is not None}
    kept = list(dict.fromkeys(kept))
    return State(
        latest,
        kept,
        times,
        last_preserved,
        [name for name in leaving if name not in kept and name != latest],
    )


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 2**63  # and no NaN


def write_state(folder: str | os.PathLike[str], state: State) -> None:
    """Makes a folder's file say this, at once."""
    entries = {
        "model_checkpoint_path": state.latest,
        "all_model_checkpoint_paths": list(state.kept),
        "all_model_checkpoint_timestamps": [state.times.get(name) for name in state.kept],
        "last_preserved_timestamp": state.last_preserved,
        "paths_being_deleted": list(state.leaving),
    }
    text = json.dumps(entries, indent=2) + "\n"
    write_atomically(Path(folder, _NAME), lambda temporary: _write_text(temporary, text))


def _write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
