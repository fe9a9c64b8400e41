"""`at_moment`: does something at a chosen moment of a call,
at any of those in which Python would run a signal's handler.

Python looks for signals when a function of Python's begins, when a loop goes back, and after a call
of a function of C's. Random signals find few of these moments; here they are counted, and a test
can go through all of them.
"""

from __future__ import annotations

import gc
import opcode
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from inspect import CO_GENERATOR
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape.core import buffered, collector, writing
from gradtape.core.thread import ThreadState, here
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.collector import Uncollected

RAISES_WHERE_SIGNALS_DO = pytest.mark.skipif(
    sys.version_info >= (3, 12),
    reason=(
        "from Python 3.12 on, what a trace function raises can pass the end of a block by, or crash"
    ),
)
"""For tests whose action raises an exception."""

_SOURCES = str(Path(gradtape.__file__).parent.parent)
_CALLS = {
    opcode.opmap[name] for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX") if name in opcode.opmap
}
_RESUME = opcode.opmap["RESUME"]
_BACK = {
    code
    for name, code in opcode.opmap.items()
    if "JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name
}


class Moments:
    """Counts the moments of a call in gradtape's own code, and acts at one of them,
    or at all (`number` is None).
    """

    def __init__(self, number: int | None, act: Callable[[], Any]) -> None:
        self.number = number
        self.act = act
        self.count = 0
        self.where = ""
        self._last: dict[int, int] = {}  # by the identity of a frame, the last instruction
        self._inside: set[int] = set()  # frames whose last instruction has called Python

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "call":
            self._inside.add(id(frame.f_back))
            self._last.pop(id(frame), None)
            if not frame.f_code.co_filename.startswith(_SOURCES) or _is_ignored(frame):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            code, place = frame.f_code.co_code, frame.f_lasti
            last, self._last[id(frame)] = self._last.get(id(frame)), code[place]
            called_python = id(frame) in self._inside
            self._inside.discard(id(frame))
            begins = code[place] == _RESUME and code[place + 1] < 2
            if begins or code[place] in _BACK or (last in _CALLS and not called_python):
                self.count += 1
                if self.number is None or self.count == self.number:
                    self.where = (
                        f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in "
                        f"{frame.f_code.co_name}"
                    )
                    self.act()
        return self.trace


def _is_ignored(frame: Any) -> bool:
    """Whether Python itself would ignore an exception there: while it deletes something, or has
    collected garbage.
    """
    while frame is not None:
        if frame.f_code.co_name in ("__del__", "_is_gone", "_xla_gc_callback"):
            return True
        frame = frame.f_back
    return False


def at_moment(number: int | None, act: Callable[[], Any], call: Callable[[], Any]) -> Moments:
    """Calls `call`, and `act` at its moment of this number, if it has as many, or at all if that is
    None; what it raises, is raised there.
    """
    moments = Moments(number, act)
    before, collects = sys.gettrace(), gc.isenabled()
    # Some Pythons must know beforehand that a frame will ask for it.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(moments.trace)
    try:
        call()
    finally:
        sys.settrace(before)
        if collects:
            # What a trace function raises after the last call in a `try` passes its `finally` by,
            # which what a signal handler raises does not: see `call_uncollected`.
            gc.enable()
    return moments


def anywhere_at(moment: int, act: Callable[[], Any], call: Callable[[], Any]) -> int:
    """The same with a profile function, which also sees the code of NumPy, JAX and Keras; returns
    how many moments there were.

    It sees when functions begin and end, but not that a loop goes back. Generators are left out:
    what is raised as they yield ends them, which no signal does.
    """
    count = 0

    def look(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        if event == "c_call" or frame.f_code.co_flags & CO_GENERATOR:
            return
        count += 1
        if 0 < moment <= count and not _is_ignored(frame):
            sys.setprofile(None)
            act()

    try:
        sys.setprofile(look)
        call()
    finally:
        sys.setprofile(None)
    return count


def thread_now() -> dict[str, Any]:
    """All that gradtape, NumPy and JAX keep for this thread, and what other threads could wait
    for.
    """
    found = {name: getattr(here.state, name) for name in ThreadState.__slots__ if name != "watch"}
    free: list[bool] = []
    thread = threading.Thread(target=lambda: free.append(writing.is_free()))
    thread.start()
    thread.join()
    found |= {
        "the lock is free": free == [True],
        "NumPy's settings": (np.geterr(), np.geterrcall()),
        "the collector": (gc.isenabled(), gc.get_threshold(), collector._recordings),
        "blocks without collection": set(Uncollected.entered),
        "plans": list(buffered.relying),
        "the preferred device": vars(xla_settings._preferred).get("device"),
        "the outer switch": xla_settings._outside.switch,
    }
    if "jax" in sys.modules:
        names = ("enable_x64", "default_device")
        found |= {name: xla_settings._setting(name).get_local() for name in names}
        settings = vars(import_module("jax._src.config")).items()
        found |= {
            f"JAX's {name}": setting.value
            for name, setting in settings
            if hasattr(setting, "get_local")
            and not isinstance(setting, type)
            # Interrupted as it runs an equation, JAX says "no mesh" where it said nothing.
            and name != "abstract_mesh_context_manager"
        }
        found["JAX's trace"] = type(xla_settings._traces().trace)
        found["JAX's key"] = import_module("jax._src.core").trace_state.value
    return found


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {value!r} became {now[name]!r}"
        for name, value in before.items()
        if now[name] is not value and now[name] != value
    ]
