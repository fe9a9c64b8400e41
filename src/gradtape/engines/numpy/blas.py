"""How many threads BLAS has for large work: one while other programs want the cores, else as many
as NumPy's user has set.

OpenBLAS has one setting for the process. It is changed while work of gradtape's runs, and is what
it was when user code runs again. Other BLAS libraries are left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from time import perf_counter, thread_time
from typing import Any, NamedTuple

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from gradtape.blocks import Block
from gradtape.engines.numpy.crowding import LONG, crowd, on_main_thread
from gradtape.engines.numpy.threads import product_ran

SHARED = 2**18
"""From so many multiplications on OpenBLAS shares a product among threads."""


def run(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)`, which asks NumPy's BLAS for so much that it would share it."""
    if not on_main_thread():
        return function(*args)
    setting = _of_numpy() if crowd.until and crowd.is_here() else None
    count = 1 if setting is None else setting.get()
    start = perf_counter()
    measured = start < crowd.measured_until
    own_start = thread_time() if measured else 0.0
    if setting is not None and count > 1:
        # A signal cannot be answered between the two, nor before the setting is back.
        try:
            setting.set(1)
            result = function(*args)
        finally:
            setting.set(count)
    else:
        result = function(*args)
    end = perf_counter()
    if measured:
        note = crowd.note if setting is None else crowd.note_alone
        note(end - start, thread_time() - own_start)
    elif end - start > LONG:
        crowd.look_closer()
    if setting is None:
        product_ran(end)
    return result


def sharing(kernel: Callable[..., Any], work: Callable[..., int]) -> Callable[..., Any]:
    """A kernel that calls BLAS, run so where `work`, about how many multiplications a call takes,
    is enough.
    """

    def of_any_size(*args: Any, **params: Any) -> Any:
        if work(*args, **params) <= SHARED:
            return kernel(*args, **params)
        bound = partial(kernel, **params)
        if not (crowd.until and crowd.is_here()):
            return run(bound, *args)
        with OneThread():
            return run(bound, *args)

    of_any_size.func = getattr(kernel, "func", kernel)  # type: ignore[attr-defined]
    return of_any_size


def by_scipy(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)`, which calls SciPy's BLAS: on one thread.

    SciPy brings an OpenBLAS of its own. After a product of NumPy's, whose threads look for the next
    one for a while, its threads wait for theirs to be interrupted: 4 ms for each call.
    """
    setting = _of_scipy()
    count = 1 if setting is None else setting.get()
    if setting is None or count == 1:
        return function(*args)
    try:
        setting.set(1)
        return function(*args)
    finally:
        setting.set(count)


def of_matrices(x: Any, *rest: Any, **params: Any) -> int:
    """The work of a kernel that solves with, or factors, the matrices that it is given first."""
    return x.size * x.shape[-1] if x.ndim > 1 else 0


class OneThread(Block):
    """A block in which OpenBLAS has one thread."""

    def __init__(self) -> None:
        self._before: list[tuple[_Setting, int]] = []

    def enter(self) -> None:
        # One that has one thread now may be another Python thread's, which puts it back.
        self._before = [(setting, count) for setting in _settings() if (count := setting.get()) > 1]
        for setting, _ in self._before:
            setting.set(1)

    def leave(self) -> None:
        for setting, count in self._before:
            setting.set(count)
        self._before = []


class _Setting(NamedTuple):
    """The functions of one OpenBLAS that get and set its number of threads."""

    get: Callable[[], int]
    set: Callable[[int], None]


def _settings() -> list[_Setting]:
    """Those of the libraries that are loaded: NumPy and SciPy each bring one."""
    return [setting for setting in (_of_numpy(), _of_scipy()) if setting is not None]


def _of_numpy() -> _Setting | None:
    return _setting(_multiarray_umath.__file__)


def _of_scipy() -> _Setting | None:
    scipy = sys.modules.get("scipy.linalg._fblas")
    return None if scipy is None else _setting(scipy.__file__)


@cache
def _setting(file: str | None) -> _Setting | None:
    """That of the OpenBLAS which an extension module is linked with; None if it has another BLAS,
    or this system does not show it.
    """
    # It takes some milliseconds, and most programs never need it.
    import ctypes  # noqa: PLC0415

    try:
        library = ctypes.PyDLL(file)
    except (OSError, TypeError):
        return None
    for prefix in ("scipy_openblas", "openblas"):
        for suffix in ("64_", ""):
            get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
            set = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if get is not None and set is not None:
                get.argtypes, get.restype = (), ctypes.c_int
                set.argtypes, set.restype = (ctypes.c_int,), None
                return _Setting(get, set)
    return None
