"""Decorators and helpers of `tensorflow.python.util`, which mark functions for TensorFlow's own
documentation, and change nothing; and `inspect`, which it wraps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from inspect import (
    Parameter,
    getcallargs,
    getdoc,
    getfile,
    getmembers,
    getmodule,
    getmro,
    getsource,
    isclass,
    isfunction,
    isgeneratorfunction,
    ismethod,
    ismodule,
    signature,
    stack,
)
from typing import Any

__all__ = [
    "Parameter", "as_it_is", "deprecated", "deprecated_alias", "exported", "getcallargs", "getdoc",
    "getfile", "getfullargspec", "getmembers", "getmodule", "getmro", "getsource", "isclass",
    "isfunction", "isgeneratorfunction", "ismethod", "ismodule", "make_decorator", "signature",
    "stack",
]  # fmt: skip


def getfullargspec(function: Any) -> inspect.FullArgSpec:
    """The parameters of a function, or of the one that it wraps. Libraries compare those of two
    functions; TensorFlow's have no annotations.
    """
    return inspect.getfullargspec(inspect.unwrap(function))._replace(annotations={})


def as_it_is(function: Any = None, **options: Any) -> Any:
    """A decorator, with options or without, that changes nothing."""
    return as_it_is if function is None else function


def deprecated(*arguments: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator of functions that will go one day; it changes nothing."""
    return as_it_is


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Any:
    """What an older name stands for."""
    return func_or_class


def exported(*names: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that says under which names a function is public; it changes nothing."""
    return as_it_is


def make_decorator(
    target: Any, decorator_func: Any, decorator_name: Any = None, *more: Any, **options: Any
) -> Any:
    """`decorator_func` with the name and the docstring of `target`."""
    return update_wrapper(decorator_func, target)
