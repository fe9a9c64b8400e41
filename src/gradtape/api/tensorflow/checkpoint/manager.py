"""`tf.train.CheckpointManager`: a folder of numbered checkpoints that keeps the latest ones."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gradtape.api.tensorflow.arguments import as_int
from gradtape.api.tensorflow.checkpoint.atomic_file import remove_abandoned
from gradtape.api.tensorflow.checkpoint.checkpoint import Checkpoint
from gradtape.api.tensorflow.checkpoint.state_file import (
    State,
    as_path,
    is_bare,
    latest_checkpoint,
    read_state,
    write_state,
)
from gradtape.api.tensorflow.checkpoint.tensor_file import file_of, is_checkpoint
from gradtape.published import published


@published("train.CheckpointManager")
class CheckpointManager:
    """Saves a Checkpoint into a folder again and again,
    and deletes all but the `max_to_keep` latest; None keeps all.

    >>> import gradtape as tf
    >>> import os, tempfile
    >>> manager = tf.train.CheckpointManager(
    ...     tf.train.Checkpoint(w=tf.Variable(1.0)), tempfile.mkdtemp(), max_to_keep=2
    ... )
    >>> for _ in range(3):
    ...     path = manager.save()
    >>> [os.path.basename(path) for path in manager.checkpoints]
    ['ckpt-2', 'ckpt-3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise TypeError(
                f"CheckpointManager: checkpoint must be a tf.train.Checkpoint, got {checkpoint!r}."
            )
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(
                "CheckpointManager: max_to_keep must be a positive number, or None to keep all, "
                f"got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "CheckpointManager: checkpoint_interval needs step_counter: give the Variable "
                "that counts the steps."
            )
        if not is_bare(checkpoint_name):
            raise ValueError(
                "CheckpointManager: checkpoint_name must be the name of a file, without a folder, "
                f"got {checkpoint_name!r}: give the "
                "folder as directory."
            )
        self._checkpoint = checkpoint
        self._directory = as_path(directory, "CheckpointManager: directory")
        self._max_to_keep = max_to_keep
        self._keep_every = (
            math.inf
            if keep_checkpoint_every_n_hours is None
            else 3600.0 * keep_checkpoint_every_n_hours
        )
        self._name = checkpoint_name
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step: int | None = None
        # Of `_state` and its file alone: nothing that takes a lock is called while it is held.
        self._lock = threading.RLock()
        state = read_state(self._directory) or State("", [])
        self._state = state._replace(
            kept=[name for name in state.kept if file_of(self._path(name)).exists()]
        )

    @property
    def checkpoint(self) -> Checkpoint:
        """The Checkpoint that is saved."""
        return self._checkpoint

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps lie between two saves at least, if that was given."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, the latest last."""
        return [self._path(name) for name in self._state.kept]

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, of this process or of one before it, or None."""
        return latest_checkpoint(self._directory)

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None
    ) -> str | None:
        """Writes a checkpoint and deletes those too many; gives its path, or None if
        `checkpoint_interval` is not over yet.

        >>> import gradtape as tf
        >>> import os, tempfile
        >>> manager = tf.train.CheckpointManager(
        ...     tf.train.Checkpoint(w=tf.Variable(1.0)), tempfile.mkdtemp(), max_to_keep=2
        ... )
        >>> os.path.basename(manager.save(checkpoint_number=100))
        'ckpt-100'
        """
        step = None if self._step_counter is None else int(self._step_counter)
        with self._lock:
            if check_interval and not self._is_due(step):
                return None
            last_step, self._last_step = self._last_step, step
        try:
            number = (
                None
                if checkpoint_number is None
                else as_int(checkpoint_number, "CheckpointManager.save: checkpoint_number")
            )
            path, leaving = self._save(number)
        except BaseException:
            self._last_step = last_step
            raise
        for name in leaving:
            if name not in self._state.kept:  # by which a signal handler may have saved meanwhile
                file_of(self._path(name)).unlink(missing_ok=True)
        remove_abandoned(Path(self._directory))
        return path

    def _save(self, number: int | None) -> tuple[str, Sequence[str]]:
        """Writes a checkpoint; gives its path, and the names of those too many."""
        taken = self._checkpoint._snapshot("save", counts=True)
        try:
            name = f"{self._name}-{taken.number if number is None else number}"
            path = self._path(name)
            taken.write(path)
            return path, self._record(name, taken.order).leaving
        except BaseException:
            self._checkpoint._uncount(taken.number)
            raise

    def restore_or_initialize(self) -> str | None:
        """Restores the latest checkpoint and gives its path; where there is none,
        calls `init_fn` and gives None.

        >>> import gradtape as tf
        >>> import tempfile
        >>> w = tf.Variable(0.0)
        >>> manager = tf.train.CheckpointManager(
        ...     tf.train.Checkpoint(w=w),
        ...     tempfile.mkdtemp(),
        ...     max_to_keep=2,
        ...     init_fn=lambda: w.assign(7.0),
        ... )
        >>> manager.restore_or_initialize() is None, w.numpy()
        (True, np.float32(7.0))
        """
        path = self.latest_checkpoint
        if path is not None:
            self._checkpoint.restore(path)
            self._last_step = None if self._step_counter is None else int(self._step_counter)
        elif self._init_fn is not None:
            self._init_fn()
        return path

    def sync(self) -> None:
        """Does nothing: a checkpoint is on the disk when `save` returns."""

    def _is_due(self, step: int | None) -> bool:
        return (
            self._interval is None
            or step is None
            or self._last_step is None
            or step >= self._last_step + self._interval
        )

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)  # noqa: PTH118 - the folder as it was given

    def _record(self, name: str, order: int) -> State:
        """Writes that there is one checkpoint more."""
        with self._lock:
            while True:
                before = self._state
                state = self._with(name, order)
                write_state(self._directory, state)
                # Else a signal handler has saved meanwhile; none can before the next line.
                if self._state is before:
                    self._state = state
                    return state

    def _with(self, name: str, order: int) -> State:
        """The state with one checkpoint more, and as many fewer as are too many.

        What another thread or a signal handler has saved meanwhile, of a later moment, stays the
        latest.
        """
        before = self._state
        kept = [other for other in before.kept if other != name]
        kept.insert(len(kept) - sum(before.orders.get(other, -1) > order for other in kept), name)
        times = {**before.times, name: time.time()}
        orders = {**before.orders, name: order}
        last_preserved = before.last_preserved
        leaving = [other for other in before.leaving if other != name]
        while self._max_to_keep is not None and len(kept) > self._max_to_keep:
            oldest = kept.pop(0)
            written = times.get(oldest, 0.0)
            if self._keep_every < math.inf and (
                last_preserved is None or written - last_preserved >= self._keep_every
            ):
                last_preserved = written
            else:
                leaving.append(oldest)
        return State(
            kept[-1],
            kept,
            {other: times[other] for other in kept if other in times},
            last_preserved,
            [other for other in leaving if self._may_go(other)],
            {other: orders[other] for other in kept if other in orders},
        )

    def _may_go(self, name: str) -> bool:
        """Whether a name is that of a file which this manager, or another Checkpoint, has written:
        a state file may name anything.
        """
        file = file_of(self._path(name))
        if not file.is_symlink() and not file.is_file():
            return False
        return re.fullmatch(rf"{re.escape(self._name)}-[0-9]+", name) is not None or is_checkpoint(
            file
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "A CheckpointManager cannot be copied or pickled, since two of them would delete "
            "each other's files: make another with tf.train.CheckpointManager(checkpoint, "
            "directory, max_to_keep). A Checkpoint can be copied and pickled."
        )
