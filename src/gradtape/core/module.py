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

    # Attributes that hold no Variables of the module's own: subclasses add to them.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        ("_self_unconditional_checkpoint_dependencies", "_self_unconditional_dependency_names")
    )

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

    # Libraries that know TensorFlow's class look for these.

    @property
    def _scope_name(self) -> str:
        return self._name

    def _no_dependency(self, value: Any) -> Any:
        """The value of an attribute that TensorFlow does not track."""
        return value

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

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Every leaf below this module that `predicate` accepts, each once, for libraries that look
        for parts of another kind than Variables; `with_path` gives pairs with its path.
        """
        seen: set[int] = set()
        found = _with_paths(
            self, (), {id(self)}, attribute_traversal_key, recursive, expand_composites
        )
        for path, leaf in found:
            if (predicate is None or predicate(leaf)) and id(leaf) not in seen:
                seen.add(id(leaf))
                yield (path, leaf) if with_path else leaf

    def _walk(self) -> Iterator[Any]:
        """Every leaf below this module: its own, then those of each submodule in turn."""
        return _leaves_below(self, {id(self)})


def _leaves_below(module: Module, seen: set[int]) -> Iterator[Any]:
    for _, leaf in _with_paths(module, (), seen, None, recursive=True, expand_composites=False):
        yield leaf


def _with_paths(
    module: Module,
    path: tuple[Any, ...],
    seen: set[int],
    order: Callable[[str], Any] | None,
    recursive: bool,
    expand_composites: bool,
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    below: list[tuple[tuple[Any, ...], Module]] = []
    attributes = vars(module)
    for name in sorted(attributes, key=order):
        if name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for inside, leaf in _leaves_of(attributes[name], expand_composites):
            place = (*path, name, *inside)
            yield place, leaf
            if recursive and isinstance(leaf, Module) and id(leaf) not in seen:
                seen.add(id(leaf))
                below.append((place, leaf))
    for place, submodule in below:
        yield from _with_paths(submodule, place, seen, order, recursive, expand_composites)


def _leaves_of(value: Any, expand_composites: bool) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of an attribute and their paths in it."""
    if not nest.is_nested(value):
        parts = nest.flatten(value, expand_composites=True) if expand_composites else [value]
        yield from (((), part) for part in parts)
    elif isinstance(value, dict):
        for key in nest.flatten_keys(value):
            for path, leaf in _leaves_of(value[key], expand_composites):
                yield (key, *path), leaf
    elif isinstance(value, (list, tuple)):
        for i, entry in enumerate(value):
            for path, leaf in _leaves_of(entry, expand_composites):
                yield (i, *path), leaf
    else:
        yield from (((), leaf) for leaf in nest.flatten(value, expand_composites))


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
