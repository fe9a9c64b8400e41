"""Tables in CSV files: `CsvDataset` and `make_csv_dataset` of `tf.data.experimental`."""

from __future__ import annotations

import csv
import io
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.dataset import Dataset, names_of_files
from gradtape.data.holder import positive
from gradtape.data.rows import Columns, Elements, RowStream
from gradtape.data.stage import UNKNOWN, Run, Stage, StageIterator, raised_later
from gradtape.data.stages import files
from gradtape.data.stages.mapping import AUTOTUNE
from gradtape.engines.numpy.engine import Quiet
from gradtape.errors import InvalidArgumentError, invalid_argument
from gradtape.io.csv_records import RecordParser
from gradtape.io.file_system import glob
from gradtape.published import published
from gradtape.shapes import TensorSpec

_LINE_END = re.compile(rb"(\r\n|\n|\r)")
_KINDS = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)
"""What a column can hold, each more than the one before."""


# Records


def records_of(chunks: Iterator[bytes], goes_on: Callable[[bytes], bool]) -> Iterator[bytes]:
    """The records of a file; line ends within quotes are part of theirs."""
    record, rest = b"", b""
    for chunk in chunks:
        *parts, rest = _LINE_END.split(rest + chunk)
        if parts and not rest and parts[-1] == b"\r":  # its line feed may come next
            rest = parts[-2] + parts[-1]
            parts = parts[:-2]
        for line, end in zip(parts[::2], parts[1::2], strict=True):
            record += line
            if goes_on(record):
                record += end
            else:
                yield record
                record = b""
    last = rest.removesuffix(b"\r")
    if record or rest:
        yield record + last


class _Rows(Stage):
    """A tuple of scalars for each record of files."""

    name = "CsvDataset"

    def __init__(
        self, names: Stage, parser: RecordParser, compression: str, *, header: bool
    ) -> None:
        super().__init__(names)
        self.parser, self.compression, self.header = parser, compression, header

    @cached_property
    def spec(self) -> Any:
        return tuple(TensorSpec([], column.dtype) for column in self.parser.columns)

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return Elements(_RowsOfFiles(self, self.input.iterator(run)))

    def rows(self, run: Run) -> RowStream:
        return _RowsOfFiles(self, self.input.iterator(run))


class _RowsOfFiles(RowStream):
    """Records as they are asked for; an error comes when those before it have been given."""

    def __init__(self, stage: _Rows, names: StageIterator) -> None:
        super().__init__(tuple)
        self._stage = stage
        self._records = files.RecordsOfFiles(names, self._read)
        self._waiting: list[bytes] = []  # records that have been read, of the file of now
        self._error: Exception | None = None  # what comes after them

    def _read(self, path: str) -> Iterator[bytes]:
        self._path, self._at = path, 0
        found = records_of(files.chunks(path, self._stage.compression), self._stage.parser.is_open)
        if self._stage.header and next(found, None) is None:
            raise invalid_argument(f"CsvDataset: '{path}' has no header: it is empty.")
        return found

    def take(self, count: int) -> Columns | None:
        parser = self._stage.parser
        records = self._next_records(count)
        if not records:
            return None
        columns = parser.block(records)
        if columns is not None:
            self._at += len(records)
            return columns
        found: list[list[Any]] = []
        for place, record in enumerate(records):
            name = f"record {self._at} of '{self._path}'"
            self._at += 1
            try:
                found.append(parser.values(record, name, blank=[b""]))
            except InvalidArgumentError:
                if found:
                    self._at -= 1
                    self._waiting = records[place:] + self._waiting
                    break
                self._waiting = records[place + 1 :] + self._waiting
                raise
        return [
            column.tensor(list(values), (len(found),)).array
            for column, values in zip(parser.columns, zip(*found, strict=True), strict=True)
        ]

    def _next_records(self, count: int) -> list[bytes]:
        """Records of one file."""
        if not self._waiting and self._error is not None:
            failed, self._error = [self._error], None
            raised_later(failed.pop())
        found, self._waiting = self._waiting[:count], self._waiting[count:]
        while not self._waiting and self._error is None and len(found) < count:
            try:
                record = self._records.next_record(stay=bool(found))
            except Exception as error:
                if not found:
                    raise
                self._error = error
                break
            if record is None:
                break
            found.append(record)
        return found

    def close(self) -> None:
        self._records.close()


