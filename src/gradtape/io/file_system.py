"""`tf.io.gfile`'s functions: folders, and files as a whole.

Local paths are Python's own business; for a `scheme://`, fsspec has the file system.
"""

from __future__ import annotations

import glob as python_glob
import os
import shutil
import stat as modes
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gradtape import errors
from gradtape.extras import needed_for
from gradtape.io.paths import (
    PathLike,
    as_tensorflows,
    file_errors,
    open_binary,
    remote_file_system,
    scheme_of,
    text_of,
)
from gradtape.published import published


class FileStatistics(NamedTuple):
    """What `stat` gives: the size in bytes, the time of the last change, and whether it is a
    folder.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def _remote(path: str) -> Any:
    """fsspec's file system, or None for a local path."""
    return remote_file_system(path) if scheme_of(path) else None


@published("io.gfile.exists")
def exists(path: PathLike) -> bool:
    """Whether there is a file or a folder.

    >>> import gradtape as tf, tempfile
    >>> tf.io.gfile.exists(tempfile.mkdtemp())
    True
    """
    name = text_of(path, "exists: path")
    remote = _remote(name)
    with file_errors(name):
        return bool(remote.exists(name)) if remote else Path(name).exists()


@published("io.gfile.isdir")
def isdir(path: PathLike) -> bool:
    """Whether there is a folder.

    >>> import gradtape as tf, tempfile
    >>> tf.io.gfile.isdir(tempfile.mkdtemp())
    True
    """
    name = text_of(path, "isdir: path")
    remote = _remote(name)
    with file_errors(name):
        return bool(remote.isdir(name)) if remote else Path(name).is_dir()


@published("io.gfile.glob")
def glob(pattern: PathLike | Sequence[PathLike]) -> list[str]:
    """The paths that fit a pattern, or one of several, in order: `*` and `?` stand for anything but
    a slash, `[ab]` for one of these.

    >>> import gradtape as tf, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("b.txt", "a.txt", "a.png"):
    ...     tf.io.write_file(f"{folder}/{name}", "")
    >>> [os.path.basename(path) for path in tf.io.gfile.glob(f"{folder}/*.txt")]
    ['a.txt', 'b.txt']
    """
    given: list[Any] = list(pattern) if isinstance(pattern, (list, tuple)) else [pattern]
    return [path for one in given for path in _matches(text_of(one, "glob: pattern"))]


def _matches(pattern: str) -> list[str]:
    remote = _remote(pattern)
    with file_errors(pattern):
        if remote:
            return sorted(map(remote.unstrip_protocol, remote.glob(pattern)))
        own = pattern.replace("[^", "[!")  # Python's own spelling of "none of these"
        return sorted(python_glob.glob(own, include_hidden=True))  # noqa: PTH207


@published("io.gfile.listdir")
def listdir(path: PathLike) -> list[str]:
    """The names of what is in a folder, in order.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.write_file(folder + "/a.txt", "text")
    >>> tf.io.gfile.listdir(folder)
    ['a.txt']
    """
    name = text_of(path, "listdir: path")
    remote = _remote(name)
    if not isdir(name):
        raise errors.NotFoundError(None, None, f"listdir: there is no folder '{name}'.")
    with file_errors(name):
        found = (
            [entry.rstrip("/").rpartition("/")[2] for entry in remote.ls(name, detail=False)]
            if remote
            else os.listdir(name)  # noqa: PTH208
        )
    return sorted(found)


@published("io.gfile.mkdir")
def mkdir(path: PathLike) -> None:
    """Makes a folder, unless it exists; the folder around it must.

    >>> import gradtape as tf, tempfile
    >>> tf.io.gfile.mkdir(tempfile.mkdtemp() + "/new")
    """
    name = text_of(path, "mkdir: path")
    remote = _remote(name)
    with file_errors(name):
        if remote:
            if not remote.isdir(name):
                remote.mkdir(name, create_parents=False)
        else:
            Path(name).mkdir(exist_ok=True)


@published("io.gfile.makedirs")
def makedirs(path: PathLike) -> None:
    """Makes a folder and those around it, as far as they do not exist.

    >>> import gradtape as tf, tempfile
    >>> tf.io.gfile.makedirs(tempfile.mkdtemp() + "/new/newer")
    """
    name = text_of(path, "makedirs: path")
    remote = _remote(name)
    with file_errors(name):
        if remote:
            remote.makedirs(name, exist_ok=True)
        else:
            Path(name).mkdir(parents=True, exist_ok=True)


@published("io.gfile.remove")
def remove(path: PathLike) -> None:
    """Removes a file.

    >>> import gradtape as tf, tempfile
    >>> path = tempfile.mkdtemp() + "/a.txt"
    >>> tf.io.write_file(path, "text")
    >>> tf.io.gfile.remove(path)
    >>> tf.io.gfile.exists(path)
    False
    """
    name = text_of(path, "remove: path")
    remote = _remote(name)
    with file_errors(name):
        if remote:
            remote.rm_file(name)
        else:
            Path(name).unlink()


@published("io.gfile.rmtree")
def rmtree(path: PathLike) -> None:
    """Removes a folder and everything in it.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.gfile.makedirs(folder + "/a/b")
    >>> tf.io.gfile.rmtree(folder)
    >>> tf.io.gfile.exists(folder)
    False
    """
    name = text_of(path, "rmtree: path")
    remote = _remote(name)
    with file_errors(name):
        if remote:
            remote.rm(name, recursive=True)
        elif Path(name).is_dir() and not Path(name).is_symlink():
            shutil.rmtree(name)
        else:
            Path(name).unlink()


