"""Decorators and helpers of `tensorflow.python.util`, which mark functions for TensorFlow's own
documentation, and change nothing; and `inspect`, which it wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import (
    getcallargs,
    getfile,
    getfullargspec,
    getmembers,
    getmodule,
    getmro,
    getsource,
    isclass,
    isfunction,
    ismethod,
    ismodule,
    signature,
)
from typing import Any

__all__ = [
    "as_it_is", "deprecated", "exported", "getcallargs", "getfile", "getfullargspec", "getmembers",
    "getmodule", "getmro", "getsource", "isclass", "isfunction", "ismethod", "ismodule",
    "make_decorator", "signature",
]  # fmt: skip


def as_it_is(function: Any = None, **options: Any) -> Any:
    """A decorator, with options or without, that changes nothing."""
    return as_it_is if function is None else function


def deprecated(*arguments: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator of functions that will go one day; it changes nothing."""
    return as_it_is


def exported(*names: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that says under which names a function is public; it changes nothing."""
    return as_it_is


def make_decorator(
    target: Any, decorator_func: Any, decorator_name: Any = None, *more: Any, **options: Any
) -> Any:
    """`decorator_func` with the name and the docstring of `target`."""
    return update_wrapper(decorator_func, target)
