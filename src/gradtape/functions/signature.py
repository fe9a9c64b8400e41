"""The key that tells calls of a `function` apart: what a traced program depends on in its
arguments.

Tensors and arrays count by dtype and shape, Variables by dtype, shape and which of them are the
same, strings in tensors and Python values by equality, everything else by identity. Calls with
equal keys run the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple

import numpy as np
import optree

from gradtape import dtypes, nest
from gradtape.convert import to_array
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import HeldTensor
from gradtape.errors import invalid_argument
from gradtape.functions.composites import flatten_composites
from gradtape.shapes import TensorSpec

_OBJECT = np.dtype(object)


class Parameters:
    """A Python function's parameters: converts every way of calling it into one canonical form."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        try:
            self._signature = signature(function)
        except (TypeError, ValueError):
            self._signature = None  # type: ignore[assignment]
            self.simple = -1
            return
        kinds = [p.kind for p in self._signature.parameters.values()]
        positional = all(
            kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds
        )
        self.simple = len(kinds) if positional else -1
        """The number of arguments of a call that is already in that form; -1 if counting cannot
        tell.
        """

    def in_order(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with defaults filled in, positional wherever they can be."""
        if self._signature is None or (not kwargs and len(args) == self.simple):
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}: {error}.") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    @property
    def signature(self) -> Signature | None:
        """Python's own description of the parameters; None if the function has none."""
        return self._signature

    def check_defaults(self, values: Sequence[Any], count: int) -> None:
        """Refuses arguments that an input_signature of `count` entries does not cover, unless they
        have their default values.
        """
        if self._signature is None:
            return
        every = list(self._signature.parameters.values())
        if count and every and every[0].kind is Parameter.VAR_KEYWORD:
            raise TypeError(
                f"{self._name}: input_signature needs named arguments, but this function has only "
                f"**{every[0].name}."
            )
        if len(values) <= count:
            return
        parameters = [
            p for p in every if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        ]
        if len(values) > len(parameters) or any(
            p.default is Parameter.empty for p in parameters[count:]
        ):
            raise TypeError(
                f"{self._name}: input_signature has {count} entries, but {len(values)} arguments "
                "were given."
            )
        for value, parameter in zip(values[count:], parameters[count:], strict=True):
            default = parameter.default
            if value is not default and (
                isinstance(value, (Tensor, Variable, np.ndarray)) or value != default
            ):
                raise TypeError(
                    f"{self._name}: '{parameter.name}' is not in input_signature, so it must be "
                    f"{default!r}, got {value!r}."
                )

    def names(self) -> list[str]:
        return [] if self._signature is None else list(self._signature.parameters)

    def positions(self, count: int) -> list[tuple[str, str]]:
        """The names of `count` positional arguments, and how each can be passed: only by position
        if more may follow.
        """
        parameters = [] if self._signature is None else list(self._signature.parameters.values())
        rest = next(
            (p.name for p in parameters if p.kind is Parameter.VAR_POSITIONAL),
            None if parameters else "args",
        )
        named = [
            p
            for p in parameters
            if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        ][:count]
        kinds = [Parameter.POSITIONAL_ONLY if rest else p.kind for p in named]
        more = [(f"{rest}_{i}", Parameter.POSITIONAL_ONLY.name) for i in range(count - len(named))]
        return [*((p.name, kind.name) for p, kind in zip(named, kinds, strict=True)), *more]


class Strings(NamedTuple):
    """The key of a string tensor: calls with other strings run another program, but are of the same
    kind if the shape is the same.
    """

    shape: tuple[int, ...]
    values: tuple[bytes, ...]


class Fixed:
    """An argument that is not an input of the program, and its part of the key: the contents of a
    string tensor, or a set.
    """

    __slots__ = ("key", "value")

    def __init__(self, value: Any, key: Any) -> None:
        self.value = value
        self.key = key


class Arguments:
    """The arguments of one call, taken apart: `leaves` with the Tensors and Variables among them,
    and the `key` of the call.
    """

    __slots__ = ("key", "leaves", "spec", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, self.spec = flatten_composites((args, kwargs))
        self.leaves: list[Any] = [_leaf(leaf) for leaf in leaves]
        self.tensors = [leaf for leaf in self.leaves if isinstance(leaf, Tensor)]
        variables: dict[int, int] = {}
        self.key = (self.spec, tuple([_key(leaf, variables) for leaf in self.leaves]))

    def has_strings(self) -> bool:
        return any(type(key) is Strings for key in self.key[1])

    @property
    def variables(self) -> list[Variable]:
        return [found for leaf in self.leaves if isinstance(found := source_object(leaf), Variable)]

    def without_values(self) -> Arguments:
        """The same without the values of Tensors, to be kept."""
        kept: Arguments = object.__new__(Arguments)
        kept.spec, kept.key = self.spec, self.key
        kept.leaves = [_hollow(leaf) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        kept.tensors = [leaf for leaf in kept.leaves if isinstance(leaf, Tensor)]
        return kept

    def key_with_open_sizes(self) -> Any:
        """The key of the kind of arguments that these describe, if they contain TensorSpecs instead
        of tensors.
        """
        keys = [
            _key_of_spec(leaf) if isinstance(leaf, TensorSpec) else key
            for leaf, key in zip(self.leaves, self.key[1], strict=True)
        ]
        return self.spec, tuple(keys)

    def rebuilt(self, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with their Tensors replaced by others."""
        given = iter(tensors)
        found = [
            next(given) if isinstance(leaf, Tensor) else leaf.value if type(leaf) is Fixed else leaf
            for leaf in self.leaves
        ]
        rebuilt: Any = optree.tree_unflatten(self.spec, found)
        return rebuilt


def _leaf(leaf: Any) -> Any:
    if isinstance(leaf, (np.ndarray, np.generic)):
        leaf = Tensor(to_array(leaf, argument="function: an argument"))
    if type(leaf) is Tensor and leaf.array.dtype == object:  # XLA has no strings
        return Fixed(leaf, Strings(leaf.array.shape, tuple(leaf.array.ravel().tolist())))
    if isinstance(leaf, set):
        return Fixed(leaf.copy(), (type(leaf), frozenset(leaf)))
    return leaf


def _hollow(tensor: Tensor) -> Tensor:
    """A Tensor of the same shape and dtype that takes no memory."""
    array = tensor.held if type(tensor) is HeldTensor else tensor.array
    return Tensor(np.broadcast_to(np.zeros((), array.dtype), tuple(array.shape)))


def _key(leaf: Any, variables: dict[int, int]) -> Any:
    if isinstance(leaf, Tensor):
        array = leaf.held if type(leaf) is HeldTensor else leaf.array
        return array.shape, array.dtype
    variable = source_object(leaf)
    if isinstance(variable, Variable):
        number = variables.setdefault(id(variable), len(variables))
        # Its `array` would have to be fetched from the last program that wrote it.
        held = vars(variable).get("held")
        array = variable.array if held is None else held
        return "variable", number, array.shape, array.dtype, variable.trainable
    if type(leaf) is Fixed:
        return leaf.key
    if isinstance(leaf, float) and leaf != leaf:  # noqa: PLR0124 - NaN, which does not equal itself
        return ("nan",)
    try:
        hash(leaf)
    except TypeError:
        return "object", id(leaf)
    return leaf


def kind_of(key: Any) -> Any:
    """The key of all calls that TensorFlow would count as one kind: the contents of string tensors
    do not matter.
    """
    return key[0], tuple(
        [(part.shape, _OBJECT) if type(part) is Strings else part for part in key[1]]
    )


def _key_of_spec(spec: TensorSpec) -> Any:
    return None if spec.shape.rank is None else tuple(spec.shape), spec.dtype.numpy


def differences(earlier: Any, later: Any, names: Sequence[str]) -> list[str]:
    """A description of what changed in the arguments from one key to another."""
    if earlier[0] != later[0]:
        return [f"the arguments' structure changed from {earlier[0]} to {later[0]}"]
    paths = earlier[0].paths()
    found = []
    for path, before, after in zip(paths, earlier[1], later[1], strict=True):
        if before != after:
            found.append(
                f"{_name(path, names)} changed from {_described(before)} to {_described(after)}"
            )
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
    if type(key) is Strings:
        return f"string{list(key.shape)} {list(key.values)}"
    if isinstance(key, tuple) and key and key[0] == "variable":
        return f"a Variable {dtypes.from_numpy(key[3]).name}{list(key[2])}"
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], tuple):
        return f"{dtypes.from_numpy(key[1]).name}{list(key[0])}"
    if isinstance(key, tuple) and key and key[0] == "object":
        return "another object"
    return repr(key)


def is_spec(leaf: Any) -> bool:
    """Whether a leaf describes a tensor or a composite of tensors."""
    return isinstance(leaf, TensorSpec) or hasattr(leaf, "value_type")


def checked_signature(input_signature: Any, name: str) -> tuple[Any, ...]:
    """An `input_signature` that a user has written, as a tuple of specs."""
    if not isinstance(input_signature, (list, tuple)):
        raise TypeError(
            f"{name}: input_signature must be a list or tuple with a TensorSpec for each argument."
        )
    for leaf in nest.flatten(input_signature):
        if not is_spec(leaf):
            raise TypeError(f"{name}: input_signature must hold TensorSpecs, got {leaf!r}.")
    return tuple(input_signature)


def cast_to_signature(arguments: Sequence[Any], specs: Sequence[Any], name: str) -> tuple[Any, ...]:
    """A call's arguments, with Tensors that fit an input_signature in place of its specs."""
    if len(arguments) != len(specs):
        raise TypeError(
            f"{name}: input_signature has {len(specs)} entries, but {len(arguments)} arguments "
            "were given."
        )
    return tuple(
        _cast(argument, spec, f"{name}: argument {i}", _fitted)
        for i, (argument, spec) in enumerate(zip(arguments, specs, strict=True))
    )


def cast_to_kind(
    args: Sequence[Any], kwargs: dict[str, Any], kind: tuple[Any, Any], name: str
) -> Arguments:
    """The arguments of a concrete function, with the dtypes it was made for, and with any
    shapes.
    """
    wanted, by_name = kind
    if len(args) != len(wanted) or kwargs.keys() != by_name.keys():
        raise TypeError(
            f"{name}: this program takes {len(wanted) + len(by_name)} arguments, got "
            f"{len(args) + len(kwargs)}."
        )
    given = [
        _cast(argument, spec, f"{name}: argument {i}", _of_dtype)
        for i, (argument, spec) in enumerate(zip(args, wanted, strict=True))
    ]
    return Arguments(
        tuple(given),
        {
            key: _cast(kwargs[key], spec, f"{name}: {key}", _of_dtype)
            for key, spec in by_name.items()
        },
    )


def _cast(argument: Any, spec: Any, what: str, cast: Callable[[Any, Any, str], Any]) -> Any:
    if is_spec(spec):
        return cast(argument, spec, what)
    if not nest.is_nested(spec):
        return argument
    wanted, form = optree.tree_flatten(spec, none_is_leaf=True)
    try:
        given = form.flatten_up_to(argument)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} does not have the structure of the signature: {error}") from None
    return optree.tree_unflatten(
        form, [_cast(a, s, what, cast) for a, s in zip(given, wanted, strict=True)]
    )


def _fitted(argument: Any, spec: Any, what: str) -> Any:
    """An argument converted for an input_signature."""
    given = source_object(argument)
    if not isinstance(spec, TensorSpec):
        if not isinstance(given, spec.value_type) or not spec.is_compatible_with(given):
            raise TypeError(f"{what} is {given!r}, which does not fit {spec} of input_signature.")
        return given
    value = _as_tensor(given.tensor() if isinstance(given, Variable) else given, spec, what)
    if value.dtype != spec.dtype or not spec.shape.is_compatible_with(value.array.shape):
        raise TypeError(
            f"{what} is {value.dtype.name}{list(value.array.shape)}, which does not fit {spec} of "
            "input_signature."
        )
    return value


def _of_dtype(argument: Any, spec: Any, what: str) -> Any:
    """An argument converted for a concrete function."""
    given = source_object(argument)
    if not isinstance(spec, TensorSpec) or isinstance(given, Variable):
        return argument
    value = _as_tensor(given, spec, what)
    if value.dtype != spec.dtype:
        raise invalid_argument(
            f"{what} must have dtype {spec.dtype.name}, got {value.dtype.name}: cast it first."
        )
    return value


def _as_tensor(value: Any, spec: TensorSpec, what: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    try:
        return Tensor(to_array(value, spec.dtype.numpy, argument=what))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} does not fit {spec}: {error}") from None
