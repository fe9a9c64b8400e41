"""The file `checkpoint` of a folder, which names its latest checkpoint and those that are kept: `latest_checkpoint` reads it.

It is JSON, with TensorFlow's names for the entries, and paths relative to the folder, so that a folder can be moved.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gradtape.api.checkpoint.atomic_file import write_atomically
from gradtape.api.checkpoint.tensor_file import file_of
from gradtape.errors import DataLossError

_NAME = "checkpoint"


class State(NamedTuple):
    """What the file says. `leaving` are checkpoints whose deletion may have been interrupted."""

    latest: str
    kept: Sequence[str]
    times: Mapping[str, float] = {}
    last_preserved: float | None = None
    leaving: Sequence[str] = ()


def latest_checkpoint(checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None) -> str | None:
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
    state = read_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    candidates = [os.path.join(checkpoint_dir, name) for name in (state.latest, *reversed(state.kept))]  # noqa: PTH118 - as given
    return next((path for path in candidates if file_of(path).is_file()), None)


def read_state(folder: str | os.PathLike[str], name: str | None = None) -> State | None:
    """What a folder's file says, or None where there is none."""
    file = Path(folder, name or _NAME)
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        entries: dict[str, Any] = json.loads(text)
        kept = entries["all_model_checkpoint_paths"]
        written = zip(kept, entries["all_model_checkpoint_timestamps"], strict=True)
        times = {path: moment for path, moment in written if moment is not None}
        return State(
            entries["model_checkpoint_path"], kept, times, entries["last_preserved_timestamp"], entries["paths_being_deleted"]
        )
    except (ValueError, KeyError, TypeError) as error:
        message = (
            f"'{file}' is no list of checkpoints that gradtape has written, so the latest is not known: give the path of a "
            "checkpoint to restore() yourself, or remove this file."
        )
        raise DataLossError(None, None, message) from error


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
