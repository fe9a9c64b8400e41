"""JAX's state on a thread: its settings, the device of its programs, and what it traces.

Every block here restores what it found, at whatever moment an exception ends it.

gradtape supports 64-bit numbers, which JAX has behind a switch. The switch is on during every use
of JAX here, for this thread alone, so the user's own JAX code is not affected.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

from gradtape.blocks import Block, block
from gradtape.engines.xla.collector import COLLECTS_ANYWHERE, Uncollected, call_uncollected
from gradtape.engines.xla.loading import load, loaded

_ABSENT = object()


class _Preferred(threading.local):
    """The function that returns the device for this thread's programs, if one is preferred."""

    device: Callable[[], Any] | None = None


_preferred = _Preferred()


def prefer(device: Callable[[], Any] | None) -> None:
    """Sets the device on which the programs of all threads run, unless a `device` block names
    another.
    """
    _Preferred.device = staticmethod(device) if device is not None else None


def preferred() -> Any:
    """The device on which this thread's programs should run; None for any."""
    device = _preferred.device
    return None if device is None else device()


class _ForAny(threading.local):
    """Whether this thread makes programs that are to run on any device, with any sizes."""

    is_on = False


_for_any = _ForAny()


def for_any_device() -> bool:
    """Whether this thread makes programs for all kinds of devices, in which kernels may not choose
    what is fastest on one, for some sizes.
    """
    return _for_any.is_on


@block
def making_for_any_device() -> Iterator[None]:
    """A block in which this thread makes such programs."""
    before, _for_any.is_on = _for_any.is_on, True
    try:
        yield
    finally:
        _for_any.is_on = before


@block
def running_on(device: Callable[[], Any] | None) -> Iterator[None]:
    """A block in which the programs of this thread run on a device."""
    own = vars(_preferred)
    before = own.get("device", _ABSENT)
    own["device"] = device or _Preferred.device
    try:
        yield
    finally:
        if before is _ABSENT:
            # So that the thread follows the preference of all threads again, which may change.
            del own["device"]
        else:
            own["device"] = before


def wide() -> AbstractContextManager[Any]:
    """A block in which 64-bit numbers are enabled on this thread, and its programs run on the
    preferred device.
    """
    device = _preferred.device
    return _Wide() if device is None else _wide_on(device())


@block
def _wide_on(device: Any) -> Iterator[None]:
    with _Wide(), _Setting("default_device", device):
        yield


@block
def folding() -> Iterator[None]:
    """A block of `wide` in which JAX computes at once what depends on no input of a program that it
    traces: what `jax.ensure_compile_time_eval` does, but it ends also if it is interrupted. All
    programs that are traced with that setting left on would keep the Variables' present values.
    """
    with wide(), _Setting("eager_constant_folding", True):
        yield


@cache
def _setting(name: str) -> Any:
    """A JAX setting, which can be changed for this thread alone.

    JAX's own context manager does not restore it if it is interrupted.
    """
    load()
    return getattr(import_module("jax._src.config"), name)


class _Setting(Block):
    """A block in which a JAX setting has a certain value on this thread."""

    def __init__(self, name: str, value: Any) -> None:
        self._setting = _setting(name)
        self._value = value
        self._before: Any = _ABSENT

    def enter(self) -> None:
        self._before = self._setting.get_local()
        self._setting.set_local(self._value)

    def leave(self) -> None:
        if self._before is not _ABSENT:
            self._setting.set_local(self._before)


class Kept(Block):
    """A block after which JAX's settings for this thread are as before, and what it traces: for a
    program that calls the host, where JAX changes settings of its own.
    """

    def __init__(self) -> None:
        self._settings = [_setting("default_device"), _setting("enable_x64")]
        self._before: list[Any] = []
        self._trace = _traces().trace

    def enter(self) -> None:
        self._before = [setting.get_local() for setting in self._settings]

    def leave(self) -> None:
        if self._before:
            trace_again(self._trace)
            for setting, value in zip(self._settings, self._before, strict=True):
                if setting.get_local() is not value:
                    setting.set_local(value)


def switched(on: bool) -> AbstractContextManager[Any]:
    """A block of `wide` with the switch for 64-bit numbers on or off: for the user's own JAX code,
    whose dtypes depend on it.
    """
    device = _preferred.device
    return _Wide(on) if device is None else _switched_on(device(), on)


