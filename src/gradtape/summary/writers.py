"""Writers of event files, which TensorBoard reads: `tf.summary.create_file_writer`.

An event file is a file of TFRecords, so that threads may share its writer, an interrupt leaves it
whole, and it is closed when the program ends. The events in it are TensorBoard's own messages.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from typing import Any, Self

from gradtape.api.tensorflow.arguments import as_int
from gradtape.blocks import Block
from gradtape.core.xla.trace import inside_a_program
from gradtape.extras import needed_for
from gradtape.io.file_system import join, makedirs
from gradtape.io.paths import PathLike, text_of
from gradtape.io.tfrecord import TFRecordWriter
from gradtape.published import published
from gradtape.summary.state import state_here

_numbers = itertools.count()


def tensorboards(module: str) -> Any:
    """A module of TensorBoard's."""
    return needed_for("tf.summary", f"tensorboard.{module}", "tensorboard")


@published("summary.SummaryWriter")
class SummaryWriter:
    """What summaries are written to: `create_file_writer` and `create_noop_writer` make one.

    >>> import gradtape as tf, tempfile
    >>> isinstance(tf.summary.create_file_writer(tempfile.mkdtemp()), tf.summary.SummaryWriter)
    True
    """

    closed = False

    def as_default(self, step: Any = None) -> Block:
        """A block in which summaries of this thread are written here, at `step` if it is given."""
        self._require_open()
        return _Default(self, step)

    def set_as_default(self, step: Any = None) -> None:
        """Has the summaries of this thread written here, until another writer is set."""
        self._require_open()
        state = state_here()
        state.writer = self
        if step is not None:
            state.step = step

    def init(self) -> None:
        """Does nothing: a writer is ready when it is made."""
        self._require_open()

    def flush(self) -> None:
        """Hands everything so far to the operating system."""

    def close(self) -> None:
        """Writes what is left; a second call does nothing."""

    def add(self, event: Any) -> bool:
        """Writes one of TensorBoard's events; False if it goes nowhere."""
        return False

    def _require_open(self) -> None:
        if self.closed:
            raise RuntimeError(f"{self!r} is already closed: create a new writer.")


class Setting(Block):
    """A block in which the state of this thread has other values, by its attributes' names."""

    def __init__(self, **values: Any) -> None:
        self._values = values
        self._before: list[dict[str, Any]] = []

    def enter(self) -> None:
        state = state_here()
        names = frozenset(self._values)
        self._before.append({name: getattr(state, name) for name in (*names, "inner")})
        state.inner = state.inner | names if inside_a_program() else state.inner - names
        for name, value in self._values.items():
            setattr(state, name, value)

    def leave(self) -> None:
        if self._before:
            vars(state_here()).update(self._before[-1])
            del self._before[-1:]


class _Default(Setting):
    """A block with a default writer, which is flushed at its end."""

    def __init__(self, writer: SummaryWriter, step: Any) -> None:
        super().__init__(writer=writer, **({} if step is None else {"step": step}))
        self._writer = writer

    def leave(self) -> None:
        super().leave()
        self._writer.flush()

    def __enter__(self) -> Self:
        self.enter()
        return self


class FileWriter(SummaryWriter):
    """Writes an event file."""

    def __init__(self, logdir: str, max_queue: int, flush_millis: int, suffix: str) -> None:
        self._events = tensorboards("compat.proto.event_pb2")
        makedirs(logdir)
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
            f".{next(_numbers)}{suffix}"
        )
        self.path = join(logdir, name)
        self._most, self._seconds = max_queue, flush_millis / 1000
        self._lock = threading.RLock()
        self._waiting = 0
        self._records = TFRecordWriter(self.path)
        self._last = time.monotonic()
        about = self._events.SourceMetadata(writer="gradtape.summary")
        self.add(self._events.Event(file_version="brain.Event:2", source_metadata=about))
        self.flush()

    def add(self, event: Any) -> bool:
        with self._lock:
            if self.closed:
                return False
            event.wall_time = time.time()
            self._records.write(event.SerializeToString())
            self._waiting += 1
            if self._waiting > self._most or time.monotonic() - self._last > self._seconds:
                self.flush()
        return True

    def flush(self) -> None:
        with self._lock:
            if not self.closed:
                self._records.flush()
                self._waiting, self._last = 0, time.monotonic()

    def close(self) -> None:
        with self._lock:
            self.closed = True
            self._records.close()

    def __repr__(self) -> str:
        return f"<SummaryWriter of '{self.path}'>"


class _NoWriter(SummaryWriter):
    """Writes nothing."""

    def __repr__(self) -> str:
        return "<SummaryWriter that writes nothing>"


@published("summary.create_file_writer")
def create_file_writer(
    logdir: PathLike,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """A writer of a new event file in a folder, for TensorBoard.

    What it is given reaches the file when more than `max_queue` events (10) wait, when the last
    time was more than `flush_millis` (two minutes) ago, by `flush`, and at the end.

    >>> import gradtape as tf, os, tempfile
    >>> logdir = tempfile.mkdtemp()
    >>> with tf.summary.create_file_writer(logdir).as_default():
    ...     print(tf.summary.scalar("loss", 0.5, step=1).numpy())
    True
    >>> [name.startswith("events.out.tfevents.") for name in os.listdir(logdir)]
    [True]
    """
    if logdir is None:
        raise ValueError("create_file_writer: logdir must not be None.")
    folder = text_of(logdir, "create_file_writer: logdir")
    most = as_int(10 if max_queue is None else max_queue, "create_file_writer: max_queue")
    wait = as_int(
        120_000 if flush_millis is None else flush_millis, "create_file_writer: flush_millis"
    )
    suffix = ".v2" if filename_suffix is None else filename_suffix
    if not isinstance(suffix, str) or "/" in suffix or "\0" in suffix:
        raise ValueError(
            f"create_file_writer: filename_suffix must be the end of a name, got {suffix!r}."
        )
    return FileWriter(folder, most, wait, suffix)


@published("summary.create_noop_writer")
def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing.

    >>> import gradtape as tf
    >>> with tf.summary.create_noop_writer().as_default():
    ...     print(tf.summary.scalar("loss", 0.5, step=1).numpy())
    False
    """
    return _NoWriter()


@published("summary.flush")
def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Hands everything that a writer, or the default one, was given to the operating system.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     tf.summary.flush()
    """
    chosen = state_here().writer if writer is None else writer
    if chosen is not None:
        chosen.flush()
