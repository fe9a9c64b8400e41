"""`name_scope`: prefixes for the names of Variables, one stack of them for each thread; and whether
a name finds a function.
"""

from __future__ import annotations

import sys
import threading
from functools import reduce
from typing import Any

from gradtape.blocks import Block
from gradtape.published import published


class _Prefix(threading.local):
    def __init__(self) -> None:
        self.now = ""


_prefix = _Prefix()


def scoped(name: str) -> str:
    """`name` with the prefix of the name scopes that are open on this thread."""
    return _prefix.now + name


@published("name_scope")
class name_scope(Block):  # noqa: N801 - TensorFlow's name
    """Adds a prefix to the names of the Variables that a block creates; a name that ends in "/" is
    the whole prefix.

    >>> import gradtape as tf
    >>> with tf.name_scope("model"):
    ...     with tf.name_scope("layer") as scope:
    ...         print(scope)
    model/layer/
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError(f"name_scope: name must be a string, got {name!r}.")
        self._name = name
        self._before: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    def __enter__(self) -> str:  # type: ignore[override]  # as TensorFlow has it
        self.enter()
        return _prefix.now

    def enter(self) -> None:
        self._before = [*self._before, _prefix.now]
        if not self._name or self._name.endswith("/"):
            _prefix.now = self._name
        else:
            _prefix.now = f"{_prefix.now}{self._name}/"

    def leave(self) -> None:
        if self._before:  # else nothing was entered, or all was left
            _prefix.now = self._before[-1]
            del self._before[-1]


@published("get_current_name_scope")
def get_current_name_scope() -> str:
    """The name scopes that are open on this thread, joined with "/".

    >>> import gradtape as tf
    >>> with tf.name_scope("model"), tf.name_scope("layer"):
    ...     print(tf.get_current_name_scope())
    model/layer
    """
    return _prefix.now.removesuffix("/")


def is_importable(function: Any) -> bool:
    """Whether a function is found in its module by its name, as pickle finds it."""
    try:
        found = reduce(getattr, function.__qualname__.split("."), sys.modules[function.__module__])
    except (AttributeError, KeyError):
        return False
    return found is function
