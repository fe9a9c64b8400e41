"""`ExtensionType`: a class of values made of tensors, which its annotations declare.

Each class has a TypeSpec of its own, `Spec`, whose fields are the specs of the values' fields. What
nest, functions, tapes and datasets do with a value follows from that, as for any CompositeTensor.
"""

from __future__ import annotations

import inspect
from abc import ABCMeta
from typing import Any, ClassVar

import numpy as np

from gradtape.api.tensorflow.extension_types.fields import (
    Field,
    converted,
    converted_spec,
    field_of_tensors,
    own_fields,
    spec_of_field,
    tensors_of_field,
)
from gradtape.core.composite_tensor import CompositeTensor
from gradtape.core.tensor import Tensor
from gradtape.core.type_spec import TypeSpec
from gradtape.core.variable import Variable
from gradtape.ops.arithmetic import equal, logical_and
from gradtape.ops.reductions import reduce_all
from gradtape.published import published


class _WithFields:
    """What values and specs share: fields that only the constructor may set."""

    _fields_of_type: ClassVar[tuple[Field, ...]] = ()
    _signature_of_type: ClassVar[inspect.Signature]
    _what: ClassVar[str] = "ExtensionType"

    def _set_fields(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """What the constructor does that is not written by hand."""
        try:
            bound = self._signature_of_type.bind(*args, **keywords)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}.") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            vars(self)[name] = value

    def _convert_fields(self) -> None:
        """Checks what the constructor has set."""
        known = {field.name for field in self._fields_of_type}
        unknown = [name for name in vars(self) if name not in known and name != _MAKING]
        if unknown:
            raise ValueError(
                f"Got unexpected fields in {type(self).__name__}: {', '.join(sorted(unknown))}: "
                "annotate them in the class."
            )
        for field in self._fields_of_type:
            if field.name not in vars(self):
                if not field.has_default:
                    raise ValueError(
                        f"{type(self).__name__}.{field.name} was not set by the constructor."
                    )
                vars(self)[field.name] = field.default
            vars(self)[field.name] = self._converted(vars(self)[field.name], field)

    def _converted(self, value: Any, field: Field) -> Any:
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        if _MAKING not in vars(self) and name not in self._may_change():
            raise AttributeError(
                f"Cannot mutate attribute {name!r} outside the custom constructor of "
                f"{self._what}: make another {type(self).__name__}."
            )
        vars(self)[name] = value

    def __delattr__(self, name: str) -> None:
        if _MAKING not in vars(self):
            raise AttributeError(
                f"Cannot delete attribute {name!r} outside the custom constructor of {self._what}."
            )
        del vars(self)[name]

    def _may_change(self) -> tuple[str, ...]:
        return ()

    def __repr__(self) -> str:
        fields = (f"{field.name}={vars(self)[field.name]!r}" for field in self._fields_of_type)
        return f"{type(self).__qualname__}({', '.join(fields)})"


_MAKING = "_being_made"  # among the attributes of a value as long as its constructor runs


