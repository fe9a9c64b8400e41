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
    parser = RecordParser(
        "decode_csv", record_defaults, field_delim, use_quote_delim, na_value, select_cols
    )
    found: list[list[Any]] = [[] for _ in parser.columns]
    for row, line in enumerate(lines.reshape(-1).tolist()):
        for value, values in zip(parser.values(line, f"record {row}"), found, strict=True):
            values.append(value)
    return [
        column.tensor(values, lines.shape)
        for column, values in zip(parser.columns, found, strict=True)
    ]


class RecordParser:
    """Makes values of records, for a function that errors name."""

    def __init__(
        self,
        function: str,
        defaults: Any,
        delimiter: Any,
        quotes: Any,
        missing: Any,
        selected: Any = None,
        excluded: Any = None,
    ) -> None:
        self._function = function
        self.columns = [
            Column(function, number, default)
            for number, default in enumerate(as_list(defaults, f"{function}: record_defaults"))
        ]
        self.delimiter = _one_character(delimiter, function)
        self.quotes = bool(quotes)
        self._missing = missing.encode() if isinstance(missing, str) else missing
        self._chosen = _chosen(selected, len(self.columns), f"{function}: select_cols")
        self._without = _increasing(excluded, f"{function}: exclude_cols")

    def values(self, record: bytes, name: str, blank: Sequence[bytes] = ()) -> list[Any]:
        """A value for each column; `blank` are the fields of an empty record."""
        try:
            fields = _fields(record, self.delimiter, quotes=self.quotes) or list(blank)
        except ValueError as error:
            raise errors.invalid_argument(f"{self._function}: in {name} {error}.") from error
        if self._chosen is not None:
            fields = [fields[place] for place in self._chosen if place < len(fields)]
        elif self._without:
            fields = [field for place, field in enumerate(fields) if place not in self._without]
        if len(fields) != len(self.columns):
            raise errors.invalid_argument(
                f"{self._function}: {name} has {len(fields)} fields, but there are "
                f"{len(self.columns)} record_defaults."
            )
        return [
            column.value(name, field) if field and field != self._missing else column.default(name)
            for column, field in zip(self.columns, fields, strict=True)
        ]

    def block(self, records: Sequence[bytes]) -> list[Any] | None:
        """The values of many records, an array for each column; None where something in them needs
        a closer look, by `values`.
        """
        if b"" in records or any(end in record for record in records for end in (b"\r", b"\n")):
            return None
        if self.quotes and any(_QUOTE in record for record in records):
            return None
        rows = [record.split(self.delimiter) for record in records]
        if self._chosen is not None:
            last = max(self._chosen, default=-1)
            if any(len(row) <= last for row in rows):
                return None
            rows = [[row[place] for place in self._chosen] for row in rows]
        if self._without or any(len(row) != len(self.columns) for row in rows):
            return None
        found = []
        for column, fields in zip(self.columns, zip(*rows, strict=True), strict=True):
            values = column.block(fields, self._missing)
            if values is None:
                return None
            found.append(values)
        return found

    def is_open(self, record: bytes) -> bool:
        """Whether a record ends within quotes, so that it goes on in the next line."""
        if not self.quotes or _QUOTE not in record:
            return False
        at = 0
        while at < len(record):
            if record[at : at + 1] == _QUOTE:
                at = _closing_quote(record, at + 1)
                if at < 0:
                    return True
            end = record.find(self.delimiter, at)
            if end < 0:
                return False
            at = end + 1
        return False


def _closing_quote(record: bytes, at: int) -> int:
    """The place of the next quote that is not doubled, -1 if there is none."""
    while True:
        end = record.find(_QUOTE, at)
        if end < 0 or record[end + 1 : end + 2] != _QUOTE:
            return end
        at = end + 2


def _one_character(delimiter: Any, function: str) -> bytes:
    data = delimiter.encode() if isinstance(delimiter, str) else delimiter
    if not isinstance(data, bytes) or len(data) != 1:
        raise errors.invalid_argument(
            f"{function}: field_delim must be one character, got {delimiter!r}."
        )
    return data


def _chosen(columns: Any, count: int, argument: str) -> list[int] | None:
    chosen = _increasing(columns, argument)
    if chosen is not None and len(chosen) != count:
        raise ValueError(
            f"{argument} names {len(chosen)} columns, but there are {count} record_defaults."
        )
    return chosen


def _increasing(columns: Any, argument: str) -> list[int] | None:
    if columns is None:
        return None
    found = as_list(columns, argument)
    if any(b <= a for a, b in pairwise(found)) or min(found, default=0) < 0:
        raise ValueError(f"{argument} must be increasing numbers from 0, got {found}.")
    return found


class Column:
    """What the fields of a column become."""

    def __init__(self, function: str, number: int, default: Any) -> None:
        self._name = f"{function}: field {number}"
        argument = f"{function}: record_defaults[{number}]"
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

    def default(self, record: str) -> Any:
        """What stands for an empty field."""
        if not self._defaults:
            raise errors.invalid_argument(f"{self._name} of {record} is empty, and has no default.")
        return self._defaults[0]

    def value(self, record: str, field: bytes) -> Any:
        """What a field says."""
        if self.dtype is dtypes.string:
            return field
        try:
            return self._number(field.strip(b" \t\n\v\f\r"))
        except (ValueError, OverflowError):
            raise errors.invalid_argument(
                f"{self._name} of {record} is no {self.dtype.name}: {field[:80]!r}."
            ) from None

    def block(self, fields: Sequence[bytes], missing: Any) -> Any:
        """The values of many fields as an array; None where a field needs a closer look."""
        if b"" in fields or (missing and missing in fields):
            if not self._defaults:
                return None
            default = self._defaults[0]
        else:
            default = None
        array: Any = np.empty(len(fields), self.dtype.numpy)
        if self.dtype is dtypes.string:
            array[:] = (
                fields
                if default is None
                else [f if f and f != missing else default for f in fields]
            )
            return array
        if any(b"_" in field for field in fields):
            return None
        read = int if self.dtype.is_integer else float
        try:
            with Quiet():
                array[:] = (
                    list(map(read, fields))
                    if default is None
                    else [read(f) if f and f != missing else default for f in fields]
                )
        except (ValueError, OverflowError):
            return None
        return array

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
        """Values as a tensor."""
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
