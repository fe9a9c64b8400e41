"""Paths as callers give them, and the files behind them: local ones, or by fsspec those of any
`scheme://` that it knows. Python's errors of files become those of `tf.errors`.
"""

from __future__ import annotations

import errno
import io
import os
import re
from typing import Any, BinaryIO, TypeAlias, cast

from gradtape import errors
from gradtape.convert import array_of, on_host
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.trace import inside_a_program
from gradtape.extras import needed_for

PathLike: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes] | Tensor | Variable
"""A path: text, what `pathlib` makes, or a scalar tensor of strings."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")

_BY_NUMBER: dict[int | None, type[errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.EINVAL: errors.InvalidArgumentError,
}


def text_of(path: PathLike, argument: str) -> str:
    """A path as text; `argument` is what an error calls it."""
    if isinstance(path, (Tensor, Variable)):
        value = on_host(array_of(path))
        if value.dtype != object or value.ndim:
            raise errors.invalid_argument(
                f"{argument} must be one path, a scalar of strings, got dtype {path.dtype.name} "
                f"and shape {path.shape}."
            )
        path = value[()]
    try:
        text = os.fsdecode(cast("str | bytes", path))
    except TypeError:
        raise TypeError(
            f"{argument} must be a path, got {path!r} of type {type(path).__name__}."
        ) from None
    if not text:
        raise errors.invalid_argument(f"{argument} is empty: give the path of a file.")
    if "\0" in text:
        raise errors.invalid_argument(f"{argument}={text!r} holds a zero byte, which no path has.")
    return text.removeprefix("file://")


def scheme_of(path: str) -> str:
    """What stands before `://`; empty for a local path."""
    found = _SCHEME.match(path)
    return found[1] if found else ""


def remote_file_system(path: str) -> Any:
    """fsspec's file system for a path with a scheme."""
    scheme = scheme_of(path)
    fsspec = needed_for(f"'{path}', which is no local file,", "fsspec", "remote")
    try:
        return fsspec.filesystem(scheme)
    except (ImportError, ValueError) as error:
        raise errors.UnimplementedError(
            None, None, f"'{path}': fsspec has no file system for '{scheme}://' here: {error}"
        ) from error


def open_binary(path: str, mode: str = "rb", *, buffering: int = -1) -> BinaryIO:
    """An open file of bytes."""
    with file_errors(path):
        if scheme_of(path):
            return cast("BinaryIO", remote_file_system(path).open(path, mode))
        return cast("BinaryIO", io.open(path, mode, buffering=buffering))  # noqa: UP020


class file_errors:  # noqa: N801 - it reads as what it does: `with file_errors(path):`
    """A block in which Python's errors of files become TensorFlow's, which name the file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing begins here that would have to end."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            raise as_tensorflows(error, self._path) from error


def as_tensorflows(error: OSError, path: str) -> errors.OpError:
    """The error of `tf.errors` for one of Python's."""
    kind: Any = _BY_NUMBER.get(error.errno)
    if kind is None:
        # fsspec raises some of Python's classes without a number.
        kind = errors.NotFoundError if isinstance(error, FileNotFoundError) else errors.UnknownError
    reason = error.strerror or str(error) or type(error).__name__
    return cast("errors.OpError", kind(None, None, f"{path}; {reason}"))


def refuse_in_a_program(function: str) -> None:
    """A file may change between two calls of a function, so that what reads or writes it runs at
    each call, and not once while the function is traced.
    """
    if inside_a_program():
        raise BeyondXlaError(f"{function} reads or writes a file, which a compiled program cannot.")
