"""`Module`: an object that finds the Variables and Modules among its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gradtape import nest
from gradtape.core.naming import name_scope
from gradtape.core.variable import Variable
from gradtape.published import published

M = TypeVar("M", bound=Callable[..., Any])


@published("Module")
class Module:
    """A container of Variables; subclasses set them as attributes, alone or in lists,
    tuples and dicts.

    >>> import gradtape as tf
    >>> class Dense(tf.Module):
    ...     def __init__(self, inputs, outputs):
    ...         super().__init__()
    ...         self.w = tf.Variable(tf.ones([inputs, outputs]), name="w")
    ...         self.b = tf.Variable(tf.zeros([outputs]), name="b")
    ...     def __call__(self, x):
    ...         return x @ self.w + self.b
    >>> [v.name for v in Dense(2, 3).trainable_variables]
    ['b:0', 'w:0']
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _snake_case(type(self).__name__)
        elif not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"Module: name must be a valid Python identifier, got {name!r}.")
        self._name = name

    # A checkpoint that has a value for an attribute which is yet to come hears of new ones here.
    _waiting: Callable[[str, Any], Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if self._waiting is not None:
            value = self._waiting(name, value)
        object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """The module's name: the class name in snake case unless one was given."""
        return getattr(self, "_name", _snake_case(type(self).__name__))

    @property
    def name_scope(self) -> name_scope:
        """A context in which the names of Variables begin with the module's name."""
        return name_scope(self.name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All Variables of this module and its submodules, each once,
        in the order of attribute names.
        """
        return tuple(_unique(leaf for leaf in self._walk() if _is_variable(leaf)))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The Variables that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The Variables that are not trainable."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All Modules below this one."""
        return tuple(
            _unique(leaf for leaf in self._walk() if isinstance(leaf, Module) and leaf is not self)
        )

    @classmethod
    def with_name_scope(cls, method: M) -> M:
        """A method in which the names of Variables begin with the module's name."""

        @functools.wraps(method)
        def call(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return call  # type: ignore[return-value]

    def _walk(self) -> Iterator[Any]:
        """Every leaf below this module: its own, then those of each submodule in turn."""
        return _leaves_below(self, {id(self)})


def _leaves_below(module: Module, seen: set[int]) -> Iterator[Any]:
    below: list[Module] = []
    for name in sorted(vars(module)):
        for leaf in nest.flatten(vars(module)[name]):
            yield leaf
            if isinstance(leaf, Module) and id(leaf) not in seen:
                seen.add(id(leaf))
                below.append(leaf)
    for submodule in below:
        yield from _leaves_below(submodule, seen)


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, Variable) or hasattr(leaf, "__gradtape_variable__")


def _unique(leaves: Iterator[Any]) -> Iterator[Any]:
    seen: set[int] = set()
    for leaf in leaves:
        if id(leaf) not in seen:
            seen.add(id(leaf))
            yield leaf


def _snake_case(name: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name))
    return words.lower()
