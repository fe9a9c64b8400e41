"""How many rows of a Jacobian go into one walk, so that the walk stays within a memory limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import numpy as np

from gradtape.blocks import Block
from gradtape.core.thread import here
from gradtape.engines.numpy.free_memory import free_bytes

_UNASKED = 32 * 2**20  # walks that need less than this are not worth asking the machine what it has
_SHARE = 4  # a walk may take this part of what is free, unless the caller sets a limit
# Of a limit; the rest is for the recording, and for what kernels take for themselves.
_PLANNED = 15 / 16


def in_chunks(
    count: int,
    run: Callable[[int, int], Any],
    *,
    limit: int | None = None,
    most: int | None = None,
    expected: float = 0,
    seed_bytes: int = 0,
) -> Iterator[tuple[int, int, Any]]:
    """`run(start, stop)` for one range of `count` rows after another, as triples of start,
    stop and result.

    A range has no more than `most` rows, and no more than fit into `limit` bytes (None: a quarter
    of what is free). If all rows are `expected`, in bytes for each, to fit at once, they run at
    once; else the first runs alone, and the memory that each range takes determines the size of the
    next. `seed_bytes` is what a row takes before any op has run. A range for which there was not
    enough memory is cut in half.
    """
    size = max(1, count if most is None else min(count, most))
    if limit is None:
        limit = _UNASKED if size * expected <= _UNASKED else free_bytes() // _SHARE
    measured = size > 1 and size * expected > limit
    if measured:
        size = 1
    start = 0
    while start < count:
        stop = min(start + size, count)
        meter = Meter()
        try:
            if measured:
                with meter:
                    result = run(start, stop)
            else:
                result = run(start, stop)
        except MemoryError:
            if stop - start == 1:
                raise
            size = (stop - start) // 2
            continue
        yield start, stop, result
        result = None  # not kept alive through the next range
        if measured:
            per_row = meter.peak / (stop - start) + seed_bytes
            size = max(1, min(count, most or count, int(_PLANNED * limit / max(per_row, 1))))
        start = stop


class Meter(Block):
    """The most bytes that the results of a thread's ops took at one time in a `with` block: `peak`.

    It sees each kernel's result, and when it is freed; it does not see a kernel's temporary arrays.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._now = 0
        self._alive: dict[int, Any] = {}
        self._run: Any = None

    def enter(self) -> None:
        self._run = here.state.run
        here.state.run = self._metered

    def leave(self) -> None:
        if self._run is not None:
            here.state.run = self._run
        self._alive.clear()

    def _metered(self, kernel: Callable[..., Any], *args: Any, **params: Any) -> Any:
        result = self._run(kernel, *args, **params)
        given = {id(_owner(array)) for array in args}
        for array in result if type(result) is list else [result]:
            owner = _owner(array)
            key = id(owner)
            if type(owner) is np.ndarray and key not in given and key not in self._alive:
                self._add(key, owner)
        return result

    def _add(self, key: int, owner: Any) -> None:
        size = owner.nbytes
        self._now += size
        self.peak = max(self.peak, self._now)

        def gone(_: Any) -> None:
            self._now -= size
            self._alive.pop(key, None)

        self._alive[key] = ref(owner, gone)


def _owner(array: Any) -> Any:
    """The array whose memory a view shows."""
    base = getattr(array, "base", None)
    return array if base is None else base
