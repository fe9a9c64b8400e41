"""What a loaded SavedModel consists of: objects with attributes, and functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np
import optree

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.module import Module
from gradtape.core.settings import settings
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.functions.exported import ExportedProgram, LoadedLevel
from gradtape.functions.function import Function
from gradtape.saved_model.ranks import common, differ_in_shapes_alone
from gradtape.shapes import TensorSpec

_KINDS = {kind.name: kind for kind in (
    Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL,
    Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD,
)}  # fmt: skip
EMPTY = Signature.empty


class LoadedModel(Module):
    """An object of a SavedModel: its Variables, functions and objects are its attributes.

    It is callable if the object that was saved was. `signatures` are the functions that were saved
    as such, by name.
    """

    signatures: Mapping[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = vars(self).get("__call__")
        if own is None:
            raise TypeError(
                "This object of a SavedModel is not callable, since the one that was saved has no "
                f"__call__ that is a tf.function: it has {', '.join(sorted(vars(self)))}."
            )
        return own(*args, **kwargs)


class _Body:
    """What a loaded function does with its tensors, and the Variables that it assigns."""

    def __init__(self, name: str, levels: Sequence[LoadedLevel]) -> None:
        self.__qualname__ = name
        self._program = ExportedProgram(name, levels)
        self.inputs = self._program.inputs
        self._count = len(levels[0].outputs)
        self._written = levels[0].written

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        found = self._program.call(tensors)
        for variable, value in zip(self._written, found[self._count :], strict=True):
            variable.assign(value, read_value=False)
        return found[: self._count]


class LoadedKind:
    """A function for one kind of arguments."""

    def __init__(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], results: Any,
        levels: Sequence[LoadedLevel],
    ) -> None:  # fmt: skip
        self.structured_input_signature = tuple(args), dict(kwargs)
        self.structured_outputs = results
        self.levels = levels
        kind: Any = self.structured_input_signature
        self._leaves, self._form = optree.tree_flatten(kind, none_is_leaf=True)
        self.specs = [leaf for leaf in self._leaves if isinstance(leaf, TensorSpec)]
        body = _Body(name, levels)
        if body.inputs != len(self.specs):
            raise ValueError("a program takes another number of tensors than its description")
        self._compiled = Function(
            body, input_signature=self.specs, autograph=False, must_compile=True
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.levels[0].captured if isinstance(v, Variable))

    def tensors(self, arguments: Any) -> list[Tensor] | None:
        """The arguments, a tuple and a dict, as the program takes them; None if they are of another
        kind.
        """
        try:
            given = self._form.flatten_up_to(_plain(arguments))
        except (ValueError, TypeError):
            return None
        found = []
        for spec, value in zip(self._leaves, given, strict=True):
            if isinstance(spec, TensorSpec):
                tensor = _as_tensor(value, spec)
                if tensor is None:
                    return None
                found.append(tensor)
            elif not _is_same(value, spec):
                return None
        return found

    def call(self, tensors: Sequence[Tensor]) -> Any:
        # There is no Python that could run instead of the program.
        as_python = settings.functions_run_eagerly or here.state.op_by_op is not None
        results = (
            self._compiled._call(tuple(tensors), {}) if as_python else self._compiled(*tensors)
        )
        found = iter(results)
        return nest.map_structure(
            lambda leaf: next(found) if isinstance(leaf, TensorSpec) else leaf,
            self.structured_outputs,
        )


def _plain(structure: Any) -> Any:
    """A structure whose tuples, lists and dicts are no others: a named tuple was saved as one."""
    if isinstance(structure, tuple):
        return tuple(map(_plain, structure))
    if isinstance(structure, list):
        return list(map(_plain, structure))
    if isinstance(structure, Mapping):
        return {key: _plain(part) for key, part in structure.items()}
    return structure


def _is_same(value: Any, saved: Any) -> bool:
    """Whether a plain value is the one that was saved, NaN being the same as NaN."""
    if isinstance(value, (Tensor, Variable, np.ndarray)):
        return False
    nan = isinstance(saved, float) and saved != saved  # noqa: PLR0124
    return value != value if nan else bool(value == saved)  # noqa: PLR0124


def _as_tensor(value: Any, spec: TensorSpec) -> Any:
    """A value as a Tensor of a spec's kind, or None."""
    value = source_object(value)
    if isinstance(value, Variable):
        value = value.read_value()
    if not isinstance(value, Tensor):
        try:
            value = as_tensor(value, spec.dtype)
        except (ValueError, TypeError):
            return None
    fits = value.dtype == spec.dtype and spec.shape.is_compatible_with(value.shape)
    return value if fits else None


