"""The NumPy engine: the default for eager code on the CPU.

A NumPy "array" here is an `ndarray` or a NumPy scalar: NumPy's own arithmetic turns 0-d arrays into
scalars, and those are several times faster to compute with.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradtape.blocks import Block
from gradtape.engines.numpy.allocator import keep_freed_memory

Kernel = str | Callable[..., Any]
"""A name in the array namespace, an operator such as `operator.add`,
or a function whose first argument is `xp`.
"""


def bind(kernel: Kernel) -> Callable[..., Any]:
    """The kernel as a function of NumPy arrays."""
    if isinstance(kernel, str):
        return getattr(np, kernel)
    code = getattr(kernel, "__code__", None)
    if code is not None and code.co_varnames[:1] == ("xp",):
        return partial(kernel, np)
    return kernel


def quiet_runner(on_invalid: Callable[[str, int], Any] | None = None) -> Callable[..., Any]:
    """A `run(function, *args)` under which NumPy does not warn about overflow, division by zero and
    the like.

    `on_invalid` is called for invalid operations, such as 0 times infinity.

    The setting lives in a context of its own, which costs 0.04 µs a call where `numpy.errstate`
    costs 0.9 µs, and leaves the user's own NumPy code as it was. A context serves one thread.
    """
    context = contextvars.Context()
    context.run(np.seterr, all="ignore", invalid="ignore" if on_invalid is None else "call")
    if on_invalid is not None:
        context.run(np.seterrcall, on_invalid)
    return context.run


def is_reentry(error: Exception) -> bool:
    """Whether an error says that a context is in use: a signal handler has called an op while
    another one was running.
    """
    return type(error) is RuntimeError and "cannot enter context" in str(error)


def run(kernel: Callable[..., Any], /, *arrays: Any, **params: Any) -> Any:
    """What `quiet_runner` gives, slower and at any moment: also for such a call."""
    return quiet_runner()(kernel, *arrays, **params)


class Quiet(Block):
    """The same for a block, whose code keeps the context that it has.

    `numpy.errstate` stays on for ever if a signal handler raises while it begins or ends.
    """

    def __init__(self, on_invalid: Callable[[str, int], Any] | None = None) -> None:
        self._on_invalid = on_invalid
        self._before: tuple[Any, Any] | None = None

    def enter(self) -> None:
        self._before = np.geterr(), np.geterrcall()
        if self._on_invalid is None:
            np.seterr(all="ignore")
        else:
            np.seterrcall(self._on_invalid)
            np.seterr(all="ignore", invalid="call")

    def leave(self) -> None:
        if self._before is not None:
            kinds, call = self._before
            np.seterr(**kinds)
            np.seterrcall(call)


def to_numpy(array: Any) -> Any:
    return array


keep_freed_memory()
