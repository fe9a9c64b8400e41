"""`write_atomically`: writes a file completely or not at all, even if the process is killed or the
power fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path

from gradtape.errors import PermissionDeniedError

_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_ABANDONED_AFTER = 3600.0  # seconds since a temporary folder, or a file in it, last changed
# Short, whatever the file's name is: a file system allows 255 bytes.
_PREFIX, _SUFFIX = ".gradtape-", ".tmp"
_MARK, _MARKED = "made-by-gradtape", b"gradtape fills a file here, and removes this folder.\n"


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Has `write` fill a file in a temporary folder beside `path`,
    and puts it there once the disk has all of it.

    The folder catches whatever else `write` makes: safetensors has temporary files of its own.
    """
    folder = path.with_name(f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
    temporary = folder / "new"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
            (folder / _MARK).write_bytes(_MARKED)
            temporary.touch()
            mode = temporary.stat().st_mode  # what a new file has here, which a writer may narrow
            write(temporary)
            temporary.chmod(mode)
            _to_disk(temporary)
            # The one call on which everything rests, by its own name.
            os.replace(temporary, path)  # noqa: PTH105
        finally:
            _remove(folder)
        if os.name != "nt":  # Windows has no handle for a folder
            _to_disk(path.parent)
    except OSError as error:
        if error.errno in _NOT_ALLOWED:
            message = (
                f"'{path}' cannot be written ({error.strerror}): choose a folder "
                "in which this "
                "process may write."
            )
            raise PermissionDeniedError(None, None, message) from error
        raise


def _remove(folder: Path) -> None:
    """Removes a folder of files, as far as it can; its mark goes last, so that what is left is
    known for what it is.

    If a signal handler raises in `shutil.rmtree`, that may close a descriptor twice, and raises
    another error instead.
    """
    with contextlib.suppress(OSError):
        names = os.listdir(folder)  # noqa: PTH208 - it keeps no descriptor open
        for name in sorted(names, key=lambda name: name == _MARK):
            os.remove(folder / name)  # noqa: PTH107
        folder.rmdir()


def _to_disk(path: Path) -> None:
    """Waits until a file's contents, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Removes what processes that were killed while writing here have left;
    one still at work is younger.

    A folder goes only if it has the mark that `write_atomically` gives its own.
    """
    for temporary in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            if _is_ours(temporary) and time.time() - _last_change(temporary) > _ABANDONED_AFTER:
                _remove(temporary)


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder, and no link to one, with a mark in it, and with nothing that
    `write_atomically` does not make.
    """
    kinds = (
        {entry.name: entry.lstat().st_mode for entry in folder.iterdir()}
        if stat.S_ISDIR(folder.lstat().st_mode)
        else {}
    )
    return (
        all(map(stat.S_ISREG, kinds.values()))
        and _MARK in kinds
        and (folder / _MARK).stat().st_size == len(_MARKED)
        and (folder / _MARK).read_bytes() == _MARKED
    )


def _last_change(folder: Path) -> float:
    """When something in a folder last changed: a large file takes a while,
    in which the folder itself stays as it is.
    """
    return max(path.lstat().st_mtime for path in (folder, *folder.iterdir()))