@published("data.experimental.CsvDataset")
class CsvDataset(Dataset):
    r"""The records of CSV files as tuples of scalars, of the dtypes of `record_defaults`.

    A default stands for empty fields and for `na_value`; a dtype in its place says that the field
    must not be empty. With `header`, the first record of each file is left out.

    >>> import gradtape as tf, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
    >>> _ = path.write_text('name,points\n"Ann, B.",3\nTim,\n')
    >>> rows = tf.data.experimental.CsvDataset(str(path), [tf.string, 0.5], header=True)
    >>> [(name, float(points)) for name, points in rows.as_numpy_iterator()]
    [(b'Ann, B.', 3.0), (b'Tim', 0.5)]
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise invalid_argument("CsvDataset: give select_cols or exclude_cols, not both.")
        parser = RecordParser(
            "CsvDataset",
            record_defaults,
            field_delim,
            use_quote_delim,
            na_value,
            select_cols,
            exclude_cols,
        )
        super().__init__(
            _Rows(
                names_of_files(filenames, "CsvDataset"),
                parser,
                files.check_compression(compression_type, "CsvDataset"),
                header=bool(header),
            )
        )


# Tables


@published("data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    r"""Batches of the rows of CSV files: a dict of columns, beside the labels if one is named.

    Names come from the header and dtypes from the first rows, unless they are given. Without
    `num_epochs` there is no end, and all batches are full.

    >>> import gradtape as tf, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
    >>> _ = path.write_text("size,weight,kind\n1,0.5,a\n2,,b\n")
    >>> table = tf.data.experimental.make_csv_dataset(
    ...     str(path), batch_size=2, label_name="kind", num_epochs=1, shuffle=False
    ... )
    >>> features, kinds = next(table.as_numpy_iterator())
    >>> features["size"].tolist(), features["weight"].tolist(), kinds.tolist()
    ([1, 2], [0.5, 0.0], [b'a', b'b'])
    """
    paths = _matching(file_pattern)
    kind = files.check_compression(compression_type, "make_csv_dataset")
    read = partial(
        _rows_of_text,
        compression=kind,
        encoding=encoding,
        delimiter=field_delim,
        quoting=csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE,
    )
    if column_names is None and not header:
        raise ValueError("make_csv_dataset: without a header, column_names must be given.")
    names = list(_names_in_headers(paths, read) if column_names is None else column_names)
    _refuse_twice(names, "a column name")
    selected = None if select_columns is None else _places(select_columns, names)
    if column_defaults is None:
        column_defaults = _inferred(
            paths, read, len(names), selected, na_value, num_rows_for_inference, header=header
        )
    if selected is not None:
        if len(column_defaults) != len(selected):
            raise ValueError(
                f"make_csv_dataset: there are {len(column_defaults)} column_defaults for "
                f"{len(selected)} select_columns."
            )
        names = [names[place] for place in selected]
    if label_name is not None and label_name not in names:
        raise ValueError(
            f"make_csv_dataset: label_name must be one of {', '.join(names)}; got {label_name!r}."
        )

    def rows(path: Any) -> Dataset:
        found: Dataset = CsvDataset(
            path,
            column_defaults,
            compression_type=kind,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=selected,
        )
        return found.ignore_errors() if ignore_errors else found

    def columns(*batch: Any) -> Any:
        features = OrderedDict(zip(names, batch, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    table = Dataset.from_tensor_slices(paths)
    if shuffle:
        table = table.shuffle(len(paths), shuffle_seed)
    readers = as_int(num_parallel_reads or 1, "make_csv_dataset: num_parallel_reads")
    if readers == 1:
        table = rows(table)
    elif readers == AUTOTUNE:
        table = table.interleave(rows, num_parallel_calls=AUTOTUNE, deterministic=not sloppy)
    else:
        table = table.interleave(rows, positive(readers, "make_csv_dataset: num_parallel_reads"))
    if shuffle:
        table = table.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        table = table.repeat(num_epochs)
    table = table.batch(batch_size, drop_remainder=num_epochs is None).map(columns)
    return table.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


_RowsOf = Callable[[str], Iterator[list[str]]]


def _matching(pattern: Any) -> list[str]:
    """The files that patterns name, sorted."""
    texts = as_tensor(pattern, argument="make_csv_dataset: file_pattern")
    if texts.dtype != dtypes.string or not texts.array.size:
        raise ValueError(
            f"make_csv_dataset: file_pattern must be text, one or several, got {pattern!r}."
        )
    found = []
    for text in texts.array.reshape(-1).tolist():
        matches = glob(text)
        if not matches:
            raise ValueError(f"make_csv_dataset: no files match {text.decode()!r}.")
        found += matches
    return sorted(found)


def _rows_of_text(
    path: str, compression: str, encoding: str, delimiter: str, quoting: Any
) -> Iterator[list[str]]:
    """The rows of a file as Python's `csv` reads them, to find names and dtypes."""
    raw = _Chunks(files.chunks(path, compression))
    with io.TextIOWrapper(io.BufferedReader(raw), encoding=encoding, newline="") as text:
        yield from csv.reader(text, delimiter=delimiter, quoting=quoting)


