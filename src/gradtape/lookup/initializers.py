"""What static tables are filled with: keys and values from tensors, or from the lines of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, known
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.errors import NotFoundError, invalid_argument
from gradtape.published import published
from gradtape.strings.texts import array_of_texts

KEYS = (dtypes.string, dtypes.int32, dtypes.int64)


@published("lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer:
    """The entries of a table from a vector of keys and one of values.

    >>> import gradtape as tf
    >>> entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> tf.lookup.StaticHashTable(entries, default_value=-1).lookup(tf.constant(["b", "c"])).numpy()
    array([ 2, -1], dtype=int32)
    """

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._keys = as_tensor(keys, key_dtype, argument="KeyValueTensorInitializer: keys")
        self._values = as_tensor(values, value_dtype, argument="KeyValueTensorInitializer: values")

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._keys.dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._values.dtype

    def initialize(self, table: Any) -> None:
        """Fills a table."""
        table.fill(*self._entries())

    def _entries(self) -> tuple[Any, Any]:
        """The arrays of keys and of values."""
        keys, values = (
            known(part, f"KeyValueTensorInitializer: {name}", "make the table outside the function")
            for part, name in ((self._keys, "keys"), (self._values, "values"))
        )
        if keys.shape != values.shape:
            raise invalid_argument(
                f"KeyValueTensorInitializer: keys have shape {keys.shape}, but values have shape "
                f"{values.shape}."
            )
        return keys.reshape(-1), values.reshape(-1)


@published("lookup.TextFileIndex")
class TextFileIndex:
    """What of a line is a key or a value: all of it, or its number. The number of a column, from 0
    on, is that column.

    >>> import gradtape as tf
    >>> tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    (-2, -1)
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


@published("lookup.TextFileInitializer")
class TextFileInitializer:
    r"""The entries of a table from the lines of a file: columns of them, whole lines, or their
    numbers.

    >>> import gradtape as tf
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "words.txt")
    >>> _ = file.write_text("lake\npalmer\n")
    >>> index = tf.lookup.TextFileIndex
    >>> words = tf.lookup.TextFileInitializer(
    ...     file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    ... )
    >>> tf.lookup.StaticHashTable(words, -1).lookup(tf.constant(["palmer"])).numpy()
    array([1])
    >>> folder.cleanup()
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if isinstance(filename, Tensor):
            filename = os.fsdecode(bytes(filename.numpy()))
        if not filename:
            raise ValueError("TextFileInitializer: filename must be the name of a file.")
        self._path = Path(os.fsdecode(filename))
        self._key_dtype, self._value_dtype = (
            dtypes.as_dtype(key_dtype),
            dtypes.as_dtype(value_dtype),
        )
        self._key_index = _index(key_index, self._key_dtype, "key")
        self._value_index = _index(value_index, self._value_dtype, "value")
        self._delimiter = os.fsencode(delimiter)
        self._size = None if vocab_size is None else as_int(vocab_size, "vocab_size")
        if self._size is not None and self._size < 1:
            raise ValueError(
                f"TextFileInitializer: vocab_size must be at least 1, got {self._size}."
            )
        self._offset = as_int(value_index_offset, "TextFileInitializer: value_index_offset")

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._value_dtype

    def initialize(self, table: Any) -> None:
        """Fills a table with what the file says."""
        table.fill(*self._entries())

    def _entries(self) -> tuple[Any, Any]:
        """The arrays of keys and of values, read from the file."""
        try:
            text = self._path.read_bytes()
        except FileNotFoundError as error:
            raise NotFoundError(
                None, None, f"TextFileInitializer: there is no file {self._path}."
            ) from error
        lines = text.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        lines = [line.removesuffix(b"\r") for line in lines]  # of files written on Windows
        if not lines:
            raise invalid_argument(f"TextFileInitializer: {self._path} has no lines.")
        if self._size is not None:
            if len(lines) < self._size:
                raise invalid_argument(
                    f"TextFileInitializer: {self._path} has {len(lines)} lines, but vocab_size is "
                    f"{self._size}."
                )
            lines = lines[: self._size]
        keys = self._column(lines, self._key_index, self._key_dtype, 0)
        return keys, self._column(lines, self._value_index, self._value_dtype, self._offset)

    def _column(self, lines: list[bytes], index: int, dtype: dtypes.DType, offset: int) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return np.arange(offset, len(lines) + offset, dtype=dtype.numpy)
        parts = lines
        if index >= 0:
            parts = [self._part(line, number, index) for number, line in enumerate(lines)]
        if dtype == dtypes.string:
            return array_of_texts(parts, (len(parts),))
        found = np.empty(len(parts), dtype.numpy)
        for number, part in enumerate(parts):
            try:
                found[number] = int(part) if dtype.is_integer else float(part)
            except (ValueError, OverflowError) as error:
                raise invalid_argument(
                    f"TextFileInitializer: {part!r} in line {number} of {self._path} is no "
                    f"{dtype.name}."
                ) from error
        return found

    def _part(self, line: bytes, number: int, index: int) -> bytes:
        columns = line.split(self._delimiter)
        if index >= len(columns):
            raise invalid_argument(
                f"TextFileInitializer: line {number} of {self._path}, {line!r}, has "
                f"{len(columns)} columns, but column {index} is wanted."
            )
        return columns[index]


def _index(index: Any, dtype: dtypes.DType, which: str) -> int:
    found = as_int(index, f"TextFileInitializer: {which}_index")
    if found < TextFileIndex.WHOLE_LINE:
        raise ValueError(
            f"TextFileInitializer: {which}_index must be a column, TextFileIndex.WHOLE_LINE or "
            f"TextFileIndex.LINE_NUMBER, got {found}."
        )
    if found == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
        raise ValueError(
            f"TextFileInitializer: {which}_dtype must be int64 for the number of a line, got "
            f"{dtype.name}."
        )
    whole = found == TextFileIndex.WHOLE_LINE
    if whole and not (dtype == dtypes.string or dtype.is_integer):
        raise ValueError(
            f"TextFileInitializer: {which}_dtype must be string or an integer for a whole line, "
            f"got {dtype.name}."
        )
    return found