@block
def _switched_on(device: Any, on: bool) -> Iterator[None]:
    with _Wide(on), _Setting("default_device", device):
        yield


def users_switch() -> bool:
    """Whether the user's own code has 64-bit numbers switched on, on this thread."""
    switch = _setting("enable_x64")
    local = switch.get_local() if _outside.switch is _ABSENT else _outside.switch
    return local if isinstance(local, bool) else bool(switch.get_global())


class _Outside(threading.local):
    """The switch for 64-bit numbers as the user's code has it on this thread,
    outside all blocks of `wide`, if it is in any.
    """

    switch: Any = _ABSENT


_outside = _Outside()


class _Wide(_Setting):
    """A block with 64-bit numbers, or without them, in which JAX is used."""

    _is_first = False
    _trace: Any = None

    def __init__(self, on: bool = True) -> None:
        super().__init__("enable_x64", on)
        self._uncollected = Uncollected()

    def enter(self) -> None:
        if _outside.switch is _ABSENT:
            self._is_first = True
            _outside.switch = self._setting.get_local()
        if COLLECTS_ANYWHERE:
            self._uncollected.enter()
        self._trace = _traces().trace
        super().enter()

    def leave(self) -> None:
        super().leave()
        if self._trace is not None:
            trace_again(self._trace)
        if self._is_first:
            _outside.switch = _ABSENT
        if COLLECTS_ANYWHERE:
            self._uncollected.leave()


def call_wide(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function in a block of `wide`; while a program is traced this thread is in one, and
    needs no other.
    """
    switch = _setting("enable_x64")
    if _outside.switch is _ABSENT or _preferred.device is not None or not switch.get_local():
        with wide():
            return function(*args)
    trace = _traces().trace
    try:
        return function(*args)
    except BaseException:  # what interrupts it may find JAX in the midst of changing these
        trace_again(trace)
        switch.set_local(True)
        raise


def call_compiled(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a compiled JAX function, which may have to trace or compile."""
    trace = _traces().trace
    try:
        return call_uncollected(function, *args)
    except BaseException:
        trace_again(trace)
        raise


@cache
def _traces() -> Any:
    """What JAX's threads are tracing.

    If a signal handler raises while JAX stops tracing, JAX goes on believing that it traces.
    """
    load()
    return import_module("jax._src.core").trace_ctx


def trace_again(trace: Any) -> None:
    """Restores what JAX was tracing before a call, however that call ended."""
    if _traces().trace is not trace:
        _traces().set_trace(trace)


def is_tracing() -> bool:
    """Whether JAX traces something on this thread, be it a program of ours or code of the user's,
    as in `jax.jit`.
    """
    return _traces().trace is not _evaluation()


@cache
def _evaluation() -> Any:
    """What JAX calls its trace where it traces nothing."""
    return import_module("jax._src.core").eval_trace


def at_once() -> AbstractContextManager[Any]:
    """A block in which JAX computes at once, also where it is tracing something: for values that
    are kept beyond that.
    """
    return evaluating() if is_tracing() else nullcontext()


def evaluating() -> AbstractContextManager[Any]:
    """A block in which JAX, if it is loaded, computes at once, even while it is tracing or
    compiling a program.
    """
    return nullcontext() if loaded() is None else _Evaluating()


class _Evaluating(Block):
    """JAX's own context manager for this is a generator: interrupted, it restores what JAX was
    tracing when Python frees it, and that may be over by then.

    The 64-bit switch is as it is outside, so that what was compiled there is not compiled again
    here.
    """

    _trace: Any = None
    _outside: Any = _ABSENT
    _switch: _Setting | None = None

    def enter(self) -> None:
        self._trace = _traces().trace
        trace_again(_evaluation())
        if _outside.switch is not _ABSENT:
            self._outside = _outside.switch
            self._switch = _Setting("enable_x64", self._outside)
            self._switch.enter()
            _outside.switch = _ABSENT

    def leave(self) -> None:
        if self._switch is not None:
            _outside.switch = self._outside
            self._switch.leave()
        if self._trace is not None:
            trace_again(self._trace)


def checks_of_results() -> tuple[Any, Any]:
    """JAX's settings that check all results for NaN and infinity after they are computed.

    With them, a program may raise an exception after it has overwritten its inputs.
    """
    return _setting("debug_nans"), _setting("debug_infs")


def results_are_checked() -> bool:
    """Whether one of them is on."""
    return any(setting.value for setting in checks_of_results())
