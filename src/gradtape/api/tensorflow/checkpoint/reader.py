"""Reading what a checkpoint holds without the objects that it was saved from:
`tf.train.load_checkpoint`, `list_variables`, `load_variable`, and waiting for the next one.

A value has TensorFlow's name, the path of its object and then `/.ATTRIBUTES/VARIABLE_VALUE`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gradtape import dtypes
from gradtape.api.tensorflow.checkpoint.bundle.reader import prefix_of
from gradtape.api.tensorflow.checkpoint.state_file import latest_checkpoint, read_state
from gradtape.api.tensorflow.checkpoint.tensor_file import file_of, read_tensors
from gradtape.errors import NotFoundError
from gradtape.published import published

PathLike = str | os.PathLike[str]
_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"
_MOST_SECONDS_ASLEEP = 1.0


class CheckpointReader:
    """The values of a checkpoint by name."""

    def __init__(self, path: str, arrays: Mapping[str, Any]) -> None:
        self._path = path
        self._arrays = dict(arrays)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each value."""
        return {name: list(array.shape) for name, array in self._arrays.items()}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        """The dtype of each value."""
        return {name: _dtype(array) for name, array in self._arrays.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a value of this name."""
        return _text(tensor_str) in self._arrays

    def get_tensor(self, tensor_str: str) -> Any:
        """A value, as an array of its own; one string as bytes."""
        name = _text(tensor_str)
        if name not in self._arrays:
            raise NotFoundError(
                None,
                None,
                f"The checkpoint '{self._path}' has no value {name!r}: it has "
                f"{', '.join(sorted(self._arrays)) or 'none'}.",
            )
        array = self._arrays[name]
        return array.item() if array.dtype == object and not array.shape else array.copy()

    def debug_string(self) -> bytes:
        """The names, dtypes and shapes, a line each."""
        rows = (f"{n} ({_dtype(a).name}) {list(a.shape)}" for n, a in sorted(self._arrays.items()))
        return "".join(f"{row}\n" for row in rows).encode()


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _dtype(array: Any) -> dtypes.DType:
    return dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)


@published("train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """The values of a checkpoint, or of the latest one of a folder, by name; TensorFlow's too.

    >>> import gradtape as tf
    >>> import tempfile
    >>> path = tf.train.Checkpoint(w=tf.Variable([1.0, 2.0])).save(tempfile.mkdtemp() + "/model")
    >>> reader = tf.train.load_checkpoint(path)
    >>> reader.get_tensor("w/.ATTRIBUTES/VARIABLE_VALUE")
    array([1., 2.], dtype=float32)
    """
    path = os.fspath(ckpt_dir_or_file)
    if Path(path).is_dir() and prefix_of(path) is None:  # and no SavedModel of TensorFlow's
        latest = latest_checkpoint(path)
        if latest is None:
            raise ValueError(
                f"load_checkpoint: there is no checkpoint in the folder '{path}': give the path "
                "that save() returned."
            )
        path = latest
    ending = _ENDING if file_of(path).exists() else ""  # TensorFlow's own files have it
    arrays = read_tensors(path).arrays
    return CheckpointReader(path, {f"{key}{ending}": array for key, array in arrays.items()})


@published("train.list_variables")
def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """The names and shapes of a checkpoint's values, sorted by name.

    >>> import gradtape as tf
    >>> import tempfile
    >>> path = tf.train.Checkpoint(w=tf.Variable([1.0])).write(tempfile.mkdtemp() + "/model")
    >>> tf.train.list_variables(path)[-1]
    ('w/.ATTRIBUTES/VARIABLE_VALUE', [1])
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


@published("train.load_variable")
def load_variable(ckpt_dir_or_file: PathLike, name: str) -> Any:
    """One value of a checkpoint, as an array.

    >>> import gradtape as tf
    >>> import tempfile
    >>> path = tf.train.Checkpoint(w=tf.Variable([1.0])).write(tempfile.mkdtemp() + "/model")
    >>> tf.train.load_variable(path, "w/.ATTRIBUTES/VARIABLE_VALUE")
    array([1.], dtype=float32)
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


class CheckpointState(NamedTuple):
    """Which checkpoints a folder has."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: list[str]
    all_model_checkpoint_timestamps: list[float]
    last_preserved_timestamp: float


@published("train.get_checkpoint_state")
def get_checkpoint_state(
    checkpoint_dir: PathLike, latest_filename: str | None = None
) -> CheckpointState | None:
    """Which checkpoints a folder has, as its file `checkpoint` says; None if there is no such file.

    >>> import gradtape as tf
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.train.get_checkpoint_state(folder) is None
    True
    >>> path = tf.train.Checkpoint(w=tf.Variable(1.0)).save(folder + "/model")
    >>> tf.train.get_checkpoint_state(folder).model_checkpoint_path == path
    True
    """
    state = read_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    return CheckpointState(
        _in_folder(checkpoint_dir, state.latest),
        [_in_folder(checkpoint_dir, name) for name in state.kept],
        [state.times[name] for name in state.kept if name in state.times],
        state.last_preserved or 0.0,
    )


def _in_folder(folder: PathLike, name: str) -> str:
    return os.path.join(folder, name)  # noqa: PTH118 - the folder as it was given


@published("train.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: PathLike,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The path of each new checkpoint of a folder, as it is written.

    It waits `timeout` seconds for the next one, without end if that is None. After a wait in vain
    it ends, or, if there is a `timeout_fn`, goes on until that says True.

    >>> import gradtape as tf
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = tf.train.Checkpoint(w=tf.Variable(1.0)).save(folder + "/model")
    >>> [os.path.basename(path) for path in tf.train.checkpoints_iterator(folder, timeout=0)]
    ['model-1']
    """
    last: str | None = None
    while True:
        found = _next_after(last, checkpoint_dir, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        began = time.monotonic()
        last = found
        yield found
        time.sleep(max(0.0, began + min_interval_secs - time.monotonic()))


def _next_after(last: str | None, folder: PathLike, timeout: float | None) -> str | None:
    """The latest checkpoint when it is another than `last`; None after the timeout."""
    end = None if timeout is None else time.monotonic() + timeout
    asleep = 0.01
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != last:
            return found
        if end is not None and time.monotonic() + asleep > end:
            return None
        time.sleep(asleep)
        asleep = min(2 * asleep, _MOST_SECONDS_ASLEEP)