class LoadedFunction:
    """A function of a SavedModel. It runs compiled; tapes and accumulators see it as one op."""

    def __init__(
        self, name: str, parameters: Sequence[Parameter] | None, kinds: Sequence[LoadedKind]
    ) -> None:
        self.__name__ = name
        self.signature = None if parameters is None else Signature(parameters)
        self.concrete_functions = list(kinds)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = args, kwargs
        if self.signature is not None:
            try:
                bound = self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.__name__}: {error}.") from None
            bound.apply_defaults()
            given = bound.args, bound.kwargs
        for kind in self.concrete_functions:
            tensors = kind.tensors(given)
            if tensors is not None:
                return kind.call(tensors)
        raise ValueError(self._refusal(given))

    def _refusal(self, given: Any) -> str:
        args, kwargs = given
        shown = [_described(a) for a in args] + [f"{k}={_described(a)}" for k, a in kwargs.items()]
        saved = "\n".join(
            f"  {kind.structured_input_signature}" for kind in self.concrete_functions
        )
        return (
            f"{self.__name__}: this function of a SavedModel was not saved for these arguments: "
            f"({', '.join(shown)}). It was saved for\n{saved or '  no arguments at all'}"
        )

    def __repr__(self) -> str:
        return f"<LoadedFunction {self.__name__}>"


def _described(value: Any) -> str:
    value = source_object(value)
    if isinstance(value, (Tensor, Variable)):
        return f"{value.dtype.name}{list(value.shape)}"
    return repr(value)


class LoadedSignature:
    """A signature: called with tensors by name, it returns a dict of tensors.

    It runs the first of the function's programs, and those that differ from it in shapes alone:
    where ranks were open, there is one for each.
    """

    def __init__(self, saved: LoadedFunction) -> None:
        self.function = saved
        first = saved.concrete_functions[0]
        self._kinds = [
            kind
            for kind in saved.concrete_functions
            if differ_in_shapes_alone(
                kind.structured_input_signature, first.structured_input_signature
            )
        ]
        self._specs = common([tuple(kind.specs) for kind in self._kinds])
        self.structured_input_signature = (), self._inputs()
        self.structured_outputs = _named_outputs(
            common([kind.structured_outputs for kind in self._kinds])
        )

    def _inputs(self) -> dict[str, Any]:
        args, _ = self._kinds[0].structured_input_signature
        signature = self.function.signature
        names = [] if signature is None else [*signature.parameters]
        flat = len(args) == len(self._specs) and len(names) >= len(args)
        found: dict[str, Any] = {}
        for i, leaf in enumerate(self._specs):
            name = leaf.name or (names[i] if flat else f"input_{i}")
            found[name if name not in found else f"{name}_{i}"] = leaf
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        inputs = self.structured_input_signature[1]
        if args and len(inputs) == len(args) == 1 and not kwargs:
            kwargs = dict(zip(inputs, args, strict=True))
        elif args:
            raise TypeError(
                f"A signature takes tensors by name: {', '.join(f'{name}=...' for name in inputs)}."
            )
        if kwargs.keys() != inputs.keys():
            raise TypeError(f"The arguments of this signature are {', '.join(inputs)}, got "
                            f"{', '.join(kwargs) or 'none'}.")  # fmt: skip
        given = [kwargs[name] for name in inputs]
        for kind in self._kinds:
            tensors = list(map(_as_tensor, given, kind.specs))
            if None not in tensors:
                return _named_outputs(kind.call(tensors))
        raise ValueError(self._refusal(kwargs))

    def _refusal(self, given: Mapping[str, Any]) -> str:
        for name, spec in self.structured_input_signature[1].items():
            if _as_tensor(given[name], spec) is None:
                return f"{name} must be a tensor of the kind {spec}, got {_described(given[name])}."
        shown = ", ".join(f"{name}={_described(value)}" for name, value in given.items())
        saved = "\n".join(f"  {tuple(kind.specs)}" for kind in self._kinds)
        return f"This signature was not saved for {shown}. It was saved for\n{saved}"

    @property
    def variables(self) -> tuple[Variable, ...]:
        found = {id(v): v for kind in self._kinds for v in kind.variables}
        return tuple(found.values())


def _named_outputs(results: Any) -> dict[str, Any]:
    if isinstance(results, Mapping):
        return dict(results)
    return {f"output_{i}": leaf for i, leaf in enumerate(nest.flatten(results))}


def is_free(name: str) -> bool:
    """Whether a loaded object can have something under a name: its own names, and those of
    Python's, are taken.
    """
    return name == "__call__" or not (name.startswith("__") or hasattr(LoadedModel, name))


def parameter(name: str, kind: str, default: Any) -> Parameter:
    return Parameter(name, _KINDS[kind], default=default)
