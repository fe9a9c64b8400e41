"""`write_atomically`: a file that is there whole or not at all, also when the process is killed or the power fails."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from gradtape.errors import PermissionDeniedError

_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_ABANDONED_AFTER = 3600.0  # seconds since a temporary folder last got a file


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Has `write` fill a file in a temporary folder beside `path`, and puts it there once the disk has all of it.

    The folder catches whatever else `write` makes: safetensors has temporary files of its own.
    """
    folder = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    temporary = folder / path.name
    try:
        folder.mkdir(parents=True)
        try:
            temporary.touch()
            mode = temporary.stat().st_mode  # what a new file has here, which a writer may narrow
            write(temporary)
            temporary.chmod(mode)
            _to_disk(temporary)
            os.replace(temporary, path)  # noqa: PTH105 - the one call on which everything rests, by its own name
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if os.name != "nt":  # Windows has no handle for a folder
            _to_disk(path.parent)
    except OSError as error:
        if error.errno in _NOT_ALLOWED:
            message = f"'{path}' cannot be written ({error.strerror}): choose a folder in which this process may write."
            raise PermissionDeniedError(None, None, message) from error
        raise


def _to_disk(path: Path) -> None:
    """Waits until a file's contents, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_abandoned(folder: Path, prefix: str) -> None:
    """Removes what processes that were killed while writing files of this prefix have left; one still at work is younger."""
    for temporary in folder.glob(".*.tmp"):
        if temporary.name.startswith(f".{prefix}"):
            with contextlib.suppress(OSError):
                if time.time() - temporary.stat().st_mtime > _ABANDONED_AFTER:
                    shutil.rmtree(temporary)