class _Chunks(io.RawIOBase):
    """Chunks of bytes as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._held = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._held = self._held or next(self._chunks, b"")
        count = min(len(buffer), len(self._held))
        buffer[:count], self._held = self._held[:count], self._held[count:]
        return count


def _names_in_headers(paths: list[str], read: _RowsOf) -> list[str]:
    headers = [next(read(path), None) for path in paths]
    for path, found in zip(paths, headers, strict=True):
        if found is None:
            raise ValueError(f"make_csv_dataset: '{path}' has no header: it is empty.")
        if found != headers[0]:
            raise ValueError(
                f"make_csv_dataset: all files must have the same header; '{path}' has {found}, "
                f"'{paths[0]}' has {headers[0]}."
            )
    assert headers[0] is not None
    return headers[0]


def _places(columns: Sequence[Any], names: list[str]) -> list[int]:
    """The numbers of columns that are given by number or by name."""
    found = []
    for column in columns:
        known = 0 <= column < len(names) if isinstance(column, int) else column in names
        if not known:
            raise ValueError(
                f"make_csv_dataset: select_columns has {column!r}, but the {len(names)} columns "
                f"are {', '.join(names)}."
            )
        found.append(column if isinstance(column, int) else names.index(column))
    _refuse_twice([names[place] for place in found], "a column of select_columns")
    return sorted(found)


def _refuse_twice(names: list[str], what: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"make_csv_dataset: {what} stands there twice: {', '.join(twice)}.")


# Dtypes


def _inferred(
    paths: list[str],
    read: _RowsOf,
    count: int,
    selected: list[int] | None,
    missing: str,
    limit: int | None,
    *,
    header: bool,
) -> list[Tensor]:
    """Defaults, zeros and empty texts, of the dtypes that hold the first fields of columns."""
    places = range(count) if selected is None else selected
    kinds: list[int | None] = [None for _ in places]
    looked = 0
    for path in paths:
        rows = read(path)
        if header:
            next(rows, None)
        for number, row in enumerate(rows):
            if limit is not None and looked >= limit:
                break
            looked += 1
            if len(row) != count:
                raise ValueError(
                    f"make_csv_dataset: row {number} of '{path}' has {len(row)} fields, but there "
                    f"are {count} columns."
                )
            for column, place in enumerate(places):
                if row[place] not in ("", missing):
                    kinds[column] = max(kinds[column] or 0, _kind(row[place]))
    found = [dtypes.string if kind is None else _KINDS[kind] for kind in kinds]
    return [
        as_tensor([""] if dtype is dtypes.string else [0], dtype, argument="column_defaults")
        for dtype in found
    ]


def _kind(field: str) -> int:
    """The place in `_KINDS` of the first dtype that can hold a field."""
    for place, dtype in enumerate(_KINDS[:-1]):
        try:
            with Quiet():
                value = dtype.numpy.type(field)
        except (ValueError, OverflowError):
            continue
        if dtype.is_integer or value < np.inf:
            return place
    return len(_KINDS) - 1
