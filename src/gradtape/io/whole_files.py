"""`tf.io.read_file`, `write_file` and `matching_files`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gradtape import errors
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.io.byte_strings import one_string, strings
from gradtape.io.file_system import glob
from gradtape.io.paths import (
    PathLike,
    file_errors,
    open_binary,
    refuse_in_a_program,
    scheme_of,
    text_of,
)
from gradtape.published import published


@published("io.read_file")
def read_file(filename: PathLike, name: str | None = None) -> Tensor:
    """What a file holds, as a scalar of strings.

    >>> import gradtape as tf, tempfile
    >>> path = tempfile.mkdtemp() + "/a.txt"
    >>> tf.io.write_file(path, "text")
    >>> tf.io.read_file(path).numpy()
    b'text'
    """
    refuse_in_a_program("read_file")
    path = text_of(filename, "read_file: filename")
    with open_binary(path) as file, file_errors(path):
        return Tensor(_scalar(file.read()))


@published("io.write_file")
def write_file(filename: PathLike, contents: TensorLike, name: str | None = None) -> None:
    """Writes a file, and makes the folders around it where there are none.

    >>> import gradtape as tf, tempfile
    >>> tf.io.write_file(tempfile.mkdtemp() + "/new/a.txt", "text")
    """
    refuse_in_a_program("write_file")
    path = text_of(filename, "write_file: filename")
    data = one_string(contents, "write_file: contents")
    with file_errors(path):
        if not scheme_of(path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open_binary(path, "wb") as file:
            file.write(data)


@published("io.matching_files")
def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """The paths that fit a pattern, or one of several, in order, as a vector of strings.

    >>> import gradtape as tf, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("b.txt", "a.txt", "a.png"):
    ...     tf.io.write_file(f"{folder}/{name}", "")
    >>> tf.io.matching_files(f"{folder}/*.txt").shape
    TensorShape([2])
    """
    refuse_in_a_program("matching_files")
    given = strings(pattern, "matching_files: pattern")
    if given.ndim > 1:
        raise errors.invalid_argument(
            f"matching_files: pattern must be a scalar or a vector, got shape {given.shape}."
        )
    found = sorted(glob(given.reshape(-1).tolist()))
    texts = np.empty(len(found), object)
    texts[:] = [path.encode("utf-8", "surrogateescape") for path in found]
    return Tensor(texts)


def _scalar(data: bytes) -> Any:
    found = np.empty((), object)
    found[()] = data
    return found
