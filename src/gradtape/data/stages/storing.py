"""Elements in files of our own: save and load, snapshot, and cache with a file name."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from gradtape import nest
from gradtape.api.tensorflow.type_specs import SparseTensorSpec
from gradtape.convert import as_tensor
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.data.block_files import INDEX, Reader, Writer
from gradtape.data.stage import Run, Stage, StageIterator
from gradtape.data.structure import (
    array_of,
    common_spec,
    has_rows_of_ragged,
    leaves_of,
    packer,
    spec_of,
)
from gradtape.errors import AlreadyExistsError
from gradtape.ragged.spec import RaggedTensorSpec
from gradtape.ragged.tensor import RaggedTensor

_TAKEN = errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR
"""What systems answer if there is a folder or a file of that name."""


def path_of(value: Any, argument: str) -> Path:
    """A path that may be given as text, as a tensor of text, or as a Path."""
    if isinstance(value, (str, os.PathLike)):
        return Path(value)
    return Path(os.fsdecode(as_tensor(value, argument=argument).array[()]))


# A leaf as tensors


def parts_of(leaf: Any) -> Sequence[Any]:
    """The tensors that a leaf is made of: one, unless it is ragged or sparse."""
    if isinstance(leaf, RaggedTensor):
        return leaf.flat_values, *leaf.nested_row_splits
    if isinstance(leaf, SparseTensor):
        return leaf.indices, leaf.values, leaf.dense_shape
    return (leaf,)


def parts_in(spec: Any) -> int:
    """How many tensors a leaf of a spec is made of."""
    if isinstance(spec, RaggedTensorSpec):
        return 1 + spec.ragged_rank
    return 3 if isinstance(spec, SparseTensorSpec) else 1


def leaf_from(parts: Iterator[Any], spec: Any) -> Any:
    """A leaf made of the next of the tensors."""
    first = next(parts)
    if isinstance(spec, SparseTensorSpec):
        return SparseTensor(first, next(parts), next(parts))
    if not isinstance(spec, RaggedTensorSpec):
        return first
    splits = [next(parts) for _ in range(spec.ragged_rank)]
    lengths = [None] * len(splits) if spec.shape.rank is None else spec.shape.as_list()[1:]
    found: Any = first
    for level in reversed(range(len(splits))):
        found = RaggedTensor(found, splits[level], lengths[level])
    return found


# Stages


class Loaded(Stage):
    """What `save` has written."""

    name = "load"

    def __init__(self, path: Any, element_spec: Any) -> None:
        super().__init__()
        self._reader = Reader(path_of(path, "load: path"))
        wanted = element_spec
        if wanted is not None and nest.flatten(wanted) != nest.flatten(self._reader.spec):
            raise ValueError(
                f"load: element_spec is {wanted}, but what was saved is {self._reader.spec}."
            )
        self._spec = self._reader.spec if wanted is None else wanted

    @cached_property
    def spec(self) -> Any:
        return self._spec

    def cardinality(self) -> int:
        return self._reader.count

    @property
    def has_ragged_rows(self) -> bool:
        return has_rows_of_ragged(self._spec)

    def iterator(self, run: Run) -> StageIterator:
        return _Read(self._reader, self._spec)


class _Read(StageIterator):
    def __init__(self, reader: Reader, spec: Any) -> None:
        super().__init__()
        self._leaves = nest.flatten(spec)
        self._elements: Iterator[list[Any]] = reader.elements(sum(map(parts_in, self._leaves)))
        self._pack = packer(spec)

    def __next__(self) -> Any:
        parts = map(Tensor, next(self._elements))
        return self._pack([leaf_from(parts, spec) for spec in self._leaves])

    def close(self) -> None:
        self._elements = iter(())


def save(stage: Stage, path: Any, *, compressed: bool) -> None:
    """Writes all elements to a folder, in place of what it held."""
    folder = path_of(path, "save: path")
    writing = _Writing(folder, stage, compressed=compressed)
    elements = stage.iterator(Run(stage))
    try:
        for element in elements:
            writing.add(element)
        writing.finish(stage.spec, replaces=True)
    except BaseException:
        writing.discard()
        raise
    finally:
        elements.close()


def _identity(folder: Path) -> Any:
    """Which folder bears a name now; None if there is none."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class _Writing:
    """A folder beside the one that it becomes when everything is written."""

    def __init__(self, folder: Path, stage: Stage, *, compressed: bool = False) -> None:
        # What a link leads to is written: a link itself can be replaced by no folder.
        self._folder = folder = folder.resolve()
        self._part = folder.with_name(
            f"{folder.name}.part-{os.getpid()}-{threading.get_ident()}-{id(self)}"
        )
        self._writer = Writer(self._part, compressed=compressed)
        self.spec: Any = None
        """The specs that describe all elements so far."""

    def add(self, element: Any) -> None:
        spec = spec_of(element)
        if spec != self.spec:
            self.spec = spec if self.spec is None else common_spec(self.spec, spec, "save")
        self._writer.add([
            array_of(part, "save: a component")
            for leaf in leaves_of(element)
            for part in parts_of(leaf)
        ])  # fmt: skip

    def finish(self, spec: Any, *, replaces: bool) -> None:
        """Makes it the folder. Of several that write one cache, in threads or processes, the first
        to finish does: others may be reading that by now.
        """
        self._writer.finish(spec)
        while True:
            with suppress(OSError):  # it is not there, or not empty
                self._folder.rmdir()
            try:
                self._part.rename(self._folder)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
            else:
                return
            if not self._folder.exists():
                continue
            now = _identity(self._folder)
            if not (self._folder / INDEX).exists():
                if now is None or now != _identity(self._folder):
                    continue  # another was put there meanwhile
                raise AlreadyExistsError(
                    None, None, f"'{self._folder}' exists and is no dataset: choose another path."
                )
            if not replaces:
                self.discard()
                return
            self._set_aside()

    def _set_aside(self) -> None:
        old = self._part.with_name(f"{self._part.name}.old")
        with suppress(FileNotFoundError):  # somebody else has done it
            self._folder.rename(old)
            shutil.rmtree(old)

    def discard(self) -> None:
        shutil.rmtree(self._part, ignore_errors=True)


