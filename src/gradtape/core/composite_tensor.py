"""`CompositeTensor`: the base of values that are made of tensors, and that a TypeSpec describes.

Everything else follows from the spec: how `nest` opens such a value, what it is for a program that
is traced, for a loop, a tape or a dataset.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from gradtape import dtypes, nest
from gradtape.core.type_spec import TypeSpec
from gradtape.core.variable import Variable
from gradtape.published import published


@published("__internal__.CompositeTensor")
class CompositeTensor(ABC):
    """The base of values that are made of tensors; `_type_spec` is the TypeSpec of one.

    SparseTensor, RaggedTensor and IndexedSlices count as subclasses.

    >>> import gradtape as tf
    >>> isinstance(tf.ragged.constant([[1], [2, 3]]), tf.__internal__.CompositeTensor)
    True
    """

    @property
    @abstractmethod
    def _type_spec(self) -> TypeSpec:
        """The TypeSpec of this value."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        if cls is CompositeTensor and hasattr(other, "__gradtape_spec__"):
            return True
        return NotImplemented

    def __gradtape_spec__(self) -> TypeSpec:
        return self._type_spec

    def __gradtape_flatten__(self) -> list[Any]:
        return nest.flatten(self._type_spec._to_components(self), expand_composites=True)

    def __gradtape_unflatten__(self, tensors: Iterator[Any]) -> Any:
        spec = self._type_spec
        return spec._from_components(nest.from_leaves(spec._to_components(self), tensors))

    # For tapes

    def __gradtape_watched__(self) -> list[Any]:
        """The tensors that can have gradients."""
        return [part for part in nest.flatten(self, expand_composites=True) if _is_float(part)]

    def __gradtape_with_gradients__(self, gradients: Iterator[Any]) -> Any:
        """A value like this one with gradients in place of those tensors; None if it has none."""
        parts = nest.flatten(self, expand_composites=True)
        found = [next(gradients) if _is_float(part) else part for part in parts]
        if all(g is None for g, part in zip(found, parts, strict=True) if _is_float(part)):
            return None
        return self.__gradtape_unflatten__(iter(found))


def _is_float(part: Any) -> bool:
    return (
        part.trainable
        if isinstance(part, Variable)
        else getattr(part, "dtype", None) is not None and part.dtype.numpy in dtypes.TRAINABLE
    )