class _Making(ABCMeta):
    """Checks, converts and seals what a constructor has made, also one that is written by hand."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        made: Any = cls.__new__(cls, *args, **keywords)  # type: ignore[arg-type]
        vars(made)[_MAKING] = True
        try:
            made.__init__(*args, **keywords)
            made._convert_fields()
        finally:
            vars(made).pop(_MAKING, None)
        made.__validate__()
        return made


@published("experimental.ExtensionTypeSpec")
class ExtensionTypeSpec(_WithFields, TypeSpec, metaclass=_Making):
    """The TypeSpec of an ExtensionType, which has the specs of its fields. Each ExtensionType has a
    subclass, its `Spec`.

    >>> import gradtape as tf
    >>> class Point(tf.experimental.ExtensionType):
    ...     x: tf.Tensor
    ...     name: str
    >>> spec = Point.Spec(tf.TensorSpec([], tf.float32), "p")
    >>> spec.is_compatible_with(Point(1.0, "p")), spec.is_compatible_with(Point(1.0, "q"))
    (True, False)
    """

    _what = "ExtensionTypeSpec"
    value_type: Any = None

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self._set_fields(args, keywords)

    def __validate__(self) -> None:
        """Raises an error if the fields do not fit each other; a subclass may define it."""

    def _converted(self, value: Any, field: Field) -> Any:
        return converted_spec(value, field.kind, f"{field.name}: {type(self).__name__}")

    def _serialize(self) -> tuple[Any, ...]:
        return tuple((field.name, vars(self)[field.name]) for field in self._fields_of_type)

    @classmethod
    def _deserialize(cls, serialization: Any) -> Any:
        made = cls.__new__(cls)
        vars(made).update(serialization)
        return made

    @property
    def _component_specs(self) -> dict[str, Any]:
        return {name: tensors_of_field(value, value) for name, value in self._serialize()}

    def _to_components(self, value: Any) -> dict[str, Any]:
        return {
            name: tensors_of_field(getattr(value, name), spec) for name, spec in self._serialize()
        }

    def _from_components(self, components: Any) -> Any:
        made = self.value_type.__new__(self.value_type)
        vars(made).update(
            {name: field_of_tensors(components[name], spec) for name, spec in self._serialize()}
        )
        return made

    __repr__ = _WithFields.__repr__
    __reduce__ = TypeSpec.__reduce__


@published("experimental.ExtensionType")
class ExtensionType(_WithFields, CompositeTensor, metaclass=_Making):
    """The base of classes of values made of tensors, whose annotations are their fields.

    A subclass has a constructor, checks of types, `==`, `repr`, a TypeSpec `Spec`, and is a value
    for functions, loops, datasets, tapes and `tf.nest`. Its values never change. `__validate__` may
    check one that was made.

    >>> import gradtape as tf
    >>> class MaskedTensor(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    ...     def replace_mask(self, new_mask):
    ...         return MaskedTensor(self.values, new_mask)
    >>> x = MaskedTensor([1.0, 2.0], [True, False])
    >>> tf.function(lambda m: tf.where(m.mask, m.values, 0.0))(x).numpy()
    array([1., 0.], dtype=float32)
    """

    Spec: Any = ExtensionTypeSpec

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        inherited = {
            field.name: field
            for base in reversed(cls.__mro__[1:])
            for field in vars(base).get("_fields_of_type", ())
        }
        fields = own_fields(cls, inherited)
        for field in fields:
            if field.name in vars(cls):
                delattr(cls, field.name)  # a default, which an instance has as its own
        cls._fields_of_type = tuple(fields)
        cls._signature_of_type = _signature(fields)
        if cls.__init__ is _given_fields:
            cls.__signature__ = cls._signature_of_type  # type: ignore[attr-defined]
        cls.Spec = _spec_class(cls, fields)

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self._set_fields(args, keywords)

    def __validate__(self) -> None:
        """Raises an error if the fields do not fit each other; a subclass may define it."""

    def _converted(self, value: Any, field: Field) -> Any:
        return converted(value, field.kind, f"{field.name}: {type(self).__name__}")

    @property
    def _type_spec(self) -> TypeSpec:
        spec = self.Spec
        found: TypeSpec = spec._deserialize(
            [(f.name, spec_of_field(vars(self)[f.name])) for f in self._fields_of_type]
        )
        return found

    def __eq__(self, other: object) -> Any:
        if type(other) is not type(self):
            return False
        if self._type_spec != other._type_spec:
            return False
        parts = zip(self.__gradtape_flatten__(), other.__gradtape_flatten__(), strict=True)
        found: Any = Tensor(np.bool_(True))
        for mine, others in parts:
            found = logical_and(found, reduce_all(equal(_read(mine), _read(others))))
        return found

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return (not same) if isinstance(same, bool) else ~same

    __hash__ = None  # type: ignore[assignment]


_given_fields = ExtensionType.__init__


def _read(part: Any) -> Any:
    return part.tensor() if isinstance(part, Variable) else part


def _signature(fields: list[Field]) -> inspect.Signature:
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    seen_default = False
    parameters = []
    for field in fields:
        if seen_default and not field.has_default:
            kind = inspect.Parameter.KEYWORD_ONLY
        seen_default = seen_default or field.has_default
        default = field.default if field.has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(field.name, kind, default=default))
    return inspect.Signature(parameters)


_OF_ANY_CLASS = ("__dict__", "__weakref__", "__module__", "__qualname__", "__annotations__")


def _spec_class(cls: Any, fields: list[Field]) -> Any:
    """The `Spec` of a class: what its body says of it, with the fields' specs."""
    given = vars(cls).get("Spec")
    base, body = next(each.Spec for each in cls.__mro__[1:] if hasattr(each, "Spec")), {}
    if given is not None and issubclass(given, ExtensionTypeSpec):
        base = given
    elif given is not None:
        body = {name: value for name, value in vars(given).items() if name not in _OF_ANY_CLASS}
    names = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Spec"}
    made = type(base)("Spec", (base,), {**body, **names})
    made.value_type = cls
    made._fields_of_type = tuple(field.without_default() for field in fields)
    made._signature_of_type = _signature(list(made._fields_of_type))
    return made


@published("experimental.extension_type.as_dict")
def as_dict(value: ExtensionType) -> dict[str, Any]:
    """The fields of an ExtensionType by name.

    >>> import gradtape as tf
    >>> class Point(tf.experimental.ExtensionType):
    ...     x: tf.Tensor
    ...     name: str
    >>> tf.experimental.extension_type.as_dict(Point([1, 2], "p"))["name"]
    'p'
    """
    return {field.name: vars(value)[field.name] for field in value._fields_of_type}
