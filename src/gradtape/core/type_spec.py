"""`TypeSpec`: what is known of a value without its contents.

What is made of tensors is described by a subclass, which says how a value is taken apart into
*components* and made of them again. Comparing two specs, and finding one that describes what both
do, works on what `_serialize` gives. `TensorSpec`, in `gradtape.shapes`, counts as a subclass.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from gradtape import nest
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.published import published
from gradtape.shapes import TensorShape, TensorSpec


@published("TypeSpec")
class TypeSpec(ABC):  # noqa: B024 - TensorSpec, which has none of these methods, is a subclass
    """What is known of a value without its contents, such as its dtype and shape: `TensorSpec`,
    `SparseTensorSpec` and `RaggedTensorSpec` are such specs.

    A subclass has `value_type`, `_serialize`, `_component_specs`, `_to_components` and
    `_from_components`; `tf.experimental.ExtensionType` writes them for you.

    >>> import gradtape as tf
    >>> isinstance(tf.TensorSpec([2], tf.float32), tf.TypeSpec)
    True
    """

    __slots__ = ()

    # A subclass defines these

    @property
    def value_type(self) -> Any:
        """The class of the values."""
        return self._undefined("value_type")

    def _serialize(self) -> tuple[Any, ...]:
        """The arguments of another spec like this one."""
        return self._undefined("_serialize")

    @property
    def _component_specs(self) -> Any:
        """The specs of the components, in their structure."""
        return self._undefined("_component_specs")

    def _to_components(self, value: Any) -> Any:
        """A structure of the tensors, and composites of tensors, that a value is made of."""
        return self._undefined("_to_components")

    def _from_components(self, components: Any) -> Any:
        """A value made of such components."""
        return self._undefined("_from_components")

    def _undefined(self, name: str) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__}, a TypeSpec, must define {name}.")

    # What follows from them

    @classmethod
    def _deserialize(cls, serialization: Sequence[Any]) -> Any:
        """A spec from what `_serialize` gave."""
        return cls(*serialization)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether some value fits both this spec and another spec or value."""
        other = spec_of(spec_or_value)
        return type(other) is type(self) and self.__is_compatible(
            self._serialize(), other._serialize()
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every value that this spec describes is one of the other's, too."""
        return type(other) is type(self) and _is_below(self._serialize(), other._serialize())

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The spec of everything that this one or one of `others` describes; None if there is
        none.
        """
        if any(type(other) is not type(self) for other in others):
            return None
        try:
            common = _in_common(self._serialize(), [other._serialize() for other in others])
        except _NothingInCommonError:
            return None
        return self._deserialize(common)

    def most_specific_compatible_type(self, other: Any) -> Any:
        """The spec of everything that either spec describes, refused if there is none."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}.")
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__get_cmp_key() == other.__get_cmp_key()

    def __hash__(self) -> int:
        return hash(self.__get_cmp_key())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"

    def __reduce__(self) -> Any:
        return _made_again, (type(self), self._serialize())

    # Private to TensorFlow; libraries call them by these names.

    def _with_tensor_ranks_only(self) -> Any:
        """This spec with every size left open."""
        return self._deserialize(_changed(self._serialize(), "_with_tensor_ranks_only"))

    def _without_tensor_names(self) -> Any:
        return self._deserialize(_changed(self._serialize(), "_without_tensor_names"))

    def __get_cmp_key(self) -> Any:
        return type(self), self.__make_cmp_key(self._serialize())

    def __make_cmp_key(self, value: Any) -> Any:
        return hashable(value)

    @staticmethod
    def __is_compatible(a: Any, b: Any) -> bool:
        return _is_compatible(a, b)

    # For `nest`, whose `expand_composites` opens specs too

    def __gradtape_flatten__(self) -> list[Any]:
        return nest.flatten(self._component_specs, expand_composites=True)

    def __gradtape_unflatten__(self, tensors: Iterator[Any]) -> Any:
        return self._from_components(nest.from_leaves(self._component_specs, tensors))


TypeSpec.register(TensorSpec)