class FileCache(Stage):
    """Elements that are written to a folder in the first pass, and read from it later."""

    def __init__(self, source: Stage, path: Any, name: str, *, compressed: bool) -> None:
        super().__init__(source)
        self.name = name
        self._folder = path_of(path, f"{name}: path")
        self._compressed = compressed

    @property
    def computes(self) -> bool:
        return False

    def _reader(self) -> Reader | None:
        return Reader(self._folder) if (self._folder / INDEX).exists() else None

    def iterator(self, run: Run) -> StageIterator:
        reader = self._reader()
        if reader is not None:
            return _Read(reader, self.spec if reader.has_named_tuples else reader.spec)
        writing = _Writing(self._folder, self, compressed=self._compressed)
        return _Written(self, self.input.iterator(run), writing)


class _Written(StageIterator):
    def __init__(self, stage: FileCache, source: StageIterator, writing: _Writing) -> None:
        super().__init__(source)
        self._stage = stage
        self._writing: _Writing | None = writing

    def __next__(self) -> Any:
        try:
            element = next(self.inputs[0])
        except StopIteration:
            if self._writing is not None:
                seen = self._writing.spec  # not the stage's own, which may call functions again
                spec = self._stage.spec if seen is None else seen
                self._writing.finish(spec, replaces=False)
                self._writing = None
            raise
        if self._writing is not None:
            self._writing.add(element)
        return element

    def skip(self, count: int) -> None:
        StageIterator.skip(self, count)  # what is skipped is written too

    def close(self) -> None:
        if self._writing is not None:
            self._writing.discard()
            self._writing = None
        super().close()

    def __del__(self) -> None:
        if self._writing is not None:
            self._writing.discard()
