"""A method that does not keep its object alive: what is kept for the object goes with it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any


def weakly_bound(method: Callable[..., Any], instance: Any) -> Callable[..., Any]:
    """`method` of `instance`, which may be gone when it is called."""
    reference = weakref.ref(instance)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(reference(), *args, **kwargs)

    call.__signature__ = _signature_without_self(method)  # type: ignore[attr-defined]
    # AutoGraph converts the method.
    call.weakly_bound = method, reference  # type: ignore[attr-defined]
    return call


def _signature_without_self(method: Callable[..., Any]) -> Any:
    from inspect import signature  # noqa: PLC0415 - 8 ms that only methods need

    found = signature(method)
    return found.replace(parameters=list(found.parameters.values())[1:])
