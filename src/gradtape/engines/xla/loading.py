"""JAX itself: it is loaded when it is first needed, and refused in a process that cannot use it."""

from __future__ import annotations

import os
import sys
from functools import cache
from types import ModuleType
from typing import Any


@cache
def load() -> ModuleType:
    """JAX, or the error that says how to get it."""
    try:
        import jax  # noqa: PLC0415 - an optional package, loaded when it is first needed
    except ImportError as error:
        raise ImportError(
            "gradtape.function and accelerators need JAX, which is not installed: pip install "
            "'gradtape[xla]'."
        ) from error
    return jax


def is_installed() -> bool:
    """Whether JAX can be loaded."""
    try:
        load()
    except ImportError:
        return False
    return True


def loaded() -> Any:
    """JAX, if it is loaded, and not still being imported by another thread or by code that a signal
    has interrupted.
    """
    global _whole
    jax = sys.modules.get("jax")
    if jax is _whole:
        return jax
    if hasattr(jax, "enable_x64") and hasattr(jax, "core"):
        _whole = jax
        return jax
    return None


_whole: Any = None  # JAX, once it was seen to be there as a whole


def _backends() -> Any:
    """The backends that JAX has started, in this process or in the one it was forked from."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return None if bridge is None else getattr(bridge, "_backends", None)


_lost = False  # whether the process was forked from one in which XLA had threads


def _after_fork() -> None:
    global _lost
    _lost = bool(_backends())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def check_process() -> None:
    """Refuses to use XLA in a child of a process that has used it: the child would wait for threads
    that only its parent has.
    """
    if _lost:
        raise RuntimeError(
            "gradtape.function and accelerators cannot be used in this process: it was forked "
            "from one that had used them, and XLA's threads were not copied. Start processes "
            "with `multiprocessing.get_context('spawn')`, or fork before the first function is "
            "called. Eager code still works."
        )
