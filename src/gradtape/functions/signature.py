"""How calls of a `function` are told apart: what of the arguments a traced program depends on.

Tensors and arrays count by dtype and shape, Variables by dtype, shape and which of them are the same one, Python values by
equality, everything else by identity. Calls that are alike run the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np
import optree

from gradtape import dtypes, nest
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.tape import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.core.xla_tensor import HeldTensor
from gradtape.shapes import TensorSpec


class Parameters:
    """A Python function's parameters: brings every way of calling it into one form."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        try:
            self._signature = signature(function)
        except (TypeError, ValueError):
            self._signature = None  # type: ignore[assignment]
            self.simple = -1
            return
        kinds = [p.kind for p in self._signature.parameters.values()]
        positional = all(kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)
        self.simple = len(kinds) if positional else -1
        """How many arguments a call has that is already in that form; -1 if that cannot be told by counting."""

    def in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with defaults filled in, positional wherever they can be."""
        if self._signature is None or (not kwargs and len(args) == self.simple):
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}: {error}.") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def names(self) -> list[str]:
        return [] if self._signature is None else list(self._signature.parameters)


class Arguments:
    """The arguments of one call, taken apart: `leaves` with the Tensors and Variables among them, and the `key` of the call."""

    __slots__ = ("key", "leaves", "spec", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call: Any = (args, kwargs)
        leaves, self.spec = optree.tree_flatten(call, none_is_leaf=True)
        self.leaves: list[Any] = [_leaf(leaf) for leaf in leaves]
        self.tensors = [leaf for leaf in self.leaves if isinstance(leaf, Tensor)]
        variables: dict[int, int] = {}
        self.key = (self.spec, tuple([_key(leaf, variables) for leaf in self.leaves]))

    @property
    def variables(self) -> list[Variable]:
        return [leaf for leaf in self.leaves if isinstance(leaf, Variable)]

    def without_values(self) -> Arguments:
        """The same with nothing in the Tensors, for keeping."""
        kept: Arguments = object.__new__(Arguments)
        kept.spec, kept.key = self.spec, self.key
        kept.leaves = [_hollow(leaf) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        kept.tensors = [leaf for leaf in kept.leaves if isinstance(leaf, Tensor)]
        return kept

    def rebuilt(self, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other Tensors in the places of theirs."""
        given = iter(tensors)
        rebuilt: Any = optree.tree_unflatten(
            self.spec, [next(given) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        )
        return rebuilt


def _leaf(leaf: Any) -> Any:
    leaf = source_object(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return Tensor(to_array(leaf, argument="function: an argument"))
    if isinstance(leaf, IndexedSlices):
        return leaf.__gradtape_tensor__()
    return leaf


def _hollow(tensor: Tensor) -> Tensor:
    """A Tensor of the same shape and dtype that takes no memory."""
    array = tensor.held if type(tensor) is HeldTensor else tensor.array
    return Tensor(np.broadcast_to(np.zeros((), array.dtype), tuple(array.shape)))


def _key(leaf: Any, variables: dict[int, int]) -> Any:
    if isinstance(leaf, Tensor):
        array = leaf.held if type(leaf) is HeldTensor else leaf.array
        return array.shape, array.dtype
    if isinstance(leaf, Variable):
        number = variables.setdefault(id(leaf), len(variables))
        return "variable", number, leaf.array.shape, leaf.array.dtype, leaf.trainable
    if isinstance(leaf, TensorSpec):
        return tuple(leaf.shape), leaf.dtype.numpy
    try:
        hash(leaf)
    except TypeError:
        return "object", id(leaf)
    return leaf


def differences(earlier: Any, later: Any, names: Sequence[str]) -> list[str]:
    """In words, what of the arguments changed from one key to another."""
    if earlier[0] != later[0]:
        return [f"the arguments' structure changed from {earlier[0]} to {later[0]}"]
    paths = earlier[0].paths()
    found = []
    for path, before, after in zip(paths, earlier[1], later[1], strict=True):
        if before != after:
            found.append(f"{_name(path, names)} changed from {_described(before)} to {_described(after)}")
    return found


def _name(path: Sequence[Any], names: Sequence[str]) -> str:
    group, *rest = path
    if group == 0 and rest:
        first = names[rest[0]] if rest[0] < len(names) else f"argument {rest[0]}"
        rest = rest[1:]
    else:
        first, rest = str(rest[0]), rest[1:]
    return f"'{first}'" + "".join(f"[{part!r}]" for part in rest)


def _described(key: Any) -> str:
    if isinstance(key, tuple) and key and key[0] == "variable":
        return f"a Variable {dtypes.from_numpy(key[3]).name}{list(key[2])}"
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], tuple):
        return f"{dtypes.from_numpy(key[1]).name}{list(key[0])}"
    if isinstance(key, tuple) and key and key[0] == "object":
        return "another object"
    return repr(key)


def cast_to_signature(arguments: Sequence[Any], specs: Sequence[Any], name: str) -> tuple[Any, ...]:
    """A call's arguments with Tensors that fit an input_signature in the places of its specs."""
    if len(arguments) != len(specs):
        raise TypeError(f"{name}: input_signature has {len(specs)} entries, but {len(arguments)} arguments were given.")
    found: list[Any] = []
    for i, (argument, spec) in enumerate(zip(arguments, specs, strict=True)):
        given = source_object(argument)
        if not isinstance(spec, TensorSpec):
            try:
                nest.assert_same_structure(spec, argument)
            except (TypeError, ValueError) as error:
                raise TypeError(f"{name}: argument {i} has not the structure of input_signature: {error}") from None
            inside = cast_to_signature(nest.flatten(argument), nest.flatten(spec), name)
            found.append(nest.pack_sequence_as(argument, inside))
            continue
        value = given.tensor() if isinstance(given, Variable) else given
        if not isinstance(value, Tensor):
            try:
                value = Tensor(to_array(given, spec.dtype.numpy, argument=f"{name}: argument {i}"))
            except (TypeError, ValueError) as error:
                raise TypeError(f"{name}: argument {i} does not fit {spec}: {error}") from None
        if value.dtype != spec.dtype or not spec.shape.is_compatible_with(value.array.shape):
            raise TypeError(
                f"{name}: argument {i} is {value.dtype.name}{list(value.array.shape)}, which does not fit {spec} of input_signature."
            )
        found.append(value)
    return tuple(found)
