"""Methods of core's classes that are functions of a higher layer: imported or compiled at the first
call, and called directly from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any


def imported_when_called(module: str, name: str) -> Callable[..., Any]:
    """The function `name` of a module, which is imported when it is first called."""
    function: Callable[..., Any] | None = None

    def call(*args: Any, **keywords: Any) -> Any:
        nonlocal function
        if function is None:
            function = getattr(import_module(module), name)
        return function(*args, **keywords)

    call.__name__ = name
    return call


def written_when_called(name: str, write: Callable[[Any, dict[str, Any]], None]) -> Any:
    """A function whose code is set at the first call by `write(function, namespace)`, which also
    adds what that code uses to its namespace.
    """
    namespace: dict[str, Any] = {}

    def first_call(args: Any, keywords: Any) -> Any:
        write(function, namespace)
        return function(*args, **keywords)

    namespace["first_call"] = first_call
    function = FunctionType(_call.__code__, namespace, name)
    return function


def _call(*args: Any, **keywords: Any) -> Any:
    # In the namespace of the function it is the code of.
    return first_call(args, keywords)  # type: ignore[name-defined]  # noqa: F821