@published("io.gfile.rename")
def rename(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Gives a file or a folder another path, where there must be none unless it is to `overwrite`.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.write_file(folder + "/a.txt", "text")
    >>> tf.io.gfile.rename(folder + "/a.txt", folder + "/b.txt")
    >>> tf.io.gfile.listdir(folder)
    ['b.txt']
    """
    source, target = _pair(src, dst, "rename", overwrite=overwrite)
    remote = _one_remote(source, target, "rename")
    with file_errors(source):
        if remote:
            remote.mv(source, target, recursive=True)
        else:
            Path(source).replace(target)


@published("io.gfile.copy")
def copy(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Copies a file to a path, where there must be none unless it is to `overwrite`.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.write_file(folder + "/a.txt", "text")
    >>> tf.io.gfile.copy(folder + "/a.txt", folder + "/b.txt")
    >>> tf.io.read_file(folder + "/b.txt").numpy()
    b'text'
    """
    source, target = _pair(src, dst, "copy", overwrite=overwrite)
    if isdir(source):
        raise errors.FailedPreconditionError(
            None, None, f"copy: '{source}' is a folder: copy the files in it."
        )
    with open_binary(source) as given, open_binary(target, "wb") as made, file_errors(target):
        shutil.copyfileobj(given, made, 2**20)


def _pair(src: PathLike, dst: PathLike, function: str, *, overwrite: bool) -> tuple[str, str]:
    source, target = text_of(src, f"{function}: src"), text_of(dst, f"{function}: dst")
    if not exists(source):
        raise errors.NotFoundError(None, None, f"{source}; No such file or directory")
    if not overwrite and exists(target):
        raise errors.AlreadyExistsError(
            None, None, f"{function}: '{target}' exists already: give overwrite=True."
        )
    return source, target


def _one_remote(source: str, target: str, function: str) -> Any:
    if scheme_of(source) != scheme_of(target):
        raise errors.UnimplementedError(
            None, None,
            f"{function}: '{source}' and '{target}' are on different file systems: copy it and "
            "remove it.",
        )  # fmt: skip
    return _remote(source)


@published("io.gfile.stat")
def stat(path: PathLike) -> FileStatistics:
    """The `length` of a file, the time `mtime_nsec` of its last change, and whether it
    `is_directory`.

    >>> import gradtape as tf, tempfile
    >>> path = tempfile.mkdtemp() + "/a.txt"
    >>> tf.io.write_file(path, "text")
    >>> tf.io.gfile.stat(path).length
    4
    """
    name = text_of(path, "stat: path")
    remote = _remote(name)
    with file_errors(name):
        if remote:
            about = remote.info(name)
            changed = about.get("mtime") or about.get("created") or 0
            seconds = changed.timestamp() if hasattr(changed, "timestamp") else float(changed)
            is_folder = about["type"] == "directory"
            return FileStatistics(int(about["size"] or 0), int(seconds * 1e9), is_folder)
        found = Path(name).stat()
        return FileStatistics(found.st_size, found.st_mtime_ns, modes.S_ISDIR(found.st_mode))


@published("io.gfile.walk")
def walk(
    top: PathLike, topdown: bool = True, onerror: Callable[[errors.OpError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """A folder and those below it: for each its path, the names of its folders, and those of its
    files.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.write_file(folder + "/new/a.txt", "text")
    >>> [(folders, files) for _, folders, files in tf.io.gfile.walk(folder)]
    [(['new'], []), ([], ['a.txt'])]
    """
    name = text_of(top, "walk: top")
    if not _remote(name):
        said = None if onerror is None else lambda error: onerror(as_tensorflows(error, name))
        for folder, folders, files in os.walk(name, topdown, said):
            folders.sort()
            yield folder, folders, sorted(files)
        return
    try:
        names = listdir(name)
    except errors.OpError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [entry for entry in names if isdir(join(name, entry))]
    found = name, folders, [entry for entry in names if entry not in folders]
    if topdown:
        yield found
    for entry in folders:
        yield from walk(join(name, entry), topdown, onerror)
    if not topdown:
        yield found


@published("io.gfile.join")
def join(path: PathLike, *paths: PathLike) -> str:
    """Parts of a path as one, with slashes between them.

    >>> import gradtape as tf
    >>> tf.io.gfile.join("gs://bucket", "folder", "file")
    'gs://bucket/folder/file'
    """
    parts = [_part(part) for part in (path, *paths)]
    return os.path.join(*parts)  # noqa: PTH118 - a scheme has two slashes


def _part(part: PathLike) -> str:
    """A part of a path, which may be empty."""
    return text_of(part, "join: path") if part not in ("", b"") else ""


@published("io.gfile.get_registered_schemes")
def get_registered_schemes() -> list[str]:
    """What may stand before `://`: what fsspec knows, where it is installed.

    >>> import gradtape as tf
    >>> "file" in tf.io.gfile.get_registered_schemes()
    True
    """
    try:
        known = needed_for("get_registered_schemes", "fsspec", "remote").available_protocols()
    except ImportError:
        known = []
    return sorted({"", "file", *known})
