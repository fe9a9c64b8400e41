"""The fields of an ExtensionType: which annotations they may have, and how a value, or a spec, is
checked and converted to what its annotation says.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gradtape import dtypes
from gradtape.convert import as_tensor
from gradtape.core.composite_tensor import CompositeTensor
from gradtape.core.location import outside
from gradtape.core.tensor import Tensor
from gradtape.core.type_spec import TypeSpec, spec_of
from gradtape.core.variable import Variable
from gradtape.shapes import TensorShape, TensorSpec

_PLAIN = (bool, int, float, str, bytes, type(None))
_MISSING: Any = object()
_RESERVED = frozenset(("self", "Spec"))


class Field(NamedTuple):
    """A field of an ExtensionType."""

    name: str
    kind: Any
    default: Any = _MISSING

    @property
    def has_default(self) -> bool:
        return self.default is not _MISSING

    def without_default(self) -> Field:
        return Field(self.name, self.kind)


class ImmutableDict(dict[Any, Any]):
    """What a field of mappings holds."""

    def _refuse(self, *args: Any, **keywords: Any) -> NoReturn:
        raise TypeError("A mapping in a field of an ExtensionType cannot be changed.")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __reduce__(self) -> Any:
        return ImmutableDict, (dict(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items(), key=repr)))


def own_fields(cls: type, inherited: dict[str, Field]) -> list[Field]:
    """The fields of a class: those of its bases, and what it declares itself."""
    fields = dict(inherited)
    if vars(cls).get("__annotations__"):
        hints = typing.get_type_hints(cls, localns={**_names_around(), cls.__name__: cls})
        for name in vars(cls)["__annotations__"]:
            if name in _RESERVED or name.startswith(("_tf_extension_type", "__")):
                raise ValueError(f"The field {cls.__name__}.{name} has a reserved name: rename it.")
            _check_annotation(hints[name], f"{cls.__name__}.{name}")
            fields[name] = Field(name, hints[name])
    for name, field in fields.items():
        if name in vars(cls):
            what = f"default value for {cls.__name__}.{name}"
            fields[name] = field._replace(default=converted(vars(cls)[name], field.kind, what))
    return list(fields.values())


def _names_around() -> dict[str, Any]:
    """What is known by name where the class is defined, which may be in a function."""
    frame: Any = outside(sys._getframe())
    while frame.f_code.co_filename.startswith("<frozen"):  # Python's own class of abstract classes
        frame = outside(frame.f_back)
    return {**frame.f_globals, **frame.f_locals}


def _check_annotation(kind: Any, what: str) -> None:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        for each in arguments:
            if each is not ...:
                _check_annotation(each, what)
    elif origin in (Mapping, typing.Mapping) or origin in (typing.Union, types.UnionType):
        for each in arguments:
            _check_annotation(each, what)
    elif not _is_single(kind):
        raise TypeError(
            f"In the field {what}: unsupported type annotation {kind!r}. A field is a tf.Tensor, a "
            "class made of tensors, a TypeSpec, bool, int, float, str, bytes, None, tf.DType, "
            "tf.TensorShape, or a Tuple, Mapping, Optional or Union of these."
        )


def _is_single(kind: Any) -> bool:
    if isinstance(kind, TypeSpec) or kind is None:
        return True
    if not isinstance(kind, type):
        return False
    known = (Tensor, Variable, TensorShape, dtypes.DType, CompositeTensor, TypeSpec)
    return kind in _PLAIN or issubclass(kind, known)


def converted(value: Any, kind: Any, what: str) -> Any:
    """A value as its annotation says; refused, with what it is, if that is not possible."""
    return _checked(value, kind, what, _single_value)


def converted_spec(value: Any, kind: Any, what: str) -> Any:
    """What a spec says of a field: of a tensor or a composite, a spec; else the value."""
    return _checked(value, kind, what, _single_spec)


def _checked(value: Any, kind: Any, what: str, single: Callable[[Any, Any, str], Any]) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return _checked_tuple(value, arguments, what, single)
    if origin in (Mapping, typing.Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(f"{what}: expected a mapping, got {type(value).__name__}.")
        return ImmutableDict(
            {
                _checked(key, arguments[0], f"{what}.keys()", single): _checked(
                    entry, arguments[1], f"{what}[{key!r}]", single
                )
                for key, entry in value.items()
            }
        )
    if origin in (typing.Union, types.UnionType):
        for each in arguments:
            try:
                return _checked(value, each, what, single)
            except (TypeError, ValueError):
                continue
        raise TypeError(f"{what}: expected {_named(kind)}, got {_shown(value)}.")
    return single(value, kind, what)


def _checked_tuple(
    value: Any, arguments: Any, what: str, single: Callable[[Any, Any, str], Any]
) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{what}: expected a tuple, got {type(value).__name__}.")
    if len(arguments) == 2 and arguments[1] is ...:
        kinds = (arguments[0],) * len(value)
    else:
        kinds = arguments
    if len(kinds) != len(value):
        raise TypeError(f"{what}: expected a tuple of {len(kinds)} entries, got {len(value)}.")
    return tuple(
        _checked(entry, each, f"{what}[{i}]", single)
        for i, (entry, each) in enumerate(zip(value, kinds, strict=True))
    )


def _single_value(value: Any, kind: Any, what: str) -> Any:
    if isinstance(kind, TensorSpec):
        found = _tensor(value, kind.dtype, what)
        if not kind.is_compatible_with(found):
            raise TypeError(f"{what}: expected a tensor that fits {kind}, got {_shown(found)}.")
        return found
    if isinstance(kind, TypeSpec):
        if not isinstance(value, kind.value_type) or not kind.is_compatible_with(value):
            raise TypeError(f"{what}: expected a value that fits {kind}, got {_shown(value)}.")
        return value
    if kind is Tensor:
        return _tensor(value, None, what)
    if kind is TensorShape or kind is dtypes.DType:
        try:
            return (TensorShape if kind is TensorShape else dtypes.as_dtype)(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{what}: expected {_named(kind)}, got {_shown(value)}.") from error
    return _instance(value, kind, what)


def _tensor(value: Any, dtype: Any, what: str) -> Any:
    if isinstance(value, TypeSpec):
        raise TypeError(f"{what}: expected a Tensor, got {_shown(value)}.")
    try:
        return as_tensor(value, dtype, argument=what)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: expected a Tensor, got {_shown(value)}: {error}") from error


def _instance(value: Any, kind: Any, what: str) -> Any:
    if kind is None or kind is type(None):
        kind = type(None)
    if isinstance(value, kind) and not (isinstance(value, bool) and kind in (int, float)):
        return value
    if kind is float and isinstance(value, (int, np.floating)) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, np.integer):
        return int(value)
    raise TypeError(f"{what}: expected {_named(kind)}, got {_shown(value)}.")


def _single_spec(value: Any, kind: Any, what: str) -> Any:
    if isinstance(kind, TypeSpec):
        if not isinstance(value, TypeSpec) or not kind.is_compatible_with(value):
            raise TypeError(f"{what}: expected a spec that fits {kind}, got {_shown(value)}.")
        return value
    if kind in (Tensor, Variable):
        if not isinstance(value, TensorSpec):
            raise TypeError(f"{what}: expected a tf.TensorSpec, got {_shown(value)}.")
        return value
    if isinstance(kind, type) and issubclass(kind, CompositeTensor):
        if not isinstance(value, TypeSpec) or not issubclass(value.value_type, kind):
            raise TypeError(f"{what}: expected the spec of a {kind.__name__}, got {_shown(value)}.")
        return value
    return _single_value(value, kind, what)


def spec_of_field(value: Any) -> Any:
    """What a spec says of the value of a field."""
    if isinstance(value, tuple):
        return tuple(map(spec_of_field, value))
    if isinstance(value, ImmutableDict):
        return ImmutableDict({key: spec_of_field(entry) for key, entry in value.items()})
    return spec_of(value)


def tensors_of_field(value: Any, spec: Any) -> Any:
    """The tensors and composites in the value of a field, in its structure; () for anything
    else.
    """
    if isinstance(spec, TypeSpec):
        return value
    if isinstance(spec, tuple):
        return tuple(tensors_of_field(v, s) for v, s in zip(value, spec, strict=True))
    if isinstance(spec, ImmutableDict):
        return {key: tensors_of_field(value[key], spec[key]) for key in spec}
    return ()


def field_of_tensors(tensors: Any, spec: Any) -> Any:
    """The value of a field, from its tensors and its spec."""
    if isinstance(spec, TypeSpec):
        return tensors
    if isinstance(spec, tuple):
        return tuple(field_of_tensors(t, s) for t, s in zip(tensors, spec, strict=True))
    if isinstance(spec, ImmutableDict):
        return ImmutableDict({key: field_of_tensors(tensors[key], spec[key]) for key in spec})
    return spec


def _named(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else repr(kind)


def _shown(value: Any) -> str:
    text = f"{value!r} of type {type(value).__name__}"
    return text if len(text) < 200 else type(value).__name__
