"""Elementwise work on large arrays: in blocks that stay in the processor's cache,
shared among threads.

NumPy computes an expression op by op, each over the whole array, on one core. `shared` runs the
whole expression on one block after another, and gives each thread a part of the blocks. The results
are the same to the last bit, as no element depends on another.
"""

from __future__ import annotations

import math
import operator
import os
import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.engines.numpy.crowding import crowd, on_main_thread

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

LARGE = 2**19
"""From so many elements on (two megabytes of float32) work is shared: below,
waking a thread takes as long as it saves.
"""

VERY_LARGE = 2**20
"""The same for derivatives, which are often a product or two of values that are there already:
as fast as memory is.
"""

# Seconds for which the threads of BLAS keep a core after a product, looking for the next one.
_SETTLED = 0.03

# Smaller ones spend more time between the calls of NumPy than they save in the cache.
_BLOCK = 2**18

_WORTH = 6e-4
"""So many seconds of work in blocks are shared: several times what it takes to wake a thread, and
what Python's lock takes where a block is several calls of NumPy.
"""

_UFUNCS: dict[Any, Any] = {operator.neg: np.negative}  # what can write its result where it belongs

_invalid: list[str] = []  # notes of threads whose operations had no value, such as 0 times infinity

_sharing = False  # whether threads have parts of the work of the main thread
_last_product = -math.inf  # when BLAS was last asked for one
_chosen = 0  # what the user has set; 0 leaves it to the machine
_pool: ThreadPoolExecutor | None = None


def set_threads(count: int) -> None:
    """Sets how many threads share the work on a large array: 1 for the caller's alone, 0 for as
    many as the process has cores.
    """
    global _chosen, _pool
    _chosen = count
    _pool, old = None, _pool
    if old is not None:
        old.shutdown(wait=False)


def chosen() -> int:
    """The number that `set_threads` was given."""
    return _chosen


def threads() -> int:
    """How many threads share the work of the calling thread."""
    if not on_main_thread() or _sharing or crowd.is_here():
        return 1
    return _chosen or _named() or cores()


def _named(*variables: str) -> int:
    """The number of threads that the environment sets for numerical libraries; 0 if it sets
    none.
    """
    for variable in (*variables, "OMP_NUM_THREADS"):
        named = os.environ.get(variable, "")
        if named.isdecimal() and int(named):
            return int(named)
    return 0


def cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def product_ran(now: float) -> None:
    """Notes that BLAS has computed a product large enough to wake its own threads: for a while no
    core is free for others.
    """
    global _last_product
    if _BLAS_SHARES:
        _last_product = now


def shared(function: Callable[..., Any], *values: Any) -> Any:
    """`function(*values)` for a function that works element by element on arrays of the same shape;
    other values are passed unchanged.
    """
    if perf_counter() - _last_product < _SETTLED:
        return function(*values)
    arrays = [value for value in values if type(value) is np.ndarray]
    shape, size = arrays[0].shape, arrays[0].size
    count = threads()
    if (
        not size
        or (count == 1 and size <= _BLOCK)
        or any(array.shape != shape or not array.flags.c_contiguous for array in arrays)
    ):
        return function(*values)
    flat = [value.reshape(-1) if type(value) is np.ndarray else value for value in values]
    sample = function(*_part(flat, 0, 1))
    if type(sample) is not np.ndarray or sample.shape != (1,):
        return function(*values)
    out = np.empty(size, sample.dtype)
    function = _UFUNCS.get(function, function)
    into = isinstance(function, np.ufunc)

    def work(start: int, stop: int) -> None:
        for begin in range(start, stop, _BLOCK):
            end = min(begin + _BLOCK, stop)
            if into:
                function(*_part(flat, begin, end), out=out[begin:end])
            else:
                out[begin:end] = function(*_part(flat, begin, end))

    ends = [size * i // count for i in range(count + 1)]
    _together([partial(work, start, stop) for start, stop in pairwise(ends)])
    return out.reshape(shape)


def in_blocks(function: Callable[..., Any], *arrays: Any, size: int) -> Any:
    """`function(*arrays)` for arrays of one shape and a function that works element by element on
    vectors, which gets `size` elements at a time. The result has the shape and dtype of the last.
    """
    last = arrays[-1]
    flat = [array.reshape(-1) for array in arrays]
    if last.size <= size:
        return np.asarray(function(*flat), last.dtype).reshape(last.shape)
    out = np.empty(last.size, last.dtype)

    def work(begin: int) -> None:
        end = begin + size
        out[begin:end] = function(*[array[begin:end] for array in flat])

    each(work, range(0, last.size, size))
    return out.reshape(last.shape)


def each(work: Callable[[int], None], begins: range) -> None:
    """`work(begin)` for each of them, in any order and several at once.

    How long the first takes shows whether sharing the others pays.
    """
    left = iter(begins)

    def some() -> None:
        for begin in left:  # each thread takes the next one
            work(begin)

    start = perf_counter()
    for begin in left:
        work(begin)
        break
    now = perf_counter()
    worth = (now - start) * (len(begins) - 1) > _WORTH and now - _last_product > _SETTLED
    _together([some] * (threads() if worth else 1))


def _together(parts: list[Callable[[], None]]) -> None:
    """Runs the first on this thread, and each of the others on one of its own meanwhile."""
    global _sharing
    first, *others = parts
    if not others:
        first()
        return
    try:
        _sharing = True
        waiting = [_workers(len(parts)).submit(part) for part in others]
        try:
            first()
        finally:
            for part in waiting:
                part.result()  # what a thread raised, this one raises
    finally:
        _sharing = False
    if _invalid:
        _invalid.clear()
        np.multiply(0.0, math.inf)  # whoever listens to this thread hears of it


def other_threads() -> int:
    """How many Python threads there are besides the caller's and those that share its work, which
    see only their blocks.
    """
    return threading.active_count() - 1 - (0 if _pool is None else len(_pool._threads))


def _part(values: list[Any], start: int, stop: int) -> list[Any]:
    return [value[start:stop] if type(value) is np.ndarray else value for value in values]


def _workers(count: int) -> ThreadPoolExecutor:
    """The threads beside the caller's own.

    NumPy's warnings are off in them, as they are where ops run.
    """
    global _pool
    if _pool is None:
        # Many programs never need it.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        _pool = ThreadPoolExecutor(count - 1, "gradtape", initializer=_be_quiet)
    return _pool


def _be_quiet() -> None:
    np.seterr(all="ignore", invalid="call")
    np.seterrcall(lambda kind, flag: _invalid.append(kind))


def _forget() -> None:
    """Called in a child process, which does not have its parent's threads."""
    global _pool, _sharing
    _pool, _sharing = None, False


_BLAS_SHARES = _named("OPENBLAS_NUM_THREADS") != 1

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
