"""`tf.train.Checkpoint`: saves and restores the Variables that its attributes hold."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradtape.api.tensorflow.checkpoint.keras_attributes import graph_with_attributes
from gradtape.api.tensorflow.checkpoint.layout import GraphNode
from gradtape.api.tensorflow.checkpoint.object_graph import (
    children,
    is_followed,
    variable_of,
)
from gradtape.api.tensorflow.checkpoint.restoring import Restoration, RestoreStatus, Waiting
from gradtape.api.tensorflow.checkpoint.state_file import State, as_path, write_state
from gradtape.api.tensorflow.checkpoint.tensor_file import read_tensors, write_tensors
from gradtape.convert import on_host
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla.trace import inside_a_program, outside_programs
from gradtape.published import published

PathLike = str | os.PathLike[str]
_OWN = frozenset(("root", "_counter", "_latest_order", "_lock", "_newest", "_waiting"))
_order = count()
_NESTED = 16  # saves of signal handlers that have interrupted each other


class Snapshot(NamedTuple):
    """The objects and values of one moment.

    `order` is larger for those of later moments, of all Checkpoints.
    """

    nodes: Sequence[GraphNode]
    arrays: Mapping[str, Any]
    number: int
    order: int

    def write(self, path: str) -> None:
        write_tensors(path, self.nodes, self.arrays, self.number)


@published("train.Checkpoint")
class Checkpoint:
    """Variables, and Modules, lists, dicts, generators and Keras objects that hold them,
    by the names they are given.

    >>> import gradtape as tf
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> w = tf.Variable(1.0)
    >>> checkpoint = tf.train.Checkpoint(w=w)
    >>> path = checkpoint.save(folder + "/model")
    >>> w.assign(5.0).numpy()
    np.float32(5.0)
    >>> status = checkpoint.restore(path).assert_consumed()
    >>> w.numpy()
    np.float32(1.0)
    """

    _waiting: Waiting | None = None

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._lock = threading.RLock()
        # By folder, the order and the name of what was saved last.
        self._newest: dict[str, list[tuple[int, str]]] = {}
        self._latest_order = -1
        with outside_programs():
            self._counter = Variable(np.int64(0), trainable=False, name="save_counter")
        self.root = root
        for name, thing in (({} if root is None else {"root": root}) | kwargs).items():
            if not is_followed(thing):
                raise ValueError(
                    f"Checkpoint: {name} must be a Variable, or a Module, list, dict, generator or "
                    "Keras object that holds some, got "
                    f"{thing!r}: make it a tf.Variable to save it."
                )
        taken = children(root) if root is not None else {}
        for name, thing in kwargs.items():
            if name in _OWN or hasattr(type(self), name):
                raise ValueError(
                    f"Checkpoint: '{name}' is used by Checkpoint itself: choose another name."
                )
            if taken.get(name, thing) is not thing:
                raise ValueError(
                    f"Checkpoint: root already has a different '{name}': choose another name."
                )
            setattr(self, name, thing)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._waiting is not None and name not in _OWN:
            value = self._waiting(name, value)
        object.__setattr__(self, name, value)

    def __gradtape_children__(self) -> Iterator[tuple[str, Any]]:
        if self.root is not None:
            yield from (
                [("root", self.root)]
                if variable_of(self.root) is not None
                else children(self.root).items()
            )
        yield from ((name, value) for name, value in vars(self).items() if name not in _OWN)
        yield "save_counter", self._counter

    @property
    def save_counter(self) -> Variable:
        """How often `save` was called, as a Variable that is saved and restored too."""
        return self._counter

    def save(self, file_prefix: PathLike, options: Any = None) -> str:
        """Writes the next numbered checkpoint, and makes it the latest of its folder.

        >>> import gradtape as tf
        >>> import os, tempfile
        >>> checkpoint = tf.train.Checkpoint(w=tf.Variable(1.0))
        >>> [os.path.basename(checkpoint.save(tempfile.mkdtemp() + "/model")) for _ in range(2)]
        ['model-1', 'model-2']
        """
        prefix = as_path(file_prefix, "Checkpoint.save: file_prefix")
        taken = self._snapshot("save", counts=True)
        try:
            path = _named(f"{prefix}-{taken.number}")
            taken.write(path)
            self._make_latest(*os.path.split(path), taken.order)
        except BaseException:
            self._uncount(taken.number)
            raise
        return path

    def _make_latest(self, folder: str, name: str, order: int) -> None:
        """Has a folder's file name this checkpoint, unless another thread or a signal handler has
        saved a later one meanwhile.
        """
        with self._lock:
            saved = self._newest.setdefault(folder, [])
            saved.append((order, name))
            written = None
            while written != max(saved):  # a signal handler may save at any moment
                written = max(saved)
                write_state(folder, State(written[1], [written[1]]))
            del saved[:-_NESTED]

    def _snapshot(self, method: str, *, counts: bool = False) -> Snapshot:
        """The values now, all of one moment.

        If it `counts`, the save counter is one further, in the snapshot too.

        It takes no lock but `writing`, which the code that a signal handler has interrupted may
        have already.
        """
        _refuse_in_a_program(method)
        nodes, leaves = graph_with_attributes(self)
        with (
            writing.lock
        ):  # a compiled function in another thread is seen as a whole, before or after
            while True:
                order = next(_order)
                if self._latest_order > order:
                    continue
                self._latest_order = order
                number = int(self._counter.array) + counts
                try:
                    if counts:
                        self._counter.assign(number, read_value=False)
                    arrays = {key: on_host(_value(leaf)) for key, leaf in leaves.items()}
                    taken = Snapshot(nodes, arrays, number, order)
                except BaseException:
                    if counts:
                        self._uncount(number)
                    raise
                if (
                    self._latest_order == order
                ):  # else a signal handler has saved meanwhile, maybe by the same number
                    return taken

    def _uncount(self, number: int) -> None:
        """A save that fails does not count, unless another has counted on from it."""
        with writing.lock:
            if int(self._counter.array) == number:
                self._counter.assign(number - 1, read_value=False)

    def write(self, file_prefix: PathLike, options: Any = None) -> str:
        """Writes a checkpoint to this path, unnumbered,
        and without making it the latest of its folder.

        >>> import gradtape as tf
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> path = tf.train.Checkpoint(w=tf.Variable(1.0)).write(folder + "/weights")
        >>> os.listdir(folder)
        ['weights.safetensors']
        """
        path = _named(as_path(file_prefix, "Checkpoint.write: file_prefix"))
        self._snapshot("write").write(path)
        return path

    def read(self, save_path: PathLike, options: Any = None) -> RestoreStatus:
        """Gives the values of a checkpoint to the Variables, all of them or,
        if one does not fit, none.

        >>> import gradtape as tf
        >>> import tempfile
        >>> path = tf.train.Checkpoint(w=tf.Variable(3.0)).write(tempfile.mkdtemp() + "/weights")
        >>> w = tf.Variable(0.0)
        >>> status = tf.train.Checkpoint(w=w).read(path)
        >>> w.numpy()
        np.float32(3.0)
        """
        _refuse_in_a_program("read")
        path = as_path(save_path, "Checkpoint: save_path")
        return RestoreStatus(path, Restoration(self, path, read_tensors(path)))

    def restore(self, save_path: PathLike | None, options: Any = None) -> RestoreStatus:
        """As `read`; without a path, as `latest_checkpoint` gives it for a new folder,
        it does nothing.

        >>> import gradtape as tf
        >>> import tempfile
        >>> w = tf.Variable(0.0)
        >>> status = tf.train.Checkpoint(w=w).restore(
        ...     tf.train.latest_checkpoint(tempfile.mkdtemp())
        ... )
        >>> w.numpy()
        np.float32(0.0)
        """
        return RestoreStatus(None, None) if save_path is None else self.read(save_path)

    def sync(self) -> None:
        """Does nothing: a checkpoint is on the disk when `save` returns."""

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in vars(self).items()
            if name not in _OWN or name in ("root", "_counter")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock(), _newest={}, _latest_order=-1)


def _named(path: str) -> str:
    if not Path(path).name:
        raise ValueError(f"Checkpoint: the path must end with a file name, got {path!r}.")
    return path


def _value(leaf: Any) -> Any:
    variable = variable_of(leaf)
    assert variable is not None
    return variable.array


def _refuse_in_a_program(method: str) -> None:
    if inside_a_program():
        raise NotImplementedError(
            f"Checkpoint.{method} reads and writes files, which a compiled function cannot: call "
            "it outside, between two steps; "
            "in a signal handler, inside `with gradtape.init_scope():`."
        )
