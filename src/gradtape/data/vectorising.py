"""Functions of elements that run once for many elements, where that gives the same.

A function is tried if it only computes (`purity`): its results for some rows at once are compared
with those for each of them. What differs, or fails, is called for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.data.calling import UsersFunction
from gradtape.data.purity import only_computes
from gradtape.data.rows import Addressed, Columns, Pack, RowStream, joined
from gradtape.data.stage import Stage, first_run, raised_later
from gradtape.data.stages.batching import batch_of
from gradtape.data.structure import array_of, leaves_of, one_of, packer, spec_of
from gradtape.errors import invalid_argument
from gradtape.transforms.vectorize import vmap

_TRIED = 8  # rows
_TOLERANCE = 1e-5, 1e-3  # of floats, and of those with 16 bits or less


class Vectorised:
    """A function of rows, made from one of elements."""

    def __init__(self, function: UsersFunction, pack: Pack, result: Pack) -> None:
        self._function, self._pack = function, pack
        self.result = result  # gives the columns of results their structure

    def whole(self, columns: Columns) -> Columns:
        """The results for all rows at once."""
        return at_once(self._function, self._pack, columns)[0]

    def __call__(self, columns: Columns) -> Columns:
        """The results for rows, at once or one by one."""
        try:
            return self.whole(columns)
        except Exception:  # noqa: BLE001 - the elements one by one give the right error
            found, failed = self.one_by_one(columns, 0)
            if failed:
                failed[0].__suppress_context__ = True
                raised_later(failed.pop())
            if len(found) < len(columns[0]):
                raise invalid_argument(
                    "map: the results for elements of one batch have different shapes or dtypes: "
                    "use padded_batch."
                ) from None
            return together(found)

    def one_by_one(self, columns: Columns, number: int) -> tuple[list[Any], list[Exception]]:
        """The results for rows that are alike, and the error that ended them, if one did, in a
        list.

        The first row is the element of this number.
        """
        found: list[Any] = []
        for place in range(len(columns[0])):
            try:
                result = self._function(self._pack(_row(columns, place)), number + place)
            except Exception as error:  # noqa: BLE001 - raised in its turn
                return found, [error]
            if found and spec_of(result) != spec_of(found[0]):
                break
            found.append(result)
        return found, []


def together(results: Sequence[Any]) -> Columns:
    return [array_of(leaf, "map: a result") for leaf in leaves_of(batch_of(results))]


def at_once(function: UsersFunction, pack: Pack, columns: Columns) -> tuple[Columns, Any]:
    """The results of a function for all rows, and one that shows their structure."""
    element = pack([Tensor(column) for column in columns])
    parts = element if type(element) is tuple else (element,)
    found = vmap(lambda *args: function(args if len(args) > 1 else args[0], 0))(*parts)
    leaves = [array_of(leaf, "map: a result") for leaf in leaves_of(found)]
    if any(leaf.dtype == object for leaf in leaves):
        raise TypeError("text is not vectorised")
    return [np.ascontiguousarray(leaf) for leaf in leaves], found


def vectorised(function: UsersFunction, stage: Stage) -> Vectorised | None:
    """A function of the rows of a stage, if it gives what the function of elements gives."""
    if not only_computes(function.function):
        return None
    source = stage.addressed()
    rows: RowStream | None = None
    if source is None:
        rows = stage.rows(first_run(stage))
        if rows is None:
            return None
    try:
        columns, pack = _first_rows(source, rows)
        if columns is None or any(column.dtype == object for column in columns):
            return None
        found, example = at_once(function, pack, columns)
        wanted = [
            leaves_of(function(pack(_row(columns, place)), place))
            for place in range(len(columns[0]))
        ]
        if not _agree(found, wanted):
            return None
        return Vectorised(function, pack, packer(example))
    except Exception:  # noqa: BLE001 - whatever it is, each element will show it
        return None
    finally:
        if rows is not None:
            rows.close()


def _first_rows(source: Addressed | None, rows: RowStream | None) -> tuple[Columns | None, Pack]:
    if source is None:
        assert rows is not None
        return rows.take(_TRIED), rows.pack
    count = _TRIED if source.size is None else min(_TRIED, source.size)
    return (source.span(0, count) if count else None), source.pack


def _row(columns: Columns, place: int) -> list[Tensor]:
    return [Tensor(one_of(column, place)) for column in columns]


def _agree(found: Columns, wanted: Sequence[Sequence[Any]]) -> bool:
    """Whether columns hold the leaves of elements."""
    for place, leaves in enumerate(wanted):
        if len(leaves) != len(found):
            return False
        for column, leaf in zip(found, leaves, strict=True):
            one, two = column[place], array_of(leaf, "map: a result")
            if one.dtype != two.dtype or one.shape != two.shape or not _close(one, two):
                return False
    return True


def _close(one: Any, two: Any) -> bool:
    if one.dtype.kind in "iub":
        return bool(np.array_equal(one, two))
    wide = one.dtype.itemsize >= 4
    rate = _TOLERANCE[0 if wide else 1]
    if not wide:
        one, two = one.astype(np.float32), two.astype(np.float32)
    return bool(np.allclose(one, two, rtol=rate, atol=rate, equal_nan=True))


class MappedRows(RowStream):
    """The results of a function for the rows of a stream."""

    def __init__(self, source: RowStream, function: Vectorised) -> None:
        super().__init__(function.result)
        self._source, self._function = source, function
        self._at = 0
        self._left: Columns | None = None  # rows that come after one that failed
        self._error: Exception | None = None

    def take(self, count: int) -> Columns | None:
        if self._error is not None:
            failed, self._error = [self._error], None
            self._at += 1
            raised_later(failed.pop())
        columns = self._rows(count)
        if columns is None:
            return None
        try:
            found = self._function.whole(columns)
        except Exception:  # noqa: BLE001 - the elements one by one give the right error
            found = self._up_to_the_next_error(columns)
        self._at += len(found[0])
        return found

    def _rows(self, count: int) -> Columns | None:
        if self._left is None:
            return self._source.take(count)
        left, self._left = self._left, None
        return self._keep(left, count)

    def _keep(self, columns: Columns, count: int) -> Columns:
        """The first rows; the others are left for the next call."""
        if len(columns[0]) > count:
            self._left = [column[count:] for column in columns]
        return [column[:count] for column in columns]

    def _up_to_the_next_error(self, columns: Columns) -> Columns:
        before = self._left
        found, failed = self._function.one_by_one(columns, self._at)
        rest = [column[len(found) + len(failed) :] for column in columns]
        if before is not None:
            rest = joined([rest, before])
        self._left = rest if len(rest[0]) else None
        if not found:
            self._at += 1
            raised_later(failed.pop())
        self._error = failed.pop() if failed else None
        return together(found)

    def skip(self, count: int) -> None:
        if self._error is None and self._left is None:
            self._source.skip(count)
            self._at += count
            return
        for _ in range(count):
            if self._error is not None:
                self._error = None
            elif self._rows(1) is None:
                return
            self._at += 1

    def close(self) -> None:
        self._left = self._error = None
        self._source.close()


class MappedAddressed(Addressed):
    """The results of a function for addressed elements."""

    def __init__(self, source: Addressed, function: Vectorised) -> None:
        super().__init__(source.size, function.result)
        self._source, self._function = source, function

    def stream(self, order: Callable[[Addressed], RowStream]) -> RowStream:
        return MappedRows(self._source.stream(order), self._function)

    def gather(self, numbers: Any) -> Columns:
        return self._function(self._source.gather(numbers))

    def span(self, start: int, stop: int) -> Columns:
        return self._function(self._source.span(start, stop))
