"""The arguments of functions that cross the border to JAX: flat, as JAX takes them apart, which of
them are static, and their names for errors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape.convert import is_tensor_like
from gradtape.engines.engine import is_xla
from gradtape.engines.xla.loading import load

NUMBERS = (bool, int, float, complex)


class Static:
    """A leaf that JAX does not look into."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Plan(NamedTuple):
    """How arguments are made of arrays and constants again: `kinds` has ARRAY or CONSTANT for each
    leaf, or its value and type; `static` the arguments that were passed by keyword.
    """

    structure: Any
    kinds: tuple[Any, ...]
    static: tuple[tuple[str, Any, type], ...]

    def arguments(
        self, arrays: Sequence[Any], constants: Sequence[Any] = ()
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given, numbers = iter(arrays), iter(constants)
        leaves = [
            next(given) if kind is ARRAY else next(numbers) if kind is CONSTANT else kind[0]
            for kind in self.kinds
        ]
        args, kwargs = load().tree_util.tree_unflatten(self.structure, leaves)
        return args, kwargs | {name: value for name, value, _ in self.static}


ARRAY, CONSTANT = "array", "constant"


class Call:
    """The arguments of one call, flat."""

    def __init__(
        self, reader: Reader, args: tuple[Any, ...], kwargs: dict[str, Any], static: dict[str, Any]
    ) -> None:
        self._reader, self._given = reader, (args, kwargs)
        self.leaves, self._structure = load().tree_util.tree_flatten((args, kwargs))
        self._static = tuple([(name, value, type(value)) for name, value in static.items()])
        self.kinds: list[Any] = []

    def keep(self, leaf: Any) -> None:
        """Makes a leaf a part of the signature."""
        value = leaf.value if type(leaf) is Static else leaf
        self.kinds.append((value, type(value)))

    def plan(self) -> Plan:
        return Plan(self._structure, tuple(self.kinds), self._static)

    def named(self, index: int) -> str:
        """A leaf as errors name it, such as `argument 'params'['w']`."""
        tree = load().tree_util
        path = tree.tree_flatten_with_path(self._given)[0][index][0]
        if path[0].idx == 0:
            names, position = self._reader.parameters, path[1].idx
            name = repr(names[position]) if position < len(names) else str(position)
        else:
            name = repr(path[1].key)
        return f"argument {name}{tree.keystr(path[2:])}"

    def unhashable(self, error: TypeError) -> TypeError:
        """The error that names the argument that is neither an array nor hashable."""
        values = [(f"argument {name!r}", value) for name, value, _ in self._static]
        for i, leaf in enumerate(self.leaves):
            value = leaf.value if type(leaf) is Static else leaf
            if not (is_tensor_like(value) or is_xla(value) or isinstance(value, np.ndarray)):
                values.append((self.named(i), value))
        for name, value in values:
            try:
                hash(value)
            except TypeError:
                return TypeError(
                    f"{self._reader.who}: {name} is a {type(value).__name__}, which is neither an "
                    "array nor hashable, so that JAX cannot take it: pass arrays, or something "
                    "hashable such as a tuple."
                )
        return error


class Reader:
    """Reads the calls of one function. `who` is how errors begin."""

    def __init__(self, f: Callable[..., Any], who: str, static: str | Sequence[str]) -> None:
        self.who = who
        self._f = f
        self._static = (static,) if isinstance(static, str) else tuple(static)
        self._positions: dict[str, int] | None = None

    @property
    def parameters(self) -> list[str]:
        try:
            return list(inspect.signature(self._f).parameters)
        except (TypeError, ValueError):
            return []

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        if not self._static:
            return Call(self, args, kwargs, {})
        if self._positions is None:
            names = self.parameters
            self._positions = {n: names.index(n) for n in self._static if n in names}
        places = set(self._positions.values())
        args = tuple([Static(arg) if i in places else arg for i, arg in enumerate(args)])
        static = {name: kwargs[name] for name in self._static if name in kwargs}
        return Call(self, args, {k: v for k, v in kwargs.items() if k not in static}, static)