@published("__internal__.BatchableTypeSpec")
class BatchableTypeSpec(TypeSpec):
    """A TypeSpec of values that can be batched.

    >>> import gradtape as tf
    >>> issubclass(tf.__internal__.BatchableTypeSpec, tf.TypeSpec)
    True
    """

    __slots__ = ()

    def _batch(self, batch_size: int | None) -> Any:
        """The spec of a batch of such values."""
        return self._undefined("_batch")

    def _unbatch(self) -> Any:
        """The spec of one of the values of a batch."""
        return self._undefined("_unbatch")

    def _to_rows(self, value: Any) -> list[Any]:
        """The tensors and composites that are stacked in a batch, or have its rows."""
        return nest.flatten(self._to_components(value))

    def _from_rows(self, rows: Iterator[Any]) -> Any:
        """A value made of the next such tensors."""
        components = self._component_specs
        leaves = [next(rows) for _ in nest.flatten(components)]
        return self._from_components(nest.pack_sequence_as(components, leaves))


def spec_of(value: Any) -> Any:
    """The spec of a composite, a Tensor or a Variable; a spec, and anything else, as it is."""
    if isinstance(value, TypeSpec):
        return value
    if hasattr(value, "__gradtape_spec__"):
        return value.__gradtape_spec__()
    if isinstance(value, (Tensor, Variable)):
        return TensorSpec(value.shape, value.dtype)
    return value


def _made_again(kind: type[TypeSpec], serialization: tuple[Any, ...]) -> Any:
    return kind._deserialize(serialization)


def hashable(value: Any) -> Any:
    """Something hashable that equals that of another value if the two are alike."""
    if isinstance(value, dict):
        return dict, tuple((key, hashable(value[key])) for key in sorted(value, key=repr))
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(hashable, value))
    if isinstance(value, np.ndarray):
        return np.ndarray, value.shape, value.dtype.str, value.tobytes()
    return value


def _is_compatible(a: Any, b: Any) -> bool:
    if isinstance(a, (TypeSpec, TensorShape)):
        return isinstance(b, (TypeSpec, TensorShape)) and a.is_compatible_with(b)
    parts = _parts(a, [b])
    if parts is None:
        return type(a) is type(b) and bool(np.all(a == b))
    return all(_is_compatible(one, other) for one, (other,) in parts)


def _is_below(a: Any, b: Any) -> bool:
    if isinstance(a, (TypeSpec, TensorShape)):
        return a.is_subtype_of(b)
    parts = _parts(a, [b])
    if parts is None:
        return type(a) is type(b) and bool(np.all(a == b))
    return all(_is_below(one, other) for one, (other,) in parts)


class _NothingInCommonError(Exception):
    """Two specs differ in something that a spec cannot leave open."""


def _in_common(a: Any, others: Sequence[Any]) -> Any:
    if isinstance(a, (TypeSpec, TensorShape)):
        if not all(isinstance(other, (TypeSpec, TensorShape)) for other in others):
            raise _NothingInCommonError
        found = a.most_specific_common_supertype(others)
        if found is None:
            raise _NothingInCommonError
        return found
    parts = _parts(a, others)
    if parts is None:
        if any(type(other) is not type(a) or not np.all(other == a) for other in others):
            raise _NothingInCommonError
        return a
    found = [_in_common(one, each) for one, each in parts]
    if isinstance(a, dict):
        return type(a)(zip(a, found, strict=True))
    return type(a)(*found) if hasattr(a, "_fields") else type(a)(found)


def _changed(value: Any, method: str) -> Any:
    """What a spec is made of, with a method of the specs in it called, and sizes of shapes left
    open as well.
    """
    if isinstance(value, TypeSpec):
        return getattr(value, method)()
    if isinstance(value, TensorShape):
        return (
            value
            if value.rank is None or "ranks" not in method
            else TensorShape([None] * value.rank)
        )
    if isinstance(value, dict):
        return type(value)((key, _changed(entry, method)) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        found = [_changed(entry, method) for entry in value]
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
    return value


def _parts(a: Any, others: Sequence[Any]) -> list[tuple[Any, list[Any]]] | None:
    """The entries of containers that are alike, side by side; None if these are not."""
    if any(type(other) is not type(a) for other in others):
        return None
    if isinstance(a, dict):
        if any(other.keys() != a.keys() for other in others):
            return None
        return [(a[key], [other[key] for other in others]) for key in a]
    if not isinstance(a, (list, tuple)) or any(len(other) != len(a) for other in others):
        return None
    return [(one, [other[i] for other in others]) for i, one in enumerate(a)]
