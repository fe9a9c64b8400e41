"""`tf.io.gfile.GFile`: an open file, whose lines are text or bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO, Self

from gradtape import errors
from gradtape.io.file_system import stat
from gradtape.io.paths import PathLike, file_errors, open_binary, text_of
from gradtape.published import published

_MODES = ("r", "w", "a", "r+", "w+", "a+")


@published("io.gfile.GFile")
class GFile:
    r"""A file, opened when it is first read or written; without a "b" in its mode it is text.

    >>> import gradtape as tf, tempfile
    >>> path = tempfile.mkdtemp() + "/a.txt"
    >>> with tf.io.gfile.GFile(path, "w") as file:
    ...     file.write("one\ntwo\n")
    >>> with tf.io.gfile.GFile(path) as file:
    ...     print([line for line in file])
    ['one\n', 'two\n']
    """

    def __init__(self, name: PathLike, mode: str = "r") -> None:
        self._name = text_of(name, "GFile: name")
        plain = mode.replace("b", "", 1) if isinstance(mode, str) else mode
        if plain not in _MODES:
            raise errors.invalid_argument(
                f"GFile: mode must be one of {', '.join(_MODES)}, with or without a 'b', got "
                f"{mode!r}."
            )
        self._mode = mode
        self._is_text = "b" not in mode
        self._plain = plain
        self._file: BinaryIO | None = None

    @property
    def name(self) -> str:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """How it is opened."""
        return self._mode

    def _opened(self, what: str) -> BinaryIO:
        """The file, which must be for reading or for writing."""
        reads, writes = self._plain[0] == "r", self._plain[0] in "wa"
        both = self._plain.endswith("+")
        if not (both or (reads if what == "reading" else writes)):
            raise errors.PermissionDeniedError(
                None, None, f"'{self._name}' is not open for {what}: its mode is '{self._mode}'."
            )
        return self._any_opened()

    def _any_opened(self) -> BinaryIO:
        if self._file is None:
            kind = self._plain[0] + "b" + self._plain[1:]
            self._file = open_binary(self._name, kind)
        return self._file

    def _given(self, data: bytes) -> Any:
        if not self._is_text:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise errors.invalid_argument(
                f"'{self._name}' is no text in UTF-8 ({error.reason}): open it with 'rb'."
            ) from error

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, or all that are left."""
        if n < -1:
            raise errors.invalid_argument(f"GFile.read: n={n} is negative.")
        file = self._opened("reading")
        with file_errors(self._name):
            return self._given(file.read(n))

    def readline(self) -> Any:
        """The next line with its end; empty after the last one."""
        file = self._opened("reading")
        with file_errors(self._name):
            return self._given(file.readline())

    def readlines(self) -> list[Any]:
        """All lines that are left."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.readline, "" if self._is_text else b"")

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def write(self, file_content: str | bytes) -> None:
        """Adds text, in UTF-8, or bytes."""
        if not isinstance(file_content, (str, bytes, bytearray, memoryview)):
            raise TypeError(
                "GFile.write: file_content must be text or bytes, got "
                f"{type(file_content).__name__}."
            )
        data = file_content.encode() if isinstance(file_content, str) else file_content
        file = self._opened("writing")
        with file_errors(self._name):
            file.write(data)

    def seek(self, offset: int = 0, whence: int = os.SEEK_SET) -> None:
        """Goes to a byte, from the beginning, from here (1) or from the end (2)."""
        if whence == os.SEEK_SET and offset < 0:
            raise errors.invalid_argument(f"GFile.seek: offset={offset} is before the beginning.")
        with file_errors(self._name):
            self._any_opened().seek(offset, whence)

    def tell(self) -> int:
        """The byte at which it is."""
        with file_errors(self._name):
            return self._any_opened().tell()

    def seekable(self) -> bool:
        """True: it can go to a byte."""
        return True

    def size(self) -> int:
        """How many bytes the file has."""
        self.flush()
        return stat(self._name).length

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._file is not None:
            with file_errors(self._name):
                self._file.flush()

    def close(self) -> None:
        """Closes the file; it is opened again if it is used again, as in TensorFlow."""
        file, self._file = self._file, None
        if file is not None:
            with file_errors(self._name):
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()
