"""`tf.io.decode_csv`: a tensor for each column of lines of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradtape import dtypes, errors
from gradtape.api.tensorflow.arguments import TensorLike, as_list
from gradtape.convert import array_of, on_host, to_array
from gradtape.core.tensor import Tensor
from gradtape.engines.numpy.engine import Quiet
from gradtape.io.byte_strings import strings
from gradtape.published import published

_ALLOWED = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_HEXADECIMAL = re.compile(rb"[+-]?0[xX]")
_QUOTE, _LINE_ENDS = b'"', b"\r\n"


@published("io.decode_csv")
def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """A tensor for each column of records, lines of CSV, of the dtype of its default.

    A default is a scalar or a list of one, which stands for empty fields and for `na_value`; a
    dtype, or an empty tensor of one, says that the field must not be empty.

    >>> import gradtape as tf
    >>> number, name = tf.io.decode_csv(["1,one", ",'none'"], [[-1], tf.string])
    >>> number.numpy().tolist(), name.numpy().tolist()
    ([1, -1], [b'one', b"'none'"])
    """
    lines = strings(records, "decode_csv: records")
    columns = [
        _Column(number, default)
        for number, default in enumerate(as_list(record_defaults, "decode_csv: record_defaults"))
    ]
    delimiter = _one_character(field_delim)
    chosen = _chosen(select_cols, len(columns))
    missing = na_value.encode() if isinstance(na_value, str) else na_value
    found: list[list[Any]] = [[] for _ in columns]
    for row, line in enumerate(lines.reshape(-1).tolist()):
        try:
            fields = _fields(line, delimiter, quotes=use_quote_delim)
        except ValueError as error:
            raise errors.invalid_argument(f"decode_csv: in record {row} {error}.") from error
        if chosen is not None:
            fields = [fields[place] for place in chosen if place < len(fields)]
        if len(fields) != len(columns):
            raise errors.invalid_argument(
                f"decode_csv: record {row} has {len(fields)} fields, but there are {len(columns)} "
                "record_defaults."
            )
        for column, field, values in zip(columns, fields, found, strict=True):
            empty = not field or field == missing
            values.append(column.default_for(row) if empty else column.value(row, field))
    return [
        column.tensor(values, lines.shape) for column, values in zip(columns, found, strict=True)
    ]


def _one_character(delimiter: Any) -> bytes:
    data = delimiter.encode() if isinstance(delimiter, str) else delimiter
    if not isinstance(data, bytes) or len(data) != 1:
        raise errors.invalid_argument(
            f"decode_csv: field_delim must be one character, got {delimiter!r}."
        )
    return data


def _chosen(columns: Any, count: int) -> list[int] | None:
    if columns is None:
        return None
    chosen = as_list(columns, "decode_csv: select_cols")
    if len(chosen) != count:
        raise ValueError(
            f"decode_csv: select_cols names {len(chosen)} columns, but there are {count} "
            "record_defaults."
        )
    if any(b <= a for a, b in pairwise(chosen)) or min(chosen, default=0) < 0:
        raise ValueError(
            f"decode_csv: select_cols must be increasing numbers from 0, got {chosen}."
        )
    return chosen


class _Column:
    """What the fields of a column become."""

    def __init__(self, number: int, default: Any) -> None:
        self.number = number
        argument = f"decode_csv: record_defaults[{number}]"
        if isinstance(default, (dtypes.DType, type)):
            self.dtype, values = dtypes.as_dtype(default), []
        else:
            found = array_of(default)
            array = to_array(default, argument=argument) if found is None else on_host(found)
            self.dtype, values = (
                dtypes.from_numpy(array.dtype),
                np.asarray(array).reshape(-1).tolist(),
            )
        if len(values) > 1:
            raise errors.invalid_argument(f"{argument} has {len(values)} values: give one.")
        if self.dtype not in _ALLOWED:
            raise errors.invalid_argument(
                f"{argument} has dtype {self.dtype.name}: a column can have "
                f"{', '.join(dtype.name for dtype in _ALLOWED)}."
            )
        self._defaults = values

    def default_for(self, row: int) -> Any:
        if not self._defaults:
            raise errors.invalid_argument(
                f"decode_csv: field {self.number} of record {row} is empty, and has no default."
            )
        return self._defaults[0]

    def value(self, row: int, field: bytes) -> Any:
        if self.dtype is dtypes.string:
            return field
        try:
            return self._number(field.strip(b" \t\n\v\f\r"))
        except (ValueError, OverflowError):
            raise errors.invalid_argument(
                f"decode_csv: field {self.number} of record {row} is no {self.dtype.name}: "
                f"{field[:80]!r}."
            ) from None

    def _number(self, text: bytes) -> Any:
        if self.dtype.is_integer:
            if not _INTEGER.fullmatch(text) or len(text) > 20:
                raise ValueError
            number = int(text)
            if not self.dtype.min <= number <= self.dtype.max:
                raise ValueError
            return number
        if b"_" in text:
            raise ValueError
        return float.fromhex(text.decode()) if _HEXADECIMAL.match(text) else float(text)

    def tensor(self, values: list[Any], shape: tuple[int, ...]) -> Tensor:
        array: Any = np.empty(len(values), self.dtype.numpy)
        with Quiet():  # what is too large is infinite
            array[:] = values
        return Tensor(array.reshape(shape))


def _fields(line: bytes, delimiter: bytes, *, quotes: bool) -> list[bytes]:
    """The fields of a line; as in TensorFlow, line ends before a field are skipped."""
    if not line:
        return []
    if not (quotes and _QUOTE in line) and not any(end in line for end in (b"\r", b"\n")):
        return line.split(delimiter)
    found, at = [], 0
    while at < len(line):
        if line[at] in _LINE_ENDS:
            at += 1
            continue
        read = _quoted if quotes and line[at : at + 1] == _QUOTE else _unquoted
        field, at = read(line, at, delimiter, quotes)
        found.append(field)
    if line.endswith(delimiter):
        found.append(b"")
    return found


def _unquoted(line: bytes, at: int, delimiter: bytes, quotes: bool) -> tuple[bytes, int]:
    end = line.find(delimiter, at)
    end = len(line) if end < 0 else end
    field = line[at:end]
    if any(byte in _LINE_ENDS or (quotes and byte in _QUOTE) for byte in field):
        raise ValueError("a field without quotes around it has a quote or a line end inside")
    return field, end + 1


def _quoted(line: bytes, at: int, delimiter: bytes, quotes: bool) -> tuple[bytes, int]:
    parts, at = [], at + 1
    while True:
        end = line.find(_QUOTE, at)
        if end < 0:
            raise ValueError("a quote is not closed")
        parts.append(line[at:end])
        after = line[end + 1 : end + 2]
        if after in (b"", delimiter):
            return b"".join(parts), end + 2
        if after != _QUOTE:
            raise ValueError("a quote inside of quotes is not doubled")
        parts.append(_QUOTE)
        at = end + 2
