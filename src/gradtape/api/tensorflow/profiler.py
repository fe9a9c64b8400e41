"""`tf.profiler.experimental`: XLA's own profiler, for compiled steps.

It writes what TensorBoard's profile plugin and Perfetto show. JAX is loaded when it starts. For
eager code, by line, there is `gradtape.profile`.
"""

from __future__ import annotations

import os
import shutil
from time import perf_counter_ns
from typing import Any, NamedTuple, Self

from gradtape.blocks import Block
from gradtape.core.messages import first_times, log_warning
from gradtape.core.thread import here
from gradtape.engines.xla import profiler as xla_profiler
from gradtape.errors import AlreadyExistsError, UnavailableError
from gradtape.published import published


@published("profiler.experimental.ProfilerOptions")
class ProfilerOptions(NamedTuple):
    """How much a profile records: levels from 0, nothing, to 3 of what the host does, 0 or 1 of
    Python's calls and of what the device does.

    >>> import gradtape as tf
    >>> tf.profiler.experimental.ProfilerOptions(python_tracer_level=1).host_tracer_level
    2
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


class _Running:
    """The folder of the profile that is running in this process, what was in it before, and the
    block that began it, if it was one.
    """

    logdir: str | None = None
    before: frozenset[str] = frozenset()
    block: Profile | None = None


@published("profiler.experimental.start")
def start(logdir: str | os.PathLike[str], options: ProfilerOptions | None = None) -> None:
    """Starts XLA's profiler; `stop` writes what it has seen into `logdir`.

    >>> import gradtape as tf, os, tempfile
    >>> logdir = tempfile.mkdtemp()
    >>> tf.profiler.experimental.start(logdir)
    >>> y = tf.function(lambda x: x + 1)(tf.constant(1.0))
    >>> tf.profiler.experimental.stop()
    >>> os.listdir(logdir)
    ['plugins']
    """
    _start(logdir, options)


def _start(
    logdir: str | os.PathLike[str], options: ProfilerOptions | None, block: Profile | None = None
) -> None:
    if _Running.logdir is not None:
        raise AlreadyExistsError(
            None, None,
            f"profiler.experimental.start: a profile is being written to {_Running.logdir} "
            "already: stop it first.",
        )  # fmt: skip
    options = ProfilerOptions() if options is None else options
    if options.delay_ms is not None and first_times("profiler delay", limit=1) is not None:
        log_warning("profiler.experimental.start: delay_ms is not supported: it starts at once.")
    folder = os.fspath(logdir)
    before = frozenset(_runs(folder))
    levels = {name: level for name, level in options._asdict().items() if name.endswith("_level")}
    _Running.logdir, _Running.before, _Running.block = folder, before, block
    try:
        xla_profiler.start(folder, levels)
    except BaseException as error:
        if not xla_profiler.is_another(error):
            xla_profiler.stop()  # a signal may have come after it began
        _Running.logdir = _Running.block = None
        raise


@published("profiler.experimental.stop")
def stop(save: bool = True) -> None:
    """Stops the profiler and writes what it has seen, unless it is not to `save` it.

    >>> import gradtape as tf, tempfile
    >>> tf.profiler.experimental.start(tempfile.mkdtemp())
    >>> tf.profiler.experimental.stop(save=False)
    """
    folder = _Running.logdir
    if folder is None:
        raise UnavailableError(
            None, None, "profiler.experimental.stop: no profile is running: start one first."
        )
    xla_profiler.stop()
    _Running.logdir = _Running.block = None
    if not save:  # which the profiler itself does not ask
        for run in _runs(folder):
            if run not in _Running.before:
                shutil.rmtree(run)


def _runs(folder: str) -> list[str]:
    """The folders of the profiles in a folder for TensorBoard."""
    parent = os.path.join(folder, "plugins", "profile")  # noqa: PTH118 - pathlib takes 4 ms
    try:
        return [os.path.join(parent, name) for name in os.listdir(parent)]  # noqa: PTH118, PTH208
    except FileNotFoundError:
        return []


@published("profiler.experimental.Profile")
class Profile(Block):
    """A block that is profiled by XLA's profiler.

    >>> import gradtape as tf, tempfile
    >>> with tf.profiler.experimental.Profile(tempfile.mkdtemp()):
    ...     y = tf.function(lambda x: x + 1)(tf.constant(1.0))
    """

    def __init__(
        self, logdir: str | os.PathLike[str], options: ProfilerOptions | None = None
    ) -> None:
        self._logdir = logdir
        self._options = options

    def enter(self) -> None:
        _start(self._logdir, self._options, self)

    def leave(self) -> None:
        if _Running.block is self:
            stop()


@published("profiler.experimental.Trace")
class Trace(Block):
    """A block with a name in XLA's profile and in the trace of `gradtape.profile`.

    `step_num` makes it a step of training; other keywords are noted beside the name.

    >>> import gradtape as tf
    >>> with tf.profile() as p:
    ...     with tf.profiler.experimental.Trace("forward", step_num=3):
    ...         y = tf.exp(1.0)
    >>> p.sections[0].name, p.sections[0].about
    ('forward', {'step_num': 3})
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name = name
        self._about = kwargs
        self._named: Any = None
        self._start = 0

    def enter(self) -> None:
        self._start = perf_counter_ns()
        about = {key: value for key, value in self._about.items() if key not in _STEP}
        self._named = xla_profiler.named(self._name, self._about.get("step_num"), about)
        self._named.__enter__()

    def leave(self) -> None:
        if not self._start:
            return
        named, self._named = self._named, None
        if named is not None:
            named.__exit__(None, None, None)
        start, self._start = self._start, 0
        for observer in here.state.observers:
            observer.section(self._name, start, perf_counter_ns(), self._about)

    def set_metadata(self, **kwargs: Any) -> None:
        """Notes more about the block; it is shown in the trace of `gradtape.profile`."""
        self._about = {**self._about, **kwargs}

    def __enter__(self) -> Self:
        self.enter()
        return self


_STEP = ("step_num", "_r")  # TensorFlow's own mark of a step


class _Server:
    """What serves profiles, once it was asked to."""

    running: Any = None


@published("profiler.experimental.server.start")
def start_server(port: int) -> None:
    """Serves profiles of this process on a port: TensorBoard captures them while it runs.

    >>> import gradtape as tf
    >>> callable(tf.profiler.experimental.server.start)
    True
    """
    _Server.running = xla_profiler.serve(port)
